//! Random use of the queue against a list that is searched from the front.

use std::sync::Arc;

use informer_core::{Deletion, Delta, DeltaFifo, Item, LastState, ObjectKey, Replacement, ResourceVersion};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::helpers::{Obj, describe_object, identity, object, plain};

#[derive(Clone, Debug)]
enum Op {
    /// Kind, name, uid, whether a deletion carries the final state.
    Push(u8, u8, u8, bool),
    Replace(Vec<u8>, Vec<u8>),
    Resync(Vec<u8>),
    Pop,
    Drain,
    Processed,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..9u8, 0..4u8, 0..2u8, any::<bool>()).prop_map(|(kind, name, uid, last)| Op::Push(kind, name, uid, last)),
        2 => (vec(0..5u8, 0..4), vec(0..5u8, 0..5)).prop_map(|(items, known)| Op::Replace(items, known)),
        1 => vec(0..5u8, 0..5).prop_map(Op::Resync),
        4 => Just(Op::Pop),
        1 => Just(Op::Drain),
        1 => Just(Op::Processed),
    ]
}

/// What is left of a delta when it is written down.
#[derive(Clone, Debug)]
struct Record {
    kind: &'static str,
    key: Option<ObjectKey>,
    text: String,
    object: Option<Arc<Obj>>,
    initial: bool,
}

// Two records are about the same object if the text says so.
fn record(delta: &Delta<u32>) -> Record {
    let (kind, object) = match delta {
        Delta::Added(item) => ("added", Some(&item.object)),
        Delta::Updated(item) => ("updated", Some(&item.object)),
        Delta::Replaced(item) => ("replaced", Some(&item.object)),
        Delta::Deleted(deletion) => ("deleted", deletion.last_state.as_ref()),
        Delta::ReplacedAll(_) => ("whole", None),
        Delta::Sync(_) => ("sync", None),
        Delta::SyncAll => ("sync all", None),
        Delta::Bookmark(_) => ("bookmark", None),
        Delta::Undecodable(_) => ("undecodable", None),
    };
    let about = match delta {
        Delta::Deleted(deletion) => format!("{:?}", deletion.identity),
        Delta::ReplacedAll(list) => format!("{} with {}", list.version, list.entries.len()),
        _ => String::new(),
    };
    let text = format!("{about} {:?}", object.map(|object| describe_object(object)));
    Record { kind, key: delta.key().cloned(), text, object: object.cloned(), initial: false }
}

#[derive(Default)]
struct Naive {
    queue: Vec<Record>,
    populated: bool,
    in_hand: usize,
}

impl Naive {
    fn push(&mut self, delta: &Delta<u32>) {
        let record = record(delta);
        let populates = !matches!(record.kind, "sync" | "sync all" | "bookmark");
        let whole = record.kind == "whole";
        self.queue.push(record);
        if whole {
            self.mark_initial();
        }
        self.populated |= populates;
    }

    fn mark_initial(&mut self) {
        if !self.populated {
            self.queue.iter_mut().for_each(|record| record.initial = true);
        }
        self.populated = true;
    }

    fn replace(&mut self, version: &ResourceVersion, items: &[Item<u32>], known: &[Arc<Obj>]) {
        if self.queue.iter().any(|record| record.kind == "whole") {
            let entries = items.iter().cloned().map(informer_core::Entry::Object).collect();
            let whole = Replacement { version: version.clone(), namespace: None, entries, complete: true };
            self.push(&Delta::ReplacedAll(whole));
            return;
        }
        let listed = |key: &ObjectKey| items.iter().any(|item| item.object.key == *key);
        let mut queued: Vec<ObjectKey> = Vec::new();
        for key in self.queue.iter().filter_map(|record| record.key.as_ref()) {
            if !queued.contains(key) {
                queued.push(key.clone());
            }
        }
        let stored = |key: &ObjectKey| known.iter().rfind(|object| object.key == *key).cloned();
        let mut gone = Vec::new();
        for key in queued.iter().filter(|key| !listed(key)) {
            let mut own =
                self.queue.iter().rev().filter(|record| record.key.as_ref() == Some(key)).peekable();
            if own.peek().is_some_and(|record| record.kind != "deleted") {
                gone.push((
                    key.clone(),
                    own.find_map(|record| record.object.clone()).or_else(|| stored(key)),
                ));
            }
        }
        let mut rest: Vec<ObjectKey> = known.iter().map(|object| object.key.clone()).collect();
        rest.sort();
        rest.dedup();
        rest.retain(|key| !listed(key) && !queued.contains(key));
        gone.extend(rest.into_iter().map(|key| (key.clone(), stored(&key))));
        for (key, last_state) in gone {
            let uid = last_state.as_ref().map_or(informer_core::Uid::new(""), |object| object.uid.clone());
            let identity = informer_core::Identity { key, uid, version: version.clone() };
            self.queue.push(record(&Delta::Deleted(Deletion { identity, last_state })));
        }
        self.queue.extend(items.iter().map(|item| record(&Delta::Replaced(item.clone()))));
        self.mark_initial();
    }

