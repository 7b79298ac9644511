//! When the version is lost, and what is asked for then.

use super::words::{added, bookmark, modified};
use super::*;

#[test]
fn expired_as_a_status_of_the_watch_relists_at_the_last_version() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(fail(FailureKind::Expired));
    assert!(bench.wait() >= Duration::from_millis(800), "after one back-off");
    bench.answer(list("99", "a@50"));
    assert_eq!(bench.requests, ["LIST rv=10", "WATCH rv=99"]);
}

#[test]
fn expired_in_the_stream_relists_as_the_status_does() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(Answer::Open(vec![
        added("b@11"),
        WatchEvent::Error(failure(FailureKind::Expired)),
        added("c@12"),
    ]));
    assert!(bench.wait() >= Duration::from_millis(800));
    bench.answer(list("99", "a@50"));
    assert_eq!(bench.requests, ["LIST rv=11", "WATCH rv=99"]);
    assert_eq!(bench.deltas, ["Added b@11", "ReplacedAll 99 [a@50]"], "nothing after the error counts");
}

#[test]
fn expired_list_is_repeated_at_once_without_a_version() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answer(fail(FailureKind::Expired));
    bench.wait();
    let asked_at = bench.now.mono;
    bench.answer(fail(FailureKind::Expired));
    assert_eq!(bench.now.mono, asked_at);
    bench.answer(list("30", "b@20"));
    assert_eq!(bench.requests, ["LIST rv=10", "LIST limit=500", "WATCH rv=30"]);
    assert_eq!(bench.stored(), "b@20");
}

#[test]
fn second_expired_in_a_row_backs_off() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([fail(FailureKind::Expired), fail(FailureKind::Expired), fail(FailureKind::Expired)]);
    assert!(bench.wait() >= Duration::from_millis(1_600));
    assert_eq!(bench.requests, ["LIST rv=10", "LIST limit=500", "LIST limit=500"]);
}

#[test]
fn version_too_large_is_repeated_without_a_version_each_time() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
    bench.answer(list("20", ""));
    for version in ["30", "40", "50"] {
        bench.answers([fail(FailureKind::Expired), fail(FailureKind::VersionTooLarge)]);
        assert!(bench.in_flight.is_some(), "at once");
        bench.answer(list(version, ""));
    }
    let lists: Vec<_> = bench.requests.iter().filter(|request| request.starts_with("LIST")).collect();
    assert_eq!(
        lists,
        [
            "LIST rv=0 limit=500",
            "LIST rv=20",
            "LIST limit=500",
            "LIST rv=30",
            "LIST limit=500",
            "LIST rv=40",
            "LIST limit=500"
        ]
    );
}

#[test]
fn server_behind_our_version_is_believed_once_it_answers_a_consistent_read() {
    let mut bench = Bench::listed("500", "a@490 b@495");
    bench.answers([
        fail(FailureKind::VersionTooLarge),
        fail(FailureKind::VersionTooLarge),
        list("400", "a@390"),
    ]);
    assert_eq!(bench.requests, ["LIST rv=500", "LIST limit=500", "WATCH rv=400"]);
    assert_eq!(bench.stored(), "a@390");
    assert_eq!(bench.troubles.last().unwrap(), "OlderList { seen: 500, got: 400 }");
}

#[test]
fn relist_never_accepts_an_older_state_than_it_asked_for() {
    let mut bench = Bench::listed("50", "a@45");
    bench.answers([fail(FailureKind::Expired), list("30", "a@20")]);
    assert!(bench.deltas.is_empty(), "no time travel");
    assert_eq!(bench.requests, ["LIST rv=50", "LIST limit=500"]);
    bench.answer(list("60", "a@45"));
    assert_eq!(bench.deltas, ["ReplacedAll 60 [a@45]"]);
}

#[test]
fn first_list_that_expires_is_repeated_without_a_version() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
    bench.answers([fail(FailureKind::Expired), list("10", "a@5")]);
    assert_eq!(bench.requests, ["LIST rv=0 limit=500", "LIST limit=500", "WATCH rv=10"]);
}

#[test]
fn version_that_expires_again_and_again_is_dropped() {
    let mut bench = Bench::listed("10", "");
    bench.answers([fail(FailureKind::Expired), list("10", ""), fail(FailureKind::Expired)]);
    bench.wait();
    assert_eq!(bench.requests, ["LIST rv=10", "WATCH rv=10", "LIST limit=500"]);
}

