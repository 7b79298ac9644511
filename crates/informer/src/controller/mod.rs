//! The controller: a reconcile loop over a queue and informers.

mod builder;
mod error;
mod expectations;
mod feed;
mod feed_state;
mod handle;
mod metrics;
mod origin;
mod outcome;
mod owner;
mod predicate;
mod source;
mod worker;
mod writes;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

pub use builder::ControllerBuilder;
pub use error::RunError;
pub use expectations::Expectations;
pub use feed::{Feed, FeedEvent};
pub use handle::ControllerHandle;
pub use metrics::{ControllerMetrics, ReconcileCounters};
pub use origin::ControllerSource;
pub use outcome::{Action, TerminalError};
pub use predicate::Predicate;

use self::handle::Shared;
use self::source::Source;
use self::worker::{Reconcile, Worker};
use crate::error::{NotSynced, SyncError};

/// Calls a function for each key whose object, or something that concerns it, has changed: until it has worked.
///
/// **Wiring.** A controller has one primary resource, whose keys it reconciles: on each change, when an object goes too.
/// Objects that it [owns](ControllerBuilder::owns) lead to their owner, any others to the keys that a
/// [function](ControllerBuilder::watches) says. [`Predicate`]s say which changes count. What is there at the beginning
/// and what comes by a resync waits behind what has just changed ([`Priority::of`](crate::Priority::of)).
///
/// **Results.** [`Action::Done`]; [`Action::RequeueAfter`]; an error, which is tried again with back-off, for ever; a
/// [`TerminalError`], which is not, until something changes. A panic and a reconcile that takes
/// [too long](ControllerBuilder::reconcile_timeout) count as errors. A success forgets earlier failures. Each of these is
/// [counted](ControllerMetrics), and each failure logged, within a `tracing` span of target `informer::controller` with
/// the fields `controller`, `key` and `reconcile_id`.
///
/// **Reading what was written.** [`ControllerHandle::wrote`] keeps the key's next reconcile back until the cache shows
/// the write. [`Expectations`] are for objects with generated names, and for deletions.
///
/// **Concurrency.** Up to [`concurrency`](ControllerBuilder::concurrency) reconciles run at once, as tasks of the
/// runtime; each key at one of them. A change during a reconcile leads to another one afterwards.
///
/// **What it keeps running.** It holds its informers, so they live as long as it does; but it does not start them. Caches that
/// something else fills come as a [`Feed`], whose stream it polls while it runs.
///
/// A controller, and a whole test of it over the embedded server. Time is paused, so nothing is waited for in earnest, and
/// on one thread the same happens each time:
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use informer::{Action, BoxError, Controller, ControllerHandle, ObjectKey, SharedInformer, SharedInformerFactory};
/// # use informer_testserver::TestServer;
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// # use kube::{Api, Client, Resource, api::PostParams};
/// # use tokio::time::sleep;
/// # use tokio_util::sync::CancellationToken;
/// struct Context {
///     client: Client,
///     deployments: SharedInformer<Deployment>,
///     settings: SharedInformer<ConfigMap>,
///     controller: ControllerHandle,
/// }
///
/// /// Each deployment has a config map of its name.
/// async fn reconcile(ctx: Arc<Context>, key: ObjectKey) -> Result<Action, BoxError> {
///     let Some(owner) = ctx.deployments.store().get(&key) else { return Ok(Action::Done) };
///     if !ctx.settings.store().contains(&key) {
///         let mut object = ConfigMap::default();
///         object.metadata.name = Some(key.name().into());
///         object.metadata.owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
///         let api = Api::namespaced(ctx.client.clone(), key.namespace());
///         let created = api.create(&PostParams::default(), &object).await?;
///         ctx.controller.wrote(&key, &ctx.settings, &created); // the next reconcile of this key will see it
///     }
///     Ok(Action::Done)
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), BoxError> {
/// // In a #[tokio::test(start_paused = true)]:
/// let server = TestServer::new();
/// let client = Client::new(server.clone(), "default");
/// let factory = SharedInformerFactory::new(client.clone());
/// let (deployments, settings) = (factory.informer()?, factory.informer()?);
/// let builder = Controller::builder("settings", &deployments).owns(&settings);
/// let ctx = Arc::new(Context { client, deployments, settings, controller: builder.handle() });
/// let controller = builder.build(move |key| reconcile(Arc::clone(&ctx), key))?;
/// factory.start();
/// let stop = CancellationToken::new();
/// let running = tokio::spawn({ let stop = stop.clone(); async move { controller.run(stop).await } });
///
/// # let deployment = serde_json::json!({"metadata": {"name": "web"}, "spec": {
/// #     "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
/// #     "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
/// server.create("deployments", deployment)?;
/// sleep(Duration::from_secs(1)).await; // lets all others go on until they have nothing more to do
/// server.delete("configmaps", "default", "web")?;
/// sleep(Duration::from_secs(1)).await;
/// assert_eq!(server.count("configmaps"), 1); // it is there again
/// stop.cancel();
/// running.await??;
/// # Ok(())
/// # }
/// ```
pub struct Controller {
    shared: Arc<Shared>,
    /// The primary's first.
    sources: Vec<Arc<dyn Source>>,
    reconcile: Reconcile,
    concurrency: usize,
    options: Options,
    is_running: AtomicBool,
    /// Who listens to the sources: from the first run on, for as long as there is a controller, so that nothing is missed
    /// between two runs.
    listening: Mutex<JoinSet<()>>,
}

/// How patient a controller is.
struct Options {
    reconcile_timeout: Duration,
    sync_timeout: Duration,
    graceful_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reconcile_timeout: Duration::from_secs(10 * 60),
            sync_timeout: Duration::from_secs(2 * 60),
            graceful_timeout: Duration::from_secs(30),
        }
    }
}

