//! What was seen of each event, what the server knows of it, and what it is to be told next.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::Observed;
use super::lru::Lru;
use crate::Mono;

/// Names a write until its end is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EventWriteId(u64);

/// One thing to tell the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventWrite<P> {
    /// To tell of its end with.
    pub id: EventWriteId,
    /// What kind of request it is.
    pub kind: EventWriteKind,
    /// The first of these events: the object on the server has its name and its time.
    pub first: P,
    /// The latest of them: the last time, and for a combined one the message.
    pub latest: P,
    /// How often it happened by now, what was dropped as spam included.
    pub count: u32,
    /// Whether different messages are told as one.
    pub combined: bool,
    /// How many events this write is the first to tell of.
    pub occurrences: u64,
}

/// How to tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventWriteKind {
    /// Create the object.
    Create,
    /// Patch the object that is there: count, last time, message.
    Patch,
}

/// How a write ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventWriteOutcome {
    /// The server has it.
    Done,
    /// There is an object of that name already: from an earlier attempt whose answer was lost.
    Exists,
    /// The object to patch is not there any more: Events expire.
    Missing,
    /// It was refused, or given up.
    Failed,
}

/// What the end of a write means for the events it told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settled {
    /// The server knows of them.
    Reported,
    /// It never will.
    Lost,
    /// Another write tells of them: `poll_write` yields it.
    Later,
}

pub(super) struct Ledger<K, P> {
    /// Entries that are due or being written are pinned.
    entries: Lru<K, Entry<P>>,
    /// Entries to write, in order.
    due: VecDeque<Arc<K>>,
    in_flight: BTreeMap<EventWriteId, Arc<K>>,
    next_id: u64,
    /// As many may be pinned as are remembered.
    capacity: usize,
    /// It is the end: nothing waits for a later report.
    flushing: bool,
}

pub(super) struct Entry<P> {
    pub(super) first: P,
    pub(super) latest: P,
    pub(super) count: u32,
    pub(super) combined: bool,
    /// Whether the server is believed to have the object.
    exists: bool,
    /// Events that no write has told of yet.
    pub(super) unreported: u64,
    in_flight: Option<InFlight>,
    /// Whether it waits to be written.
    is_due: bool,
    /// The count that was written last.
    written: u32,
    /// How often in a row the server contradicted what is believed of the object.
    contradictions: u32,
    /// It is written once more, if needed, and then forgotten.
    closing: bool,
    pub(super) last_observed: Mono,
    pub(super) last_written: Mono,
}

/// What the write under way tells.
#[derive(Clone, Copy)]
struct InFlight {
    occurrences: u64,
    count: u32,
}

/// An object that is there when it is created and is not when it is patched, so often in a row, is given up.
const MAX_CONTRADICTIONS: u32 = 4;

impl<P> Entry<P> {
    fn is_pinned(&self) -> bool {
        self.is_due || self.in_flight.is_some()
    }

    /// Whether the server was told of one that repeats.
    pub(super) fn is_known_series(&self) -> bool {
        self.exists && self.written >= 2
    }

    /// Takes in how a write ended.
    fn settle(&mut self, ended: InFlight, outcome: EventWriteOutcome) -> Settled {
        let settled = match outcome {
            EventWriteOutcome::Done => Settled::Reported,
            // The one that is there came from an earlier attempt, and tells of no more than that.
            EventWriteOutcome::Exists if ended.count == 1 => Settled::Reported,
            EventWriteOutcome::Failed => Settled::Lost,
            EventWriteOutcome::Exists | EventWriteOutcome::Missing => Settled::Later,
        };
        match outcome {
            EventWriteOutcome::Done | EventWriteOutcome::Exists => self.exists = true,
            EventWriteOutcome::Missing => self.exists = false,
            EventWriteOutcome::Failed => {}
        }
        if settled != Settled::Later {
            self.contradictions = 0;
            return settled;
        }
        self.contradictions += 1;
        if self.contradictions >= MAX_CONTRADICTIONS {
            self.contradictions = 0;
            return Settled::Lost;
        }
        self.unreported += ended.occurrences;
        Settled::Later
    }
}

impl<K: Hash + Eq, P: Clone> Ledger<K, P> {
    pub(super) fn new(capacity: usize, seed: u64) -> Self {
        Self {
            entries: Lru::new(capacity, seed),
            due: VecDeque::new(),
            in_flight: BTreeMap::new(),
            next_id: 0,
            capacity,
            flushing: false,
        }
    }

    pub(super) fn entry(&self, key: &K) -> Option<&Entry<P>> {
        self.entries.entry(key).map(|(_, entry)| entry)
    }

    /// Whether there is no room for an event that is not known yet.
    pub(super) fn refuses(&self, key: &K) -> bool {
        self.pinned_len() >= self.capacity && self.entries.entry(key).is_none()
    }

    fn pinned_len(&self) -> usize {
        self.entries.len() - self.entries.unpinned_len()
    }

