//! What client-go's tests of its elector claim, here.

use super::*;

fn is_get(bench: &Bench) -> bool {
    matches!(bench.said.last(), Some(Output::Send(_, Request::Get)))
}

/// `TestTryAcquireOrRenewLeases`: no object.
#[test]
fn a_record_that_does_not_exist_is_created() {
    let mut bench = Bench::new("a");
    assert!(is_get(&bench));
    bench.answer(Answer::NotFound);
    let record = bench.write();
    assert_eq!((&*record.holder, record.transitions, record.lease_duration), ("a", 0, Some(SECOND * 15)));
    let until = Mono(0).after(SECOND * 10);
    assert!(bench.said(&Output::Lead { token: FencingToken(0), until }));
    assert!(bench.said(&Output::NewLeader("a".into())));
    assert_eq!(bench.election.counters().requests, 2);
}

/// `TestTryAcquireOrRenewLeases`: empty record, unheld, empty holder with a future observation.
#[test]
fn a_record_without_a_holder_is_taken_at_once() {
    for duration in [None, Some(SECOND), Some(SECOND * 1_000)] {
        let mut bench = Bench::new("a");
        bench.read(LeaderRecord { lease_duration: duration, ..record("", 1) });
        assert_eq!(bench.write().transitions, 5);
        assert!(bench.election.leads(bench.now));
    }
}

/// `TestTryAcquireOrRenewLeases`: held and valid; a 3 s lease is refused, then acquired after 3 s.
#[test]
fn a_held_record_is_taken_exactly_when_its_own_duration_has_passed() {
    let mut bench = Bench::new("a");
    bench.read(record("b", 3));
    assert!(bench.said(&Output::NewLeader("b".into())));
    let mut waited = Duration::ZERO;
    loop {
        waited += bench.wait();
        if !is_get(&bench) {
            break;
        }
        assert!(waited < SECOND * 3);
        bench.read(record("b", 3));
    }
    assert_eq!(waited, SECOND * 3, "no look in between, no look before");
    assert_eq!(bench.write().transitions, 5);
    assert!(bench.election.leads(bench.now));
}

/// A holder that renews, whatever its wall clock says, is left alone.
#[test]
fn every_change_of_the_record_counts_as_life() {
    let mut bench = Bench::new("a");
    let mut held = record("b", 15);
    for renewal in 0..200 {
        held.renewed_us = Some(renewal % 3 - 100_000_000);
        assert!(is_get(&bench));
        bench.read(held.clone());
        bench.wait();
    }
    assert_eq!(bench.election.counters().leader_changes, 1, "told once");
}

/// `TestTryAcquireOrRenewLeases`: own record. Here a new term all the same, with a greater token.
#[test]
fn an_own_record_of_an_earlier_run_is_taken_at_once_as_a_new_term() {
    let mut bench = Bench::new("a");
    bench.read(record("a", 15));
    assert_eq!(bench.write().transitions, 5);
    assert!(bench.said(&Output::Lead { token: FencingToken(5), until: Mono(0).after(SECOND * 10) }));
}

/// `TestFastPathLeaderElection`: get, create, update, update.
#[test]
fn a_renewal_is_one_request() {
    let mut bench = Bench::new("a");
    bench.lead();
    let mut last = None;
    for _ in 0..5 {
        assert_eq!(bench.wait(), SECOND * 2);
        let renewed = bench.write();
        assert_eq!((renewed.transitions, renewed.acquired_us), (0, Some(1_000_001)), "kept");
        assert_ne!(last.replace(renewed.renewed_us), Some(renewed.renewed_us), "the wall clock stands still");
    }
    let counters = bench.election.counters();
    assert_eq!((counters.requests, counters.renewed, counters.slow_paths), (7, 5, 0));
}