/// A task of ours that ended by a fault of ours is begun again, not sooner than this.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// Reconciles that are dropped get this long to be gone: their destructors run as soon as the runtime comes to it, unless
/// they block a thread.
const DROP_TIME: Duration = Duration::from_secs(1);

impl Controller {
    /// A controller of what this informer, or this [`Feed`], caches. The name is for people: logs, metrics.
    #[doc(alias = "NewControllerManagedBy")]
    #[doc(alias = "For")]
    pub fn builder<S: ControllerSource>(name: &str, primary: &S) -> ControllerBuilder<S::Value> {
        ControllerBuilder::new(name, primary.origin())
    }

    fn new(
        shared: Arc<Shared>,
        sources: Vec<Arc<dyn Source>>,
        reconcile: Reconcile,
        concurrency: usize,
        options: Options,
    ) -> Self {
        let (is_running, listening) = (AtomicBool::new(false), Mutex::new(JoinSet::new()));
        Self { shared, sources, reconcile, concurrency, options, is_running, listening }
    }

    /// Waits for the caches, then reconciles until `stop` is cancelled, and then until the reconciles that run have ended.
    ///
    /// It can be run again, by the next term of a leader for instance. What changes while it does not run waits for that,
    /// deletions included, as do keys that waited when it was stopped; and everything that is cached is reconciled once
    /// more, as at the beginning. Dropping the future ends everything at once, and the keys of reconciles that were dropped
    /// wait again.
    ///
    /// # Errors
    /// If the caches were not synced in time, if reconciles were not done in time after the stop, or if it runs already.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), RunError> {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return Err(RunError::AlreadyRunning { controller: self.shared.name.to_string() });
        }
        let _until_the_end = Finally(|| self.is_running.store(false, Ordering::Release));
        let mut driving = self.drive();
        let result = self.reconcile_until(&stop).await;
        driving.shutdown().await;
        result
    }

    async fn reconcile_until(&self, stop: &CancellationToken) -> Result<(), RunError> {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            synced = self.wait_for_sync() => synced?,
        }
        let over = CancellationToken::new();
        let _whatever_ends_it = over.clone().drop_guard();
        let _telling = self.listen();
        let worker = Worker {
            shared: Arc::clone(&self.shared),
            reconcile: Arc::clone(&self.reconcile),
            timeout: self.options.reconcile_timeout,
            stop: stop.clone(),
            over,
        };
        let mut workers = JoinSet::new();
        (0..self.concurrency).for_each(|_| {
            workers.spawn(worker.clone().work());
        });
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = workers.join_next() => {
                    self.lament(ended);
                    let successor = worker.clone();
                    workers.spawn(async move {
                        tokio::time::sleep(RESTART_DELAY).await;
                        successor.work().await;
                    });
                }
            }
        }
        self.finish(workers).await
    }

    /// Keeps those caches up to date that nobody else does, in tasks that end with what this returns.
    fn drive(&self) -> JoinSet<()> {
        let mut driving = JoinSet::new();
        for source in self.sources.iter().filter(|source| source.drive().is_some()) {
            driving.spawn(drive(Arc::clone(source), Arc::clone(&self.shared)));
        }
        driving
    }

    /// Begins to listen; or, if that has been going on since an earlier run, has everything told once more, in tasks that
    /// end with what this returns.
    fn listen(&self) -> JoinSet<()> {
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        let mut telling = JoinSet::new();
        // They end only with the runtime that they were spawned on.
        let mut is_over = listening.is_empty();
        while listening.try_join_next().is_some() {
            is_over = true;
        }
        if is_over {
            *listening = JoinSet::new();
        }
        for source in &self.sources {
            let (source, shared) = (Arc::clone(source), Arc::clone(&self.shared));
            if is_over {
                listening.spawn(listen(source, shared));
            } else {
                telling.spawn(source.tell_all(shared));
            }
        }
        telling
    }

    async fn wait_for_sync(&self) -> Result<(), RunError> {
        let timeout = self.options.sync_timeout;
        let waits = self.sources.iter().map(|source| source.wait_for_sync(timeout));
        let mut missing: Vec<NotSynced> = Vec::new();
        for late in join_all(waits).await.into_iter().filter_map(Result::err) {
            for one in late.missing() {
                // An informer can have several roles.
                if !missing.contains(one) {
                    missing.push(one.clone());
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let source = SyncError::new(timeout, missing);
        Err(RunError::NotSynced { controller: self.shared.name.to_string(), source })
    }

    /// Waits for the workers, who have been told to end.
    async fn finish(&self, mut workers: JoinSet<()>) -> Result<(), RunError> {
        let waited = self.options.graceful_timeout;
        let all_gone = async {
            while let Some(ended) = workers.join_next().await {
                self.lament(ended);
            }
        };
        if tokio::time::timeout(waited, all_gone).await.is_ok() {
            return Ok(());
        }
        let keys = self.shared.stats.active();
        workers.abort_all();
        let _blocked =
            tokio::time::timeout(DROP_TIME, async { while workers.join_next().await.is_some() {} }).await;
        let controller = self.shared.name.to_string();
        tracing::error!(target: "informer::controller",
            controller,
            unfinished = keys.len(),
            "reconciles were not done in time and were dropped"
        );
        Err(RunError::Unfinished { controller, keys, waited })
    }

    /// A worker survives whatever a reconcile does, so its end is a fault of ours. Its key waits again.
    fn lament(&self, ended: Result<(), JoinError>) {
        if ended.is_err() {
            tracing::error!(target: "informer::controller",
                controller = &*self.shared.name,
                "a worker failed, and another one takes its place"
            );
        }
    }

    /// To enqueue keys, to say what was written, to read figures.
    pub fn handle(&self) -> ControllerHandle {
        ControllerHandle { shared: Arc::clone(&self.shared) }
    }

    /// How the controller is doing.
    pub fn metrics(&self) -> ControllerMetrics {
        self.handle().metrics()
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

/// Listens until it is dropped.
async fn listen(source: Arc<dyn Source>, shared: Arc<Shared>) {
    loop {
        let listening = Arc::clone(&source).listen(Arc::clone(&shared));
        let _ended = AssertUnwindSafe(listening).catch_unwind().await;
        tracing::error!(target: "informer::controller", controller = &*shared.name, "a source of changes ended, and is begun again");
        tokio::time::sleep(RESTART_DELAY).await;
    }
}

/// Polls until it is dropped.
async fn drive(source: Arc<dyn Source>, shared: Arc<Shared>) {
    while let Some(driving) = source.drive() {
        let _panicked = AssertUnwindSafe(driving).catch_unwind().await;
        tracing::error!(target: "informer::controller", controller = &*shared.name, "the stream of a feed panicked, and is polled again");
        tokio::time::sleep(RESTART_DELAY).await;
    }
}

/// Does something when it is dropped.
struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
