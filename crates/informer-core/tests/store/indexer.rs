//! The store by examples, client-go's among them.

use std::sync::Arc;

use informer_core::{
    ApplyOptions, Deletion, Delta, Identity, IndexId, Indexer, Notification, ResourceVersion, Uid,
};

use crate::helpers::{added, deleted, identity, indexed, key, object, plain, short, simple, updated};

fn store() -> Indexer<u32> {
    Indexer::new(1)
}

fn apply(store: &mut Indexer<u32>, deltas: impl IntoIterator<Item = Delta<u32>>) -> String {
    let told = short(&store.apply(deltas, ApplyOptions::default()));
    store.validate();
    told
}

/// `TestIndex`, `TestCache`.
#[test]
fn add_get_update_delete_list() {
    let mut store = store();
    assert_eq!(apply(&mut store, [added("a/x", 1), added("a/y", 2), added("z", 3)]), "A1 A2 A3");
    assert_eq!(*store.get("a", "x").unwrap().value, 1);
    assert!(store.get("", "a/x").is_none() && store.get("", "x").is_none());
    assert_eq!(apply(&mut store, [updated("a/x", 4)]), "U4");
    assert_eq!(apply(&mut store, [deleted("a/y", 5)]), "D5");
    assert_eq!(store.iter().map(|object| *object.value).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(store.namespaces(), ["".into(), "a".into()]);
}

#[test]
fn name_and_namespace_are_not_confused() {
    let mut store = store();
    apply(&mut store, [added("ab/c", 1), added("a/bc", 2)]);
    assert_eq!(*store.get("ab", "c").unwrap().value, 1);
    assert_eq!(*store.get("a", "bc").unwrap().value, 2);
}

#[test]
fn delta_type_does_not_matter() {
    let mut store = store();
    assert_eq!(apply(&mut store, [updated("x", 1), added("x", 2)]), "A1 U2");
    assert_eq!(apply(&mut store, [Delta::Replaced(plain(&simple("x", 3)))]), "U3");
}

/// `TestThreadSafeStoreRV`: the version follows objects, deletions, bookmarks and lists.
#[test]
fn store_version_follows_every_change_and_never_goes_back() {
    let mut store = store();
    assert!(store.version().is_empty());
    for (delta, version) in [
        (added("a", 10), 10),
        (added("b", 10), 10),
        (updated("b", 20), 20),
        (deleted("a", 30), 30),
        (deleted("unknown", 31), 31),
        (updated("b", 25), 31),
        (Delta::Bookmark(40.into()), 40),
        (Delta::Bookmark(39.into()), 40),
        (Delta::Bookmark(ResourceVersion::new("")), 40),
        (Delta::Undecodable(identity(&simple("b", 50))), 50),
        (Delta::Sync(key("b")), 50),
    ] {
        apply(&mut store, [delta]);
        assert_eq!(store.version(), &version.into());
    }
}

#[test]
fn opaque_versions_are_taken_as_they_come() {
    let mut store = store();
    for version in ["b", "a", "c"] {
        let told = apply(&mut store, [Delta::Updated(plain(&object("x", "u", version, 1)))]);
        assert_eq!(told.len(), 2, "{version} is announced: {told}");
        assert_eq!(store.version(), &ResourceVersion::new(version));
    }
}

#[test]
fn unchanged_version_is_told_to_nobody() {
    let mut store = store();
    assert_eq!(apply(&mut store, [added("x", 1)]), "A1");
    assert_eq!(apply(&mut store, [added("x", 1), updated("x", 1)]), "");
}

#[test]
fn versions_a_server_did_not_send_are_changes() {
    let mut store = store();
    let told = (0..3).map(|value| apply(&mut store, [Delta::Added(plain(&object("x", "u", "", value)))]));
    assert_eq!(told.collect::<Vec<_>>(), ["A0", "U1", "U2"]);
}

#[test]
fn older_version_of_the_same_incarnation_is_ignored() {
    let mut store = store();
    assert_eq!(apply(&mut store, [added("x", 5), updated("x", 4)]), "A5");
    assert_eq!(apply(&mut store, [deleted("x", 4)]), "");
    assert_eq!(*store.get("", "x").unwrap().value, 5);
    // Another incarnation's version says nothing about this one's.
    assert_eq!(apply(&mut store, [Delta::Added(plain(&object("x", "other", "3", 3)))]), "D?5 A3");
}

#[test]
fn recreation_nobody_saw_is_a_deletion_and_an_addition() {
    let recreated = || Delta::Updated(plain(&object("x", "other", "2", 2)));
    let mut split = store();
    apply(&mut split, [added("x", 1)]);
    assert_eq!(apply(&mut split, [recreated()]), "D?1 A2");

    let mut joined = store();
    apply(&mut joined, [added("x", 1)]);
    let options = ApplyOptions { split_recreated: false, ..ApplyOptions::default() };
    assert_eq!(short(&joined.apply([recreated()], options)), "U2");
}

#[test]
fn deletion_tells_the_final_state_only_of_the_stored_incarnation() {
    let mut store = store();
    apply(&mut store, [added("x", 1), added("y", 1), added("z", 1), added("w", 1)]);
    let other = object("y", "other", "5", 5);
    let unseen = Delta::Deleted(Deletion { identity: identity(&other), last_state: Some(other) });
    let undecodable = Deletion { identity: identity(&simple("z", 6)), last_state: None };
    let earlier = Deletion { identity: identity(&simple("w", 9)), last_state: Some(simple("w", 8)) };
    let deltas = [deleted("x", 4), unseen, Delta::Deleted(undecodable), Delta::Deleted(earlier)];
    assert_eq!(apply(&mut store, deltas), "D4 D?1 D?1 D?1");
    assert!(store.is_empty());
}

#[test]
fn undecodable_version_keeps_the_last_good_one_marked_stale() {
    let mut store = store();
    apply(&mut store, [added("a/x", 1)]);
    assert_eq!(store.known("a", "x").unwrap().version, 1.into());

    assert_eq!(apply(&mut store, [Delta::Undecodable(identity(&simple("a/x", 2)))]), "");
    assert!(store.is_stale(&key("a/x")));
    assert_eq!((store.stale_len(), store.len()), (1, 1));
    assert!(store.known("a", "x").is_none(), "the next list decodes it again");

    assert_eq!(apply(&mut store, [updated("a/x", 3)]), "U3");
    assert_eq!(store.stale_len(), 0);
    let late = Delta::Undecodable(identity(&simple("a/x", 2)));
    let unknown = Delta::Undecodable(identity(&simple("a/y", 4)));
    assert_eq!(apply(&mut store, [late, unknown]), "");
    assert_eq!(store.stale_len(), 0, "neither an older version nor an unknown object makes anything stale");
}

#[test]
fn stale_object_can_be_deleted() {
    let mut store = store();
    apply(&mut store, [added("x", 1), Delta::Undecodable(identity(&simple("x", 2)))]);
    assert_eq!(apply(&mut store, [deleted("x", 3)]), "D3");
    assert_eq!(store.stale_len(), 0);
}

#[test]
fn resync_is_told_and_changes_nothing() {
    let mut store = store();
    apply(&mut store, [added("x", 1), added("y", 2)]);
    assert_eq!(apply(&mut store, [Delta::Sync(key("y")), Delta::Sync(key("no"))]), "R2");
    assert_eq!(apply(&mut store, [Delta::SyncAll]), "R1 R2");
}

#[test]
fn additions_are_initial_when_the_queue_says_so() {
    let options = ApplyOptions { in_initial_list: true, ..ApplyOptions::default() };
    assert_eq!(short(&store().apply([Delta::Replaced(plain(&simple("x", 1)))], options)), "I1");
}

/// `TestMultiIndexKeys`, `TestGetIndexFuncValues`.
#[test]
fn one_object_may_have_several_values() {
    let mut store = store();
    let by_user = store.add_index();
    let put = |version, name: &str, users: &[&str]| Delta::Added(indexed(&simple(name, version), &[users]));
    apply(
        &mut store,
        [
            put(1, "one", &["ernie", "bert"]),
            put(2, "two", &["bert", "oscar"]),
            put(3, "tre", &["ernie", "elmo"]),
        ],
    );
    let keys = |store: &Indexer<u32>, user| {
        let keys = store.index_keys(by_user, user);
        keys.iter().map(|key| key.name().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let expect = |store: &Indexer<u32>, expected: [&str; 4]| {
        assert_eq!(["ernie", "bert", "elmo", "oscar"].map(|user| keys(store, user)), expected);
    };
    expect(&store, ["one tre", "one two", "tre", "two"]);
    assert_eq!(store.index_values(by_user), ["bert", "elmo", "ernie", "oscar"].map(Arc::from));

    apply(&mut store, [deleted("tre", 4)]);
    expect(&store, ["one", "one two", "", "two"]);
    apply(&mut store, [put(5, "two", &["bert", "ernie", "bert"])]);
    expect(&store, ["one two", "one two", "", ""]);
    assert_eq!(store.index_values(by_user), ["bert", "ernie"].map(Arc::from), "a value nobody has is gone");
}

/// `TestThreadSafeStoreIndexingFunctionsWithMultipleValues`: the steps of client-go's test.
#[test]
fn index_follows_values_step_by_step() {
    let mut store = store();
    let index = store.add_index();
    let steps: [(&str, &str, &str, &str); 8] = [
        ("key1", "foo", "key1", ""),
        ("key2", "foo", "key1 key2", ""),
        ("key1", "bar", "key2", "key1"),
        ("key1", "foo,bar", "key1 key2", "key1"),
        ("key2", "bar", "key1", "key1 key2"),
        ("key1", "bar", "", "key1 key2"),
        ("key1", "bar,bar", "", "key1 key2"),
        ("key1", "", "", "key2"),
    ];
    for (version, (name, values, foo, bar)) in (1..).zip(steps) {
        let values: Vec<&str> = values.split(',').filter(|value| !value.is_empty()).collect();
        apply(&mut store, [Delta::Added(indexed(&simple(name, version), &[&values]))]);
        let keys = |value| {
            let keys = store.index_keys(index, value);
            keys.iter().map(|key| key.name().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((&*keys("foo"), &*keys("bar")), (foo, bar), "step {version}");
    }
}

/// `TestIndexer`: an index added late is filled without losing what changes meanwhile.
#[test]
fn late_index_is_filled_and_catches_up() {
    let mut store = store();
    apply(&mut store, [added("x", 1), added("y", 2)]);
    let index = store.add_index();
    let old = store.unindexed(index);
    assert_eq!(old.len(), 2);

    // While somebody computes their values, one object changes with values, another one appears without.
    apply(&mut store, [Delta::Updated(indexed(&simple("x", 3), &[&["new"]])), added("z", 4)]);
    let set: Vec<_> = old.iter().map(|old| store.set_index_values(index, &old.key, old, ["old"])).collect();
    assert_eq!(set, [false, true]);
    let left: Vec<_> = store.unindexed(index).iter().map(|object| object.key.to_string()).collect();
    assert_eq!(left, ["z"]);
    assert_eq!(store.index_keys(index, "new"), [key("x")]);
    assert_eq!(store.index_keys(index, "old"), [key("y")]);
    store.validate();
}

#[test]
fn removed_index_is_empty_and_its_position_is_not_used_again() {
    let mut store = store();
    let first = store.add_index();
    apply(&mut store, [Delta::Added(indexed(&simple("x", 1), &[&["a"]]))]);
    store.remove_index(first);
    store.remove_index(IndexId(99));
    assert_eq!(store.add_index(), IndexId(1));
    apply(&mut store, [Delta::Added(indexed(&simple("y", 2), &[&["a"], &["b"]]))]);
    assert_eq!(store.by_index(first, "a").len(), 0);
    assert_eq!(store.index_keys(IndexId(1), "b"), [key("y")]);
    assert!(!store.set_index_values(first, &key("y"), &store.get("", "y").unwrap().clone(), [""; 0]));
}

#[test]
fn snapshot_stays_as_it_was() {
    let mut store = store();
    apply(&mut store, (0..200).map(|number| added(&format!("n/{number}"), number + 1)));
    let snapshot = store.snapshot();
    apply(&mut store, (0..200).map(|number| deleted(&format!("n/{number}"), number + 500)));
    apply(&mut store, [added("n/7", 1000)]);
    assert_eq!((snapshot.len(), snapshot.version()), (200, &200.into()));
    assert_eq!(*snapshot.get("n", "7").unwrap().value, 8);
    assert_eq!(*snapshot.clone().get("n", "199").unwrap().value, 200);
    assert!(snapshot.get("n", "200").is_none());
    assert_eq!(store.len(), 1);
}

#[test]
fn debug_output_shows_no_value() {
    let mut store = Indexer::new(1);
    let secret = informer_core::Object {
        key: key("a/token"),
        uid: Uid::new("u"),
        version: 1.into(),
        value: Arc::new("hunter2"),
    };
    let item = informer_core::Item { object: Arc::new(secret), index_values: Default::default() };
    let told: Vec<Notification<&str>> = store.apply([Delta::Added(item)], ApplyOptions::default());
    let text = format!("{store:?} {:?} {told:?}", store.snapshot());
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn deletion_of_an_empty_identity_is_harmless() {
    let mut store = store();
    let nobody = Identity { key: key("x"), uid: Uid::new(""), version: ResourceVersion::new("") };
    assert_eq!(apply(&mut store, [Delta::Deleted(Deletion { identity: nobody, last_state: None })]), "");
}
