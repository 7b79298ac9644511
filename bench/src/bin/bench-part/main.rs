//! One part of the library doing one thing a number of times, for valgrind to count: `bench-part scan 1000`.

use std::hint::black_box;

use clap::Parser;
use informer_bench::Part;

/// Repeats one operation.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(value_enum)]
    part: Part,
    /// How often.
    operations: usize,
}

fn main() {
    let Arguments { part, operations } = Arguments::parse();
    black_box(part.run(operations));
}