    fn resync(&mut self, known: &[Arc<Obj>]) {
        let queued: Vec<_> = self.queue.iter().filter_map(|record| record.key.clone()).collect();
        for object in known.iter().filter(|object| !queued.contains(&object.key)) {
            self.queue.push(record(&Delta::Sync(object.key.clone())));
        }
    }

    fn pop(&mut self) -> Vec<Record> {
        self.in_hand = 0;
        let Some(first) = self.queue.first() else { return Vec::new() };
        let Some(key) = first.key.clone() else { return self.take(|at, _| at == 0) };
        let end = self.queue.iter().position(|record| record.key.is_none()).unwrap_or(self.queue.len());
        self.take(|at, record| at < end && record.key.as_ref() == Some(&key))
    }

    fn take(&mut self, wanted: impl Fn(usize, &Record) -> bool) -> Vec<Record> {
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for (at, record) in self.queue.drain(..).enumerate() {
            if wanted(at, &record) { taken.push(record) } else { left.push(record) }
        }
        self.queue = left;
        self.in_hand = taken.iter().filter(|record| record.initial).count();
        taken
    }

    fn has_synced(&self) -> bool {
        self.populated && self.in_hand == 0 && self.queue.iter().all(|record| !record.initial)
    }
}

struct Pair {
    real: DeltaFifo<u32>,
    naive: Naive,
    made: u32,
}

impl Pair {
    fn object(&mut self, name: u8, uid: u8) -> Arc<Obj> {
        self.made += 1;
        object(&format!("n/{name}"), &format!("u{uid}"), &self.made.to_string(), self.made)
    }

    fn objects(&mut self, names: &[u8]) -> Vec<Arc<Obj>> {
        names.iter().map(|&name| self.object(name, 0)).collect()
    }

    fn delta(&mut self, kind: u8, name: u8, uid: u8, last: bool) -> Delta<u32> {
        let object = self.object(name, uid);
        match kind {
            0 | 1 => Delta::Added(plain(&object)),
            2 | 3 => Delta::Updated(plain(&object)),
            4 | 5 => {
                Delta::Deleted(Deletion { identity: identity(&object), last_state: last.then_some(object) })
            }
            6 => Delta::Undecodable(identity(&object)),
            7 if last => Delta::Bookmark(object.version.clone()),
            7 => Delta::SyncAll,
            _ if last => Delta::Sync(object.key.clone()),
            _ => {
                let version = object.version.clone();
                Delta::ReplacedAll(Replacement {
                    version,
                    namespace: None,
                    entries: Vec::new(),
                    complete: true,
                })
            }
        }
    }

