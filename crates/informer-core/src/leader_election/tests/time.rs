//! What time does: the end of the belief, late answers, requests that hang.

use super::*;

#[test]
fn the_belief_ends_a_renew_deadline_after_the_last_success_was_sent() {
    let mut bench = Bench::new("a");
    bench.pass(SECOND);
    bench.answer(Answer::NotFound);
    bench.pass(SECOND * 3);
    bench.write();
    // The write was sent at 1 s, and answered at 4 s.
    assert_eq!(bench.election.belief(), Some((FencingToken(0), Mono(0).after(SECOND * 11))));
    let before = Now { mono: Mono(Mono(0).after(SECOND * 11).0 - 1), wall_ms: 0 };
    assert!(bench.election.leads(before));
    assert!(
        !bench.election.leads(Now { mono: Mono(0).after(SECOND * 11), wall_ms: 0 }),
        "also if it is told nothing"
    );
}

#[test]
fn an_answer_that_comes_after_its_belief_is_over_wins_nothing() {
    let mut bench = Bench::new("a");
    bench.answer(Answer::NotFound);
    let (id, _) = bench.sent();
    // The process was asleep, and the answer is the first thing it sees.
    bench.now.mono = Mono(0).after(SECOND * 60);
    let record = LeaderRecord { transitions: 0, ..record("a", 15) };
    bench.election.handle(bench.now, id, Answer::Stored(Stored { record, version: "1".into() }));
    bench.drain();
    assert!(!bench.election.leads(bench.now));
    assert_eq!(bench.write().transitions, 1, "its own record is taken anew");
    assert!(bench.election.leads(bench.now));
}

#[test]
fn a_belief_that_has_ended_does_not_come_back() {
    let mut bench = Bench::new("a");
    bench.lead();
    bench.pass(SECOND * 9);
    let (id, _) = bench.sent();
    let mine = bench.election.observed().unwrap().clone();
    bench.now.mono = bench.now.mono.after(SECOND);
    bench.election.handle(bench.now, id, Answer::Stored(Stored { record: mine, version: "9".into() }));
    bench.drain();
    assert!(!bench.election.leads(bench.now));
    assert!(bench.said(&lost(LossReason::Deadline)));
}

#[test]
fn a_request_that_hangs_is_given_up_and_the_record_read() {
    let mut bench = Bench::new("a");
    bench.lead();
    bench.wait();
    let (id, _) = bench.sent();
    assert_eq!(bench.wait(), SECOND * 5, "half a renew deadline");
    assert!(bench.said(&Output::Abort(id)));
    let (looks, request) = bench.sent();
    assert_eq!(request, Request::Get);
    assert_eq!(bench.wait(), SECOND * 3, "no request outlives the belief");
    assert!(bench.said(&Output::Abort(looks)) && bench.said(&lost(LossReason::Deadline)));
    assert_eq!(bench.election.counters().lost, 1);
}

#[test]
fn another_holder_or_a_deleted_record_ends_the_belief_at_once() {
    for (answer, reason) in [
        (Answer::NotFound, LossReason::Deleted),
        (
            Answer::Stored(Stored { record: record("b", 15), version: "7".into() }),
            LossReason::Taken("b".into()),
        ),
        (Answer::Stored(Stored { record: record("", 1), version: "7".into() }), LossReason::Taken("".into())),
        // The same identity, in a term that is not ours.
        (
            Answer::Stored(Stored { record: record("a", 15), version: "7".into() }),
            LossReason::Taken("a".into()),
        ),
    ] {
        let mut bench = Bench::new("a");
        bench.lead();
        bench.wait();
        bench.answer(Answer::Conflict);
        bench.answer(answer);
        assert!(!bench.election.leads(bench.now));
        assert!(bench.said(&lost(reason)));
    }
}

#[test]
fn a_blind_takeover_that_comes_too_late_looks_once_and_waits_again() {
    let mut bench = Bench::new("a");
    bench.read(record("b", 1));
    bench.wait();
    assert_eq!(bench.now.mono, Mono(0).after(SECOND), "at the observed expiry");
    bench.answer(Answer::Conflict);
    let renewed = LeaderRecord { renewed_us: Some(3), ..record("b", 1) };
    bench.read(renewed);
    assert!(!bench.said.iter().any(|output| matches!(output, Output::Send(..))));
    assert_eq!(bench.wait(), SECOND, "its whole duration again");
}

#[test]
fn polls_are_one_to_two_retry_periods_apart_however_they_end() {
    for answer in [Answer::Failed(Written::No), Answer::Failed(Written::Unknown)] {
        let mut bench = Bench::new("a");
        for _ in 0..200 {
            bench.answer(answer.clone());
            let waited = bench.wait();
            assert!(waited >= SECOND * 2 && waited < SECOND * 4, "{waited:?}");
        }
        assert_eq!(bench.election.counters().failed_requests, 200);
    }
}

#[test]
fn a_record_that_changes_without_end_is_not_chased_without_end() {
    let mut bench = Bench::new("a");
    bench.lead();
    let mine = bench.election.observed().unwrap().clone();
    bench.wait();
    let before = bench.election.counters().requests;
    for _ in 0..2 {
        bench.answer(Answer::Conflict);
        bench.read(mine.clone());
    }
    bench.answer(Answer::Conflict);
    assert_eq!(bench.election.counters().requests - before, 4);
    assert_eq!(bench.wait(), SECOND * 2);
    assert_eq!(bench.sent().1, Request::Get);
}

#[test]
fn a_record_without_a_usable_duration_is_given_our_own() {
    let mut bench = Bench::new("a");
    let held = LeaderRecord { lease_duration: None, ..record("b", 1) };
    bench.read(held.clone());
    while bench.now.mono < Mono(0).after(SECOND * 15) {
        assert!(!bench.election.leads(bench.now));
        bench.wait();
        if matches!(bench.said.last(), Some(Output::Send(_, Request::Get))) {
            bench.read(held.clone());
        }
    }
    bench.write();
    assert!(bench.election.leads(bench.now));
}

#[test]
fn tokens_grow_over_a_deleted_record_and_stop_at_the_greatest() {
    let mut bench = Bench::new("a");
    bench.read(LeaderRecord { transitions: 41, ..record("", 1) });
    bench.answer(Answer::NotFound);
    assert_eq!(bench.write().transitions, 42, "created anew");
    let mut bench = Bench::new("a");
    bench.read(LeaderRecord { transitions: i32::MAX as u32, ..record("", 1) });
    assert_eq!(bench.write().transitions, i32::MAX as u32);
}
