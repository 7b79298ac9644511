//! Which LISTs are sent, and what becomes of their pages.

use super::words::bookmark;
use super::*;

fn listing() -> Bench {
    Bench::new(ReflectorOptions::new().watch_list(false))
}

#[test]
fn first_list_takes_any_version_in_pages_and_the_watch_starts_at_its_version() {
    let mut bench = listing();
    bench.answer(list("10", "a@5 b@6"));
    assert_eq!(bench.requests, ["LIST rv=0 limit=500", "WATCH rv=10"]);
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5 b@6]"]);
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "10");
    assert!(bench.reflector.has_listed());
    assert_eq!(bench.reflector.phase(), Phase::Watching);
}

#[test]
fn consistent_first_list_names_no_version() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false).consistent_first_list(true));
    bench.answer(list("10", "a@5"));
    assert_eq!(bench.requests, ["LIST limit=500", "WATCH rv=10"]);
}

#[test]
fn empty_list_syncs() {
    let mut bench = listing();
    bench.answer(list("10", ""));
    assert_eq!(bench.deltas, ["ReplacedAll 10 []"]);
}

#[test]
fn pages_are_asked_for_without_a_version_and_stored_as_one() {
    let mut bench = listing();
    bench.answer(page("10", "a@5 b@6", "t1"));
    assert!(bench.deltas.is_empty(), "never a partial store");
    assert_eq!(bench.reflector.phase(), Phase::Listing { items: 2, total: None });
    bench.answers([page("10", "c@7", "t2"), list("10", "d@8")]);
    assert_eq!(
        bench.requests,
        ["LIST rv=0 limit=500", "LIST limit=500 continue=t1", "LIST limit=500 continue=t2", "WATCH rv=10"]
    );
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5 b@6 c@7 d@8]"]);
}

#[test]
fn remaining_items_give_the_total() {
    let mut bench = listing();
    bench.give(Input::Started);
    bench.give(Input::Items(items("a@1 b@2")));
    bench.give(Input::ListEnd(ListEnd {
        version: Some(9.into()),
        continue_token: Some("t".into()),
        remaining: Some(5),
    }));
    assert_eq!(bench.reflector.phase(), Phase::Listing { items: 2, total: Some(7) });
}

#[test]
fn merged_list_has_the_version_of_its_first_page() {
    let mut bench = listing();
    bench.answers([page("10", "a@5", "t1"), list("12", "b@11")]);
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5 b@11]"]);
    assert_eq!(bench.requests.last().unwrap(), "WATCH rv=10");
}

#[test]
fn relist_at_the_last_version_is_not_paged() {
    let mut bench = Bench::listed("10", "a@5");
    bench.answers([fail(FailureKind::Expired), list("12", "a@5")]);
    assert_eq!(bench.requests, ["LIST rv=10", "WATCH rv=12"]);
}

#[test]
fn relist_is_paged_if_the_first_list_came_in_pages() {
    let mut bench = listing();
    bench.answers([page("10", "a@5", "t1"), list("10", "b@6"), fail(FailureKind::Expired), list("12", "")]);
    assert_eq!(bench.requests[3..], ["LIST rv=10 limit=500", "WATCH rv=12"]);
}

#[test]
fn explicit_page_size_is_used_for_every_list() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false).page_size(4));
    bench.answers([
        page("10", "a@1 b@2 c@3 d@4", "t1"),
        page("10", "e@5 f@6 g@7 h@8", "t2"),
        list("10", "i@9 j@10"),
        fail(FailureKind::Expired),
        list("11", ""),
    ]);
    assert_eq!(
        bench.requests,
        [
            "LIST rv=0 limit=4",
            "LIST limit=4 continue=t1",
            "LIST limit=4 continue=t2",
            "WATCH rv=10",
            "LIST rv=10 limit=4",
            "WATCH rv=11"
        ]
    );
}

