//! Everything that is done to this repository, as commands.

mod bench;
mod ci;
mod e2e;
mod metrics;
mod real_apiserver;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Works on the repository it is built from: checks, end-to-end tests, benchmarks, a real API server.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Bench(bench::Arguments),
    Ci(ci::Arguments),
    E2e(e2e::Arguments),
    RealApiserver(real_apiserver::Arguments),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Ci(arguments) => ci::run(&arguments),
        Task::E2e(arguments) => e2e::run(&arguments),
        Task::RealApiserver(arguments) => real_apiserver::run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
