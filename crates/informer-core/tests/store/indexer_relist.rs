//! Whole lists: what they delete, add, change and leave alone.

use informer_core::{ApplyOptions, Delta, Entry, Indexer, Replacement, ResourceVersion};

use crate::helpers::{added, deleted, identity, key, object, plain, short, simple};

fn list(version: u64, entries: Vec<Entry<u32>>) -> Replacement<u32> {
    Replacement { version: version.into(), namespace: None, entries, complete: true }
}

fn entry(name: &str, version: u32) -> Entry<u32> {
    Entry::Object(plain(&simple(name, version)))
}

fn relist(store: &mut Indexer<u32>, list: Replacement<u32>) -> String {
    let told = short(&store.apply([Delta::ReplacedAll(list)], ApplyOptions::default()));
    store.validate();
    told
}

fn synced(entries: Vec<Entry<u32>>) -> Indexer<u32> {
    let mut store = Indexer::new(1);
    relist(&mut store, list(10, entries));
    store
}

#[test]
fn first_list_is_initial_and_ends_with_synced() {
    let mut store = Indexer::new(1);
    assert!(!store.has_synced());
    assert_eq!(relist(&mut store, list(5, vec![entry("b", 2), entry("a", 1)])), "I2 I1 S");
    assert!(store.has_synced());
    assert_eq!(relist(&mut store, list(6, vec![entry("b", 2), entry("a", 1), entry("c", 6)])), "A6 L");
    assert_eq!(store.version(), &6.into());
}

#[test]
fn empty_first_list_is_synced() {
    assert_eq!(relist(&mut Indexer::new(1), list(5, vec![])), "S");
}

/// `TestReplaceEvents`, mixed: deletions first, in key order, then the rest in list order.
#[test]
fn deletions_come_first_then_list_order() {
    let mut store = synced(vec![entry("d", 4), entry("a", 1), entry("b", 2), entry("c", 3)]);
    let told = relist(&mut store, list(20, vec![entry("e", 15), entry("b", 12), entry("a", 1)]));
    assert_eq!(told, "D?3 D?4 A15 U12 L");
    assert_eq!(store.len(), 3);
}

/// `TestReplaceEvents`, delete all.
#[test]
fn empty_relist_deletes_everything() {
    let mut store = synced(vec![entry("b", 2), entry("a", 1)]);
    assert_eq!(relist(&mut store, list(20, vec![])), "D?1 D?2 L");
    assert!(store.is_empty());
}

/// `TestResetWatch`: a missed change and a missed addition are told, and not as initial.
#[test]
fn missed_changes_are_told_after_a_watch_was_lost() {
    let mut store = synced(vec![entry("pod1", 1)]);
    assert_eq!(relist(&mut store, list(20, vec![entry("pod1", 15), entry("pod2", 16)])), "U15 A16 L");
}

/// `TestSharedInformerWatchDisruption`: nobody hears of what did not change.
#[test]
fn unchanged_objects_are_told_to_nobody() {
    let mut store = synced(vec![entry("pod1", 1), entry("pod2", 2)]);
    let unchanged = |name, version| Entry::Unchanged(simple(name, version));
    assert_eq!(relist(&mut store, list(20, vec![entry("pod1", 1), unchanged("pod2", 2)])), "L");
    assert_eq!(store.len(), 2);
}

#[test]
fn incomplete_list_deletes_nothing() {
    let mut store = synced(vec![entry("a", 1), entry("b", 2)]);
    let partial = Replacement { complete: false, ..list(20, vec![entry("b", 12), entry("c", 13)]) };
    assert_eq!(relist(&mut store, partial), "U12 A13 L");
    assert_eq!(store.len(), 3);
    assert!(store.is_stale(&key("a")), "nobody knows whether it is still there");
    assert_eq!(relist(&mut store, list(30, vec![entry("a", 1), entry("b", 12)])), "D?13 L");
    assert_eq!(store.stale_len(), 0);
}

#[test]
fn undecodable_item_is_never_a_deletion() {
    let mut store = synced(vec![entry("a", 1), entry("b", 2)]);
    let bad = |name, version| Entry::Undecodable(Box::new(identity(&simple(name, version))));
    assert_eq!(relist(&mut store, list(20, vec![bad("a", 15), bad("new", 16), bad("b", 2)])), "L");
    assert_eq!((store.len(), store.stale_len()), (2, 1), "the stored version itself is not stale");
    assert!(store.is_stale(&key("a")) && !store.contains("", "new"));

    assert_eq!(relist(&mut store, list(21, vec![entry("a", 15), entry("b", 2)])), "U15 L");
    assert_eq!(store.stale_len(), 0);
}

#[test]
fn unchanged_entry_that_is_not_what_is_stored_is_decoded_next_time() {
    let mut store = synced(vec![entry("a", 1)]);
    store.apply([added("a", 12)], ApplyOptions::default());
    let old = Entry::Unchanged(simple("a", 1));
    let gone = Entry::Unchanged(simple("gone", 1));
    assert_eq!(relist(&mut store, list(11, vec![old, gone])), "L");
    assert_eq!(
        *store.get("", "a").unwrap().value,
        12,
        "the state of version 1 is lost: what is stored stays"
    );
    assert!(store.known("", "a").is_none());
}

#[test]
fn later_duplicate_counts() {
    let mut store = synced(vec![entry("a", 1)]);
    let entries = vec![entry("a", 12), entry("b", 13), entry("a", 14), entry("c", 15), entry("b", 16)];
    assert_eq!(relist(&mut store, list(20, entries)), "U14 A15 A16 L");
    let entries = vec![
        entry("a", 30),
        Entry::Undecodable(Box::new(identity(&simple("a", 31)))),
        entry("b", 16),
        entry("c", 15),
    ];
    assert_eq!(relist(&mut store, list(40, entries)), "L");
    assert!(store.is_stale(&key("a")));
}

#[test]
fn list_may_go_back() {
    let mut store = synced(vec![entry("a", 5)]);
    store.apply([Delta::Bookmark(100.into())], ApplyOptions::default());
    assert_eq!(relist(&mut store, list(4, vec![entry("a", 3)])), "U3 L");
    assert_eq!(store.version(), &4.into());
}

#[test]
fn list_without_a_version_leaves_the_store_without_one() {
    let mut store = synced(vec![]);
    assert_eq!(relist(&mut store, Replacement { version: ResourceVersion::new(""), ..list(0, vec![]) }), "L");
    assert!(store.version().is_empty());
}

#[test]
fn recreation_in_a_list_is_a_deletion_and_an_addition() {
    let mut store = synced(vec![entry("a", 5)]);
    let other = Entry::Object(plain(&object("a", "other", "15", 15)));
    assert_eq!(relist(&mut store, list(20, vec![other])), "D?5 A15 L");
}

#[test]
fn list_of_one_namespace_leaves_the_others_alone() {
    let mut store = synced(vec![entry("a/x", 1), entry("a/y", 2), entry("b/x", 3)]);
    let own = Replacement { namespace: Some("a".into()), ..list(20, vec![entry("a/y", 2)]) };
    assert_eq!(relist(&mut store, own), "D?1 L");
    assert!(store.contains("b", "x"));
}

#[test]
fn deltas_before_and_after_a_list_are_told_in_order() {
    let mut store = synced(vec![entry("a", 1)]);
    let deltas = [added("b", 11), Delta::ReplacedAll(list(12, vec![entry("b", 11)])), deleted("b", 13)];
    assert_eq!(short(&store.apply(deltas, ApplyOptions::default())), "A11 D?1 L D13");
}
