//! WatchList: the collection as the beginning of a watch, and when it is given up.

use super::words::{added, bookmark, deleted, end_bookmark, modified};
use super::*;

fn streaming() -> Bench {
    Bench::new(ReflectorOptions::new())
}

#[test]
fn initial_events_up_to_the_end_bookmark_are_stored_as_one_and_the_stream_goes_on() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![added("p2@7"), added("p1@5")]));
    assert!(bench.deltas.is_empty());
    assert_eq!(bench.reflector.phase(), Phase::WatchListing { items: 2 });
    bench.give(Input::Events(vec![end_bookmark("10"), added("p3@11")]));
    assert_eq!(bench.deltas, ["ReplacedAll 10 [p2@7 p1@5]", "Added p3@11"]);
    assert_eq!(bench.requests, ["WATCHLIST"], "one request");
    assert_eq!(bench.reflector.phase(), Phase::Watching);
}

#[test]
fn empty_collection_syncs() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![end_bookmark("10")]));
    assert_eq!(bench.deltas, ["ReplacedAll 10 []"]);
}

#[test]
fn changes_before_the_end_bookmark_are_taken_in() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![
        added("p1@5"),
        added("p2@6"),
        modified("p1@7"),
        added("p3@8"),
        deleted("p3@9"),
        end_bookmark("10"),
    ]));
    assert_eq!(bench.deltas, ["ReplacedAll 10 [p1@7 p2@6]"]);
}

#[test]
fn stream_closed_after_the_sync_is_watched_from_the_last_version() {
    let mut bench = streaming();
    bench.answers([
        short(vec![added("p1@1"), end_bookmark("2"), added("p2@3")]),
        Answer::Open(vec![added("p4@4")]),
    ]);
    assert_eq!(bench.requests, ["WATCHLIST", "WATCH rv=3"]);
    assert_eq!(bench.stored(), "p1@1 p2@3 p4@4");
}

#[test]
fn relist_is_a_watch_list_no_older_than_the_last_version() {
    let mut bench = streaming();
    bench.answers([Answer::Open(vec![
        added("a@5"),
        end_bookmark("10"),
        WatchEvent::Error(failure(FailureKind::Expired)),
    ])]);
    assert!(bench.wait() >= Duration::from_millis(800));
    bench.answer(Answer::Open(vec![end_bookmark("20")]));
    assert_eq!(bench.requests, ["WATCHLIST", "WATCHLIST rv=10"]);
    assert_eq!(bench.stored(), "");
}

#[test]
fn expired_watch_list_is_repeated_at_once_without_a_version_but_once() {
    for kind in [FailureKind::Expired, FailureKind::VersionTooLarge] {
        let mut bench = streaming();
        bench
            .answer(Answer::Open(vec![end_bookmark("10"), WatchEvent::Error(failure(FailureKind::Expired))]));
        bench.wait();
        bench.answer(fail(kind));
        assert_eq!(bench.requests[1..], ["WATCHLIST rv=10", "WATCHLIST"]);
        bench.answer(fail(kind));
        assert!(bench.in_flight.is_none(), "the second time it backs off");
    }
}

#[test]
fn too_many_requests_are_waited_for_and_never_given_up() {
    let mut bench = streaming();
    for _ in 0..9 {
        bench.answer(Answer::Fail(failure_after(FailureKind::TooManyRequests, 3)));
        assert!(bench.wait() >= Duration::from_secs(3));
    }
    bench.answer(Answer::Open(vec![end_bookmark("10")]));
    assert_eq!(bench.requests, ["WATCHLIST"; 10]);
}

#[test]
fn refused_parameters_lead_to_a_list_at_once_without_an_error() {
    let codes = [(FailureKind::Invalid, 400), (FailureKind::Invalid, 422), (FailureKind::Status, 405)];
    for (kind, code) in codes {
        let mut bench = streaming();
        bench.answer(Answer::Fail(Failure { code: Some(code), ..failure(kind) }));
        assert_eq!(bench.requests, ["WATCHLIST", "LIST rv=0 limit=500"]);
        assert!(bench.troubles.iter().all(|trouble| trouble.starts_with("WatchListGivenUp")));
        assert!(bench.reflector.last_failure().is_none() && !bench.reflector.is_failing());
        assert!(bench.reflector.watch_list_given_up().unwrap().starts_with("the server refuses it"));
        bench.answers([list("10", "a@5 b@6"), fail(FailureKind::Expired)]);
        bench.wait();
        assert_eq!(bench.requests[2..], ["WATCH rv=10", "LIST rv=10"], "and it is remembered");
    }
}

