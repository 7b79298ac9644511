//! Lists that all readers share: what they show, and how long the store keeps them.

use std::sync::{Arc, Weak};

use informer_core::{ApplyOptions, Delta, IndexId, Indexer, Listed};

use crate::helpers::{added, deleted, indexed, simple, updated};

/// Two objects in a namespace, and one elsewhere.
fn store() -> Indexer<u32> {
    let mut store = Indexer::new(1);
    store.apply([added("a/x", 1), added("a/y", 2), added("b/x", 3)], ApplyOptions::default());
    store
}

/// Applies a delta; says what the store gave up.
fn apply(store: &mut Indexer<u32>, delta: Delta<u32>) -> String {
    let (_, retired) = store.apply_and_retire([delta], ApplyOptions::default());
    store.validate();
    format!("{retired:?}")
}

fn values(listed: &Listed<u32>) -> Vec<u32> {
    listed.iter().map(|value| **value).collect()
}

const NOTHING: &str = "Retired([])";

#[test]
fn a_list_that_nobody_holds_is_changed_in_place() {
    let mut store = store();
    let place = store.namespace_listed("a").as_ptr();
    assert_eq!(apply(&mut store, updated("a/x", 4)), NOTHING);
    assert_eq!(apply(&mut store, updated("b/x", 5)), NOTHING);
    assert_eq!(store.namespace_listed("a").as_ptr(), place);
    assert_eq!(values(&store.namespace_listed("a")), [4, 2]);
    assert_eq!(apply(&mut store, added("a/z", 6)), NOTHING);
    assert_eq!(apply(&mut store, deleted("a/x", 7)), NOTHING);
    assert_eq!(values(&store.namespace_listed("a")), [6, 2]);
    assert_eq!(values(&store.namespace_listed("b")), [5]);
    assert!(store.namespace_listed("c").is_empty());
}

#[test]
fn a_list_that_somebody_holds_is_handed_out_and_stays_as_it_was() {
    let mut store = store();
    let held = store.namespace_listed("a");
    assert_eq!(apply(&mut store, updated("b/x", 4)), NOTHING);
    assert_eq!(apply(&mut store, updated("a/y", 5)), "Retired([Listed(2 values)])");
    assert_eq!(apply(&mut store, updated("a/y", 6)), NOTHING);
    assert_eq!(values(&held), [1, 2]);
    assert_eq!(values(&store.namespace_listed("a")), [1, 6]);
    assert_eq!(held.clone().into_iter().len(), 2);
    assert_eq!(held.into_iter().map(|value| *value).sum::<u32>(), 3);
}

#[test]
fn a_list_that_is_read_no_more_is_given_up() {
    let mut store = store();
    let place = store.namespace_listed("a").as_ptr();
    for version in 4..20 {
        assert_eq!(apply(&mut store, updated("a/x", version)), NOTHING);
        assert_eq!(store.namespace_listed("a").as_ptr(), place, "it is read after each change");
    }
    let retired: Vec<_> = (20..26).map(|version| apply(&mut store, updated("a/x", version))).collect();
    assert_eq!(retired.iter().filter(|retired| *retired != NOTHING).count(), 1, "{retired:?}");
    assert_eq!(retired[3], "Retired([Listed(2 values)])", "changed more often than it is long");
}

#[test]
fn a_list_keeps_no_value_alive_that_the_store_has_dropped() {
    let mut store = store();
    let weak = |store: &Indexer<u32>| -> Weak<u32> { Arc::downgrade(&store.get("a", "x").unwrap().value) };
    let (first, held) = (weak(&store), store.namespace_listed("a"));
    drop(store.namespace_listed("a"));
    apply(&mut store, updated("a/x", 4));
    assert!(first.upgrade().is_some(), "whoever holds a list holds its values");
    drop(held);
    assert!(first.upgrade().is_none());
    let second = weak(&store);
    assert_eq!(store.namespace_listed("a").len(), 2);
    apply(&mut store, deleted("a/x", 5));
    assert!(second.upgrade().is_none());
}

#[test]
fn values_under_an_index_are_listed_as_they_change() {
    let mut store = Indexer::new(1);
    let index = store.add_index();
    let set = |store: &mut Indexer<u32>, name: &str, version: u32, own: &[&str]| {
        apply(store, Delta::Updated(indexed(&simple(name, version), &[own])))
    };
    set(&mut store, "x", 1, &["red", "blue"]);
    set(&mut store, "y", 2, &["red"]);
    let listed =
        |store: &Indexer<u32>| ["red", "blue"].map(|value| values(&store.index_listed(index, value)));
    assert_eq!(listed(&store), [vec![1, 2], vec![1]]);
    assert_eq!(set(&mut store, "x", 3, &["blue", "green"]), NOTHING);
    assert_eq!(listed(&store), [vec![2], vec![3]]);
    assert_eq!(set(&mut store, "y", 4, &["blue"]), NOTHING, "an empty list takes no time to drop");
    assert_eq!(listed(&store), [vec![], vec![3, 4]]);
    assert!(store.index_listed(IndexId(7), "red").is_empty());
    assert_eq!(format!("{:?}", store.remove_index(index)), "Retired([Listed(2 values)])");
    assert!(store.index_listed(index, "blue").is_empty());
}