#[test]
fn object_removed_in_a_gap_is_absent_from_the_replacement() {
    let mut bench = Bench::listed("10", "c1@5 c2@6");
    bench
        .answers([Answer::Open(vec![WatchEvent::Error(failure(FailureKind::Expired))]), list("12", "=c2@6")]);
    assert_eq!(bench.deltas, ["ReplacedAll 12 [=c2@6]"]);
    assert_eq!(bench.stored(), "c2@6");
}

#[test]
fn short_watches_back_off_and_relist_only_after_three() {
    let mut bench = Bench::listed("10", "a@5");
    for count in 1..=3 {
        bench.answer(short(vec![]));
        assert_eq!(*bench.troubles.last().unwrap(), format!("ShortWatches {{ count: {count} }}"));
        assert!(bench.wait() >= Duration::from_millis(400 << count), "a back-off that grows");
    }
    assert_eq!(bench.requests, ["WATCH rv=10", "WATCH rv=10", "LIST rv=10"]);
    assert!(bench.reflector.is_failing());
}

#[test]
fn short_watches_with_something_in_between_do_not_relist() {
    let mut bench = Bench::listed("10", "a@5");
    for _ in 0..4 {
        bench.answers([short(vec![]), short(vec![]), closed(vec![])]);
    }
    assert_eq!(bench.count("LIST"), 0);
}

#[test]
fn error_that_does_not_go_away_relists() {
    let internal = || Answer::Open(vec![WatchEvent::Error(failure(FailureKind::Internal))]);
    let mut bench = Bench::listed("10", "a@5 corrupt@6");
    bench.answers([internal(), internal()]);
    bench.wait();
    assert_eq!(bench.requests, ["WATCH rv=10", "WATCH rv=10"], "the version is good: no list yet");
    bench.answers([internal(), list("12", "=a@5")]);
    assert_eq!(bench.stored(), "a@5", "the corrupt object is gone, the other is kept");
}

#[test]
fn errors_with_progress_in_between_do_not_relist() {
    let mut bench = Bench::listed("10", "a@5");
    for version in 11..30 {
        bench.answer(Answer::Open(vec![
            modified(&format!("a@{version}")),
            WatchEvent::Error(failure(FailureKind::Internal)),
        ]));
    }
    assert_eq!(bench.count("LIST"), 0);
}

#[test]
fn malformed_line_is_never_skipped() {
    let mut bench = Bench::listed("10", "a@5");
    let broken = || vec![WatchEvent::Malformed("not json".into()), bookmark("20")];
    bench.answers([Answer::Open(broken()), Answer::Open(broken())]);
    bench.wait();
    assert_eq!(bench.requests, ["WATCH rv=10", "WATCH rv=10"]);
    assert_eq!(bench.troubled_by("Unreadable"), 2);
    bench.answer(Answer::Open(broken()));
    bench.wait();
    assert_eq!(bench.requests.last().unwrap(), "LIST rv=10");
}

#[test]
fn oversized_line_that_comes_again_relists() {
    let mut bench = Bench::listed("10", "a@5");
    for _ in 0..3 {
        bench.answer(Answer::Broken(vec![], FailureKind::LimitExceeded));
    }
    bench.wait();
    assert_eq!(bench.requests, ["WATCH rv=10", "WATCH rv=10", "LIST rv=10"]);
}

#[test]
fn change_of_an_unknown_object_relists() {
    for event in [added("!"), modified("!"), words::deleted("!")] {
        let mut bench = Bench::listed("10", "a@5");
        bench.event(event);
        assert!(bench.in_flight.is_none(), "aborted");
        assert_eq!(bench.troubled_by("Unreadable"), 1);
        bench.answer(list("12", ""));
        assert_eq!(bench.requests, ["LIST rv=10", "WATCH rv=12"]);
        assert_eq!(bench.stored(), "");
    }
}

#[test]
fn rejected_version_is_lost() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([fail(FailureKind::Invalid), fail(FailureKind::Invalid), list("12", "")]);
    assert_eq!(bench.requests, ["LIST rv=10", "LIST limit=500", "WATCH rv=12"]);
}

#[test]
fn restart_relists_at_the_last_version() {
    let mut bench = Bench::listed("10", "a@5 b@6");
    bench.event(added("c@11"));
    bench.reflector.stop(bench.now);
    bench.drain();
    assert!(bench.in_flight.is_none(), "aborted");
    assert_eq!(bench.timeout, None);
    assert_eq!(bench.stored(), "a@5 b@6 c@11", "the cache is kept");
    bench.reflector.start(bench.now);
    bench.reflector.start(bench.now);
    bench.drain();
    bench.answer(list("20", "=a@5 d@15"));
    assert_eq!(bench.requests, ["LIST rv=11", "WATCH rv=20"]);
    assert_eq!(bench.stored(), "a@5 d@15");
}
