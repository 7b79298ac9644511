//! How a controller is doing: numbers for a metrics system to read.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::{ObjectKey, WorkQueueMetrics};

use crate::distribution::Distribution;

/// How a controller is doing at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ControllerMetrics {
    /// The controller's name.
    pub controller: String,
    /// Reconciles that have ended, by what came of them.
    pub reconciles: ReconcileCounters,
    /// Seconds they took.
    pub durations: Distribution,
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
pub(super) struct Stats(Mutex<Counted>);

/// controller-runtime's bounds of `controller_runtime_reconcile_time_seconds`.
const RECONCILE_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

impl Default for Stats {
    fn default() -> Self {
        let durations = Distribution::new(RECONCILE_SECONDS);
        Self(Mutex::new(Counted { durations, ..Counted::default() }))
    }
}

#[derive(Default)]
pub(super) struct Counted {
    pub(super) reconciles: ReconcileCounters,
    pub(super) durations: Distribution,
    /// The keys that are being reconciled, by the id of the reconcile.
    pub(super) active: BTreeMap<u64, ObjectKey>,
    /// How many reconciles there were: the id of the last one.
    pub(super) begun: u64,
    /// What was told of the keys that fail, as hashes: told aloud again when it is something else.
    told: BTreeMap<ObjectKey, u64>,
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

    /// Whether this is not what went wrong with this key last; an empty text: nothing went wrong.
    pub(super) fn is_news(&self, key: &ObjectKey, trouble: &str) -> bool {
        let mut counted = self.lock();
        if trouble.is_empty() {
            counted.told.remove(key);
            return false;
        }
        let mut hasher = DefaultHasher::new();
        trouble.hash(&mut hasher);
        let hash = hasher.finish();
        counted.told.insert(key.clone(), hash) != Some(hash)
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
        counted.durations.observe(took.as_secs_f64());
        *count(&mut counted.reconciles) += 1;
    }

    /// The keys that are being reconciled, sorted.
    pub(super) fn active(&self) -> Vec<ObjectKey> {
        let mut keys: Vec<_> = self.lock().active.values().cloned().collect();
        keys.sort_unstable();
        keys
    }
}
