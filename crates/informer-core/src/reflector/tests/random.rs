//! Random walks: whatever the server does, the reflector stays within its rules and catches up when it heals.

use super::super::{ReflectorOptions, RequestId};
use super::server::{KINDS, Server};
use super::*;
use crate::{Backoff, ResourceVersion, Rng};

fn options(rng: &mut Rng) -> ReflectorOptions {
    let options =
        ReflectorOptions::new().watch_list(rng.below(2) == 0).consistent_first_list(rng.below(2) == 0);
    if rng.below(2) == 0 { options.page_size(1 + rng.below(3) as u32) } else { options }
}

/// What is true of a stream after each step.
#[derive(Default)]
struct StreamCheck {
    request: Option<RequestId>,
    last: Option<ResourceVersion>,
}

impl StreamCheck {
    fn check(&mut self, bench: &Bench, seed: u64) {
        let request = bench.in_flight.as_ref().map(|(id, _)| *id);
        let last = bench.reflector.last_version().cloned();
        if request.is_some() && request == self.request && bench.reflector.phase() == Phase::Watching {
            assert!(last >= self.last, "seed {seed}: from {:?} to {last:?} in one stream", self.last);
        }
        (self.request, self.last) = (request, last);
    }
}

fn walk(seed: u64) -> Vec<String> {
    let mut server = Server::new(seed);
    server.garbles = seed.is_multiple_of(3);
    let mut bench = Bench::seeded(options(&mut server.rng), seed);
    let mut check = StreamCheck::default();
    let mut late = Vec::new();
    for _ in 0..150 {
        match server.rng.below(12) {
            0..=2 => server.change(),
            3 => bench.pass(Duration::from_millis(server.rng.below(3_000))),
            4 if server.chance(4) => bench.pass(Duration::from_secs(server.rng.below(120))),
            5 if server.chance(8) => server.compact(),
            6 if server.chance(10) => {
                late.extend(bench.in_flight.as_ref().map(|(id, _)| *id));
                bench.reflector.stop(bench.now);
                bench.drain();
                assert!(bench.in_flight.is_none());
                bench.reflector.start(bench.now);
                bench.drain();
            }
            7 | 8 => {
                bench.wait();
                late.extend(bench.in_flight.as_ref().map(|(id, _)| *id));
                server.fault(&mut bench);
            }
            9 if !late.is_empty() => {
                let id = late[server.rng.below(late.len() as u64) as usize];
                if bench.in_flight.as_ref().is_none_or(|(current, _)| *current != id) {
                    bench.reflector.handle(bench.now, id, Input::Failed(failure(FailureKind::NotFound)));
                    bench.drain();
                }
            }
            _ => {
                bench.wait();
                server.serve(&mut bench);
            }
        }
        check.check(&bench, seed);
    }
    heal(&mut server, &mut bench, seed);
    let mut history = bench.requests;
    history.extend(bench.deltas);
    history.extend(bench.troubles);
    history
}

/// From here on the server works. What may take how long: one wait (at most the 5 min a server may have asked for),
/// one relist, and the end of a WatchList that was being given up.
fn heal(server: &mut Server, bench: &mut Bench, seed: u64) {
    let start = bench.now.mono;
    if server.garbles {
        // What a garbled item left behind, only a new list can clear.
        server.garbles = false;
        server.change();
        server.compact();
        if bench.in_flight.is_some() {
            bench.give(Input::Failed(failure(FailureKind::Expired)));
        }
    }
    bench.wait();
    for _ in 0..300 {
        bench.wait();
        server.serve(bench);
        if bench.stored() == server.state() && bench.reflector.phase() == Phase::Watching {
            break;
        }
        bench.pass(Duration::from_millis(50));
    }
    let context =
        || format!("seed {seed}: {:#?}\n{:#?}\n{:#?}", bench.requests, bench.deltas, bench.troubles);
    assert_eq!(bench.stored(), server.state(), "{}", context());
    let took = bench.now.mono.since(start);
    assert!(took < Duration::from_secs(300 + 60 + 20), "{took:?} {}", context());
}

#[test]
fn any_walk_keeps_the_rules_and_converges_when_the_server_heals() {
    for seed in 0..3_000 {
        walk(seed);
    }
}

#[test]
fn equal_seeds_walk_equally() {
    for seed in 0..50 {
        assert_eq!(walk(seed), walk(seed));
    }
}

/// Answers with anything but success, at once.
fn refuse(bench: &mut Bench, rng: &mut Rng) {
    bench.wait();
    let mut reason = failure(KINDS[rng.below(KINDS.len() as u64) as usize]);
    reason.code = [None, Some(400), Some(503)][rng.below(3) as usize];
    match rng.below(5) {
        0 => bench.give(Input::Started),
        1 => bench.give(Input::Ended),
        2 => bench.event(WatchEvent::Error(reason)),
        3 => bench.event(WatchEvent::Malformed("not json".into())),
        _ => bench.give(Input::Failed(reason)),
    }
}

#[test]
fn whatever_fails_no_more_is_sent_than_the_back_off_allows() {
    const OUTAGE: Duration = Duration::from_secs(600);
    let mut back_off = Backoff::new(crate::BackoffOptions { jitter: 0.0, ..Default::default() });
    let (mut allowed, mut elapsed) = (1, Duration::ZERO);
    while elapsed < OUTAGE {
        elapsed += back_off.next_delay(&mut Rng::new(0));
        allowed += 1;
    }
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let mut bench = Bench::seeded(options(&mut rng), seed);
        if seed.is_multiple_of(2) {
            Server::new(seed).serve(&mut bench);
            if bench.reflector.phase() != Phase::Watching {
                continue;
            }
        }
        bench.forget();
        let start = bench.now.mono;
        while bench.now.mono.since(start) < OUTAGE {
            refuse(&mut bench, &mut rng);
        }
        // At once follow: a LIST on a WatchList given up, and a list without a version on one whose version is lost;
        // each once, as nothing succeeds in between.
        let (sent, at_once) = (bench.requests.len(), 2);
        assert!(sent <= allowed + at_once, "seed {seed}: {sent} > {allowed}: {:#?}", bench.requests);
    }
}
