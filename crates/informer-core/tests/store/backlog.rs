//! One handler's backlog by examples.

use std::sync::Arc;

use informer_core::{Backlog, BacklogOptions, LastState, Notification, Overflow};

use crate::helpers::{Obj, describe_all, key, object, short, simple};

type Told = Notification<u32>;

fn a(name: &str, version: u32) -> Told {
    Notification::Added { object: simple(name, version), in_initial_list: false }
}

fn initial(name: &str, version: u32) -> Told {
    Notification::Added { object: simple(name, version), in_initial_list: true }
}

fn u(name: &str, old: u32, new: u32) -> Told {
    Notification::Updated { old: simple(name, old), new: simple(name, new) }
}

fn d(name: &str, version: u32) -> Told {
    Notification::Deleted { key: key(name), last_state: LastState::Known(simple(name, version)) }
}

fn r(name: &str, version: u32) -> Told {
    Notification::Resync { object: simple(name, version) }
}

fn other(name: &str, version: u32) -> Arc<Obj> {
    object(name, "other", &version.to_string(), version)
}

fn a_other(name: &str, version: u32) -> Told {
    Notification::Added { object: other(name, version), in_initial_list: false }
}

fn d_other(name: &str, version: u32) -> Told {
    Notification::Deleted { key: key(name), last_state: LastState::Known(other(name, version)) }
}

fn s() -> Told {
    Notification::Synced { version: 1.into() }
}

fn l(version: u64) -> Told {
    Notification::Relisted { version: version.into() }
}

fn backlog(limit: usize, overflow: Overflow) -> Backlog<u32> {
    Backlog::new(BacklogOptions { limit, overflow }, 1)
}

fn drain(backlog: &mut Backlog<u32>) -> Vec<Told> {
    let mut told = Vec::new();
    while let Some(batch) = backlog.pop() {
        assert!(!batch.is_empty());
        told.extend(batch.iter().cloned());
    }
    assert!(backlog.is_empty() && !backlog.is_conflated());
    told
}

/// What is left of these when the limit is zero.
fn conflate(told: impl IntoIterator<Item = Told>) -> String {
    let mut backlog = backlog(0, Overflow::Conflate);
    for one in told {
        backlog.push(vec![one].into());
    }
    short(&drain(&mut backlog))
}

#[test]
fn batches_are_shared_and_kept_as_they_are_below_the_limit() {
    let mut backlog = backlog(3, Overflow::Conflate);
    let batches: Vec<Arc<Vec<Told>>> = vec![
        Arc::new((1..100).map(|number| a("x", number)).collect()),
        vec![a("x", 1), u("x", 1, 2)].into(),
        vec![d("x", 3)].into(),
    ];
    for batch in &batches {
        backlog.push(Arc::clone(batch));
    }
    backlog.push(Arc::default());
    assert_eq!((backlog.len(), backlog.is_conflated()), (102, false), "the oldest batch does not count");
    for batch in &batches {
        assert!(Arc::ptr_eq(&backlog.pop().unwrap(), batch));
    }
    assert!(backlog.pop().is_none());
    assert_eq!(backlog.counters().conflations, 0);
    assert_eq!(backlog.counters().high_water, 102);
}

#[test]
fn net_change_of_one_object() {
    assert_eq!(conflate([a("x", 1), u("x", 1, 2), u("x", 2, 3)]), "A3");
    assert_eq!(conflate([initial("x", 1), u("x", 1, 2)]), "I2");
    assert_eq!(conflate([a("x", 1), d("x", 2)]), "");
    assert_eq!(conflate([u("x", 1, 2), d("x", 3)]), "D3");
    assert_eq!(conflate([a("x", 1), u("x", 1, 2), d("x", 3), a("x", 4)]), "A4");
}

#[test]
fn updates_merge_to_first_old_and_last_new() {
    let mut backlog = backlog(0, Overflow::Conflate);
    for (old, new) in [(1, 2), (2, 3), (3, 4)] {
        backlog.push(vec![u("x", old, new)].into());
    }
    assert_eq!(describe_all(&drain(&mut backlog)), ["updated x@1 (u)#1 -> x@4 (u)#4"]);
}

#[test]
fn deletion_and_another_incarnation_are_both_kept() {
    assert_eq!(conflate([d("x", 1), a_other("x", 2)]), "D1 A2");
    assert_eq!(conflate([u("x", 1, 2), d("x", 3), a_other("x", 4), a("y", 5)]), "D3 A4 A5");
    assert_eq!(
        conflate([d("x", 1), a_other("x", 2), d_other("x", 3)]),
        "D1",
        "what the handler knew is gone"
    );
    assert_eq!(conflate([d("x", 1), a_other("x", 2), d_other("x", 3), a("x", 4)]), "D1 A4");
}

#[test]
fn flapping_selector_keeps_the_deletion_and_the_last_addition() {
    assert_eq!(conflate([d("x", 1), a("x", 2)]), "D1 A2");
    assert_eq!(
        conflate([d("x", 1), a("x", 2), u("x", 2, 3), d("x", 4)]),
        "D4",
        "the same object's later state"
    );
}

