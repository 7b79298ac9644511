//! Many seeds, each with faults of its own: no checker may object.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use informer_sim::{CONVERGENCE, Config, Load, Outcome, run};

/// How many seeds `every_seed_keeps_every_invariant` runs, unless `SIM_SEEDS` says otherwise.
const SEEDS: u64 = 1_000;

/// Seeds that failed once, each with what it had found.
const KEPT: [(u64, &str); 0] = [];

fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().expect("a number"))
}

/// Runs a seed; answers with what is wrong, if anything is.
fn judge(seed: u64) -> Result<Outcome, String> {
    let config = Config { seed, ..Config::default() };
    let again = format!("SIM_SEED={seed} cargo test -p informer-sim one_seed -- --nocapture");
    let outcome = catch_unwind(AssertUnwindSafe(|| run(config)));
    let outcome = outcome.map_err(|_| format!("seed {seed} panicked; to see how: {again}"))?;
    match outcome.violations.first() {
        Some(violation) => Err(format!("seed {seed}: {violation}\nto see how: {again}")),
        None => Ok(outcome),
    }
}

/// Runs all of them, on every core.
fn judge_all(seeds: u64) -> (Load, Vec<String>, Duration, Duration) {
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let from = number("SIM_FROM").unwrap_or(0);
    let work = |worker: u64| {
        let (mut load, mut failures) = (Load::default(), Vec::new());
        let (mut slowest, mut simulated) = (Duration::ZERO, Duration::ZERO);
        for seed in (from + worker..from + seeds).step_by(workers as usize) {
            match judge(seed) {
                Ok(outcome) => {
                    load.merge(&outcome.load);
                    slowest = slowest.max(outcome.converged_after);
                    simulated += outcome.simulated;
                }
                Err(failure) => failures.push(failure),
            }
        }
        (load, failures, slowest, simulated)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the worker lives")).fold(
            (Load::default(), Vec::new(), Duration::ZERO, Duration::ZERO),
            |(mut load, mut failures, slowest, simulated), (its_load, its_failures, its_slowest, its_simulated)| {
                load.merge(&its_load);
                failures.extend(its_failures);
                (load, failures, slowest.max(its_slowest), simulated + its_simulated)
            },
        )
    })
}

#[test]
fn every_seed_keeps_every_invariant() {
    let seeds = number("SIM_SEEDS").unwrap_or(SEEDS);
    let begun = Instant::now();
    let (load, failures, slowest, simulated) = judge_all(seeds);
    let took = begun.elapsed();
    println!("{seeds} seeds in {took:?}, {:.0} a second, {simulated:?} simulated", seeds as f64 / took.as_secs_f64());
    println!("the slowest converged after {slowest:?} of {CONVERGENCE:?}");
    for (what, number) in load.iter() {
        println!("{number:>10} {what}");
    }
    assert!(failures.is_empty(), "{} of {seeds} seeds failed:\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
}

#[test]
fn one_seed() {
    let seed = number("SIM_SEED").unwrap_or(1);
    let outcome = run(Config { seed, verbose: true, ..Config::default() });
    if std::env::var("SIM_SEED").is_ok() {
        outcome.trace.iter().for_each(|line| println!("{line}"));
    }
    assert!(outcome.violations.is_empty(), "seed {seed}: {}", outcome.violations[0]);
}

#[test]
fn kept_seeds_stay_good() {
    for (seed, found) in KEPT {
        judge(seed).unwrap_or_else(|failure| panic!("again ({found}): {failure}"));
    }
}
