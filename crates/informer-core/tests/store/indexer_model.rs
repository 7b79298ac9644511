//! Random deltas: the store does what the naive store does, and what it tells is true.

use std::sync::Arc;

use informer_core::{
    ApplyOptions, Deletion, Delta, Entry, Identity, IndexId, Indexer, Item, Listed, ObjectKey, Replacement,
    ResourceVersion, Snapshot,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::helpers::{Obj, View, describe, describe_all, identity, object};
use crate::naive_store::NaiveStore;

/// What a test does to both stores. Objects get their values, which tell them apart, when they are used.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Item(u8, Thing),
    Deleted(Thing, bool),
    ReplacedAll {
        version: u8,
        namespace: Option<u8>,
        entries: Vec<(u8, Thing)>,
        complete: bool,
    },
    Sync(u8),
    SyncAll,
    Bookmark(u8),
    Undecodable(Thing),
    AddIndex,
    RemoveIndex(u8),
    FillIndex(u8),
    Snapshot,
    /// Reads lists, of namespaces or of an index, and keeps them if so.
    Listed(u8, bool),
}

#[derive(Clone, Debug)]
pub(crate) struct Thing {
    name: u8,
    uid: u8,
    version: u8,
    values: Vec<Vec<u8>>,
}

const NAMES: [&str; 8] = ["x", "y", "a/x", "a/y", "a/z", "ax/y", "b/x", "b/y"];
const NAMESPACES: [&str; 4] = ["", "a", "b", "none"];
const VALUES: [&str; 4] = ["red", "green", "blue", ""];

fn name(number: u8) -> &'static str {
    NAMES[number as usize % NAMES.len()]
}

/// Mostly numbers; some that cannot be compared, and none at all.
fn version(number: u8) -> ResourceVersion {
    ResourceVersion::new(&version_text(number))
}

fn version_text(number: u8) -> String {
    match number {
        0 => String::new(),
        1 | 2 => format!("x{number}"),
        _ => number.to_string(),
    }
}

fn thing() -> impl Strategy<Value = Thing> {
    let values = vec(vec(0..4u8, 0..4), 0..4);
    (0..8u8, 0..3u8, 0..16u8, values).prop_map(|(name, uid, version, values)| Thing {
        name,
        uid,
        version,
        values,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let list =
        (0..16u8, proptest::option::of(0..4u8), vec((0..6u8, thing()), 0..10), prop::bool::weighted(0.8));
    prop_oneof![
        10 => (0..3u8, thing()).prop_map(|(kind, thing)| Op::Item(kind, thing)),
        6 => (thing(), any::<bool>()).prop_map(|(thing, last)| Op::Deleted(thing, last)),
        3 => list.prop_map(|(version, namespace, entries, complete)| Op::ReplacedAll { version, namespace, entries, complete }),
        1 => (0..8u8).prop_map(Op::Sync),
        1 => Just(Op::SyncAll),
        1 => (0..16u8).prop_map(Op::Bookmark),
        2 => thing().prop_map(Op::Undecodable),
        1 => Just(Op::AddIndex),
        1 => (0..4u8).prop_map(Op::RemoveIndex),
        1 => (0..4u8).prop_map(Op::FillIndex),
        1 => Just(Op::Snapshot),
        6 => (0..16u8, prop::bool::weighted(0.3)).prop_map(|(what, keep)| Op::Listed(what, keep)),
    ]
}

pub(crate) fn ops(len: usize) -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 0..len)
}

/// Gives each object it makes another value.
#[derive(Default)]
pub(crate) struct Maker {
    made: u32,
}

impl Maker {
    fn object(&mut self, thing: &Thing) -> Arc<Obj> {
        self.made += 1;
        object(name(thing.name), &format!("u{}", thing.uid), &version_text(thing.version), self.made)
    }

    fn identity(&mut self, thing: &Thing) -> Identity {
        identity(&self.object(thing))
    }

    fn item(&mut self, thing: &Thing) -> Item<u32> {
        Item {
            object: self.object(thing),
            index_values: thing.values.iter().map(|own| values(own)).collect(),
        }
    }

