//! What became of events, counted.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why an event was not written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The object has no name, so that nobody could find the event.
    NoName,
    /// The kind of the object is not known.
    NoKind,
    /// The object's namespace is not one that the API has.
    InvalidNamespace,
    /// The reason is empty or longer than 128 bytes.
    InvalidReason,
    /// The action is empty or longer than 128 bytes.
    InvalidAction,
    /// The recorder was shut down.
    ShutDown,
    /// The sink's queue is full: it is too slow, or fails.
    QueueFull,
    /// Too many events about this object; the count of an event that is written again includes it.
    Spam,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// The namespace does not exist.
    NamespaceGone,
    /// The server refused it for another reason.
    Rejected,
    /// All tries failed.
    GaveUp,
    /// The time to flush was over.
    Unflushed,
    /// The function that observes events panicked.
    Panicked,
}

impl DropReason {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::NoName,
        Self::NoKind,
        Self::InvalidNamespace,
        Self::InvalidReason,
        Self::InvalidAction,
        Self::ShutDown,
        Self::QueueFull,
        Self::Spam,
        Self::NamespaceTerminating,
        Self::NamespaceGone,
        Self::Rejected,
        Self::GaveUp,
        Self::Unflushed,
        Self::Panicked,
    ];

    /// In snake case, as a label of a metric.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoName => "no_name",
            Self::NoKind => "no_kind",
            Self::InvalidNamespace => "invalid_namespace",
            Self::InvalidReason => "invalid_reason",
            Self::InvalidAction => "invalid_action",
            Self::ShutDown => "shut_down",
            Self::QueueFull => "queue_full",
            Self::Spam => "spam",
            Self::NamespaceTerminating => "namespace_terminating",
            Self::NamespaceGone => "namespace_gone",
            Self::Rejected => "rejected",
            Self::GaveUp => "gave_up",
            Self::Unflushed => "unflushed",
            Self::Panicked => "panicked",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many events were dropped, by reason.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Drops([u64; DropReason::ALL.len()]);

impl Drops {
    /// For this reason.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// For any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// For each reason, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.iter().map(|reason| (*reason, self.of(*reason)))
    }
}

impl fmt::Debug for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().filter(|(_, count)| *count > 0)).finish()
    }
}

/// What a recorder has done, for a metrics exporter.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EventRecorderMetrics {
    /// Events recorded, those dropped at once included.
    pub recorded: u64,
    /// Dropped before any sink: refused, or recorded after the shutdown.
    pub dropped: Drops,
    /// Each sink, in the order they were given.
    pub sinks: Vec<EventSinkMetrics>,
}

/// What one sink has done. At any time `queued = written + pending + dropped`, but for those that never came into the queue:
/// because it was full, or the recorder shut down.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EventSinkMetrics {
    /// Which sink: `events.k8s.io/v1`, `core/v1`, `tracing`, or an observer's name.
    pub sink: String,
    /// Events that its queue took.
    pub queued: u64,
    /// Events that the sink has been told of: each by itself, or by a count.
    pub written: u64,
    /// Of these, the ones told of by a combined event.
    pub combined: u64,
    /// Events in its queue, being written, or waiting for the next report of their series.
    pub pending: u64,
    /// Event objects created.
    pub creates: u64,
    /// Event objects patched.
    pub patches: u64,
    /// Requests sent, failed ones included.
    pub requests: u64,
    /// Events dropped.
    pub dropped: Drops,
}

/// Counters of drops that several threads add to.
#[derive(Default)]
pub(super) struct DropCounters([AtomicU64; DropReason::ALL.len()]);

impl DropCounters {
    pub(super) fn add(&self, reason: DropReason, count: u64) {
        self.0[reason as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize].load(Ordering::Relaxed)
    }

    pub(super) fn snapshot(&self) -> Drops {
        Drops(std::array::from_fn(|index| self.0[index].load(Ordering::Relaxed)))
    }
}

/// The counters of one sink.
#[derive(Default)]
pub(super) struct SinkCounters {
    pub(super) queued: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) combined: AtomicU64,
    pub(super) creates: AtomicU64,
    pub(super) patches: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) dropped: DropCounters,
}

impl SinkCounters {
    pub(super) fn snapshot(&self, sink: &str) -> EventSinkMetrics {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // What is settled is read first: it is never more than what was queued by then.
        let (written, dropped) = (load(&self.written), self.dropped.snapshot());
        let queued = load(&self.queued);
        let settled =
            written + dropped.total() - dropped.of(DropReason::QueueFull) - dropped.of(DropReason::ShutDown);
        EventSinkMetrics {
            sink: sink.to_owned(),
            queued,
            written,
            combined: load(&self.combined),
            pending: queued.saturating_sub(settled),
            creates: load(&self.creates),
            patches: load(&self.patches),
            requests: load(&self.requests),
            dropped,
        }
    }
}

pub(super) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let counters = DropCounters::default();
        for (index, reason) in DropReason::ALL.iter().copied().enumerate() {
            assert_eq!(reason as usize, index, "in the order of their declaration");
            counters.add(reason, index as u64 + 1);
        }
        let drops = counters.snapshot();
        assert!(drops.iter().enumerate().all(|(index, (_, count))| count == index as u64 + 1));
        assert_eq!(drops.total(), 14 * 15 / 2);
    }
}
