//! `cargo xtask ci`: every check that a change must pass, in one list.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use informer_real_apiserver::Binaries;

use crate::bench;
use crate::e2e;
use crate::run::{self, Result, cargo, duration, heading, kill_group};

/// Runs every check that a change must pass, and stops at the first that fails.
///
/// On 2 cores with nothing built before this takes some 30 minutes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run only the steps of these names.
    #[arg(long, value_name = "STEP", value_delimiter = ',', value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
}

struct Step {
    name: &'static str,
    run: fn(&mut Tests) -> Result,
}

/// The quick ones first; `.ci/run` runs this list too.
const STEPS: [Step; 8] = [
    Step { name: "fmt", run: |_| run::run(&mut cargo(&["fmt", "--all", "--check"])) },
    Step { name: "clippy", run: clippy },
    Step { name: "doc", run: doc },
    Step { name: "test", run: test },
    Step { name: "metrics", run: |_| crate::metrics::check() },
    Step { name: "msrv", run: msrv },
    Step { name: "e2e", run: end_to_end },
    Step { name: "bench", run: |_| bench::quick() },
];

/// All checks have to end within 40 minutes, and this one takes up to 13 where nothing was built before: on a machine that is
/// busy with other things it is left out, since it would compare little but noise there.
const BENCH_NOT_AFTER: Duration = Duration::from_secs(24 * 60);

/// What the test harnesses have counted.
#[derive(Debug, Default, PartialEq)]
struct Tests {
    passed: u64,
    failed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let is_wanted =
        |step: &Step| arguments.only.is_empty() || arguments.only.iter().any(|name| name == step.name);
    let started = Instant::now();
    let mut tests = Tests::default();
    let mut done = Vec::new();
    let build = if STEPS.iter().any(|step| step.name == "e2e" && is_wanted(step)) {
        ServerBuild::start()
    } else {
        None
    };
    let mut result = Ok(());
    for step in STEPS.iter().filter(|step| is_wanted(step)) {
        heading(step.name);
        if step.name == "bench" && started.elapsed() > BENCH_NOT_AFTER {
            println!("skipped: the steps before took too long; `cargo xtask bench --quick` runs it");
            done.push("bench: skipped, the machine is too slow today".to_owned());
            continue;
        }
        let step_started = Instant::now();
        result = (step.run)(&mut tests);
        let outcome = if result.is_ok() { "ok" } else { "FAILED" };
        let line = format!("{}: {outcome} in {}", step.name, duration(step_started.elapsed()));
        heading(&line);
        done.push(line);
        if result.is_err() {
            break;
        }
    }
    drop(build);
    heading(&format!("ci, {}", duration(started.elapsed())));
    for line in done {
        println!("{line}");
    }
    if tests != Tests::default() {
        // Alone on the last line, for programs that read it.
        println!("{} passed, {} failed", tests.passed, tests.failed);
    }
    result
}

fn clippy(_: &mut Tests) -> Result {
    run::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

fn doc(_: &mut Tests) -> Result {
    run::run(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))
}

fn test(tests: &mut Tests) -> Result {
    run::run_seeing(&mut cargo(&["test", "--workspace", "--no-fail-fast"]), |line| tests.count(line))
}

/// The oldest compiler that Cargo.toml promises, if it is installed.
fn msrv(_: &mut Tests) -> Result {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let installed = Command::new("rustup").args(["toolchain", "list"]).output();
    let installed =
        installed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let is_it = |name: &str| {
        name == version
            || name.starts_with(&format!("{version}-"))
            || name.starts_with(&format!("{version}."))
    };
    match installed.split_whitespace().find(|name| is_it(name)) {
        Some(name) => run::run(&mut cargo(&[&format!("+{name}"), "check", "--workspace"])),
        None => {
            println!(
                "skipped: `rustup toolchain install {version}` to check with the oldest supported compiler"
            );
            println!("(clippy has checked the standard library's items against {version})");
            Ok(())
        }
    }
}

fn end_to_end(_: &mut Tests) -> Result {
    if e2e::exists() {
        e2e::run(&e2e::Arguments::default())
    } else {
        // The server's own test alone.
        crate::real_apiserver::build()?;
        e2e::check_the_server()
    }
}

impl Tests {
    /// Adds up lines of the form `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn count(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let words: Vec<&str> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
            let pair = words.windows(2).find(|pair| pair[1] == what);
            pair.and_then(|pair| pair[0].parse::<u64>().ok()).unwrap_or(0)
        };
        self.passed += count("passed");
        self.failed += count("failed");
    }
}

/// The real server's build in the background, beside the steps that do not need it.
struct ServerBuild(Child);

impl ServerBuild {
    /// `None` when there is nothing to build, or it cannot start: the step that needs it then says why.
    fn start() -> Option<Self> {
        if Binaries::find().is_ok() {
            return None;
        }
        println!("kube-apiserver and etcd are being built in the background");
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.args(["real-apiserver", "--build-only"]).stdin(Stdio::null());
        command.process_group(0).spawn().ok().map(Self)
    }
}

impl Drop for ServerBuild {
    fn drop(&mut self) {
        // Done, unless a step has failed.
        kill_group(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_results_add_up() {
        let mut tests = Tests::default();
        tests.count(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        );
        tests.count("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        tests.count("test passed ... ok");
        assert_eq!(tests, Tests { passed: 15, failed: 2 });
    }

    #[test]
    fn step_names_differ() {
        let mut names = STEPS.map(|step| step.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
