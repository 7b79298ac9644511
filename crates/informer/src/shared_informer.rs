//! The informer: one cache and one watch, shared by every reader and handler.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informer_core::reflector::ReflectorOptions;
use informer_core::{Informer, ResourceVersion, Snapshot};
use kube::core::ApiResource;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::clock::Clock;
use crate::crew::Crew;
use crate::decoder::Decoder;
use crate::driver::{Health, Machine, Progress, Shared, supervise};
use crate::error::{BuildError, NotSynced, SyncError, WaitError};
use crate::event_handler::EventHandler;
use crate::figures::Figures;
use crate::format::{Format, Owner};
use crate::index::{Index, IndexRegistry};
use crate::informer_builder::InformerBuilder;
use crate::informer_metrics::InformerMetrics;
use crate::list_watch::ListWatch;
use crate::lister::Lister;
use crate::registration::Registration;
use crate::status::Status;
use crate::store::{Store, StoreShared};
use crate::subscription::Subscription;
use crate::trouble::Reporter;

/// A live, indexed, local copy of a resource's objects, and the changes to it, for any number of readers and handlers.
///
/// What it promises:
///
/// - The cache becomes equal to the server's state, and stays so, through restarts, lost versions, broken connections and
///   bad bytes. The states of one object seen here are a subsequence of its real states, in order.
/// - Everything the server said up to one version is visible together.
/// - A handler's calls come one at a time; for one object in the order of its changes; always after the cache shows them
///   (which may be ahead). Each handler that was told of an object is told of its end. The `old` object of an update is
///   what that handler was told last. Nothing is told twice.
/// - An object that cannot be decoded, or a handler, transform or index function that panics, harms nothing else.
///
/// A clone is another handle on the same informer. It stops when it is told to, or when the last handle is dropped.
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = TestServer::builder().build();
/// # server.create("configmaps", serde_json::json!({
/// #     "metadata": {"name": "settings", "namespace": "default"}, "data": {"colour": "blue"}}))?;
/// # let client = kube::Client::new(server.clone(), "default");
/// use std::time::Duration;
/// use informer::{EventHandler, ResourceListWatch, SharedInformer, Typed};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let list_watch = ResourceListWatch::of::<ConfigMap>(client);
/// let config_maps = SharedInformer::builder(list_watch, Typed::<ConfigMap>::new()).build()?;
/// config_maps.add_event_handler(EventHandler::new().on_added(|object, _| println!("{}", object.key)));
/// config_maps.start();
/// config_maps.wait_for_sync(Duration::from_secs(10)).await?;
///
/// let settings = config_maps.lister().namespace("default").get("settings").expect("it was listed");
/// assert_eq!(settings.data.as_ref().unwrap()["colour"], "blue");
/// config_maps.stop().await;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "SharedIndexInformer")]
pub struct SharedInformer<V> {
    pub(crate) inner: Arc<Inner<V>>,
}

pub(crate) struct Inner<V> {
    pub(crate) shared: Arc<Shared<V>>,
    default_resync: Option<Duration>,
    running: Mutex<Option<Running>>,
}

struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl<V> Drop for Inner<V> {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().unwrap_or_else(PoisonError::into_inner) {
            running.stop.cancel();
        }
        // Not under the machine's lock: this drops what the callbacks hold.
        let listeners: Vec<_> = self.shared.machine().listeners.values().cloned().collect();
        listeners.iter().for_each(|listener| self.shared.crew.dismiss(listener));
    }
}

impl<V> Inner<V> {
    pub(crate) fn is_stopped(&self) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().is_none_or(|running| running.task.is_finished())
    }
}

