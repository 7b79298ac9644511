//! The parts by the clock: `cargo bench -p informer-bench`. Beside changes on one machine that is quiet; `cargo xtask bench parts` counts
//! instructions, which are the same everywhere.

use std::time::Duration;

use clap::ValueEnum;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use informer_bench::Part;

/// What a part can do with one set-up.
const AT_ONCE: usize = 6_000;

fn parts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parts");
    for part in Part::value_variants() {
        let name = part.to_possible_value().expect("every part has a name");
        group.throughput(Throughput::Elements(part.unit() as u64));
        group.bench_function(name.get_name(), |bencher| {
            bencher.iter_custom(|units| run(*part, units as usize * part.unit()));
        });
    }
    group.finish();
}

fn run(part: Part, operations: usize) -> Duration {
    let at_once = AT_ONCE.max(part.unit());
    let whole = (0..operations / at_once).map(|_| part.run(at_once));
    whole.sum::<Duration>() + part.run(operations % at_once)
}

criterion_group!(benches, parts);
criterion_main!(benches);