    fn run(&mut self, op: &Op) {
        match op {
            Op::Push(kind, name, uid, last) => {
                let delta = self.delta(*kind, *name, *uid, *last);
                self.naive.push(&delta);
                self.real.push(delta);
            }
            Op::Replace(items, known) => {
                let items: Vec<_> = self.objects(items).iter().map(plain).collect();
                let known = self.objects(known);
                let version = ResourceVersion::from(u64::from(self.made) + 1);
                self.made += 1;
                self.naive.replace(&version, &items, &known);
                self.real.replace(version, items, &known);
            }
            Op::Resync(known) => {
                let mut known = known.clone();
                known.dedup();
                let known = self.objects(&known);
                self.naive.resync(&known);
                self.real.resync(&known);
            }
            Op::Pop => self.pop(),
            Op::Drain => {
                self.naive.in_hand = 0;
                let drained: Vec<_> = self.real.drain().iter().map(record).collect();
                assert_same(&drained, &self.naive.take(|_, _| true));
            }
            Op::Processed => {
                self.naive.in_hand = 0;
                self.real.processed();
            }
        }
        assert_eq!(self.real.len(), self.naive.queue.len());
        assert_eq!(self.real.has_synced(), self.naive.has_synced(), "after {op:?}");
    }

    fn pop(&mut self) {
        self.naive.in_hand = 0;
        let initial = !self.naive.has_synced();
        let expected = dedup(self.naive.pop());
        let popped = self.real.pop();
        assert_eq!(popped.is_some(), !expected.is_empty());
        let Some(popped) = popped else { return };
        assert_eq!(popped.in_initial_list, initial);
        assert_eq!(popped.key, expected[0].key);
        assert_same(&popped.deltas.iter().map(record).collect::<Vec<_>>(), &expected);
    }
}

/// Of two deletions in a row of one incarnation, keeps the final state, else the first that has any.
fn dedup(records: Vec<Record>) -> Vec<Record> {
    let uid = |record: &Record| {
        record.text.split("uid: ").nth(1).and_then(|rest| rest.split(',').next()).map(String::from)
    };
    let is_final = |record: &Record| {
        record
            .object
            .as_ref()
            .is_some_and(|object| record.text.contains(&format!("version: {} }}", object.version)))
    };
    let mut kept: Vec<Record> = Vec::new();
    for record in records {
        match kept.last_mut() {
            Some(last) if last.kind == "deleted" && record.kind == "deleted" && uid(last) == uid(&record) => {
                if is_final(&record) || last.object.is_none() {
                    *last = record;
                }
            }
            _ => kept.push(record),
        }
    }
    kept
}

fn assert_same(real: &[Record], expected: &[Record]) {
    let texts = |records: &[Record]| {
        let text = |record: &Record| format!("{} {:?} {}", record.kind, record.key, record.text);
        records.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(texts(real), texts(expected));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn queue_does_what_the_naive_queue_does(ops in vec(op(), 0..80)) {
        let mut pair = Pair { real: DeltaFifo::new(), naive: Naive::default(), made: 0 };
        for op in &ops {
            pair.run(op);
        }
        pair.run(&Op::Drain);
    }
}

/// A queue used alone, popped by key, and one drained in order bring a store to the same contents.
#[test]
fn both_ways_of_reading_lead_to_the_same_contents() {
    let mut rng = informer_core::Rng::new(3);
    let (mut popped, mut drained) = (DeltaFifo::new(), DeltaFifo::new());
    let (mut left, mut right) = (informer_core::Indexer::new(1), informer_core::Indexer::new(1));
    let options = informer_core::ApplyOptions::default();
    for step in 1..2000u32 {
        let own = object(&format!("n/{}", rng.below(6)), "u", &step.to_string(), step);
        for fifo in [&mut popped, &mut drained] {
            fifo.push(match step % 4 {
                0 => Delta::Deleted(Deletion { identity: identity(&own), last_state: Some(own.clone()) }),
                _ => Delta::Added(plain(&own)),
            });
        }
        if rng.below(5) == 0 {
            while let Some(deltas) = popped.pop() {
                left.apply(deltas.deltas, options);
            }
            for notification in right.apply(drained.drain(), options) {
                if let informer_core::Notification::Deleted { last_state, .. } = notification {
                    assert!(matches!(last_state, LastState::Known(_)));
                }
            }
            let contents = |store: &informer_core::Indexer<u32>| {
                let mut values: Vec<u32> = store.iter().map(|object| *object.value).collect();
                values.sort();
                values
            };
            assert_eq!(contents(&left), contents(&right));
        }
    }
}