    /// One more of `key`: `told` if a write is to tell of it, at once if `urgent`.
    pub(super) fn count(&mut self, now: Mono, key: K, event: P, combined: bool, how: Telling) -> Observed {
        let known = self.entries.entry(&key).map(|(key, _)| Arc::clone(key));
        let key = known.unwrap_or_else(|| self.insert(now, key, &event, combined));
        let entry = self.entries.value_mut(&key).expect("it was known or was inserted");
        entry.count = entry.count.saturating_add(1);
        entry.latest = event;
        entry.last_observed = now;
        entry.closing = false;
        let was_pinned = entry.is_pinned();
        entry.unreported += u64::from(how != Telling::Never);
        let observed = match how {
            Telling::Never => Observed::Spam,
            Telling::Later => Observed::Counted,
            Telling::Now if entry.in_flight.is_some() => Observed::Counted,
            Telling::Now => Observed::Due,
        };
        if !was_pinned {
            // Used now.
            self.entries.pin(&key);
            if observed == Observed::Due {
                self.push_due(key);
            } else {
                self.entries.unpin(&key);
            }
        }
        observed
    }

    fn insert(&mut self, now: Mono, key: K, event: &P, combined: bool) -> Arc<K> {
        if self.entries.is_full() {
            self.evict();
        }
        let entry = Entry {
            first: event.clone(),
            latest: event.clone(),
            count: 0,
            combined,
            exists: false,
            unreported: 0,
            in_flight: None,
            is_due: false,
            written: 0,
            contradictions: 0,
            closing: false,
            last_observed: now,
            last_written: now,
        };
        self.entries.insert_pinned(Arc::new(key), entry)
    }

    /// Forgets the oldest entry, once the server knows what there is to know of it.
    fn evict(&mut self) {
        let Some(oldest) = self.entries.oldest().map(Arc::clone) else { return };
        self.close(&oldest);
    }

    /// Forgets an entry that is neither due nor being written, at once or after its last write.
    pub(super) fn close(&mut self, key: &Arc<K>) {
        let entry = self.entries.value_mut(key).expect("only a known entry is closed");
        if entry.unreported == 0 {
            self.entries.remove(key);
        } else {
            entry.closing = true;
            self.make_due(key);
        }
    }

    /// Lets an entry that is neither due nor being written be written now.
    pub(super) fn make_due(&mut self, key: &Arc<K>) {
        self.entries.pin(key);
        self.push_due(Arc::clone(key));
    }

    fn push_due(&mut self, key: Arc<K>) {
        self.entries.value_mut(&key).expect("only a known entry becomes due").is_due = true;
        self.due.push_back(key);
    }

    /// Lets all that is unreported be written, now or when the write under way has ended.
    pub(super) fn flush(&mut self) {
        self.flushing = true;
        let unreported = self.unpinned().filter(|(_, entry)| entry.unreported > 0);
        let unreported: Vec<Arc<K>> = unreported.map(|(key, _)| Arc::clone(key)).collect();
        for key in unreported {
            self.make_due(&key);
        }
    }

    /// What is neither due nor being written, least recently used first.
    pub(super) fn unpinned(&self) -> impl Iterator<Item = (&Arc<K>, &Entry<P>)> {
        self.entries.unpinned()
    }

    pub(super) fn poll_write(&mut self, now: Mono) -> Option<EventWrite<P>> {
        let key = self.due.pop_front()?;
        let id = EventWriteId(self.next_id);
        self.next_id += 1;
        let entry = self.entries.value_mut(&key).expect("what is due is known");
        let occurrences = std::mem::take(&mut entry.unreported);
        entry.is_due = false;
        entry.in_flight = Some(InFlight { occurrences, count: entry.count });
        entry.written = entry.count;
        entry.last_written = now;
        let write = EventWrite {
            id,
            kind: if entry.exists { EventWriteKind::Patch } else { EventWriteKind::Create },
            first: entry.first.clone(),
            latest: entry.latest.clone(),
            count: entry.count,
            combined: entry.combined,
            occurrences,
        };
        self.in_flight.insert(id, key);
        Some(write)
    }

    /// Takes in the end of a write. `at_once`: whether what was counted meanwhile is written now, given the count that
    /// the write told.
    pub(super) fn written(
        &mut self,
        id: EventWriteId,
        outcome: EventWriteOutcome,
        at_once: impl FnOnce(u32) -> bool,
    ) -> Settled {
        let key = self.in_flight.remove(&id).expect("a write ends once");
        let entry = self.entries.value_mut(&key).expect("what is being written is known");
        let ended = entry.in_flight.take().expect("what is being written says what it tells");
        let settled = entry.settle(ended, outcome);
        let again = settled == Settled::Later || self.flushing || entry.closing || at_once(ended.count);
        if again && entry.unreported > 0 {
            self.push_due(key);
        } else if entry.closing {
            self.entries.remove(&key);
        } else {
            self.entries.unpin(&key);
            while self.entries.unpinned_len() > self.capacity {
                self.evict();
            }
        }
        settled
    }

    pub(super) fn is_flushing(&self) -> bool {
        self.flushing
    }

    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Events that no finished write has told of.
    pub(super) fn pending(&self) -> u64 {
        let of = |entry: &Entry<P>| entry.unreported + entry.in_flight.map_or(0, |write| write.occurrences);
        let pinned = self.due.iter().chain(self.in_flight.values());
        let pinned = pinned.filter_map(|key| self.entries.entry(key)).map(|(_, entry)| of(entry));
        pinned.sum::<u64>() + self.unpinned().map(|(_, entry)| of(entry)).sum::<u64>()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// When a write is to tell of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Now,
    Later,
    Never,
}

impl<K, P> fmt::Debug for Ledger<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (due, in_flight) = (self.due.len(), self.in_flight.len());
        f.debug_struct("Ledger").field("due", &due).field("in_flight", &in_flight).finish_non_exhaustive()
    }
}
