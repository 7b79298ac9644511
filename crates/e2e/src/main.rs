//! One end-to-end suite, run against the embedded and a real API server.
//!
//! At the end of each case the cache, each index and each handler's replayed history must equal the server's own list.
//! A case is a file in `cases`: a function that is given the running server and a world of objects in it.

mod api;
mod cases;
mod check;
mod cluster;
mod content;
mod foos;
mod gate;
mod journal;
mod outcome;
mod reader;
mod sample_controller;
mod scope;
mod standing;
mod suite;
mod watched;
mod witness;
mod world;
mod writer;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cluster::ServerKind;

/// Twice what a run takes on a busy machine of two cores; one that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(12 * 60);

/// Runs the suite against one server.
#[derive(Parser, Debug)]
struct Arguments {
    /// Which server; without it the cases are only listed.
    #[arg(long, value_enum)]
    server: Option<ServerKind>,

    /// Only cases with this in their name.
    #[arg(long, value_name = "CASE")]
    only: Option<String>,

    /// The real server answers from etcd instead of its watch cache.
    #[arg(long)]
    no_watch_cache: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Some(server) = arguments.server else {
        cases::CASES.iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    };
    // Troubles are what the suite is about: only those that nobody should have are shown.
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let begun = Instant::now();
    let suite = suite::run(server, !arguments.no_watch_cache, arguments.only.as_deref());
    let failed = match runtime.block_on(async { tokio::time::timeout(LIMIT, suite).await }) {
        Ok(Ok(failed)) => failed,
        Ok(Err(error)) => {
            println!("FAILED: {error}");
            1
        }
        Err(_) => {
            println!("FAILED: the whole run took longer than {} s", LIMIT.as_secs());
            1
        }
    };
    println!("total {:.1} s, {failed} failed", begun.elapsed().as_secs_f64());
    // A task that hangs must not keep the run from ending.
    runtime.shutdown_timeout(Duration::from_secs(5));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
