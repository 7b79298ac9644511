//! How deltas become contents and notifications.

use std::cmp::Ordering;
use std::mem;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as TableEntry;

use super::{Indexer, Retired, hash_key};
use crate::{
    Deletion, Delta, Entry, Identity, Item, LastState, Notification, Object, ObjectKey, Replacement,
    ResourceVersion,
};

/// Choices about how deltas are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ApplyOptions {
    /// Whether an object deleted and created again unseen (its uid changed) is told as a deletion and an addition,
    /// or as one update between two incarnations. True by default.
    pub split_recreated: bool,
    /// What additions by single deltas say in `in_initial_list`: for a queue used alone, which knows. False by
    /// default. A [`Delta::ReplacedAll`] knows it by itself.
    pub in_initial_list: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self { split_recreated: true, in_initial_list: false }
    }
}

/// Whether an older version may take the place of a newer one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// A stream of changes: an older version is a repetition.
    Forward,
    /// A list is the truth, even if the server was set back.
    Any,
}

impl<V> Indexer<V> {
    /// Applies deltas in order and says what handlers are to be told, in order.
    ///
    /// - *Added, Updated, Replaced*: the delta's name does not matter. What is absent is added. The stored version
    ///   again is nothing (it clears a stale mark); a version that is older than the stored one of the same uid is
    ///   ignored, unless that one is stale; another uid is a deletion nobody saw and an addition, or one update if
    ///   [`split_recreated`](ApplyOptions::split_recreated) is off.
    /// - *Deleted*: nothing if absent or older than what is stored and not stale. The last state is `Known` if the delta carries
    ///   the final state of the stored incarnation, otherwise `Stale` with what was stored.
    /// - *ReplacedAll*: what is stored in the listed namespace (or anywhere) and not listed is deleted, in key order
    ///   (or only marked stale, if the list is incomplete); then additions and updates follow in list order, then [`Synced`](Notification::Synced) the
    ///   first time and [`Relisted`](Notification::Relisted) from then on. Here alone versions may go back, the
    ///   store's too. A listed object that could not be decoded keeps what is stored, marked stale.
    /// - *Undecodable*: what is stored stays, marked stale.
    /// - *Sync, SyncAll*: a [`Resync`](Notification::Resync) for each stored object concerned.
    /// - *Bookmark*: the store's version advances, as it does with every change.
    ///
    /// The store's version never goes back while versions can be compared, but with a list.
    pub fn apply(
        &mut self,
        deltas: impl IntoIterator<Item = Delta<V>>,
        options: ApplyOptions,
    ) -> Vec<Notification<V>> {
        self.apply_and_retire(deltas, options).0
    }

    /// The same, and hands out what the store no longer needs, for whoever holds a lock to drop after it.
    pub fn apply_and_retire(
        &mut self,
        deltas: impl IntoIterator<Item = Delta<V>>,
        options: ApplyOptions,
    ) -> (Vec<Notification<V>>, Retired<V>) {
        let deltas = deltas.into_iter();
        let mut told = Vec::with_capacity(deltas.size_hint().0);
        for delta in deltas {
            self.apply_one(delta, options, &mut told);
        }
        (told, mem::take(&mut self.retired))
    }

    fn apply_one(&mut self, delta: Delta<V>, options: ApplyOptions, told: &mut Vec<Notification<V>>) {
        match delta {
            Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => {
                let version = item.object.version.clone();
                self.upsert(item, Direction::Forward, options, told);
                self.advance(&version);
            }
            Delta::Deleted(deletion) => {
                self.delete(&deletion, told);
                self.advance(&deletion.identity.version);
            }
            Delta::ReplacedAll(replacement) => self.replace_all(replacement, options, told),
            Delta::Undecodable(identity) => {
                self.mark_undecodable(&identity, Direction::Forward);
                self.advance(&identity.version);
            }
            Delta::Bookmark(version) => self.advance(&version),
            Delta::Sync(key) => {
                told.extend(
                    self.by_key(&key).map(|object| Notification::Resync { object: Arc::clone(object) }),
                );
            }
            Delta::SyncAll => {
                told.extend(self.iter().map(|object| Notification::Resync { object: Arc::clone(object) }));
            }
        }
    }

    fn upsert(
        &mut self,
        item: Item<V>,
        direction: Direction,
        options: ApplyOptions,
        told: &mut Vec<Notification<V>>,
    ) {
        let new = item.object;
        let added = |object| Notification::Added { object, in_initial_list: options.in_initial_list };
        let Some(slot) = self.find(new.key.namespace(), new.key.name()) else {
            self.insert(Arc::clone(&new), &item.index_values);
            told.push(added(new));
            return;
        };
        let old = self.slab.object(slot);
        let same_uid = old.uid == new.uid;
        if same_uid && is_same_version(&old.version, &new.version) {
            self.slab.set_stale(slot, false);
            return;
        }
        // A stale one may be of a past that a restored server has forgotten: its version says nothing.
        let repeated =
            direction == Direction::Forward && new.version < old.version && !self.slab.is_stale(slot);
        if same_uid && repeated {
            return;
        }
        let old = self.replace(slot, Arc::clone(&new), &item.index_values);
        if same_uid || !options.split_recreated {
            told.push(Notification::Updated { old, new });
        } else {
            told.push(Notification::Deleted { key: old.key.clone(), last_state: LastState::Stale(old) });
            told.push(added(new));
        }
    }

