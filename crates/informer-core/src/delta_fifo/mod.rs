//! The queue between a reflector and a store: deltas in order of arrival.

mod by_key;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use by_key::ByKey;

use crate::{Deletion, Delta, Entry, Identity, Item, Object, ObjectKey, Replacement, ResourceVersion, Uid};

/// Deltas in order of arrival; none is ever merged away or dropped on entry.
///
/// It is read in one of two ways. [`drain`](Self::drain) gives everything in order of arrival: what informers do,
/// with [`Delta::ReplacedAll`] and [`Delta::SyncAll`] pushed whole. [`pop`](Self::pop) gives all deltas of the key
/// that has waited longest, in order for that key only: for use alone, with [`replace`](Self::replace) and
/// [`resync`](Self::resync), which compare with what the reader knows. Nothing here blocks. A push costs constant
/// time, and one map operation more once the queue has been read by key.
///
/// ```
/// use informer_core::{Delta, DeltaFifo, ObjectKey};
/// let mut fifo = DeltaFifo::<()>::new();
/// let (a, b) = (ObjectKey::new("", "a"), ObjectKey::new("", "b"));
/// for key in [&a, &b, &a] {
///     fifo.push(Delta::Sync(key.clone()));
/// }
/// let popped = fifo.pop().unwrap();
/// assert_eq!((popped.key, popped.deltas.len()), (Some(a), 2));
/// assert_eq!(fifo.drain().len(), 1);
/// assert!(fifo.pop().is_none());
/// ```
#[doc(alias = "DeltaFIFO")]
#[doc(alias = "RealFIFO")]
pub struct DeltaFifo<V> {
    /// By sequence number, from `first`; `None` once popped. The front is never `None`.
    entries: VecDeque<Option<Delta<V>>>,
    first: u64,
    len: usize,
    /// Kept from the first question by key until the next drain: draining alone never pays for it.
    by_key: Option<ByKey>,
    populated: bool,
    /// Deltas of the first replacement, and those queued before it, have lower sequence numbers.
    initial_end: u64,
    /// How many of them have not been processed.
    initial_left: usize,
    /// How many of them the reader has in hand.
    initial_in_hand: usize,
}

/// What [`DeltaFifo::pop`] gives.
#[derive(Debug)]
pub struct Deltas<V> {
    /// The object; `None` for a delta about the whole collection, which comes alone.
    pub key: Option<ObjectKey>,
    /// What happened to it, oldest first; never empty.
    pub deltas: Vec<Delta<V>>,
    /// Whether the queue had not synced before this.
    pub in_initial_list: bool,
}