/// `TestFastPathLeaderElection` with a conflict: update(conflict), get, update.
#[test]
fn a_conflict_reads_the_record_again_and_renews_it_at_once() {
    let mut bench = Bench::new("a");
    bench.lead();
    let mine = bench.election.observed().unwrap().clone();
    bench.wait();
    bench.answer(Answer::Conflict);
    assert!(is_get(&bench));
    bench.read(mine);
    bench.write();
    assert!(bench.said(&Output::Extended { until: Mono(0).after(SECOND * 12) }));
    assert_eq!(bench.election.counters().slow_paths, 1);
}

/// `TestReleaseLeaseLeases`, `TestReleaseMethodCallsGet`: the holder is emptied; here the version known is enough.
#[test]
fn a_release_empties_the_record_and_keeps_its_transitions() {
    let mut bench = Bench::with("a", |options| options.release(true));
    bench.read(record("", 1));
    bench.write();
    bench.stop();
    bench.work_ended();
    let released = bench.write();
    assert_eq!((&*released.holder, released.transitions), ("", 5));
    assert_eq!(released.lease_duration, Some(SECOND), "a server refuses 0");
    assert_eq!(
        bench.ended().unwrap(),
        &Summary { end: ElectionEnd::Stopped, released: true, work_ended: true }
    );
}

/// `TestReleaseRetriesOnConflict`
#[test]
fn a_release_that_conflicts_is_tried_again_while_the_record_is_ours() {
    for (holder, released) in [("a", true), ("b", false), ("", false)] {
        let mut bench = Bench::with("a", |options| options.release(true));
        bench.lead();
        bench.work_ended();
        bench.answer(Answer::Conflict);
        bench.read(record(holder, 15));
        if released {
            bench.write();
        }
        assert_eq!(
            bench.ended().unwrap(),
            &Summary { end: ElectionEnd::Finished, released, work_ended: true }
        );
    }
}

/// `TestReleaseOnCancellation_Leases`: a renewal is under way.
#[test]
fn a_release_waits_for_the_renewal_that_is_under_way() {
    let mut bench = Bench::with("a", |options| options.release(true));
    bench.lead();
    bench.wait();
    bench.stop();
    bench.work_ended();
    assert!(!bench.election.leads(bench.now));
    assert_eq!(&*bench.write().holder, "a");
    assert_eq!(&*bench.write().holder, "");
    assert!(bench.ended().unwrap().released);
}

/// `TestLeaderElectionConfigValidation`
#[test]
fn rules_that_are_broken_are_named() {
    let new = |identity: &str, lease_ms, renew_ms, retry_ms| {
        let [lease, renew, retry] = [lease_ms, renew_ms, retry_ms].map(Duration::from_millis);
        ElectionOptions::new(identity, lease, renew, retry)
    };
    assert!(new("a", 15_000, 10_000, 2_000).is_ok());
    assert!(new("a", 4_000, 2_401, 2_000).is_ok());
    assert!(matches!(new("", 15_000, 10_000, 2_000), Err(InvalidElection::EmptyIdentity)));
    assert!(matches!(new("a", 15_000, 10_000, 0), Err(InvalidElection::NoRetryPeriod)));
    assert!(matches!(new("a", 15_000, 0, 2_000), Err(InvalidElection::ShortRenewDeadline { .. })));
    assert!(matches!(new("a", 15_000, 2_400, 2_000), Err(InvalidElection::ShortRenewDeadline { .. })));
    assert!(matches!(new("a", 10_000, 10_000, 2_000), Err(InvalidElection::ShortLeaseDuration { .. })));
    assert!(matches!(new("a", 0, 10_000, 2_000), Err(InvalidElection::ShortLeaseDuration { .. })));
    let for_ever = ElectionOptions::new("a", Duration::MAX, SECOND * 10, SECOND * 2);
    assert!(matches!(for_ever, Err(InvalidElection::LongLeaseDuration { .. })));
    assert!(ElectionOptions::new("a", Duration::MAX, Duration::MAX, Duration::MAX).is_err());
    assert_eq!(new("a", 10_001, 10_000, 2_000).unwrap().lease_duration(), SECOND * 11, "rounded up");
}