    fn delete(&mut self, deletion: &Deletion<V>, told: &mut Vec<Notification<V>>) {
        let identity = &deletion.identity;
        let Some(slot) = self.find(identity.key.namespace(), identity.key.name()) else { return };
        let stored = self.slab.object(slot);
        if stored.uid == identity.uid && identity.version < stored.version && !self.slab.is_stale(slot) {
            return;
        }
        let stored = self.remove(slot);
        let last_state = match deletion.state() {
            LastState::Known(last) if last.uid == stored.uid => LastState::Known(last),
            _ => LastState::Stale(stored),
        };
        told.push(Notification::Deleted { key: identity.key.clone(), last_state });
    }

    fn replace_all(
        &mut self,
        replacement: Replacement<V>,
        options: ApplyOptions,
        told: &mut Vec<Notification<V>>,
    ) {
        let options = ApplyOptions { in_initial_list: !self.synced, ..options };
        let listed = self.listed(&replacement.entries);
        for key in self.missing(&listed, replacement.namespace.as_deref()) {
            let slot = self.find(key.namespace(), key.name()).expect("a missing key was stored");
            if !replacement.complete {
                // It may be there or not: it is not known to be the server's state.
                self.slab.set_stale(slot, true);
            } else {
                told.push(Notification::Deleted { key, last_state: LastState::Stale(self.remove(slot)) });
            }
        }
        if !self.synced {
            told.reserve_exact(replacement.entries.len() + 1);
        }
        // Each goes as soon as it is stored: what it carries for the indices would take as much room as they do.
        for (entry, superseded) in replacement.entries.into_iter().zip(listed.superseded) {
            match entry {
                _ if superseded => {}
                Entry::Object(item) => self.upsert(item, Direction::Any, options, told),
                Entry::Unchanged(object) => self.confirm(&object),
                Entry::Undecodable(identity) => self.mark_undecodable(&identity, Direction::Any),
            }
        }
        self.version = replacement.version.clone();
        let version = replacement.version.clone();
        told.push(match mem::replace(&mut self.synced, true) {
            false => Notification::Synced { version },
            true => Notification::Relisted { version },
        });
    }

    /// The keys that a list of this namespace (or of all) should have named if they were still there, sorted.
    fn missing(&self, listed: &Listed, namespace: Option<&str>) -> Vec<ObjectKey> {
        let unlisted = |slot: u32| {
            let object = self.slab.get(slot).filter(|_| !listed.slots[slot as usize])?;
            Some(object.key.clone())
        };
        let mut missing: Vec<ObjectKey> = match namespace {
            None => (0..self.slab.slots() as u32).filter_map(unlisted).collect(),
            Some(namespace) => {
                let members = self.by_namespace.members(&self.hasher, namespace);
                members.iter().copied().filter_map(unlisted).collect()
            }
        };
        missing.sort_unstable();
        missing
    }

    /// Which slots a list speaks of, and which of its entries do not count since the same key comes again later.
    fn listed(&self, entries: &[Entry<V>]) -> Listed {
        let mut listed =
            Listed { slots: vec![false; self.slab.slots()], superseded: vec![false; entries.len()] };
        // Entries of keys that are not stored, by key.
        let mut new = HashTable::<u32>::with_capacity(entries.len().saturating_sub(self.len()));
        let hash = |position: u32| {
            let key = entries[position as usize].key();
            hash_key(&self.hasher, key.namespace(), key.name())
        };
        for (position, entry) in entries.iter().enumerate().rev() {
            let key = entry.key();
            listed.superseded[position] = if let Some(slot) = self.find(key.namespace(), key.name()) {
                mem::replace(&mut listed.slots[slot as usize], true)
            } else {
                let position = u32::try_from(position).expect("a list has fewer than 2^32 entries");
                let same = |&other: &u32| entries[other as usize].key() == key;
                match new.entry(hash(position), same, |&other| hash(other)) {
                    TableEntry::Occupied(_) => true,
                    TableEntry::Vacant(vacant) => {
                        vacant.insert(position);
                        false
                    }
                }
            };
        }
        listed
    }

    /// The list says that this very version is still there.
    fn confirm(&mut self, listed: &Object<V>) {
        if let Some(slot) = self.find(listed.key.namespace(), listed.key.name()) {
            let stored = self.slab.object(slot);
            let same = stored.uid == listed.uid && is_same_version(&stored.version, &listed.version);
            // Another version came between the comparison and now. Its mark makes the next list decode it again.
            self.slab.set_stale(slot, !same);
        }
    }

    fn mark_undecodable(&mut self, identity: &Identity, direction: Direction) {
        if let Some(slot) = self.find(identity.key.namespace(), identity.key.name()) {
            let stored = self.slab.object(slot);
            let same_uid = stored.uid == identity.uid;
            if same_uid && is_same_version(&stored.version, &identity.version) {
                // What cannot be decoded now could be before: it is what is stored.
                self.slab.set_stale(slot, false);
                return;
            }
            let repeated = same_uid
                && direction == Direction::Forward
                && identity.version.partial_cmp(&stored.version) == Some(Ordering::Less);
            if !repeated {
                self.slab.set_stale(slot, true);
            }
        }
    }

    fn advance(&mut self, version: &ResourceVersion) {
        let goes_back = *version < self.version;
        if !version.is_empty() && !goes_back {
            self.version = version.clone();
        }
    }
}

struct Listed {
    slots: Vec<bool>,
    superseded: Vec<bool>,
}

/// Versions a server did not send say nothing.
fn is_same_version(a: &ResourceVersion, b: &ResourceVersion) -> bool {
    a == b && !a.is_empty()
}
