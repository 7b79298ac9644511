//! Events as events.k8s.io/v1 has them: one that repeats becomes a series, reported now and then.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use super::Observed;
use super::ledger::{EventWrite, EventWriteId, EventWriteOutcome, Ledger, Settled, Telling};
use crate::{Mono, Now};

/// The figures of an [`EventSeries`]; the defaults are client-go's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EventSeriesOptions {
    /// How many series are remembered: 4096. (In client-go there is no limit.)
    pub capacity: usize,
    /// A series that has been quiet for longer is over: 6 min. It is looked for as often.
    pub finish: Duration,
    /// A series that goes on is reported this often: 30 min.
    pub refresh: Duration,
    /// Different in each process, since names may come from attackers.
    pub hash_seed: u64,
}

impl Default for EventSeriesOptions {
    fn default() -> Self {
        Self {
            capacity: 4096,
            finish: Duration::from_secs(6 * 60),
            refresh: Duration::from_secs(30 * 60),
            hash_seed: 0,
        }
    }
}

/// Decides what to write about events in the way of events.k8s.io/v1: see the module.
///
/// Events of one key (object, related object, type, reason, action; not the note) are *isomorphic*. The first is written at
/// once. The second makes it a series, which is written at once too. Those after it are counted, and reported every 30 min
/// for as long as they come, and once more when there was none for 6 min: then the series is over, and the next one is a
/// first again. A report that would say nothing new is not made.
///
/// ```
/// use informer_core::{EventSeries, EventWriteKind, EventWriteOutcome, Now, Observed};
///
/// let now = Now::default();
/// let mut series = EventSeries::new(now, Default::default());
/// for (event, kind) in [("first", EventWriteKind::Create), ("second", EventWriteKind::Patch)] {
///     assert_eq!(series.observe(now, "key", event), Observed::Due);
///     let write = series.poll_write(now).unwrap();
///     assert_eq!((write.kind, write.latest), (kind, event));
///     series.written(now, write.id, EventWriteOutcome::Done);
/// }
/// assert_eq!(series.observe(now, "key", "third"), Observed::Counted);
/// assert_eq!(series.poll_write(now), None);
/// series.flush();
/// assert_eq!(series.poll_write(now).unwrap().count, 3);
/// ```
pub struct EventSeries<K, P> {
    ledger: Ledger<K, P>,
    finish: Duration,
    refresh: Duration,
    next_look: Mono,
}

impl<K: Hash + Eq, P: Clone> EventSeries<K, P> {
    /// One that has seen nothing yet.
    ///
    /// # Panics
    /// If the capacity is 0.
    pub fn new(now: Now, options: EventSeriesOptions) -> Self {
        let EventSeriesOptions { capacity, finish, refresh, hash_seed } = options;
        let ledger = Ledger::new(capacity, hash_seed);
        Self { ledger, finish, refresh, next_look: now.mono.after(finish) }
    }

    /// Something happened. `event` is what is to be written about it, if it is to be.
    pub fn observe(&mut self, now: Now, key: K, event: P) -> Observed {
        if self.ledger.refuses(&key) {
            return Observed::Full;
        }
        let is_series = self.ledger.entry(&key).is_some_and(|entry| entry.is_known_series());
        let telling = if is_series && !self.ledger.is_flushing() { Telling::Later } else { Telling::Now };
        self.ledger.count(now.mono, key, event, false, telling)
    }

    /// The next thing to write. For as long as it is not [`written`](Self::written) there is no other for that series.
    pub fn poll_write(&mut self, now: Now) -> Option<EventWrite<P>> {
        self.ledger.poll_write(now.mono)
    }

    /// A write ended. Says what becomes of the events it told of.
    ///
    /// # Panics
    /// If this write has ended already.
    pub fn written(&mut self, _now: Now, id: EventWriteId, outcome: EventWriteOutcome) -> Settled {
        // What came while the first was written makes it a series; what came later waits for the next report.
        self.ledger.written(id, outcome, |count| count == 1)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do; `None` for as long as nothing is remembered.
    pub fn poll_timeout(&self) -> Option<Mono> {
        (self.ledger.len() > 0).then_some(self.next_look)
    }

    /// Looks for series that are over, or that are to be reported. Before its time it does nothing.
    pub fn handle_timeout(&mut self, now: Now) {
        let Now { mono, .. } = now;
        if mono < self.next_look {
            return;
        }
        self.next_look = mono.after(self.finish);
        let mut over: Vec<Arc<K>> = Vec::new();
        let mut to_report: Vec<Arc<K>> = Vec::new();
        for (key, entry) in self.ledger.unpinned() {
            if mono.since(entry.last_observed) > self.finish {
                over.push(Arc::clone(key));
            } else if entry.unreported > 0 && mono.since(entry.last_written) >= self.refresh {
                to_report.push(Arc::clone(key));
            }
        }
        for key in over {
            self.ledger.close(&key);
        }
        for key in to_report {
            self.ledger.make_due(&key);
        }
    }

    /// It is the end: from now on nothing waits for a later report, neither what was counted so far nor what still comes.
    pub fn flush(&mut self) {
        self.ledger.flush();
    }

    /// Whether `poll_write` has something.
    pub fn has_due(&self) -> bool {
        self.ledger.has_due()
    }

    /// How many events are not settled: due, being written, or waiting for the next report.
    pub fn pending(&self) -> u64 {
        self.ledger.pending()
    }

    /// How many series are remembered.
    pub fn len(&self) -> usize {
        self.ledger.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K, P> fmt::Debug for EventSeries<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSeries").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}
