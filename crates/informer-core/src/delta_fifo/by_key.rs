//! Which deltas of a queue belong to which key.

use std::collections::{BTreeMap, VecDeque};

use crate::{Delta, ObjectKey};

/// Sequence numbers of queued deltas by key. A map in key order: no hash order, no seed, and only queues read by key
/// pay for it.
pub(super) struct ByKey {
    keys: BTreeMap<ObjectKey, VecDeque<u64>>,
    /// Deltas about the whole collection: what came after one is not given together with what came before.
    whole: VecDeque<u64>,
}

impl ByKey {
    pub(super) fn new<V>(first: u64, entries: &VecDeque<Option<Delta<V>>>) -> Self {
        let mut by_key = Self { keys: BTreeMap::new(), whole: VecDeque::new() };
        for (at, delta) in (first..).zip(entries) {
            if let Some(delta) = delta {
                by_key.push(at, delta.key());
            }
        }
        by_key
    }

    pub(super) fn push(&mut self, at: u64, key: Option<&ObjectKey>) {
        match key {
            None => self.whole.push_back(at),
            Some(key) => match self.keys.get_mut(key) {
                Some(queued) => queued.push_back(at),
                None => {
                    self.keys.insert(key.clone(), VecDeque::from([at]));
                }
            },
        }
    }

    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.keys.contains_key(key)
    }

    /// The queued keys with their deltas, oldest first, none empty.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&ObjectKey, &VecDeque<u64>)> {
        self.keys.iter()
    }

    /// Removes the deltas of a key up to the next one about the whole collection.
    pub(super) fn take(&mut self, key: &ObjectKey) -> Vec<u64> {
        let end = self.whole.front().copied().unwrap_or(u64::MAX);
        let queued = self.keys.get_mut(key).expect("a queued key is in the key table");
        let taken = queued.partition_point(|&at| at < end);
        let taken = queued.drain(..taken).collect();
        if queued.is_empty() {
            self.keys.remove(key);
        }
        taken
    }

    /// Removes the oldest delta about the whole collection.
    pub(super) fn take_whole(&mut self) -> Vec<u64> {
        self.whole.pop_front().into_iter().collect()
    }
}
