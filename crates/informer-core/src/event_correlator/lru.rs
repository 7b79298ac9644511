//! A map that forgets what was used longest ago, except what is pinned.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// At most `capacity` unpinned entries, and any number of pinned ones: who pins has to have a bound.
pub(super) struct Lru<K, V> {
    entries: HashMap<Arc<K>, Slot<V>, FixedState>,
    /// The unpinned ones by the time of their last use.
    by_age: BTreeMap<u64, Arc<K>>,
    next_age: u64,
    capacity: usize,
}

struct Slot<V> {
    value: V,
    /// `None` while pinned.
    age: Option<u64>,
}

impl<K: Hash + Eq, V> Lru<K, V> {
    /// # Panics
    /// If nothing could be remembered.
    pub(super) fn new(capacity: usize, seed: u64) -> Self {
        assert!(capacity > 0, "a memory holds at least one entry");
        let entries = HashMap::with_hasher(FixedState::with_seed(seed));
        Self { entries, by_age: BTreeMap::new(), next_age: 0, capacity }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn unpinned_len(&self) -> usize {
        self.by_age.len()
    }

    /// Whether one more would make it forget another.
    pub(super) fn is_full(&self) -> bool {
        self.by_age.len() >= self.capacity
    }

    pub(super) fn entry(&self, key: &K) -> Option<(&Arc<K>, &V)> {
        self.entries.get_key_value(key).map(|(key, slot)| (key, &slot.value))
    }

    pub(super) fn value_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|slot| &mut slot.value)
    }

    /// The value of a key, made if there is none; used now. Forgets the oldest other when there are too many.
    pub(super) fn use_or_insert(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let known = self.entry(&key).map(|(known, _)| Arc::clone(known));
        let key = known.unwrap_or_else(|| {
            if self.is_full() {
                self.pop_oldest();
            }
            self.insert_pinned(Arc::new(key), make())
        });
        self.pin(&key);
        self.unpin(&key);
        self.value_mut(&key).expect("it was there or was inserted")
    }

    /// Adds an entry that is not forgotten until it is unpinned.
    pub(super) fn insert_pinned(&mut self, key: Arc<K>, value: V) -> Arc<K> {
        let before = self.entries.insert(Arc::clone(&key), Slot { value, age: None });
        assert!(before.is_none(), "an entry is inserted once");
        key
    }

    /// Keeps an entry from being forgotten.
    pub(super) fn pin(&mut self, key: &K) {
        let age = self.entries.get_mut(key).and_then(|slot| slot.age.take());
        if let Some(age) = age {
            self.by_age.remove(&age);
        }
    }

    /// Lets an entry be forgotten when others are younger.
    pub(super) fn unpin(&mut self, key: &Arc<K>) {
        let slot = self.entries.get_mut(&**key).expect("only a known entry is unpinned");
        if slot.age.is_none() {
            slot.age = Some(self.next_age);
            self.by_age.insert(self.next_age, Arc::clone(key));
            self.next_age += 1;
        }
    }

    /// The unpinned entry that was used longest ago.
    pub(super) fn oldest(&self) -> Option<&Arc<K>> {
        self.by_age.first_key_value().map(|(_, key)| key)
    }

    pub(super) fn pop_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_first() {
            self.entries.remove(&*key);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.pin(key);
        self.entries.remove(key);
    }

    /// The unpinned entries, oldest first.
    pub(super) fn unpinned(&self) -> impl Iterator<Item = (&Arc<K>, &V)> {
        self.by_age
            .values()
            .map(|key| (key, &self.entries.get(&**key).expect("what has an age is there").value))
    }
}