impl<V> DeltaFifo<V> {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            len: 0,
            by_key: None,
            populated: false,
            initial_end: 0,
            initial_left: 0,
            initial_in_hand: 0,
        }
    }

    /// The number of deltas.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a delta. A deletion of an unknown object is queued like any other.
    pub fn push(&mut self, delta: Delta<V>) {
        let replaced = matches!(delta, Delta::ReplacedAll(_));
        let changed = delta.key().is_some() && !matches!(delta, Delta::Sync(_));
        self.append(delta);
        if replaced {
            self.begin_initial();
        }
        self.populated |= changed || replaced;
    }

    /// Queues a list of the whole collection: a [`Delta::Deleted`] for each object that is queued or known and not in
    /// the list, then a [`Delta::Replaced`] for each item.
    ///
    /// `known` is what the reader has stored. A deletion made here carries the latest state queued, or else the one
    /// known, at the version of the list: [`Deletion::state`] calls it `Stale`. Deletions come in order of arrival of
    /// the queued deltas, then in key order. While a [`Delta::ReplacedAll`] is queued nobody can say what will be
    /// known, and then the list is queued whole as well.
    pub fn replace<'a>(
        &mut self,
        version: ResourceVersion,
        items: Vec<Item<V>>,
        known: impl IntoIterator<Item = &'a Arc<Object<V>>>,
    ) where
        V: 'a,
    {
        if self.entries.iter().flatten().any(|delta| matches!(delta, Delta::ReplacedAll(_))) {
            let entries = items.into_iter().map(Entry::Object).collect();
            self.push(Delta::ReplacedAll(Replacement { version, namespace: None, entries, complete: true }));
            return;
        }
        let known: BTreeMap<_, _> = known.into_iter().map(|object| (&object.key, object)).collect();
        let listed: BTreeSet<_> = items.iter().map(|item| &item.object.key).collect();
        let by_key = self.by_key.get_or_insert_with(|| ByKey::new(self.first, &self.entries));
        let mut missing: Vec<(u64, Deletion<V>)> = Vec::new();
        for (key, queued) in by_key.keys().filter(|(key, _)| !listed.contains(key)) {
            let deltas =
                || queued.iter().rev().filter_map(|&at| self.entries[(at - self.first) as usize].as_ref());
            if !matches!(deltas().next(), None | Some(Delta::Deleted(_))) {
                let last = deltas().find_map(last_object).or_else(|| known.get(key).copied());
                missing.push((queued[0], tombstone(key, &version, last)));
            }
        }
        missing.sort_unstable_by_key(|(at, _)| *at);
        let unqueued = known.iter().filter(|(key, _)| !listed.contains(*key) && !by_key.contains(key));
        let unqueued: Vec<_> = unqueued.map(|(key, object)| tombstone(key, &version, Some(object))).collect();
        for deletion in missing.into_iter().map(|(_, deletion)| deletion).chain(unqueued) {
            self.append(Delta::Deleted(deletion));
        }
        for item in items {
            self.append(Delta::Replaced(item));
        }
        self.begin_initial();
        self.populated = true;
    }

    /// Queues a [`Delta::Sync`] for each known object that has no delta queued.
    pub fn resync<'a>(&mut self, known: impl IntoIterator<Item = &'a Arc<Object<V>>>)
    where
        V: 'a,
    {
        let by_key = self.by_key.get_or_insert_with(|| ByKey::new(self.first, &self.entries));
        let quiet: Vec<_> = known.into_iter().filter(|object| !by_key.contains(&object.key)).collect();
        for object in quiet {
            self.append(Delta::Sync(object.key.clone()));
        }
    }

    /// Takes all deltas of the key whose oldest delta has waited longest.
    ///
    /// Two deletions of one incarnation in a row become one, the better informed. A delta about the whole collection
    /// comes alone, after everything older and before everything newer. What was taken before counts as processed.
    pub fn pop(&mut self) -> Option<Deltas<V>> {
        self.processed();
        let in_initial_list = !self.has_synced();
        let by_key = self.by_key.get_or_insert_with(|| ByKey::new(self.first, &self.entries));
        let key = self.entries.front()?.as_ref().expect("the front of the queue is occupied").key().cloned();
        let taken = match &key {
            None => by_key.take_whole(),
            Some(key) => by_key.take(key),
        };
        let mut deltas = Vec::with_capacity(taken.len());
        for at in taken {
            let delta = self.entries[(at - self.first) as usize].take();
            let delta = delta.expect("the key table names queued deltas");
            self.initial_in_hand += usize::from(at < self.initial_end);
            self.len -= 1;
            push_delta(&mut deltas, delta);
        }
        while matches!(self.entries.front(), Some(None)) {
            self.entries.pop_front();
            self.first += 1;
        }
        Some(Deltas { key, deltas, in_initial_list })
    }

    /// Takes everything, in order of arrival. What was taken before counts as processed.
    pub fn drain(&mut self) -> Vec<Delta<V>> {
        self.processed();
        self.initial_in_hand = self.initial_left;
        self.first += self.entries.len() as u64;
        self.by_key = None;
        let mut deltas = Vec::with_capacity(std::mem::take(&mut self.len));
        deltas.extend(self.entries.drain(..).flatten());
        deltas
    }

    /// Says that everything taken so far has been processed. Taking more says so too.
    pub fn processed(&mut self) {
        self.initial_left -= std::mem::take(&mut self.initial_in_hand);
    }

    /// Whether the first list has been taken and processed: everything that was queued when it came, and itself.
    ///
    /// True at once if a change came before any list, or if the first [`replace`](Self::replace) found nothing to
    /// queue. A delta counts as processed when [`processed`](Self::processed) is called or more is taken, never while
    /// it is in the reader's hands.
    pub fn has_synced(&self) -> bool {
        self.populated && self.initial_left == 0
    }

    fn append(&mut self, delta: Delta<V>) {
        if let Some(by_key) = &mut self.by_key {
            by_key.push(self.first + self.entries.len() as u64, delta.key());
        }
        self.entries.push_back(Some(delta));
        self.len += 1;
    }

    /// If nothing came before a list, the list and all that is queued are the initial list.
    fn begin_initial(&mut self) {
        if !self.populated {
            self.initial_end = self.first + self.entries.len() as u64;
            self.initial_left = self.len;
        }
    }
}

impl<V> Default for DeltaFifo<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> fmt::Debug for DeltaFifo<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo").field("len", &self.len).field("has_synced", &self.has_synced()).finish()
    }
}

/// The state of the object that a delta carries.
fn last_object<V>(delta: &Delta<V>) -> Option<&Arc<Object<V>>> {
    match delta {
        Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => Some(&item.object),
        Delta::Deleted(deletion) => deletion.last_state.as_ref(),
        _ => None,
    }
}

/// The deletion of an object that a list does not have any more.
fn tombstone<V>(key: &ObjectKey, version: &ResourceVersion, last: Option<&Arc<Object<V>>>) -> Deletion<V> {
    let uid = last.map_or_else(|| Uid::new(""), |object| object.uid.clone());
    let identity = Identity { key: key.clone(), uid, version: version.clone() };
    Deletion { identity, last_state: last.cloned() }
}

/// Appends a delta; of two deletions of one incarnation only the one that knows more stays.
fn push_delta<V>(deltas: &mut Vec<Delta<V>>, delta: Delta<V>) {
    if let (Some(Delta::Deleted(older)), Delta::Deleted(newer)) = (deltas.last_mut(), &delta)
        && older.identity.uid == newer.identity.uid
    {
        let newer_is_final = matches!(newer.state(), crate::LastState::Known(_));
        if newer_is_final || older.last_state.is_none() {
            deltas.pop();
        } else {
            return;
        }
    }
    deltas.push(delta);
}