#[test]
fn resync_gives_way_to_a_change() {
    assert_eq!(conflate([r("x", 1), r("x", 1)]), "R1");
    assert_eq!(conflate([r("x", 1), u("x", 1, 2)]), "U2");
    assert_eq!(conflate([r("x", 1), d("x", 2)]), "D2");
    assert_eq!(conflate([u("x", 1, 2), r("x", 2)]), "U2");
    assert_eq!(conflate([a("x", 1), r("x", 1)]), "A1");
    assert_eq!(conflate([d("x", 1), a_other("x", 2), r("x", 2)]), "D1 A2");
}

#[test]
fn order_is_that_of_the_first_notification_of_each_object() {
    assert_eq!(conflate([a("x", 1), a("y", 2), u("x", 1, 3)]), "A3 A2");
    assert_eq!(
        conflate([a("x", 1), a("y", 2), d("x", 3), a("x", 4)]),
        "A2 A4",
        "what vanished begins at the end"
    );
}

#[test]
fn synced_comes_after_what_is_left_of_the_initial_list() {
    assert_eq!(
        conflate([initial("x", 1), initial("y", 2), s(), d("x", 3), a("x", 4), u("y", 2, 5)]),
        "I5 S A4"
    );
    assert_eq!(conflate([initial("x", 1), s(), d("x", 2)]), "S", "an empty list is synced too");
}

#[test]
fn only_the_last_relisted_stays_after_all_it_speaks_of() {
    let mut backlog = backlog(0, Overflow::Conflate);
    for one in [s(), l(2), a("x", 3), l(4), a("y", 5), l(6)] {
        backlog.push(vec![one].into());
    }
    assert_eq!(describe_all(&drain(&mut backlog))[3..], ["relisted 6"]);
    assert_eq!(conflate([s(), l(2), a("x", 3), l(4), u("x", 3, 5)]), "S A5 L");
}

#[test]
fn markers_that_were_taken_do_not_swallow_later_ones() {
    let mut backlog = backlog(0, Overflow::Conflate);
    let objects: Vec<Told> = (0..600).map(|number| a(&format!("n/{number}"), number + 1)).collect();
    backlog.push(vec![s(), l(2)].into());
    backlog.push(objects.into());
    assert_eq!(short(&backlog.pop().unwrap()[..3]), "S L A1");
    assert!(backlog.is_conflated());
    backlog.push(vec![s(), l(3)].into());
    let rest = drain(&mut backlog);
    assert_eq!(short(&rest[rest.len() - 3..]), "A600 S L");
}

#[test]
fn conflation_ends_when_the_handler_has_caught_up() {
    let mut backlog = backlog(1, Overflow::Conflate);
    for number in 1..=3 {
        backlog.push(vec![u("x", number, number + 1)].into());
    }
    assert!(backlog.is_conflated());
    assert_eq!(backlog.len(), 1);
    let counters = backlog.counters();
    assert_eq!((counters.conflations, counters.merged, counters.high_water), (1, 2, 3));
    assert_eq!(short(&drain(&mut backlog)), "U4");

    let batch = Arc::new(vec![u("x", 4, 5), u("x", 5, 6)]);
    backlog.push(Arc::clone(&batch));
    assert!(Arc::ptr_eq(&backlog.pop().unwrap(), &batch));
}

#[test]
fn backlog_that_comes_to_nothing_is_empty() {
    let mut backlog = backlog(0, Overflow::Conflate);
    backlog.push(vec![a("x", 1)].into());
    backlog.push(vec![d("x", 2)].into());
    assert!(backlog.is_empty() && !backlog.is_conflated() && backlog.pop().is_none());
    assert_eq!(backlog.counters().merged, 2);
}

#[test]
fn endless_flapping_takes_bounded_room_and_the_rest_comes_in_pieces() {
    let mut backlog = backlog(10, Overflow::Conflate);
    for number in 0..600 {
        backlog.push(vec![a(&format!("n/{number}"), number + 1)].into());
    }
    for _ in 0..5000 {
        backlog.push(vec![a("x", 1), d("x", 2)].into());
    }
    assert_eq!(backlog.len(), 600);
    let first = backlog.pop().unwrap();
    assert!(first.len() < 600, "a piece, so that the rest can go on being merged");
    backlog.push(vec![u("n/599", 600, 700)].into());
    let rest = drain(&mut backlog);
    assert_eq!(first.len() + rest.len(), 600);
    assert_eq!(short(&rest[rest.len() - 1..]), "A700");
}

#[test]
fn full_backlog_blocks_and_loses_nothing() {
    let mut backlog = backlog(2, Overflow::Block);
    for number in 0..4 {
        assert!(!backlog.is_full());
        backlog.push(vec![u("x", number, number + 1)].into());
    }
    assert!(backlog.is_full());
    backlog.push(vec![u("x", 4, 5)].into());
    assert_eq!(backlog.len(), 5);
    backlog.pop();
    assert!(backlog.is_full());
    backlog.pop();
    assert!(!backlog.is_full());
    assert_eq!(short(&drain(&mut backlog)), "U3 U4 U5");
}

#[test]
fn disconnected_backlog_is_empty_for_good() {
    let mut backlog = backlog(1, Overflow::Disconnect);
    for number in 0..3 {
        assert!(!backlog.is_disconnected());
        backlog.push(vec![u("x", number, number + 1)].into());
    }
    assert!(backlog.is_disconnected() && backlog.pop().is_none());
    backlog.push(vec![a("y", 1)].into());
    assert!(backlog.is_empty());
    assert_eq!(backlog.counters().high_water, 3);
}
