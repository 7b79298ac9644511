//! Versions that go back, are opaque, or start from nothing.

use super::words::{added, bookmark, modified};
use super::*;

#[test]
fn event_older_than_the_last_is_reported_and_relists() {
    let mut bench = Bench::listed("10", "a@5");
    bench.give(Input::Events(vec![modified("a@55"), added("b@32"), added("c@56")]));
    assert_eq!(bench.deltas, ["Updated a@55"], "nothing of a broken stream is believed");
    assert_eq!(bench.troubles[0], "VersionWentBack { key: b, seen: 55, got: 32 }");
    assert!(bench.wait() >= Duration::from_millis(800), "a broken server is not hammered");
    assert_eq!(bench.requests, ["LIST rv=55"]);
}

#[test]
fn bookmark_older_than_the_last_is_reported_and_relists() {
    let mut bench = Bench::listed("10", "a@5");
    bench.give(Input::Events(vec![bookmark("20"), bookmark("19")]));
    assert_eq!(bench.troubles[0], "BookmarkWentBack { seen: 20, got: 19 }");
    bench.wait();
    assert_eq!(bench.requests, ["LIST rv=20"]);
}

#[test]
fn rewatch_that_replays_older_events_relists() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([closed(vec![modified("a@20")]), Answer::Open(vec![modified("a@15")])]);
    bench.wait();
    assert_eq!(bench.requests, ["WATCH rv=20", "LIST rv=20"]);
}

#[test]
fn opaque_versions_are_told_once_and_never_compared() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false));
    bench.answer(list("zz-9", "a@zz-5"));
    bench.give(Input::Events(vec![
        modified("a@zz-3"),
        added("b@aa-1"),
        bookmark("mm"),
        added("c@7"),
        added("d@6"),
    ]));
    assert_eq!(bench.troubles, ["OpaqueVersions"]);
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "6");
    bench.pass(Duration::from_secs(2));
    bench.give(Input::Ended);
    assert_eq!(bench.requests.last().unwrap(), "WATCH rv=6", "but they are sent back");
}

#[test]
fn versions_can_be_declared_opaque() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false).opaque_versions(true));
    bench.answer(list("10", ""));
    bench.give(Input::Events(vec![added("a@12"), added("b@11")]));
    assert_eq!(bench.deltas[1..], ["Added a@12", "Added b@11"]);
    assert!(bench.troubles.is_empty());
}

#[test]
fn object_without_a_version_does_not_lose_the_last_one() {
    let mut bench = Bench::listed("10", "");
    bench.give(Input::Events(vec![added("a@"), bookmark("")]));
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "10");
    assert_eq!(bench.deltas, ["Added a@"]);
}

#[test]
fn watch_from_zero_records_only_from_the_first_event_in_order() {
    let mut bench = Bench::listed("0", "");
    bench.answer(Answer::Open(vec![added("a@9"), added("b@3"), words::unknown("FOO", "")]));
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "0");
    bench.give(Input::Events(vec![added("c@10"), modified("a@11")]));
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "11");
    assert!(bench.troubles.iter().all(|trouble| trouble.starts_with("UnknownEvent")));
}

#[test]
fn unchanged_event_in_no_order_does_not_move_the_store() {
    let mut bench = Bench::listed("0", "a@9");
    bench.answer(Answer::Open(vec![added("=a@9")]));
    assert!(bench.deltas.is_empty());
}

#[test]
fn versions_beyond_64_bits_are_ordered() {
    let mut bench = Bench::listed("99999999999999999999998", "");
    bench.event(added("a@99999999999999999999999"));
    bench.event(added("b@100000000000000000000000"));
    assert!(bench.troubles.is_empty());
    bench.event(added("c@99999999999999999999999"));
    assert_eq!(bench.troubled_by("VersionWentBack"), 1);
}
