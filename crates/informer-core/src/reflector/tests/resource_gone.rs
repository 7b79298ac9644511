//! A resource that does not exist, or not any more.

use super::super::NotFoundPolicy;
use super::words::end_bookmark;
use super::*;

#[test]
fn two_answers_not_found_a_back_off_apart_delete_everything() {
    let mut bench = Bench::listed("10", "a@5 b@6");
    bench.answer(fail(FailureKind::NotFound));
    assert!(bench.deltas.is_empty(), "one may be an accident");
    assert!(bench.wait() >= Duration::from_millis(800));
    bench.answer(fail(FailureKind::NotFound));
    assert_eq!(bench.deltas, ["ReplacedAll 10 []"]);
    assert_eq!(bench.troubled_by("ResourceGone"), 1);
    assert_eq!(bench.reflector.phase(), Phase::ResourceGone);
    for _ in 0..50 {
        assert!(bench.wait() >= Duration::from_secs(30), "at the longest delay");
        assert_eq!(bench.reflector.phase(), Phase::ResourceGone);
        bench.answer(fail(FailureKind::NotFound));
    }
    assert_eq!(bench.deltas.len(), 1, "once");
    assert_eq!(bench.troubled_by("ResourceGone"), 1, "told once");
}

#[test]
fn resource_that_is_back_is_read_without_a_version() {
    for watch_list in [false, true] {
        let mut bench = Bench::new(ReflectorOptions::new().watch_list(watch_list));
        let first = if watch_list { Answer::Open(vec![end_bookmark("10")]) } else { list("10", "") };
        bench.answer(first);
        if watch_list {
            bench.pass(Duration::from_secs(2));
            bench.give(Input::Ended);
        }
        bench.answers([fail(FailureKind::NotFound), fail(FailureKind::NotFound)]);
        bench.forget();
        if watch_list {
            bench.answer(Answer::Open(vec![words::added("a@15"), end_bookmark("20")]));
            assert_eq!(bench.requests, ["WATCHLIST"]);
        } else {
            bench.answer(list("20", "a@15"));
            assert_eq!(bench.requests, ["LIST limit=500", "WATCH rv=20"]);
            bench.give(Input::Started);
        }
        assert_eq!(bench.stored(), "a@15");
        assert_eq!(bench.reflector.phase(), Phase::Watching);
        bench.pass(Duration::from_secs(2));
        assert_eq!(bench.troubled_by("Recovered"), 1);
        bench.forget();
        bench.event(WatchEvent::Error(failure(FailureKind::NotFound)));
        bench.wait();
        assert_eq!(bench.troubled_by("ResourceGone"), 0, "the count starts anew");
    }
}

#[test]
fn resource_that_never_was_deletes_nothing_and_is_waited_for() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
    bench.answers([fail(FailureKind::NotFound), fail(FailureKind::NotFound), fail(FailureKind::NotFound)]);
    assert!(bench.deltas.is_empty());
    assert_eq!(bench.troubled_by("ResourceGone"), 1);
    bench.answer(list("10", "a@5"));
    assert_eq!(bench.stored(), "a@5");
}

#[test]
fn other_failures_in_between_do_not_hide_it() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([fail(FailureKind::NotFound), fail(FailureKind::Refused), fail(FailureKind::NotFound)]);
    assert_eq!(bench.troubled_by("ResourceGone"), 1);
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([fail(FailureKind::NotFound), closed(vec![]), fail(FailureKind::NotFound)]);
    assert_eq!(bench.troubled_by("ResourceGone"), 0, "but an answer does");
}

#[test]
fn resource_may_go_again() {
    let mut bench = Bench::listed("10", "a@5");
    for version in ["20", "30", "40"] {
        bench.answers([fail(FailureKind::NotFound), fail(FailureKind::NotFound)]);
        assert_eq!(bench.stored(), "");
        bench.answer(list(version, "a@15"));
        assert_eq!(bench.stored(), "a@15");
    }
    assert_eq!(bench.troubled_by("ResourceGone"), 3);
}

#[test]
fn objects_can_be_kept() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false).not_found(NotFoundPolicy::Keep));
    bench.answers([list("10", "a@5"), fail(FailureKind::NotFound), fail(FailureKind::NotFound)]);
    assert_eq!(bench.stored(), "a@5");
    assert!(bench.wait() >= Duration::from_secs(30));
    bench.answer(list("20", ""));
    assert_eq!(bench.stored(), "");
}

#[test]
fn reflector_can_stop_when_the_resource_is_gone() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false).not_found(NotFoundPolicy::Stop));
    bench.answers([list("10", "a@5"), fail(FailureKind::NotFound), fail(FailureKind::NotFound)]);
    assert_eq!(bench.stored(), "");
    assert_eq!(bench.reflector.phase(), Phase::Stopped);
    assert_eq!(bench.timeout, None);
    bench.reflector.start(bench.now);
    bench.drain();
    bench.answer(list("20", "b@15"));
    assert_eq!(bench.stored(), "b@15");
}
