//! Many seeds, each with faults of its own: no checker may object.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use informer_sim::{CONVERGENCE, Config, Load, Outcome, run};

/// How many seeds `every_seed_keeps_every_invariant` runs, unless `SIM_SEEDS` says otherwise.
const SEEDS: u64 = 1_000;

/// Seeds that failed once, each with what it had found. They lose their point, not their truth, when the simulation
/// draws differently.
const KEPT: [(u64, &str); 8] = [
    (8, "a reset dropped deliveries of what the store had already: handlers never heard of it"),
    (14, "the same"),
    (
        188,
        "after a reset one namespace waited for the lists of the others before it was brought up to date or emptied",
    ),
    (370, "the same"),
    (132, "after a reset the objects of a resource that was gone stayed"),
    (430, "the same"),
    (946, "a stale object of a past that a restored server had forgotten was never replaced"),
    (4981, "the simulation's own: a lagging replica never caught up"),
];

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
            |(mut load, mut failures, slowest, simulated),
             (its_load, its_failures, its_slowest, its_simulated)| {
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
    println!(
        "{seeds} seeds in {took:?}, {:.0} a second, {simulated:?} simulated",
        seeds as f64 / took.as_secs_f64()
    );
    println!("the slowest converged after {slowest:?} of {CONVERGENCE:?}");
    for (what, number) in load.iter() {
        println!("{number:>10} {what}");
    }
    let shortfalls = if seeds >= 1_000 { load.shortfalls(seeds) } else { Vec::new() };
    assert!(
        failures.is_empty(),
        "{} of {seeds} seeds failed:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
    assert!(shortfalls.is_empty(), "too little happened to prove anything: {shortfalls:#?}");
}

#[test]
fn a_run_in_which_nothing_happens_proves_nothing() {
    let nothing = Load::default().shortfalls(SEEDS);
    assert!(nothing.iter().any(|short| short.starts_with("events:")), "{nothing:?}");
    let mut one_seed = Load::default();
    one_seed.merge(&run(Config::default()).load);
    assert!(!one_seed.shortfalls(SEEDS).is_empty());
}

#[test]
fn equal_seeds_run_equally() {
    for seed in 0..50 {
        let config = Config { seed, verbose: true, ..Config::default() };
        let (first, second) = (run(config), run(config));
        let differs = first.trace.iter().zip(&second.trace).find(|(first, second)| first != second);
        assert_eq!(first.hash, second.hash, "seed {seed} differs at {differs:?}");
        assert_ne!(first.hash, run(Config { seed: seed + 1_000, ..config }).hash, "seed {seed}");
    }
}

#[test]
fn one_seed() {
    let seed = number("SIM_SEED").unwrap_or(1);
    let echo = std::env::var("SIM_SEED").is_ok();
    let outcome = run(Config { seed, verbose: true, echo, mutant: None });
    assert!(outcome.violations.is_empty(), "seed {seed}: {}", outcome.violations[0]);
}

#[test]
fn kept_seeds_stay_good() {
    for (seed, found) in KEPT {
        judge(seed).unwrap_or_else(|failure| panic!("again ({found}): {failure}"));
    }
}
