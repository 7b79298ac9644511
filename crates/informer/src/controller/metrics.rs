//! How a controller is doing: numbers for a metrics system to read.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::{Histogram, ObjectKey, WorkQueueMetrics};

/// How a controller is doing at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ControllerMetrics {
    /// The controller's name.
    pub controller: String,
    /// Reconciles that have ended, by what came of them.
    pub reconciles: ReconcileCounters,
    /// How long they took.
    pub durations: Histogram,
    /// Reconciles that run now.
    #[doc(alias = "active_workers")]
    pub active: usize,
    /// How many may run at once.
    #[doc(alias = "max_concurrent_reconciles")]
    pub concurrency: usize,
    /// Keys that wait now for the cache to show what was written.
    pub waiting_for_cache: usize,
    /// How often a key began to wait for that.
    pub waits_for_cache: u64,
    /// How often it was not shown in time, and the reconcile ran with what there was.
    pub stale_reads: u64,
    /// How often expected creations or deletions were not seen in time.
    pub expired_expectations: u64,
    /// Changes of owned objects whose owner is not in the cache under that name and uid.
    pub dangling_owners: u64,
    /// Changes of owned objects whose owner has the same kind but is of another group: not ours.
    pub foreign_owners: u64,
    /// Panics of predicates and mapping functions.
    pub mapping_panics: u64,
    /// The queue.
    pub queue: WorkQueueMetrics,
}

/// Reconciles that have ended, by what came of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ReconcileCounters {
    /// [`Action::Done`](crate::Action::Done).
    pub success: u64,
    /// [`Action::RequeueAfter`](crate::Action::RequeueAfter).
    pub requeue_after: u64,
    /// An error, tried again with back-off.
    pub error: u64,
    /// A [`TerminalError`](crate::TerminalError), not tried again.
    pub terminal: u64,
    /// A panic, tried again with back-off.
    pub panic: u64,
    /// Not done in time, tried again with back-off.
    pub timeout: u64,
    /// Dropped unfinished, since the controller ended.
    pub cancelled: u64,
}

impl ReconcileCounters {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { success, requeue_after, error, terminal, panic, timeout, cancelled } = self;
        success + requeue_after + error + terminal + panic + timeout + cancelled
    }
}

/// What a controller counts, and who is at work.
#[derive(Default)]
pub(super) struct Stats(Mutex<Counted>);

#[derive(Default)]
pub(super) struct Counted {
    pub(super) reconciles: ReconcileCounters,
    pub(super) durations: Histogram,
    /// The keys that are being reconciled, by the id of the reconcile.
    pub(super) active: BTreeMap<u64, ObjectKey>,
    /// How many reconciles there were: the id of the last one.
    pub(super) begun: u64,
    pub(super) waits_for_cache: u64,
    pub(super) stale_reads: u64,
    pub(super) dangling_owners: u64,
    pub(super) foreign_owners: u64,
    pub(super) mapping_panics: u64,
}

impl Stats {
    pub(super) fn lock(&self) -> MutexGuard<'_, Counted> {
        // Nothing but counting happens under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reconcile begins; answers its id.
    pub(super) fn begin(&self, key: &ObjectKey) -> u64 {
        let mut counted = self.lock();
        counted.begun += 1;
        let id = counted.begun;
        counted.active.insert(id, key.clone());
        id
    }

    /// A reconcile has ended.
    pub(super) fn end(
        &self,
        id: u64,
        took: Duration,
        count: impl FnOnce(&mut ReconcileCounters) -> &mut u64,
    ) {
        let mut counted = self.lock();
        counted.active.remove(&id);
        counted.durations.observe(took);
        *count(&mut counted.reconciles) += 1;
    }

    /// The keys that are being reconciled, sorted.
    pub(super) fn active(&self) -> Vec<ObjectKey> {
        let mut keys: Vec<_> = self.lock().active.values().cloned().collect();
        keys.sort_unstable();
        keys
    }
}
