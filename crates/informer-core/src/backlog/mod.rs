//! What waits for one handler: shared batches, and past a limit only each object's net change.

mod conflated;

use std::collections::VecDeque;
use std::fmt;

use conflated::Conflated;

use crate::Batch;

/// What happens when a handler falls behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// Only each object's net change is kept: the handler skips states in between.
    #[default]
    Conflate,
    /// Every change is kept, and [`Backlog::is_full`] asks to stop reading: a slow handler slows down everybody.
    Block,
    /// Everything is dropped, and [`Backlog::is_disconnected`] says so: the handler has to begin anew.
    Disconnect,
}

/// How a backlog behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BacklogOptions {
    /// How many notifications may wait behind the oldest batch.
    pub limit: usize,
    /// What happens past the limit.
    pub overflow: Overflow,
}

impl BacklogOptions {
    /// Where client-go begins to call a handler slow; about 50 KB of notifications.
    pub const DEFAULT_LIMIT: usize = 1024;
}

impl Default for BacklogOptions {
    fn default() -> Self {
        Self { limit: Self::DEFAULT_LIMIT, overflow: Overflow::default() }
    }
}

/// Notifications in a batch that is taken from a conflated backlog: small, so that what is still waiting can go on being
/// merged while the handler works.
const CONFLATED_BATCH: usize = 256;

/// The notifications that wait for one handler.
///
/// While it keeps up, batches are shared with the other handlers and handed on as they came. Once more than
/// [`limit`](BacklogOptions::limit) notifications wait behind the oldest batch (which may be a whole list, and does
/// not count), [`Overflow`] says what happens. By default the backlog is *conflated*, per object, until the handler
/// has emptied it:
///
/// | waiting | and then | becomes |
/// |---|---|---|
/// | Added | Updated | Added(new), in the initial list if it was |
/// | Added | Deleted | nothing |
/// | Updated | Updated | Updated(first old, last new) |
/// | Updated | Deleted | Deleted |
/// | Deleted | Added | both, in order (also for the same uid, as with a selector that flaps) |
/// | Deleted, Added | Updated | Deleted, Added(new) |
/// | Deleted, Added | Deleted | Deleted: the first one, or the last if it is about the same uid |
/// | Resync | a change | the change; and a Resync beside a change is nothing |
/// | Relisted, Synced | another | the last |
///
/// The order is that of each object's first waiting notification; an object whose notifications vanished begins at the
/// end. Each view stays consistent: `old` is what the handler saw last, nothing is added twice, nothing is deleted that
/// the handler does not know, and `Synced` comes after all that is left of the initial list. At most two notifications
/// an object wait, so their number is bounded by the objects the handler knows plus those stored.
///
/// Pushing costs constant time, amortised; unless conflated, regardless of the length of the batch.
///
/// ```
/// use informer_core::{Backlog, BacklogOptions, Notification};
/// let mut backlog = Backlog::<()>::new(BacklogOptions::default(), 1);
/// let batch = std::sync::Arc::new(vec![Notification::Synced { version: 5.into() }]);
/// backlog.push(std::sync::Arc::clone(&batch));
/// assert_eq!(backlog.len(), 1);
/// assert!(std::sync::Arc::ptr_eq(&backlog.pop().unwrap(), &batch));
/// assert!(backlog.pop().is_none());
/// ```
#[doc(alias = "processorListener")]
pub struct Backlog<V> {
    options: BacklogOptions,
    hash_seed: u64,
    /// Empty while conflated.
    batches: VecDeque<Batch<V>>,
    /// Notifications in `batches`.
    waiting: usize,
    conflated: Option<Box<Conflated<V>>>,
    disconnected: bool,
    counters: BacklogCounters,
}

/// What happened to a backlog so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct BacklogCounters {
    /// How often the backlog passed its limit and was conflated.
    pub conflations: u64,
    /// How many notifications were merged away.
    pub merged: u64,
    /// The largest number of notifications that ever waited.
    pub high_water: usize,
}

impl<V> Backlog<V> {
    /// An empty backlog. The seed goes into the hash of names: random in production, fixed in a simulation. It changes
    /// no output.
    pub fn new(options: BacklogOptions, hash_seed: u64) -> Self {
        Self {
            options,
            hash_seed,
            batches: VecDeque::new(),
            waiting: 0,
            conflated: None,
            disconnected: false,
            counters: BacklogCounters::default(),
        }
    }

    /// Appends a batch. An empty one is ignored, and so is every one after a disconnection.
    pub fn push(&mut self, batch: Batch<V>) {
        if batch.is_empty() || self.disconnected {
            return;
        }
        if let Some(conflated) = &mut self.conflated {
            self.counters.merged += conflated.extend(&batch);
        } else {
            self.waiting += batch.len();
            self.batches.push_back(batch);
            if self.is_past_limit() {
                self.overflow();
            }
        }
        self.counters.high_water = self.counters.high_water.max(self.len());
    }

    /// Takes the oldest batch, never empty.
    pub fn pop(&mut self) -> Option<Batch<V>> {
        let Some(conflated) = &mut self.conflated else {
            let batch = self.batches.pop_front()?;
            self.waiting -= batch.len();
            return Some(batch);
        };
        let batch = conflated.pop(CONFLATED_BATCH);
        if conflated.len() == 0 {
            self.conflated = None;
        }
        Some(batch)
    }

    /// The number of notifications that wait.
    pub fn len(&self) -> usize {
        self.waiting + self.conflated.as_ref().map_or(0, |conflated| conflated.len())
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether whoever fills this is to stop until some of it has been taken. Only with [`Overflow::Block`].
    pub fn is_full(&self) -> bool {
        self.options.overflow == Overflow::Block && self.is_past_limit()
    }

    /// Whether the handler fell behind and lost its notifications. Only with [`Overflow::Disconnect`].
    pub fn is_disconnected(&self) -> bool {
        self.disconnected
    }

    /// Whether notifications are being merged.
    pub fn is_conflated(&self) -> bool {
        self.conflated.is_some()
    }

    /// What happened so far.
    pub fn counters(&self) -> BacklogCounters {
        self.counters
    }

    fn is_past_limit(&self) -> bool {
        let oldest = self.batches.front().map_or(0, |batch| batch.len());
        self.waiting - oldest > self.options.limit
    }

    fn overflow(&mut self) {
        // Before anything is merged or dropped: this many did wait.
        self.counters.high_water = self.counters.high_water.max(self.waiting);
        match self.options.overflow {
            Overflow::Block => {}
            Overflow::Disconnect => {
                self.disconnected = true;
                self.batches = VecDeque::new();
                self.waiting = 0;
            }
            Overflow::Conflate => {
                let mut conflated = Box::new(Conflated::new(self.hash_seed));
                for batch in std::mem::take(&mut self.batches) {
                    self.counters.merged += conflated.extend(&batch);
                }
                self.waiting = 0;
                self.counters.conflations += 1;
                self.conflated = Some(conflated).filter(|conflated| conflated.len() > 0);
            }
        }
    }
}

impl<V> fmt::Debug for Backlog<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backlog")
            .field("len", &self.len())
            .field("conflated", &self.is_conflated())
            .field("disconnected", &self.disconnected)
            .field("counters", &self.counters)
            .finish()
    }
}