#[test]
fn given_up_watch_list_is_tried_again_after_an_hour() {
    let mut bench = streaming();
    bench.answers([fail(FailureKind::Invalid), list("10", "")]);
    let hour = Mono(bench.now.mono.0).after(Duration::from_secs(3600));
    while bench.now.mono < hour {
        bench.answer(Answer::Closed(vec![], Duration::from_secs(60)));
    }
    bench.answer(fail(FailureKind::Expired));
    bench.wait();
    assert_eq!(bench.requests.last().unwrap(), "WATCHLIST rv=10");
    assert_eq!(bench.reflector.watch_list_given_up(), None);
}

#[test]
fn silent_stream_is_given_up_after_ten_seconds() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![]));
    bench.pass(Duration::from_millis(9_990));
    assert_eq!(bench.requests.len(), 1);
    bench.pass(Duration::from_millis(10));
    assert_eq!(bench.requests, ["WATCHLIST", "LIST rv=0 limit=500"]);
    assert_eq!(bench.troubled_by("WatchListGivenUp"), 1);
    bench.answer(list("10", "a@5"));
    assert_eq!(bench.stored(), "a@5");
}

#[test]
fn initial_events_may_take_long_as_long_as_new_keys_come() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![]));
    for number in 0..100 {
        bench.pass(Duration::from_secs(9));
        bench.event(added(&format!("p{number}@5")));
    }
    assert_eq!(bench.reflector.phase(), Phase::WatchListing { items: 100 });
    for _ in 0..9 {
        bench.pass(Duration::from_secs(1));
        bench.event(added("p1@5"));
        bench.give(Input::Alive);
    }
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.requests.len(), 2, "but old ones do not count");
}

#[test]
fn stream_that_has_gone_live_without_the_bookmark_is_given_up() {
    for live in [modified("p1@9"), deleted("p1@9"), bookmark("9")] {
        let mut bench = streaming();
        bench.answer(Answer::Open(vec![added("p1@5"), live]));
        for number in 0..9 {
            bench.pass(Duration::from_secs(1));
            bench.event(added(&format!("new{number}@10")));
        }
        assert_eq!(bench.requests.len(), 1);
        bench.pass(Duration::from_secs(1));
        assert_eq!(bench.requests[1], "LIST rv=0 limit=500", "though new keys come");
    }
}

#[test]
fn streams_that_end_before_the_bookmark_back_off_and_are_given_up_after_three() {
    let mut bench = streaming();
    bench.answer(short(vec![added("a@5")]));
    assert!(bench.wait() >= Duration::from_millis(800));
    bench.answer(Answer::Broken(vec![added("a@5")], FailureKind::Transport));
    assert!(bench.wait() >= Duration::from_millis(1_600));
    bench.answer(short(vec![]));
    bench.answer(list("10", "a@5"));
    assert_eq!(bench.requests, ["WATCHLIST", "WATCHLIST", "WATCHLIST", "LIST rv=0 limit=500", "WATCH rv=10"]);
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5]"]);
}

#[test]
fn early_ends_are_counted_anew_after_a_sync() {
    let mut bench = streaming();
    for version in ["10", "20", "30"] {
        let end = vec![end_bookmark(version), WatchEvent::Error(failure(FailureKind::Expired))];
        bench.answers([short(vec![]), short(vec![]), Answer::Open(end)]);
    }
    assert_eq!(bench.count("LIST"), 0);
}

#[test]
fn refusal_in_the_stream_leads_to_a_list_at_once() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![WatchEvent::Error(failure(FailureKind::Invalid))]));
    assert_eq!(bench.requests, ["WATCHLIST", "LIST rv=0 limit=500"]);
}