    /// The delta an operation stands for, if it is one. `stored` makes unchanged entries likely.
    pub(crate) fn delta(&mut self, op: &Op, stored: &Indexer<u32>) -> Option<Delta<u32>> {
        Some(match op {
            Op::Item(0, thing) => Delta::Added(self.item(thing)),
            Op::Item(1, thing) => Delta::Updated(self.item(thing)),
            Op::Item(_, thing) => Delta::Replaced(self.item(thing)),
            Op::Deleted(thing, last) => {
                let object = self.object(thing);
                // Sometimes an earlier state, as a queue used alone makes them.
                let identity =
                    Identity { version: version(thing.version + thing.uid / 2), ..identity(&object) };
                Delta::Deleted(Deletion { identity, last_state: last.then_some(object) })
            }
            Op::ReplacedAll { version: list, namespace, entries, complete } => {
                Delta::ReplacedAll(Replacement {
                    version: version(*list),
                    namespace: namespace.map(|at| NAMESPACES[at as usize].into()),
                    entries: entries.iter().map(|(kind, thing)| self.entry(*kind, thing, stored)).collect(),
                    complete: *complete,
                })
            }
            Op::Sync(at) => Delta::Sync(name(*at).parse().unwrap()),
            Op::SyncAll => Delta::SyncAll,
            Op::Bookmark(at) => Delta::Bookmark(version(*at)),
            Op::Undecodable(thing) => Delta::Undecodable(self.identity(thing)),
            Op::AddIndex | Op::RemoveIndex(_) | Op::FillIndex(_) | Op::Snapshot | Op::Listed(..) => {
                return None;
            }
        })
    }

    fn entry(&mut self, kind: u8, thing: &Thing, stored: &Indexer<u32>) -> Entry<u32> {
        let known = stored.by_key(&name(thing.name).parse().unwrap());
        match (kind, known) {
            (0, Some(known)) => Entry::Unchanged(Arc::clone(known)),
            (1, _) => Entry::Unchanged(self.object(thing)),
            (2, _) => Entry::Undecodable(Box::new(self.identity(thing))),
            _ => Entry::Object(self.item(thing)),
        }
    }
}

fn values(numbers: &[u8]) -> Vec<Arc<str>> {
    numbers.iter().map(|&at| VALUES[at as usize].into()).collect()
}

/// Each object in words, and whether it is stale; in slot order.
type Contents = Vec<(String, bool)>;

/// Both stores, and what was promised on the way.
struct Pair {
    real: Indexer<u32>,
    naive: NaiveStore,
    view: View,
    snapshots: Vec<(Snapshot<u32>, Contents, ResourceVersion)>,
    /// What was kept, and what it showed when it was read.
    kept: Vec<(Listed<u32>, Vec<u32>)>,
    maker: Maker,
    options: ApplyOptions,
}

impl Pair {
    fn new(seed: u64, options: ApplyOptions) -> Self {
        Self {
            real: Indexer::new(seed),
            naive: NaiveStore::new(),
            view: View::default(),
            snapshots: Vec::new(),
            kept: Vec::new(),
            maker: Maker::default(),
            options,
        }
    }

    fn run(&mut self, op: &Op) {
        if let Some(delta) = self.maker.delta(op, &self.real) {
            let (expected, after) = (self.naive.apply(&delta, self.options), format!("after {delta:?}"));
            let told = self.real.apply([delta], self.options);
            told.iter().for_each(|notification| self.view.see(notification));
            let (mut told, mut expected) = (describe_all(&told), describe_all(&expected));
            if matches!(op, Op::SyncAll) {
                told.sort();
                expected.sort();
            }
            assert_eq!(told, expected, "{after}");
        }
        match op {
            Op::AddIndex => {
                assert_eq!(self.real.add_index(), IndexId(self.naive.indices.len()));
                self.naive.add_index();
            }
            Op::RemoveIndex(at) => {
                self.real.remove_index(IndexId(*at as usize));
                self.naive.indices.get_mut(*at as usize).into_iter().for_each(|exists| *exists = false);
            }
            Op::FillIndex(at) => self.fill(IndexId(*at as usize)),
            Op::Snapshot => {
                self.snapshots.push((self.real.snapshot(), self.contents(), self.real.version().clone()))
            }
            Op::Listed(what, keep) => self.read_list(*what, *keep),
            _ => {}
        }
        self.check();
    }

