//! Leader election over many seeds, each with clocks and faults of its own: no checker may object, and every one can.

use std::time::{Duration, Instant};

use informer_sim::Load;
use informer_sim::election::{Checker, Config, Mutant, Outcome, Skew, run, shortfalls};

/// How many seeds `no_two_electors_lead_and_nobody_waits_too_long` runs, unless `SIM_SEEDS` says otherwise.
const SEEDS: u64 = 1_000;

fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().expect("a number"))
}

fn judge(seed: u64) -> Result<Outcome, String> {
    let outcome = run(Config { seed, ..Config::default() });
    let again = format!("SIM_SEED={seed} cargo test -p informer-sim --test election one_seed -- --nocapture");
    match outcome.violations.first() {
        Some(violation) => Err(format!("seed {seed}: {violation}\nto see how: {again}")),
        None => Ok(outcome),
    }
}

/// Runs all of them, on every core.
fn judge_all(from: u64, seeds: u64) -> (Load, Vec<String>, Duration, Duration) {
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let work = |worker: u64| {
        let mut sum = (Load::default(), Vec::new(), Duration::ZERO, Duration::ZERO);
        for seed in (from + worker..from + seeds).step_by(workers as usize) {
            match judge(seed) {
                Ok(outcome) => {
                    sum.0.merge(&outcome.load);
                    sum.2 += outcome.overlap;
                    sum.3 += outcome.simulated;
                }
                Err(failure) => sum.1.push(failure),
            }
        }
        sum
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        let mut sum = (Load::default(), Vec::new(), Duration::ZERO, Duration::ZERO);
        for thread in threads {
            let (load, failures, overlap, simulated) = thread.join().expect("no worker panics");
            sum.0.merge(&load);
            sum.1.extend(failures);
            sum.2 += overlap;
            sum.3 += simulated;
        }
        sum
    })
}

#[test]
fn no_two_electors_lead_and_nobody_waits_too_long() {
    let (from, seeds) = (number("SIM_FROM").unwrap_or(0), number("SIM_SEEDS").unwrap_or(SEEDS));
    let begun = Instant::now();
    let (load, failures, overlap, simulated) = judge_all(from, seeds);
    println!("{seeds} seeds in {:?}, {simulated:?} simulated, {overlap:?} with two leaders", begun.elapsed());
    for (what, number) in load.iter() {
        println!("{number:>10} {what}");
    }
    let shown = failures.len().min(20);
    assert!(
        failures.is_empty(),
        "{} of {seeds} seeds failed:\n{}",
        failures.len(),
        failures[..shown].join("\n")
    );
    assert_eq!(overlap, Duration::ZERO);
    let shortfalls = if seeds >= 1_000 { shortfalls(&load, seeds) } else { Vec::new() };
    assert!(shortfalls.is_empty(), "too little happened to prove anything: {shortfalls:#?}");
}

#[test]
fn clocks_beyond_the_ratio_do_let_two_lead() {
    let mut overlaps = Vec::new();
    for seed in 0..200 {
        let outcome = run(Config { seed, skew: Skew::Above, ..Config::default() });
        let seen = outcome.violations.iter().any(|violation| violation.checker == Checker::OneLeader);
        assert_eq!(seen, outcome.overlap > Duration::ZERO, "seed {seed}: the checker and the sum agree");
        if seen {
            overlaps.push(outcome.overlap);
        }
    }
    let sum: Duration = overlaps.iter().sum();
    println!("{} of 200 seeds had two leaders, for {sum:?} in all", overlaps.len());
    assert!(overlaps.len() >= 20, "only {} of 200 seeds show it", overlaps.len());
}

fn is_caught(mutant: Mutant, checker: Checker) {
    let caught = (0..300).find(|&seed| {
        let outcome = run(Config { seed, mutant: Some(mutant), ..Config::default() });
        outcome.violations.iter().any(|violation| violation.checker == checker)
    });
    assert!(caught.is_some(), "{checker:?} let {mutant:?} pass");
    println!("{checker:?} catches {mutant:?} at seed {}", caught.unwrap_or_default());
}

#[test]
fn each_checker_catches_its_mutant() {
    is_caught(Mutant::BelievesLonger, Checker::OneLeader);
    is_caught(Mutant::IgnoresVersions, Checker::OneLeader);
    is_caught(Mutant::HidesRenewals, Checker::OneLeader);
    is_caught(Mutant::BelievesLonger, Checker::Earned);
    is_caught(Mutant::IgnoresVersions, Checker::TokensGrow);
    is_caught(Mutant::SaysWorkEnded, Checker::ReleasedAfterWork);
    is_caught(Mutant::LateTimers, Checker::Replaced);
    is_caught(Mutant::LateTimers, Checker::HandedOver);
    is_caught(Mutant::LosesTimers, Checker::Ends);
    is_caught(Mutant::LosesTimers, Checker::Converged);
    is_caught(Mutant::TellsTwice, Checker::Told);
    is_caught(Mutant::StartsOver, Checker::Quiet);
}

#[test]
fn equal_seeds_run_equally() {
    for seed in 0..30 {
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
    let outcome = run(Config { seed, verbose: true, echo, ..Config::default() });
    assert!(outcome.violations.is_empty(), "seed {seed}: {}", outcome.violations[0]);
}
