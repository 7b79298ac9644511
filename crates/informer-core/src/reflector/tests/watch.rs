//! What events become, and how streams end.

use super::words::{added, bookmark, deleted, modified, unknown};
use super::*;

#[test]
fn events_are_stored_in_order_and_their_versions_recorded() {
    let mut bench = Bench::listed("10", "a@5");
    for (event, version) in
        [(added("b@10"), "10"), (modified("a@20"), "20"), (bookmark("30"), "30"), (deleted("b@40"), "40")]
    {
        bench.event(event);
        assert_eq!(bench.reflector.last_version().unwrap().to_string(), version);
    }
    assert_eq!(bench.deltas, ["Added b@10", "Updated a@20", "Bookmark 30", "Deleted b@40"]);
    assert!(bench.troubles.is_empty(), "an equal version is allowed");
}

#[test]
fn delete_between_list_and_watch_is_delivered() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
    bench.answer(list("10", "a@5"));
    assert_eq!(bench.requests.last().unwrap(), "WATCH rv=10");
    bench.event(deleted("a@11"));
    assert_eq!(bench.stored(), "");
}

#[test]
fn deleted_and_created_again_is_two_deltas() {
    let mut bench = Bench::listed("10", "x@5");
    bench.give(Input::Events(vec![deleted("x@11"), added("x@12")]));
    assert_eq!(bench.deltas, ["Deleted x@11", "Added x@12"]);
}

#[test]
fn stream_that_ends_in_order_is_watched_again_at_once_from_the_last_version() {
    let mut bench = Bench::listed("10", "a@5");
    for version in ["11", "12", "13", "14"] {
        bench.answer(closed(vec![bookmark(version)]));
        assert_eq!(*bench.requests.last().unwrap(), format!("WATCH rv={version}"));
    }
    assert_eq!(bench.count("LIST"), 0);
    assert!(bench.troubles.is_empty());
}

#[test]
fn empty_stream_that_lived_is_watched_again_at_once() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(Answer::Closed(vec![], Duration::from_secs(1)));
    assert!(bench.in_flight.is_some());
    assert!(bench.troubles.is_empty());
}

#[test]
fn brief_streams_with_events_are_watched_again_at_once_but_not_for_ever() {
    let mut bench = Bench::listed("10", "a@5");
    let start = bench.now.mono;
    for version in 11..200 {
        bench.answer(short(vec![bookmark(&version.to_string())]));
    }
    assert!(bench.now.mono.since(start) > Duration::from_secs(30 * 150));
    assert_eq!(bench.count("LIST"), 0);
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(short(vec![modified("a@11")]));
    assert_eq!(bench.wait(), Duration::ZERO);
}

#[test]
fn streams_that_repeat_the_last_version_and_end_are_no_hot_loop() {
    let mut bench = Bench::listed("10", "a@5");
    let start = bench.now.mono;
    for _ in 0..100 {
        bench.answer(short(vec![bookmark("10")]));
    }
    assert!(bench.now.mono.since(start) > Duration::from_secs(30 * 90));
}

#[test]
fn broken_stream_is_watched_again_without_a_list() {
    for kind in [FailureKind::Transport, FailureKind::Refused, FailureKind::HeadersTimeout] {
        let mut bench = Bench::listed("10", "a@5");
        bench.answer(Answer::Broken(vec![added("b@11")], kind));
        assert!(bench.wait() >= Duration::from_millis(800), "after a back-off");
        assert_eq!(bench.requests, ["WATCH rv=11"]);
        assert_eq!(bench.deltas, ["Added b@11"]);
    }
}

#[test]
fn error_in_the_stream_is_watched_again_without_a_list() {
    for kind in
        [FailureKind::Internal, FailureKind::Status, FailureKind::Forbidden, FailureKind::Unauthorized]
    {
        let mut bench = Bench::listed("10", "a@5");
        bench.answer(Answer::Open(vec![added("b@11"), WatchEvent::Error(failure(kind))]));
        assert!(bench.in_flight.is_none(), "the stream is left");
        assert!(bench.wait() >= Duration::from_millis(800));
        assert_eq!(bench.requests, ["WATCH rv=11"]);
    }
}

#[test]
fn unknown_event_is_skipped_and_told_once_a_type() {
    let mut bench = Bench::listed("10", "a@5");
    bench.give(Input::Events(vec![
        unknown("FOO", "11"),
        unknown("FOO", "12"),
        added("b@13"),
        unknown("BAR", "9"),
    ]));
    assert_eq!(bench.deltas, ["Added b@13"]);
    assert_eq!(bench.troubled_by("UnknownEvent"), 2);
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "13");
    for kind in 0..1_000 {
        bench.event(unknown(&kind.to_string(), "14"));
    }
    assert!(
        bench.troubled_by("UnknownEvent") <= 16,
        "a server that invents types is not remembered for ever"
    );
}

#[test]
fn undecodable_event_marks_the_object_and_moves_on() {
    let mut bench = Bench::listed("10", "a@5");
    bench.give(Input::Events(vec![modified("~a@11"), added("~b@12"), added("c@13")]));
    assert_eq!(bench.deltas, ["Undecodable a@11", "Undecodable b@12", "Added c@13"]);
    assert_eq!(bench.troubled_by("Undecodable"), 2);
    assert_eq!(bench.stored(), "a@~5 c@13");
}

#[test]
fn undecodable_deletion_is_a_deletion_without_a_last_state() {
    let mut bench = Bench::listed("10", "a@5");
    bench.event(deleted("~a@11"));
    assert_eq!(bench.deltas, ["Deleted a@11 (unknown)"]);
}

