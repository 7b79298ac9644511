//! What a controller offers while it runs, to its reconcile and to everybody else.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use informer_core::{Added, ObjectKey, ResourceVersion};

use super::expectations::Expectations;
use super::metrics::{ControllerMetrics, Stats};
use super::origin::ControllerSource;
use super::writes::{Write, Writes};
use crate::work_queue::{WorkQueue, WorkQueueBuilder};

/// A controller seen from its own reconcile, and from outside: to enqueue keys, to say what was written, to read figures.
///
/// It can be had before the controller is [built](crate::ControllerBuilder::handle), so that the reconcile can own one. It
/// does not keep the controller running. A clone is the same.
#[derive(Clone)]
pub struct ControllerHandle {
    pub(super) shared: Arc<Shared>,
}

/// What a controller, its handles, its workers and its sources share.
pub(super) struct Shared {
    pub(super) name: Arc<str>,
    queue: OnceLock<WorkQueue<ObjectKey>>,
    /// Until the queue is made of them.
    queue_options: Mutex<Option<WorkQueueBuilder>>,
    pub(super) expectations: Expectations,
    pub(super) writes: Writes,
    pub(super) stats: Stats,
    pub(super) concurrency: AtomicUsize,
    /// How long the cache is waited for after a write.
    pub(super) patience: Mutex<Duration>,
}

impl Shared {
    pub(super) fn new(name: &str) -> Self {
        // Beside a reconcile, measuring costs nothing.
        let queue_options = WorkQueue::<ObjectKey>::builder().timings(true);
        Self {
            name: name.into(),
            queue: OnceLock::new(),
            queue_options: Mutex::new(Some(queue_options)),
            expectations: Expectations::new(),
            writes: Writes::new(),
            stats: Stats::default(),
            concurrency: AtomicUsize::new(1),
            patience: Mutex::new(Duration::from_secs(5)),
        }
    }

    /// Changes the queue's options; says whether it was early enough for that.
    pub(super) fn configure_queue(&self, change: impl FnOnce(WorkQueueBuilder) -> WorkQueueBuilder) -> bool {
        let mut options = self.queue_options.lock().unwrap_or_else(PoisonError::into_inner);
        match options.take() {
            Some(builder) => *options = Some(change(builder)),
            None => return false,
        }
        true
    }

    pub(super) fn queue(&self) -> &WorkQueue<ObjectKey> {
        self.queue.get_or_init(|| {
            let options = self.queue_options.lock().unwrap_or_else(PoisonError::into_inner).take();
            options.expect("the queue is made once").build()
        })
    }

    pub(super) fn patience(&self) -> Duration {
        *self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ControllerHandle {
    /// The name given when the controller was built: for people.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Asks for a reconcile of this key, whether or not there is such an object: for events from elsewhere.
    ///
    /// While the controller does not run the key waits for the next [`run`](crate::Controller::run).
    pub fn enqueue(&self, key: ObjectKey) -> Added {
        self.shared.queue().add(key)
    }

    /// The same after a delay, unless the key has an earlier appointment.
    pub fn enqueue_after(&self, key: ObjectKey, delay: Duration) -> Added {
        self.shared.queue().add_after(key, delay)
    }

    /// The reconcile of `key` has written this object, with the version the server answered: the next one must not run
    /// before `informer` shows it.
    ///
    /// That next reconcile waits, without holding a worker, until the cache has this version or a later one; at most for
    /// [`cache_timeout`](crate::ControllerBuilder::cache_timeout), counted from now. Then it runs all the same, which is
    /// counted and logged. Other keys do not wait.
    ///
    /// Not for deletions, whose answer bears no version one could wait for: see
    /// [`expect_deletions`](Expectations::expect_deletions).
    #[doc(alias = "read your writes")]
    pub fn wrote(&self, key: &ObjectKey, informer: &impl ControllerSource, written: &impl kube::Resource) {
        let meta = written.meta();
        let [namespace, name, version] = [&meta.namespace, &meta.name, &meta.resource_version]
            .map(|text| text.as_deref().unwrap_or_default());
        self.wrote_version(key, informer, ObjectKey::new(namespace, name), ResourceVersion::new(version));
    }

    /// The same for an object of which only key and version are known.
    pub fn wrote_version(
        &self,
        key: &ObjectKey,
        informer: &impl ControllerSource,
        object: ObjectKey,
        version: ResourceVersion,
    ) {
        // Nothing can be waited for that has no version.
        if !version.is_empty() {
            let write = Write::new(informer.origin().cache(), object, version, self.shared.patience());
            self.shared.writes.note(key, write);
        }
    }

    /// What the controller has asked for and not yet seen.
    pub fn expectations(&self) -> &Expectations {
        &self.shared.expectations
    }

    /// How the controller is doing.
    pub fn metrics(&self) -> ControllerMetrics {
        self.shared.metrics()
    }

    /// The same without keeping what the controller shares; `None` when all of it is gone.
    #[cfg(feature = "metrics")]
    pub(crate) fn observer(&self) -> impl Fn() -> Option<ControllerMetrics> + Send + Sync + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || Some(shared.upgrade()?.metrics())
    }

    /// The keys that are being reconciled now, sorted.
    pub fn active(&self) -> Vec<ObjectKey> {
        self.shared.stats.active()
    }
}

impl Shared {
    fn metrics(&self) -> ControllerMetrics {
        let Self { name, expectations, writes, stats, concurrency, .. } = self;
        let queue = self.queue().metrics();
        let counted = stats.lock();
        ControllerMetrics {
            controller: name.to_string(),
            reconciles: counted.reconciles,
            durations: counted.durations.clone(),
            active: counted.active.len(),
            concurrency: concurrency.load(Ordering::Relaxed),
            waiting_for_cache: writes.waiting(),
            waits_for_cache: counted.waits_for_cache,
            stale_reads: counted.stale_reads,
            expired_expectations: expectations.expired(),
            dangling_owners: counted.dangling_owners,
            foreign_owners: counted.foreign_owners,
            mapping_panics: counted.mapping_panics,
            queue,
        }
    }
}

impl fmt::Debug for ControllerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerHandle").field("name", &self.name()).finish_non_exhaustive()
    }
}
