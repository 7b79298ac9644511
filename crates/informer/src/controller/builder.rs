//! Everything a controller can be told before it is built.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use informer_core::{Object, ObjectKey};

use super::handle::{ControllerHandle, Shared};
use super::origin::{ControllerSource, Origin};
use super::outcome::Action;
use super::owner::OwnerKind;
use super::predicate::Predicate;
use super::source::{Informed, Route, Source};
use super::{Controller, Options};
use crate::error::BuildError;
use crate::list_watch::BoxError;
use crate::work_queue::WorkQueueBuilder;

/// Builds a [`Controller`].
#[must_use]
pub struct ControllerBuilder<V> {
    shared: Arc<Shared>,
    primary: Arc<dyn Origin<V>>,
    predicate: Predicate<V>,
    /// Group and kind of the primary resource, as owner references name it.
    kind: Option<(String, String)>,
    /// Made when the kind is known.
    owned: Vec<MakeSource>,
    watched: Vec<Arc<dyn Source>>,
    concurrency: usize,
    options: Options,
    problem: Option<&'static str>,
}

type MakeSource = Box<dyn FnOnce(OwnerKind) -> Arc<dyn Source> + Send>;

impl<V: Send + Sync + 'static> ControllerBuilder<V> {
    pub(super) fn new(name: &str, primary: Arc<dyn Origin<V>>) -> Self {
        let kind = primary.kind();
        Self {
            shared: Arc::new(Shared::new(name)),
            primary,
            predicate: Predicate::always(),
            kind,
            owned: Vec::new(),
            watched: Vec::new(),
            concurrency: 1,
            options: Options::default(),
            problem: None,
        }
    }

    /// Which changes of the primary resource are worth a reconcile; called again, both have to pass. Default: all.
    #[doc(alias = "WithEventFilter")]
    pub fn predicate(mut self, predicate: Predicate<V>) -> Self {
        self.predicate = self.predicate.and(predicate);
        self
    }

    /// Reconciles the owner of each of these objects that is added, changes or is deleted: the object of the primary
    /// resource that the object's *controller* owner reference names.
    ///
    /// The reference's group and kind must be those of the primary resource, its version does not matter. The owner is
    /// looked for in the object's namespace or, if it is cached there, without a namespace; one in another namespace
    /// cannot be named, and what looks like one is a [dangling](crate::ControllerMetrics::dangling_owners) reference. If
    /// an object changes owners, both are reconciled.
    #[doc(alias = "Owns")]
    pub fn owns(self, informer: &impl ControllerSource) -> Self {
        self.owns_if(informer, Predicate::always())
    }

    /// The same for changes that pass the predicate.
    pub fn owns_if<S: ControllerSource>(mut self, informer: &S, predicate: Predicate<S::Value>) -> Self {
        let origin = informer.origin();
        self.owned
            .push(Box::new(move |kind| Arc::new(Informed { origin, predicate, route: Route::Owner(kind) })));
        self
    }

    /// Reconciles the keys that `map` makes of each of these objects that is added, changes or is deleted; of one that
    /// changes, those of the old object and of the new one.
    ///
    /// The function must not block. If it panics there are no keys; that is counted and logged.
    #[doc(alias = "Watches")]
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    pub fn watches<S, I>(
        self,
        informer: &S,
        map: impl Fn(&Object<S::Value>) -> I + Send + Sync + 'static,
    ) -> Self
    where
        S: ControllerSource,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.watches_if(informer, Predicate::always(), map)
    }

    /// The same for changes that pass the predicate.
    pub fn watches_if<S, I>(
        mut self,
        informer: &S,
        predicate: Predicate<S::Value>,
        map: impl Fn(&Object<S::Value>) -> I + Send + Sync + 'static,
    ) -> Self
    where
        S: ControllerSource,
        I: IntoIterator<Item = ObjectKey>,
    {
        let route = Route::Map(Box::new(move |object| map(object).into_iter().collect()));
        self.watched.push(Arc::new(Informed { origin: informer.origin(), predicate, route }));
        self
    }

    /// Group and kind of the primary resource, for an informer whose source does not say it.
    pub fn kind(mut self, group: impl Into<String>, kind: impl Into<String>) -> Self {
        self.kind = Some((group.into(), kind.into()));
        self
    }

    /// How many keys may be reconciled at once; one key never twice at once. Default 1.
    #[doc(alias = "MaxConcurrentReconciles")]
    pub fn concurrency(mut self, reconciles: usize) -> Self {
        self.concurrency = reconciles;
        self
    }

    /// A reconcile that takes longer is dropped, and tried again with back-off. Default ten minutes: one that waits for
    /// ever would keep its worker for ever. `Duration::MAX` is no limit.
    ///
    /// One that blocks its thread cannot be dropped: blocking work belongs into `tokio::task::spawn_blocking`.
    #[doc(alias = "ReconciliationTimeout")]
    pub fn reconcile_timeout(mut self, timeout: Duration) -> Self {
        self.options.reconcile_timeout = timeout;
        self
    }

    /// How long the caches may take for their first lists. Default two minutes.
    #[doc(alias = "CacheSyncTimeout")]
    pub fn sync_timeout(mut self, timeout: Duration) -> Self {
        self.options.sync_timeout = timeout;
        self
    }

    /// How long running reconciles may take to end after the controller was stopped; then they are dropped. Default 30 s.
    #[doc(alias = "GracefulShutdownTimeout")]
    pub fn graceful_timeout(mut self, timeout: Duration) -> Self {
        self.options.graceful_timeout = timeout;
        self
    }

    /// How long a reconcile may be held back for the cache to show what the one before [wrote](ControllerHandle::wrote),
    /// counted from the write. Default 5 s.
    pub fn cache_timeout(self, timeout: Duration) -> Self {
        *self.shared.patience.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
        self
    }

    /// Changes the options of the queue: rate limiter, priorities. Timings are measured unless it says otherwise.
    ///
    /// To be called before a handle enqueues something.
    pub fn queue(mut self, change: impl FnOnce(WorkQueueBuilder) -> WorkQueueBuilder) -> Self {
        if !self.shared.configure_queue(change) {
            self.problem = Some("the queue was in use already when its options were changed");
        }
        self
    }

    /// A handle on the controller to be, for its own reconcile.
    pub fn handle(&self) -> ControllerHandle {
        ControllerHandle { shared: Arc::clone(&self.shared) }
    }

    /// The controller, which reconciles a key by this function. Nothing happens before it [runs](Controller::run).
    ///
    /// The function is told the key and nothing of what happened: it reads the present state from the caches, finds
    /// nothing there if the object is gone, and does what is to be done. It may be called for a key that never existed.
    /// Its errors are logged, so their texts must not contain secrets. It may be dropped at any `await`: when it takes
    /// too long, and when the controller ends.
    ///
    /// # Errors
    /// [`BuildError::Controller`] for a concurrency of 0, and if something is owned by a resource whose kind is not
    /// known.
    pub fn build<F, Fut, E>(self, reconcile: F) -> Result<Controller, BuildError>
    where
        F: Fn(ObjectKey) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let Self { shared, primary, predicate, kind, owned, watched, concurrency, options, problem } = self;
        let fail = |problem| Err(BuildError::Controller { name: shared.name.to_string(), problem });
        if let Some(problem) = problem {
            return fail(problem);
        }
        if concurrency == 0 {
            return fail("with a concurrency of 0 nothing would ever be reconciled");
        }
        let mut sources: Vec<Arc<dyn Source>> = Vec::new();
        for make in owned {
            let Some((group, kind)) = kind.clone() else {
                return fail("who owns something has to have a known group and kind: say it with `kind`");
            };
            sources.push(make(OwnerKind::new(group, kind, Arc::clone(&primary))));
        }
        sources.insert(0, Arc::new(Informed { origin: primary, predicate, route: Route::Primary }));
        sources.extend(watched);
        shared.concurrency.store(concurrency, Ordering::Relaxed);
        let reconcile = Arc::new(reconcile);
        let reconcile = Arc::new(move |key| {
            let reconcile = Arc::clone(&reconcile);
            // Called inside of the future, where a panic is caught.
            let future = async move { reconcile(key).await.map_err(Into::into) };
            Box::pin(future) as futures_util::future::BoxFuture<'static, Result<Action, BoxError>>
        });
        Ok(Controller::new(shared, sources, reconcile, concurrency, options))
    }
}