#[test]
fn expired_continue_token_leads_to_one_full_list_at_the_version_first_asked_for() {
    let mut bench = Bench::new(ReflectorOptions::new().watch_list(false).page_size(4));
    bench.answers([list("10", "x@1"), fail(FailureKind::Expired), page("20", "a@1 b@2 c@3 d@4", "t1")]);
    bench.forget();
    bench.answer(fail(FailureKind::Expired));
    assert_eq!(bench.requests, ["LIST rv=10"], "at once");
    assert!(bench.deltas.is_empty(), "never a partial store");
    bench.answer(list("20", "a@1 b@2 c@3 d@4 e@5 f@6 g@7 h@8"));
    assert_eq!(bench.deltas, ["ReplacedAll 20 [a@1 b@2 c@3 d@4 e@5 f@6 g@7 h@8]"], "no duplicates");
}

#[test]
fn expired_continue_token_of_the_first_list_leads_to_a_full_list() {
    let mut bench = listing();
    bench.answers([page("10", "a@5", "t1"), fail(FailureKind::Expired), list("11", "a@5 b@6")]);
    assert_eq!(
        bench.requests,
        ["LIST rv=0 limit=500", "LIST limit=500 continue=t1", "LIST rv=0", "WATCH rv=11"]
    );
    assert_eq!(bench.deltas, ["ReplacedAll 11 [a@5 b@6]"]);
}

#[test]
fn page_that_breaks_is_asked_for_again_and_has_no_duplicates() {
    let mut bench = listing();
    bench.answers([
        page("10", "a@5", "t1"),
        Answer::BrokenList { items: "b@6 !", kind: FailureKind::Transport },
        list("10", "b@6 c@7"),
    ]);
    assert_eq!(bench.requests[2], "LIST limit=250 continue=t1", "a smaller page");
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5 b@6 c@7]"], "and complete");
}

#[test]
fn page_that_breaks_again_and_again_starts_the_list_anew() {
    let mut bench = listing();
    bench.answer(page("10", "a@5", "t1"));
    for _ in 0..3 {
        bench.answer(Answer::BrokenList { items: "b@6", kind: FailureKind::Transport });
    }
    bench.answer(list("10", "a@5 b@6"));
    assert_eq!(bench.requests[4], "LIST rv=0 limit=62");
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5 b@6]"]);
}

#[test]
fn each_page_has_its_own_attempts() {
    let mut bench = listing();
    bench.answer(page("10", "a@5", "t1"));
    for token in ["t2", "t3", "t4"] {
        for _ in 0..2 {
            bench.answer(Answer::BrokenList { items: "b@6", kind: FailureKind::Transport });
        }
        for _ in 0..5 {
            bench.answer(fail(FailureKind::TooManyRequests));
        }
        bench.answer(page("10", "b@6", token));
    }
    assert_eq!(bench.requests.iter().filter(|request| !request.contains("continue")).count(), 1);
}

#[test]
fn list_that_breaks_midway_is_retried_with_smaller_pages_which_recover() {
    let mut bench = listing();
    for _ in 0..5 {
        bench.answer(Answer::BrokenList { items: "a@5", kind: FailureKind::Transport });
    }
    bench.wait();
    assert_eq!(
        bench.requests,
        [500, 250, 125, 62, 50, 50].map(|size| format!("LIST rv=0 limit={size}")),
        "halved, but not below 50"
    );
    assert_eq!(bench.reflector.last_failure().unwrap().kind, FailureKind::Transport, "the cause is visible");
    assert!(bench.deltas.is_empty());
    bench.forget();
    for version in ["10", "11", "12", "13", "14"] {
        bench.answers([list(version, "a@5"), fail(FailureKind::Expired)]);
    }
    bench.wait();
    let lists: Vec<_> = bench.requests.iter().filter(|request| request.starts_with("LIST")).collect();
    assert_eq!(
        lists,
        ["LIST rv=10 limit=100", "LIST rv=11 limit=200", "LIST rv=12 limit=400", "LIST rv=13", "LIST rv=14"]
    );
}