impl<V: Send + Sync + 'static> SharedInformer<V> {
    /// An informer of what `list_watch` lists, cached as `format` says.
    pub fn builder<F: Format<Value = V>>(list_watch: impl ListWatch, format: F) -> InformerBuilder<V> {
        InformerBuilder::new(list_watch, format)
    }

    pub(crate) fn build(builder: InformerBuilder<V>) -> Result<Self, BuildError> {
        let InformerBuilder { sources, meta, decode, transform, .. } = builder;
        let mut namespaces: Vec<Arc<str>> =
            sources.iter().filter_map(|(namespace, _)| namespace.clone()).collect();
        if namespaces.len() != sources.len() && sources.len() > 1 {
            return Err(BuildError::Sources("of several sources each needs a namespace".into()));
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        if !namespaces.is_empty() && namespaces.len() != sources.len() {
            return Err(BuildError::Sources("two sources have the same namespace".into()));
        }
        let seed = builder.seed.unwrap_or_else(random_seed);
        let store = Arc::new(StoreShared::new(seed, meta));
        let indexes = Arc::new(IndexRegistry::new());
        let decoder = Decoder {
            decode,
            transform,
            keep_managed_fields: builder.keep_managed_fields,
            indexes: Arc::clone(&indexes),
            store: Arc::clone(&store),
        };
        let namespaces: Vec<Arc<str>> =
            sources.iter().filter_map(|(namespace, _)| namespace.clone()).collect();
        let machine = Machine {
            informer: Informer::new(builder.informer, &builder.reflector, &namespaces, seed),
            listeners: BTreeMap::new(),
            health: Health::default(),
            figures: Figures::default(),
        };
        let sources: Vec<Arc<dyn ListWatch>> = sources.into_iter().map(|(_, source)| source).collect();
        let name: Arc<str> = match &sources[..] {
            [one] => one.describe().into(),
            several => format!("{} and {} other namespaces", several[0].describe(), several.len() - 1).into(),
        };
        let crew = Arc::new(Crew::new(Arc::clone(&name)));
        let shared = Arc::new(Shared {
            name,
            reporter: Reporter::new(builder.watch_error_handler, sources.len()),
            sources,
            decoder: Arc::new(decoder),
            store,
            indexes,
            machine: Mutex::new(machine),
            crew,
            poke: Arc::new(Notify::new()),
            progress: watch::Sender::new(Progress::default()),
            clock: Clock::new(),
            limits: builder.limits,
            hash_seed: seed,
        });
        let inner = Inner { shared, default_resync: builder.resync, running: Mutex::new(None) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Begins to list and watch, in a task of its own. Does nothing if it runs already; after [`stop`](Self::stop) it goes on
    /// with the cache as it was, and handlers are told the difference.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[doc(alias = "Run")]
    pub fn start(&self) {
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_some_and(|running| !running.task.is_finished() && !running.stop.is_cancelled())
        {
            return;
        }
        let before = running.take().map(|running| running.task);
        let stop = CancellationToken::new();
        let (shared, token) = (Arc::clone(&self.inner.shared), stop.clone());
        let task = tokio::spawn(async move {
            // A driver that is still stopping has to be gone before the next one begins.
            if let Some(before) = before {
                let _ = before.await;
            }
            let span = tracing::debug_span!(target: "informer::driver", "informer", name = &*shared.name);
            supervise(shared, token).instrument(span).await;
        });
        *running = Some(Running { stop, task });
    }

    /// The same, until `stop` is cancelled.
    pub fn start_until(&self, stop: &CancellationToken) {
        self.start();
        let running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            let (own, outer) = (running.stop.clone(), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = outer.cancelled() => own.cancel(),
                    () = own.cancelled() => {}
                }
            });
        }
    }

    /// Stops listing and watching, and waits until the connection is closed. The cache stays readable as it is; handlers stay
    /// registered and are still told what had arrived.
    pub async fn stop(&self) {
        let running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { stop, task }) = running {
            stop.cancel();
            let _ = task.await;
        }
    }

    /// Whether it is neither running nor stopping.
    pub fn is_stopped(&self) -> bool {
        self.inner.is_stopped()
    }

    /// Registers a handler, now or at any time later. It is told of everything that is cached now, then of every change.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn add_event_handler(&self, handler: EventHandler<V>) -> Registration<V> {
        Registration::add(&self.inner.shared, handler, self.inner.default_resync)
    }

    /// The same as a stream of batches, for async code: everything that is cached now, then every change.
    pub fn subscribe(&self) -> Subscription<V> {
        Subscription::add(&self.inner.shared, self.inner.default_resync)
    }

    /// Adds an index, now or at any time later: it holds every cached object when this returns. The name is for people.
    ///
    /// The function returns anything that can be iterated: an `Option`, a `Vec`, an array. It runs once for each version of
    /// each object; if it panics, the object is missing from this index alone. It must not call back into its informer.
    ///
    /// Costs a call of the function for each cached object, during which changes wait.
    #[doc(alias = "AddIndexers")]
    pub fn add_index<I>(&self, name: &str, function: impl Fn(&V) -> I + Send + Sync + 'static) -> Index<V>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let shared = &self.inner.shared;
        // Whoever holds the machine is the only one who writes to the store.
        let _machine = shared.machine();
        Index::add(name, function, &shared.indexes, &shared.store)
    }

    /// The cache.
    #[doc(alias = "GetStore")]
    #[doc(alias = "GetIndexer")]
    pub fn store(&self) -> Store<V> {
        Store::new(Arc::clone(&self.inner.shared.store))
    }

    /// Reads by name, namespace and label selector.
    pub fn lister(&self) -> Lister<V> {
        self.store().lister()
    }

    /// The owner references of a cached value, whatever its format.
    pub fn owners<'v>(&self, value: &'v V) -> Vec<Owner<'v>> {
        self.inner.shared.store.owners(value)
    }

    /// Everything at one version, owned.
    pub fn snapshot(&self) -> Snapshot<V> {
        self.store().snapshot()
    }

    /// Whether the first list is in the cache. A [`Registration`] says whether a handler has been told of it.
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.inner.shared.progress.borrow().synced
    }

    /// Waits until the first list is in the cache.
    ///
    /// # Errors
    /// When `timeout` has passed: where the informer stands, and the last trouble.
    #[doc(alias = "WaitForCacheSync")]
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), SyncError> {
        let mut progress = self.inner.shared.progress.subscribe();
        match tokio::time::timeout(timeout, progress.wait_for(|progress| progress.synced)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(SyncError::new(timeout, vec![self.not_synced()])),
        }
    }

    /// Nothing if the first list is in the cache, else where the informer stands and the last trouble: for a readiness check.
    pub fn check_synced(&self) -> Result<(), NotSynced> {
        if self.has_synced() { Ok(()) } else { Err(self.not_synced()) }
    }

    fn not_synced(&self) -> NotSynced {
        let Status { informer, phase, last_error, .. } = self.status();
        NotSynced { informer, phase, last_error }
    }

    /// Waits until the cache shows the server's state at `version` or later: after a write, the version it was answered with.
    ///
    /// On a quiet resource that may take until the next bookmark, up to a minute, unless `version` is a change of this very
    /// resource.
    ///
    /// # Errors
    /// When `timeout` has passed, or if versions cannot be compared.
    pub async fn wait_until(&self, version: &ResourceVersion, timeout: Duration) -> Result<(), WaitError> {
        let informer = || self.inner.shared.name.to_string();
        if !version.is_ordered() {
            return Err(WaitError::Opaque { informer: informer() });
        }
        let mut progress = self.inner.shared.progress.subscribe();
        let reached = |progress: &Progress| {
            (progress.synced && progress.version.is_none())
                || progress.version.as_ref().is_some_and(|at| at >= version)
        };
        let at = match tokio::time::timeout(timeout, progress.wait_for(reached)).await {
            Ok(Ok(progress)) if progress.version.is_none() => {
                return Err(WaitError::Opaque { informer: informer() });
            }
            Ok(_) => return Ok(()),
            Err(_) => self.inner.shared.progress.borrow().version.clone(),
        };
        Err(WaitError::Timeout {
            informer: informer(),
            wanted: version.to_string(),
            at: at.map(|version| version.to_string()).unwrap_or_default(),
            waited: timeout,
        })
    }

    /// Where it stands, how it is doing, and what troubles it.
    pub fn status(&self) -> Status {
        self.inner.shared.status()
    }

    /// What it has done so far, for a metrics system to read.
    pub fn metrics(&self) -> InformerMetrics {
        self.inner.shared.metrics()
    }

    /// Whether both are handles on the same informer.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// What the driver, the readers and the handles share; holding it does not keep the informer running.
    pub(crate) fn shared(&self) -> &Arc<Shared<V>> {
        &self.inner.shared
    }

    /// Which resource it watches, if its source says so.
    pub(crate) fn resource(&self) -> Option<&ApiResource> {
        self.inner.shared.sources.first()?.resource()
    }

    /// What it watches: `pods in team-a`.
    pub fn name(&self) -> &str {
        &self.inner.shared.name
    }
}

impl<V> Clone for SharedInformer<V> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

/// From the process's entropy: names are other people's text, and jitter should differ from process to process.
pub(crate) fn random_seed() -> u64 {
    RandomState::new().hash_one(0)
}

/// What an informer's reflectors do if nothing else is said.
pub(crate) fn default_reflector_options() -> ReflectorOptions {
    ReflectorOptions::new().watch_list(watch_list_enabled(std::env::var("KUBE_FEATURE_WatchListClient").ok()))
}

/// client-go's switch, understood the same way: anything but a boolean is ignored.
fn watch_list_enabled(variable: Option<String>) -> bool {
    !matches!(variable.as_deref(), Some("false" | "False" | "FALSE" | "f" | "F" | "0"))
}