#[test]
fn silence_counts_from_the_answer_and_from_the_last_new_key() {
    let mut bench = streaming();
    bench.pass(Duration::from_secs(20));
    bench.answer(Answer::Open(vec![]));
    bench.pass(Duration::from_secs(9));
    assert_eq!(bench.requests.len(), 1, "a slow answer is not a silent stream");
    bench.event(added("a@5"));
    bench.pass(Duration::from_secs(9));
    bench.event(modified("a@6"));
    assert_eq!(bench.requests.len(), 1);
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.requests.len(), 2, "a live event gives no more time");
}

#[test]
fn stream_that_ended_early_starts_again_from_nothing() {
    let mut bench = streaming();
    bench.answers([short(vec![added("old@5")]), Answer::Open(vec![added("new@6"), end_bookmark("10")])]);
    assert_eq!(bench.deltas, ["ReplacedAll 10 [new@6]"]);
}

#[test]
fn proxy_that_holds_streams_back_is_given_up() {
    let mut bench = streaming();
    for _ in 0..3 {
        bench.wait();
        bench.pass(Duration::from_secs(30));
    }
    bench.answer(list("10", ""));
    assert_eq!(bench.count("WATCHLIST"), 3);
    assert_eq!(bench.count("LIST"), 1);
    assert!(bench.reflector.watch_list_given_up().is_some());
}

#[test]
fn errors_are_retried_and_after_three_a_list_gets_its_chance() {
    for kind in [FailureKind::Forbidden, FailureKind::Internal, FailureKind::Transport, FailureKind::Status] {
        let mut bench = streaming();
        for attempt in 0..3 {
            bench.answer(fail(kind));
            assert!(bench.wait() >= Duration::from_millis(800 << attempt), "after a back-off");
        }
        bench.answer(list("10", "a@5"));
        assert_eq!(
            bench.requests,
            ["WATCHLIST", "WATCHLIST", "WATCHLIST", "LIST rv=0 limit=500", "WATCH rv=10"]
        );
        assert_eq!(bench.reflector.watch_list_given_up(), None, "an outage is not its fault");
    }
}

#[test]
fn errors_are_counted_anew_after_a_sync() {
    let mut bench = streaming();
    for version in ["10", "20", "30"] {
        let end = vec![end_bookmark(version), WatchEvent::Error(failure(FailureKind::Expired))];
        bench.answers([fail(FailureKind::Internal), fail(FailureKind::Transport), Answer::Open(end)]);
    }
    assert_eq!(bench.count("LIST"), 0);
}

#[test]
fn in_an_outage_both_ways_are_tried_in_turn() {
    let mut bench = streaming();
    for _ in 0..8 {
        bench.answer(fail(FailureKind::Internal));
    }
    assert_eq!(bench.requests[2..], ["WATCHLIST", "LIST rv=0 limit=500"].repeat(3));
}

#[test]
fn undecodable_and_unreadable_initial_objects() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![
        added("~a@5"),
        added("b@6"),
        modified("~b@7"),
        added("!"),
        end_bookmark("10"),
    ]));
    assert_eq!(bench.deltas, ["ReplacedAll 10 [~a@5 b@6] incomplete", "Undecodable b@7"]);
    assert_eq!(bench.stored(), "b@~6", "the older state in hand, marked stale");
}

#[test]
fn deletion_of_an_unknown_object_starts_again() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![added("a@5"), deleted("!"), end_bookmark("10")]));
    assert!(bench.deltas.is_empty());
    bench.answer(Answer::Open(vec![end_bookmark("11")]));
    assert_eq!(bench.deltas, ["ReplacedAll 11 []"]);
}

#[test]
fn end_bookmark_older_than_the_version_asked_for_is_not_believed() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![
        added("a@5"),
        end_bookmark("10"),
        WatchEvent::Error(failure(FailureKind::Expired)),
    ]));
    bench.answer(Answer::Open(vec![end_bookmark("9")]));
    assert_eq!(bench.requests[1..], ["WATCHLIST rv=10", "WATCHLIST"]);
    assert_eq!(bench.stored(), "a@5");
}

#[test]
fn end_bookmark_without_a_version_syncs() {
    let mut bench = streaming();
    bench.answer(Answer::Open(vec![added("a@5"), end_bookmark(""), modified("a@7")]));
    assert_eq!(bench.deltas, ["ReplacedAll 0 [a@5]", "Updated a@7"]);
    assert_eq!(bench.troubles, ["MissingVersion"]);
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "7");
}
