//! What a WatchList has sent of the collection, until it has sent all of it.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::slot_entry::{SlotEntry, table_hash};
use crate::{Entry, Identity, Mono, ObjectKey, ResourceVersion};

/// The beginning of a WatchList, up to its end bookmark.
pub(super) struct InitialEvents<V> {
    /// The version asked for.
    pub(super) version: Option<ResourceVersion>,
    /// In order of arrival; a deleted one leaves a hole.
    slots: Vec<Option<Slot<V>>>,
    by_key: HashTable<SlotEntry>,
    hasher: FixedState,
    /// False once an item could not be identified.
    pub(super) complete: bool,
    /// When the last key not seen before came.
    pub(super) new_key_at: Mono,
    /// When the first event came that is no part of the initial ones.
    pub(super) live_event_at: Option<Mono>,
}

struct Slot<V> {
    entry: Entry<V>,
    /// A newer version than `entry`, which could not be decoded.
    undecodable: Option<Box<Identity>>,
}

impl<V> InitialEvents<V> {
    /// The seed goes into the hash of names, which are other people's text; it changes nothing else.
    pub(super) fn new(version: Option<ResourceVersion>, now: Mono, hash_seed: u64) -> Self {
        Self {
            version,
            slots: Vec::new(),
            by_key: HashTable::new(),
            hasher: FixedState::with_seed(hash_seed),
            complete: true,
            new_key_at: now,
            live_event_at: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Takes an object in, in place of what is known of its key.
    pub(super) fn put(&mut self, entry: Entry<V>, now: Mono) {
        let hash = self.hash(entry.key());
        let known = self.by_key.find(table_hash(hash), |place| self.is_at(place, entry.key()));
        let slot = known.and_then(|place| self.slots[place.slot as usize].as_mut());
        match (slot, entry) {
            (Some(slot), Entry::Undecodable(identity)) if matches!(slot.entry, Entry::Object(_)) => {
                // The older state is in hand: better that, marked stale, than nothing.
                slot.undecodable = Some(identity);
            }
            (Some(slot), entry) => *slot = Slot { entry, undecodable: None },
            (None, entry) => {
                let slot = u32::try_from(self.slots.len()).expect("a collection has fewer than 2^32 objects");
                self.by_key.insert_unique(table_hash(hash), SlotEntry { slot, hash }, SlotEntry::table_hash);
                self.slots.push(Some(Slot { entry, undecodable: None }));
                self.new_key_at = now;
            }
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        let hash = table_hash(self.hash(key));
        let (by_key, slots) = (&mut self.by_key, &mut self.slots);
        if let Ok(found) = by_key.find_entry(hash, |place| is_key_of(&slots[place.slot as usize], key)) {
            let (place, _) = found.remove();
            slots[place.slot as usize] = None;
        }
    }

    /// The entries in order of arrival, and the versions among them that could not be decoded.
    pub(super) fn finish(self) -> (Vec<Entry<V>>, Vec<Identity>) {
        // Not needed any more, and the entries are about to be copied.
        drop(self.by_key);
        let mut undecodable = Vec::new();
        let entries = self
            .slots
            .into_iter()
            .flatten()
            .map(|slot| {
                undecodable.extend(slot.undecodable.map(|identity| *identity));
                slot.entry
            })
            .collect();
        (entries, undecodable)
    }

    fn hash(&self, key: &ObjectKey) -> u32 {
        self.hasher.hash_one(key) as u32
    }

    fn is_at(&self, place: &SlotEntry, key: &ObjectKey) -> bool {
        is_key_of(&self.slots[place.slot as usize], key)
    }
}

fn is_key_of<V>(slot: &Option<Slot<V>>, key: &ObjectKey) -> bool {
    slot.as_ref().is_some_and(|slot| slot.entry.key() == key)
}
