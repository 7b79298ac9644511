//! Events as core/v1 has them: identical ones are counted, similar ones combined, too many dropped.

use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use super::aggregator::Aggregator;
use super::ledger::{EventWrite, EventWriteId, EventWriteOutcome, Ledger, Settled, Telling};
use super::spam_filter::SpamFilter;
use super::{EventType, Observed};
use crate::Now;

/// The figures of an [`EventCorrelator`]; the defaults are client-go's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EventCorrelatorOptions {
    /// Of how many events, groups and objects something is remembered: 4096 of each.
    pub capacity: usize,
    /// From this many different messages on, similar events are combined: 10.
    pub max_messages: usize,
    /// Similar events further apart are not: 600 s.
    pub interval: Duration,
    /// Events about one object that are let through at once: 25.
    pub burst: u32,
    /// Then one in this time: 300 s.
    pub refill: Duration,
    /// Whether each reason has a burst of its own, so that a noisy one does not silence the others. In client-go and by
    /// default it has not; Normal and Warning have.
    pub burst_by_reason: bool,
    /// Different in each process, since names and messages may come from attackers.
    pub hash_seed: u64,
}

impl Default for EventCorrelatorOptions {
    fn default() -> Self {
        Self {
            capacity: 4096,
            max_messages: 10,
            interval: Duration::from_secs(600),
            burst: 25,
            refill: Duration::from_secs(300),
            burst_by_reason: false,
            hash_seed: 0,
        }
    }
}

/// What decides whether two events are the same, or similar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EventFacts<'a, O> {
    /// Who tells, and of which object: kind, name, uid.
    pub object: &'a O,
    /// Which part of the object. Not the same part: not the same event, but a similar one.
    pub field_path: &'a str,
    /// Good or bad news.
    pub event_type: EventType,
    /// What happened, in one word.
    pub reason: &'a str,
    /// What happened, in a sentence.
    pub message: &'a str,
}

/// Decides what to write about events in the way of core/v1: see the module.
///
/// In this order, as in client-go: events that differ by message only are *combined* from the tenth message on; identical
/// ones are *counted*; and those beyond the burst of an object are dropped as *spam*, counted all the same.
///
/// ```
/// use informer_core::{EventCorrelator, EventFacts, EventType, EventWriteKind, EventWriteOutcome, Now, Observed};
///
/// let mut correlator = EventCorrelator::new(Default::default());
/// let now = Now::default();
/// let facts = EventFacts { object: &"a Pod", field_path: "", event_type: EventType::Normal, reason: "Pulled", message: "ok" };
///
/// assert_eq!(correlator.observe(now, facts, "first"), Observed::Due);
/// let write = correlator.poll_write(now).unwrap();
/// assert_eq!((write.kind, write.count), (EventWriteKind::Create, 1));
/// correlator.written(now, write.id, EventWriteOutcome::Done);
///
/// assert_eq!(correlator.observe(now, facts, "second"), Observed::Due);
/// let write = correlator.poll_write(now).unwrap();
/// assert_eq!((write.kind, write.count, write.first), (EventWriteKind::Patch, 2, "first"));
/// ```
pub struct EventCorrelator<O, P> {
    aggregator: Aggregator<Group<O>>,
    ledger: Ledger<Key<O>, P>,
    spam_filter: SpamFilter<SpamKey<O>>,
    burst_by_reason: bool,
}

/// Similar events.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Group<O> {
    object: O,
    event_type: EventType,
    reason: Box<str>,
}

/// Identical events, or the combined one of a group.
#[derive(PartialEq, Eq, Hash)]
struct Key<O> {
    group: Group<O>,
    /// Part and message; `None` for the combined one.
    rest: Option<(Box<str>, Box<str>)>,
}

#[derive(PartialEq, Eq, Hash)]
struct SpamKey<O> {
    object: O,
    event_type: EventType,
    reason: Option<Box<str>>,
}

impl<O: Hash + Eq + Clone, P: Clone> EventCorrelator<O, P> {
    /// One that has seen nothing yet.
    ///
    /// # Panics
    /// If the capacity is 0.
    pub fn new(options: EventCorrelatorOptions) -> Self {
        let EventCorrelatorOptions {
            capacity,
            max_messages,
            interval,
            burst,
            refill,
            burst_by_reason,
            hash_seed,
        } = options;
        Self {
            aggregator: Aggregator::new(max_messages, interval, capacity, hash_seed),
            ledger: Ledger::new(capacity, hash_seed),
            spam_filter: SpamFilter::new(burst, refill, capacity, hash_seed),
            burst_by_reason,
        }
    }

    /// Something happened. `event` is what is to be written about it, if it is to be.
    pub fn observe(&mut self, now: Now, facts: EventFacts<'_, O>, event: P) -> Observed {
        let Now { mono, .. } = now;
        let EventFacts { object, field_path, event_type, reason, message } = facts;
        let group = Group { object: object.clone(), event_type, reason: reason.into() };
        let combined = self.aggregator.combines(mono, group.clone(), message);
        let rest = (!combined).then(|| (field_path.into(), message.into()));
        let key = Key { group, rest };
        if self.ledger.refuses(&key) {
            return Observed::Full;
        }
        let reason = self.burst_by_reason.then(|| reason.into());
        let spam_key = SpamKey { object: object.clone(), event_type, reason };
        let accepted = self.spam_filter.accepts(mono, spam_key);
        let telling = if accepted { Telling::Now } else { Telling::Never };
        self.ledger.count(mono, key, event, combined, telling)
    }

    /// The next thing to write. For as long as it is not [`written`](Self::written) there is no other for that event.
    pub fn poll_write(&mut self, now: Now) -> Option<EventWrite<P>> {
        self.ledger.poll_write(now.mono)
    }

    /// A write ended. Says what becomes of the events it told of.
    ///
    /// # Panics
    /// If this write has ended already.
    pub fn written(&mut self, _now: Now, id: EventWriteId, outcome: EventWriteOutcome) -> Settled {
        self.ledger.written(id, outcome, |_| true)
    }

    /// Whether `poll_write` has something.
    pub fn has_due(&self) -> bool {
        self.ledger.has_due()
    }

    /// How many events are not settled: due, being written, or counted meanwhile.
    pub fn pending(&self) -> u64 {
        self.ledger.pending()
    }

    /// Of how many different events something is remembered.
    pub fn len(&self) -> usize {
        self.ledger.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<O, P> fmt::Debug for EventCorrelator<O, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventCorrelator").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}