#[test]
fn list_that_falls_silent_is_retried() {
    let mut bench = listing();
    bench.give(Input::Started);
    bench.give(Input::Items(items("a@5")));
    bench.pass(Duration::from_secs(59));
    bench.give(Input::Alive);
    bench.pass(Duration::from_secs(59));
    assert_eq!(bench.requests.len(), 1, "a byte a minute is life");
    bench.pass(Duration::from_secs(40));
    assert_eq!(bench.troubles, ["RequestFailed list Idle"]);
    bench.answer(list("10", "a@5"));
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5]"]);
}

#[test]
fn list_without_an_answer_is_retried_after_the_headers_deadline() {
    let mut bench = listing();
    bench.pass(Duration::from_millis(29_900));
    assert!(bench.troubles.is_empty());
    bench.pass(Duration::from_millis(100));
    assert_eq!(bench.troubles, ["RequestFailed list HeadersTimeout"]);
    assert!(bench.wait() > Duration::from_millis(500), "after a back-off");
}

#[test]
fn pages_that_never_end_are_noticed() {
    let mut bench = listing();
    bench.answers([page("10", "a@5", "t1"), page("10", "b@6", "t1")]);
    assert_eq!(bench.troubles, ["RequestFailed list Malformed"]);
    let mut bench = listing();
    let tokens = ["t1", "t2"];
    for page_number in 0..1_000 {
        if bench.in_flight.is_none() {
            break;
        }
        bench.answer(page("10", "", tokens[page_number % 2]));
    }
    assert_eq!(bench.troubles, ["RequestFailed list Malformed"]);
    assert!(bench.requests.len() < 150);
}

#[test]
fn undecodable_items_are_present_and_unreadable_ones_forbid_deletions() {
    let mut bench = listing();
    bench.answer(list("10", "a@5 ~b@6 c@7"));
    assert_eq!(bench.deltas, ["ReplacedAll 10 [a@5 ~b@6 c@7]"]);
    assert_eq!(bench.troubled_by("Undecodable"), 1);
    bench.answers([fail(FailureKind::Expired), list("12", "=a@5 !")]);
    assert_eq!(bench.deltas[1], "ReplacedAll 12 [=a@5] incomplete");
    assert_eq!(bench.troubled_by("Unreadable"), 1);
    assert_eq!(bench.stored(), "a@5 c@7");
}

#[test]
fn list_without_a_version_syncs_and_is_watched_from_none() {
    let mut bench = listing();
    bench.answer(list("", "a@5"));
    assert_eq!(bench.deltas, ["ReplacedAll 0 [a@5]"]);
    assert_eq!(bench.troubles, ["MissingVersion"]);
    assert_eq!(bench.requests[1], "WATCH");
    bench.answer(Answer::Open(vec![words::added("a@5"), words::added("b@3")]));
    assert_eq!(bench.reflector.last_version(), None, "synthetic events are in no order");
    bench.event(bookmark("9"));
    assert_eq!(bench.reflector.last_version().unwrap().to_string(), "9");
    bench.pass(Duration::from_secs(2));
    bench.give(Input::Ended);
    assert_eq!(bench.requests[2], "WATCH rv=9");
}

#[test]
fn server_without_versions_is_listed_again_but_not_in_a_hot_loop() {
    let mut bench = listing();
    while bench.now.mono < Mono(600_000_000_000) {
        bench.answers([list("", "a@5"), short(vec![words::added("a@5")])]);
    }
    assert!(bench.requests.len() < 2 * 25, "{} requests in 10 min", bench.requests.len());
    assert_eq!(bench.troubled_by("MissingVersion"), 1, "told once");
    bench.forget();
    for _ in 0..100 {
        bench.answers([list("", "a@5"), closed(vec![words::added("a@5")])]);
    }
    assert!(bench.now.mono > Mono(3_600_000_000_000), "also if its streams live for a while");
}

#[test]
fn answer_of_the_wrong_shape_is_a_failure() {
    let mut bench = listing();
    bench.give(Input::Events(vec![bookmark("9")]));
    assert_eq!(bench.troubles, ["RequestFailed list Malformed"]);
    bench.answer(list("10", ""));
    bench.give(Input::Items(items("a@5")));
    assert_eq!(bench.troubles[1], "RequestFailed watch Malformed");
    assert!(bench.in_flight.is_none(), "aborted");
}