#[test]
fn unchanged_event_only_moves_the_version() {
    let mut bench = Bench::listed("10", "a@10");
    bench.event(modified("=a@10"));
    assert_eq!(bench.deltas, ["Bookmark 10"]);
}

#[test]
fn silent_stream_is_watched_again_at_once_and_is_no_error() {
    let mut bench = Bench::listed("10", "a@5");
    bench.give(Input::Started);
    for _ in 0..20 {
        bench.pass(Duration::from_secs(59));
        bench.give(Input::Alive);
    }
    assert!(bench.requests.is_empty(), "bytes are life");
    for _ in 0..5 {
        let before = bench.now.mono;
        let count = bench.requests.len();
        while bench.requests.len() == count {
            bench.pass(Duration::from_secs(1));
        }
        let silence = bench.now.mono.since(before);
        assert!(silence >= Duration::from_secs(60) && silence <= Duration::from_secs(91), "{silence:?}");
        bench.give(Input::Started);
    }
    assert_eq!(bench.requests, ["WATCH rv=10"; 5]);
    assert!(bench.troubles.is_empty());
    assert!(!bench.reflector.is_failing());
}

#[test]
fn silence_claimed_too_soon_backs_off() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(Answer::Broken(vec![], FailureKind::Idle));
    assert!(bench.wait() >= Duration::from_millis(800));
    assert_eq!(bench.requests, ["WATCH rv=10"]);
}

#[test]
fn idle_deadlines_differ() {
    let mut silences = Vec::new();
    for seed in 0..20 {
        let mut bench = Bench::seeded(ReflectorOptions::new().watch_list(false), seed);
        bench.answer(list("10", ""));
        bench.give(Input::Started);
        let before = bench.now.mono;
        while bench.requests.len() < 3 {
            bench.now.mono = bench.timeout.unwrap();
            bench.drain();
        }
        silences.push(bench.now.mono.since(before));
    }
    silences.sort();
    silences.dedup();
    assert!(silences.len() > 15);
    assert!(silences[0] >= Duration::from_secs(60) && *silences.last().unwrap() < Duration::from_secs(90));
}

#[test]
fn watch_without_an_answer_fails_after_the_headers_deadline() {
    let mut bench = Bench::listed("10", "a@5");
    bench.pass(Duration::from_secs(30));
    assert_eq!(bench.troubles, ["RequestFailed watch HeadersTimeout"]);
    assert!(bench.wait() >= Duration::from_millis(800));
    assert_eq!(bench.requests, ["WATCH rv=10"]);
}

#[test]
fn watch_timeout_is_five_to_ten_minutes_in_whole_seconds() {
    let timeouts = |options: ReflectorOptions| {
        let mut timeouts = Vec::new();
        for seed in 0..300 {
            let mut bench = Bench::seeded(options.clone().watch_list(false), seed);
            bench.answer(list("10", ""));
            let Some((_, Request::Watch(watch))) = &bench.in_flight else {
                panic!("a list is followed by a watch")
            };
            assert_eq!(watch.timeout.subsec_nanos(), 0);
            timeouts.push(watch.timeout.as_secs());
        }
        (*timeouts.iter().min().unwrap(), *timeouts.iter().max().unwrap())
    };
    let default = timeouts(ReflectorOptions::new());
    assert!(default.0 >= 300 && default.0 < 310 && default.1 <= 600 && default.1 > 590, "{default:?}");
    let short = timeouts(ReflectorOptions::new().watch_timeout(Duration::from_secs(1)));
    assert_eq!(short, default);
    let long = timeouts(ReflectorOptions::new().watch_timeout(Duration::from_secs(1800)));
    assert!(long.0 >= 1800 && long.1 <= 3600 && long.1 > 3500, "{long:?}");
    timeouts(ReflectorOptions::new().watch_timeout(Duration::MAX));
}

#[test]
fn what_arrives_late_for_an_abandoned_request_is_dropped() {
    let mut bench = Bench::listed("10", "a@5");
    let (old, _) = bench.in_flight.clone().unwrap();
    bench.give(Input::Started);
    bench.pass(Duration::from_secs(91));
    bench.forget();
    for input in [
        Input::Events(vec![added("b@11")]),
        Input::Failed(failure(FailureKind::Expired)),
        Input::Ended,
        Input::ListEnd(ListEnd::default()),
        Input::Started,
    ] {
        bench.reflector.handle(bench.now, old, input);
        bench.drain();
    }
    assert!(bench.deltas.is_empty() && bench.requests.is_empty() && bench.troubles.is_empty());
}

#[test]
fn stopped_reflector_sends_nothing_and_hears_nothing() {
    let mut bench = Bench::listed("10", "a@5");
    let (id, _) = bench.in_flight.clone().unwrap();
    bench.reflector.stop(bench.now);
    bench.reflector.stop(bench.now);
    bench.drain();
    bench.reflector.handle(bench.now, id, Input::Events(vec![added("b@11")]));
    bench.pass(Duration::from_secs(3600));
    assert!(bench.requests.is_empty() && bench.deltas.is_empty());
    assert_eq!(bench.reflector.phase(), Phase::Stopped);
}

#[test]
fn deltas_decided_before_a_stop_are_still_drained() {
    let mut bench = Bench::listed("10", "a@5");
    let (id, _) = bench.in_flight.clone().unwrap();
    bench.reflector.handle(bench.now, id, Input::Events(vec![added("b@11")]));
    bench.reflector.stop(bench.now);
    bench.drain();
    assert_eq!(bench.deltas, ["Added b@11"]);
}