    /// Reads a list, twice: it has what the objects of the namespace, or with the value, have now, in their order.
    fn read_list(&mut self, what: u8, keep: bool) {
        let of = |objects: &mut dyn Iterator<Item = &Arc<Obj>>| {
            objects.map(|object| Arc::as_ptr(&object.value)).collect::<Vec<_>>()
        };
        let text = what as usize % 4;
        let real = &self.real;
        let (read, again, expected) = match what / 4 {
            0 => {
                let namespace = NAMESPACES[text];
                let objects = of(&mut real.list_namespace(namespace));
                (real.namespace_listed(namespace), real.namespace_listed(namespace), objects)
            }
            index => {
                let (index, value) = (IndexId(index as usize - 1), VALUES[text]);
                let objects = of(&mut real.by_index(index, value));
                (real.index_listed(index, value), real.index_listed(index, value), objects)
            }
        };
        assert!(read.iter().map(Arc::as_ptr).eq(expected));
        assert!(read.is_empty() || read.as_ptr() == again.as_ptr(), "two readers share a list");
        if keep {
            let shown = read.iter().map(|value| **value).collect();
            self.kept.push((read, shown));
        }
    }

    fn check_lists(&self) {
        for (kept, shown) in &self.kept {
            assert!(
                kept.iter().map(|value| **value).eq(shown.iter().copied()),
                "a kept list stays as it was"
            );
        }
    }

    fn fill(&mut self, index: IndexId) {
        for object in self.real.unindexed(index) {
            let own = values(&[(*object.value % 4) as u8, (*object.value % 3) as u8]);
            let impostor = Arc::new(Obj {
                key: object.key.clone(),
                uid: object.uid.clone(),
                version: object.version.clone(),
                value: object.value.clone(),
            });
            assert!(!self.real.set_index_values(index, &object.key, &impostor, &own));
            assert!(self.real.set_index_values(index, &object.key, &object, &own));
            let at = self.naive.find(&object.key).unwrap();
            self.naive.rows[at].values[index.0] = Some(own);
        }
        assert_eq!(self.real.unindexed(index).len(), 0);
    }

    fn contents(&self) -> Contents {
        let row =
            |object: &Arc<Obj>| (crate::helpers::describe_object(object), self.real.is_stale(&object.key));
        self.real.iter().map(row).collect()
    }

    fn check(&self) {
        self.real.validate();
        let Self { real, naive, .. } = self;
        assert_eq!(real.version(), &naive.version);
        assert_eq!(real.has_synced(), naive.synced);
        assert_eq!((real.len(), real.iter().len(), real.iter().count()), {
            let len = naive.rows.len();
            (len, len, len)
        });
        assert_eq!(real.stale_len(), naive.rows.iter().filter(|row| row.stale).count());
        for row in &naive.rows {
            let key = &row.object.key;
            assert!(Arc::ptr_eq(real.by_key(key).unwrap(), &row.object));
            assert_eq!(real.is_stale(key), row.stale);
            let known = real.known(key.namespace(), key.name());
            let expected = (!row.stale).then_some(&row.object);
            assert_eq!(known.map(Arc::as_ptr), expected.map(Arc::as_ptr));
        }
        assert_eq!(self.view.objects.len(), naive.rows.len(), "a handler knows what is stored");
        for text in NAMES {
            let key: ObjectKey = text.parse().unwrap();
            assert_eq!(real.contains(key.namespace(), key.name()), naive.find(&key).is_some());
        }
        self.check_indices();
    }

