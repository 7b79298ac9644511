//! `cargo xtask e2e`: the end-to-end suite, against the embedded and the real API server.

use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;

use crate::real_apiserver;
use crate::run::{self, Result, StopSignal, cargo, duration, heading, root};

/// A whole run takes a few minutes on 2 cores; one that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Runs the end-to-end suite (crates/e2e) against the embedded API server, then against a real one.
///
/// The real one is built with Go at first use (about 9 minutes).
#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Only against a real kube-apiserver.
    #[arg(long, conflicts_with = "embedded_only")]
    real_only: bool,

    /// Only against the embedded server: needs no Go.
    #[arg(long)]
    embedded_only: bool,

    /// More arguments for the suite, after `--`.
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// Whether this checkout has the suite.
pub(crate) fn exists() -> bool {
    root().join("crates/e2e/Cargo.toml").is_file()
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    if !exists() {
        return Err("this checkout has no end-to-end suite: crates/e2e is not there".to_owned());
    }
    if !arguments.embedded_only {
        heading("e2e: kube-apiserver and etcd");
        real_apiserver::build()?;
        check_the_server()?;
    }
    heading("e2e: building the suite");
    // As the workspace's tests build it, so that nothing is compiled twice with other features.
    // The second test is the sample controller's: with it, cargo builds the program that the suite runs.
    let tests = ["--test", "lists_its_cases", "--test", "manifests"];
    run::run(cargo(&["test", "--workspace"]).args(tests))?;
    let suite_path = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let suite_path = suite_path.with_file_name("informer-e2e");
    let stop = StopSignal::register()?;
    let mut results = Vec::new();
    for server in ["embedded", "real"] {
        let is_skipped = if server == "real" { arguments.embedded_only } else { arguments.real_only };
        if is_skipped {
            continue;
        }
        heading(&format!("e2e: {server} server"));
        let started = Instant::now();
        let mut suite = Command::new(&suite_path);
        suite.args(["--server", server]).args(&arguments.arguments).current_dir(root());
        let result = run::run_limited(&mut suite, LIMIT, &stop);
        results.push((server, result, started.elapsed()));
        if stop.is_raised() {
            break;
        }
    }
    summarize(&results)
}

/// Kills and restarts a real server, without the library under test in between.
pub(crate) fn check_the_server() -> Result {
    run::run(
        cargo(&["test", "--package", "informer-real-apiserver", "--test", "lifecycle"])
            .env("INFORMER_TEST_REAL_APISERVER", "1"),
    )
}

fn summarize(results: &[(&str, Result, Duration)]) -> Result {
    heading("e2e: results");
    let mut failed = Vec::new();
    for (server, result, elapsed) in results {
        let elapsed = duration(*elapsed);
        match result {
            Ok(()) => println!("{server}: passed in {elapsed}"),
            Err(message) => {
                println!("{server}: FAILED after {elapsed}: {message}");
                failed.push(*server);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("e2e failed: {}", failed.join(", "))) }
}