    fn check_indices(&self) {
        let Self { real, naive, .. } = self;
        for namespace in NAMESPACES {
            let mut listed: Vec<_> =
                real.list_namespace(namespace).map(|object| object.key.clone()).collect();
            listed.sort();
            let mut expected: Vec<_> = naive.rows.iter().map(|row| row.object.key.clone()).collect();
            expected.retain(|key| key.namespace() == namespace);
            expected.sort();
            assert_eq!(listed, expected);
        }
        for (at, exists) in naive.indices.iter().enumerate() {
            let index = IndexId(at);
            let mut values = Vec::new();
            for value in VALUES {
                let expected = if *exists { naive.keys_with(index, value) } else { Vec::new() };
                assert_eq!(real.by_index(index, value).len(), expected.len());
                assert_eq!(real.index_keys(index, value), expected);
                if !expected.is_empty() {
                    values.push(Arc::from(value));
                }
            }
            values.sort();
            assert_eq!(real.index_values(index), values);
            let unknown = naive.rows.iter().filter(|row| *exists && row.values[at].is_none()).count();
            assert_eq!(real.unindexed(index).len(), unknown);
        }
    }

    fn check_snapshots(&self) {
        for (snapshot, contents, version) in &self.snapshots {
            let row =
                |object: &Arc<Obj>| (crate::helpers::describe_object(object), snapshot.is_stale(&object.key));
            assert_eq!(&snapshot.iter().map(row).collect::<Vec<_>>(), contents);
            assert_eq!(snapshot.version(), version);
            assert_eq!(snapshot.len(), contents.len());
            assert_eq!(snapshot.stale_len(), contents.iter().filter(|(_, stale)| *stale).count());
            assert!(snapshot.in_key_order().is_sorted_by(|a, b| a.key < b.key));
            for text in NAMES {
                let key: ObjectKey = text.parse().unwrap();
                let listed = snapshot.iter().find(|object| object.key == key);
                assert_eq!(snapshot.by_key(&key).map(Arc::as_ptr), listed.map(Arc::as_ptr));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn store_does_what_the_naive_store_does(
        ops in ops(60),
        seed in any::<u64>(),
        split_recreated in any::<bool>(),
    ) {
        let mut pair = Pair::new(seed, ApplyOptions { split_recreated, in_initial_list: false });
        pair.run(&Op::AddIndex);
        for op in &ops {
            pair.run(op);
        }
        pair.check_snapshots();
        pair.check_lists();
    }

    #[test]
    fn hash_seed_changes_no_output(ops in ops(40)) {
        let outputs = |seed| {
            let (mut store, mut maker) = (Indexer::new(seed), Maker::default());
            let index = store.add_index();
            let mut output = Vec::new();
            for op in &ops {
                if let Some(delta) = maker.delta(op, &store) {
                    output.extend(store.apply([delta], ApplyOptions::default()).iter().map(describe));
                    output.extend(store.iter().map(|object| object.value.to_string()));
                    output.extend(store.by_index(index, "red").map(|object| object.value.to_string()));
                    output.extend(store.list_namespace("a").map(|object| object.value.to_string()));
                }
            }
            output
        };
        prop_assert_eq!(outputs(1), outputs(u64::MAX));
    }
}

#[test]
fn many_objects_come_and_go() {
    let mut rng = informer_core::Rng::new(7);
    let mut store = Indexer::new(7);
    let index = store.add_index();
    let mut naive = NaiveStore::new();
    naive.add_index();
    for step in 0..3000u32 {
        let name = format!("n{}/o{}", rng.below(5), rng.below(60));
        let thing = object(&name, "u", &(step + 1).to_string(), step);
        let delta = if rng.below(3) == 0 {
            Delta::Deleted(Deletion { identity: identity(&thing), last_state: Some(thing) })
        } else {
            let own: Vec<_> = (0..rng.below(4)).map(|_| rng.below(30).to_string()).collect();
            Delta::Added(Item { object: thing, index_values: [own].into_iter().collect() })
        };
        let expected = describe_all(&naive.apply(&delta, ApplyOptions::default()));
        assert_eq!(describe_all(&store.apply([delta], ApplyOptions::default())), expected);
        if step % 100 == 0 {
            store.validate();
            for value in 0..30 {
                let value = value.to_string();
                assert_eq!(store.index_keys(index, &value), naive.keys_with(index, &value));
            }
        }
    }
    assert!(store.len() > 128, "more than two pages were in use");
    store.validate();
}
