//! One informer for each resource, shared by everybody in the program who asks for it.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use kube::Client;
use kube::core::{ApiResource, DynamicObject};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::error::{BuildError, NotSynced, SyncError};
use crate::format::{Dynamic, Format, Metadata, MetadataOnly, Projected, Projection, Typed};
#[cfg(feature = "packed")]
use crate::format::{Packed, PackedObject};
use crate::informer_builder::InformerBuilder;
use crate::list_watch::{ListWatch, RequestOptions, ResourceListWatch, Tweak};
#[cfg(feature = "metrics")]
use crate::metrics::Observation;
use crate::shared_informer::SharedInformer;
use crate::status::Status;
use crate::trouble::{TroubleReport, WatchErrorHandler};

/// Makes informers that share what they watch: whoever asks for the same resource in the same form gets the same informer.
///
/// All informers of a factory watch the same namespaces with the same selectors; use a second factory for others. Dropping
/// the last clone of a factory stops its informers, unless handles on them are kept elsewhere.
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = kube::Client::new(TestServer::builder().build(), "default");
/// use std::time::Duration;
/// use informer::SharedInformerFactory;
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
///
/// let factory = SharedInformerFactory::new(client).namespace("team-a").label_selector("app=web");
/// let pods = factory.informer::<Pod>()?;
/// let by_node = pods.add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone());
/// let settings = factory.metadata::<ConfigMap>()?;
///
/// factory.start();
/// factory.wait_for_sync(Duration::from_secs(30)).await?;
/// assert!(by_node.get("node-7").is_empty());
/// assert!(pods.lister().list(&"tier!=cache".parse()?).is_empty());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedInformerFactory {
    config: Config,
    informers: Arc<Mutex<Informers>>,
}

#[derive(Clone)]
struct Config {
    client: Client,
    namespaces: Vec<String>,
    label_selector: String,
    field_selector: String,
    tweak: Option<Tweak>,
    resync: Option<Duration>,
    watch_error_handler: Option<WatchErrorHandler>,
}

#[derive(Default)]
pub(crate) struct Informers {
    by_key: BTreeMap<Key, Entry>,
    /// How many informers were made so far.
    made: usize,
    shut_down: bool,
}

/// Group, version and plural of the resource, and the form in which it is cached.
type Key = (String, String, String, TypeId);

struct Entry {
    informer: Box<dyn AnyInformer>,
    /// How many times it was asked for and not released.
    users: usize,
    /// Which one it was: how many there were before it.
    number: usize,
    /// Whether it was built by [`SharedInformerFactory::configured`], with options that cannot be compared.
    configured: bool,
}

/// What a factory does with an informer, whatever it caches.
trait AnyInformer: Send + Sync {
    fn start(&self);
    fn start_until(&self, stop: &CancellationToken);
    fn stop(&self) -> BoxFuture<'static, ()>;
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'static, Result<(), SyncError>>;
    fn status(&self) -> Status;
    /// `None` if it does not run.
    #[cfg(feature = "metrics")]
    fn observe(&self) -> Option<Observation>;
    #[cfg(feature = "metrics")]
    fn check_synced(&self) -> Result<(), NotSynced>;
    fn as_any(&self) -> &dyn Any;
}

impl<V: Send + Sync + 'static> AnyInformer for SharedInformer<V> {
    fn start(&self) {
        self.start();
    }

    fn start_until(&self, stop: &CancellationToken) {
        self.start_until(stop);
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let informer = self.clone();
        Box::pin(async move { informer.stop().await })
    }

    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'static, Result<(), SyncError>> {
        let informer = self.clone();
        Box::pin(async move { informer.wait_for_sync(timeout).await })
    }

    fn status(&self) -> Status {
        self.status()
    }

    #[cfg(feature = "metrics")]
    fn observe(&self) -> Option<Observation> {
        Observation::of(&self.inner)
    }

    #[cfg(feature = "metrics")]
    fn check_synced(&self) -> Result<(), NotSynced> {
        self.check_synced()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Informers {
    /// The first made first: the key's order differs from build to build.
    fn in_order(&self) -> Vec<&Entry> {
        let mut entries: Vec<_> = self.by_key.values().collect();
        entries.sort_by_key(|entry| entry.number);
        entries
    }
}

impl SharedInformerFactory {
    /// A factory of informers of all namespaces.
    pub fn new(client: Client) -> Self {
        let config = Config {
            client,
            namespaces: Vec::new(),
            label_selector: String::new(),
            field_selector: String::new(),
            tweak: None,
            resync: None,
            watch_error_handler: None,
        };
        Self { config, informers: Arc::default() }
    }

    /// Watches this namespace; called again, that one too. Has no effect on informers made before.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.config.namespaces.push(namespace.into());
        self
    }

    /// Watches only objects with matching labels.
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.config.label_selector = selector.into();
        self
    }

    /// Watches only objects with matching fields.
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.config.field_selector = selector.into();
        self
    }

    /// A hook that may change each request before it is sent.
    #[doc(alias = "WithTweakListOptions")]
    pub fn tweak(mut self, tweak: impl Fn(&mut RequestOptions) + Send + Sync + 'static) -> Self {
        self.config.tweak = Some(Arc::new(tweak));
        self
    }

    /// How often cached objects are replayed to handlers that do not say otherwise. Default never.
    #[doc(alias = "defaultResync")]
    pub fn resync(mut self, period: Duration) -> Self {
        self.config.resync = Some(period);
        self
    }

    /// Told of every trouble of every informer, besides the log.
    pub fn watch_error_handler(mut self, handler: impl Fn(&TroubleReport) + Send + Sync + 'static) -> Self {
        self.config.watch_error_handler = Some(Arc::new(handler));
        self
    }

    /// The informer of the resource of `K`, decoded as `K`.
    ///
    /// # Errors
    /// If the factory was shut down, or has it with [other options](Self::configured).
    #[doc(alias = "InformerFor")]
    pub fn informer<K>(&self) -> Result<SharedInformer<K>, BuildError>
    where
        K: kube::Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.shared(&ApiResource::erase::<K>(&()), Typed::<K>::new(), None)
    }

    /// The informer of the metadata of `K`'s resource: the rest is not even sent.
    ///
    /// # Errors
    /// As [`informer`](Self::informer).
    pub fn metadata<K>(&self) -> Result<SharedInformer<Metadata>, BuildError>
    where
        K: kube::Resource<DynamicType = ()>,
    {
        self.metadata_of(&ApiResource::erase::<K>(&()))
    }

    /// The same for a resource known only at run time.
    ///
    /// # Errors
    /// As [`informer`](Self::informer).
    // `inline`: whoever does not call it need not compile an informer of this type, which takes some ten seconds.
    #[inline]
    pub fn metadata_of(&self, resource: &ApiResource) -> Result<SharedInformer<Metadata>, BuildError> {
        self.shared(resource, MetadataOnly, None)
    }

    /// The informer of the fields that `P` has of the resource of `K`; see [`Projection`].
    ///
    /// # Errors
    /// As [`informer`](Self::informer).
    pub fn projection<K, P>(&self) -> Result<SharedInformer<Projected<P>>, BuildError>
    where
        K: kube::Resource<DynamicType = ()> + 'static,
        P: DeserializeOwned + Send + Sync + 'static,
    {
        self.shared(&ApiResource::erase::<K>(&()), Projection::<K, P>::new(), None)
    }

    /// The informer of the resource of `K`, each object compressed, and decoded as `K` when it is read; see [`Packed`].
    ///
    /// # Errors
    /// As [`informer`](Self::informer).
    #[cfg(feature = "packed")]
    pub fn packed<K>(&self) -> Result<SharedInformer<PackedObject<K>>, BuildError>
    where
        K: kube::Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.shared(&ApiResource::erase::<K>(&()), Packed::<K>::new(), None)
    }

    /// The informer of a resource known only at run time.
    ///
    /// # Errors
    /// As [`informer`](Self::informer).
    #[doc(alias = "ForResource")]
    // `inline`: as `metadata_of`.
    #[inline]
    pub fn dynamic(&self, resource: &ApiResource) -> Result<SharedInformer<DynamicObject>, BuildError> {
        self.shared(resource, Dynamic::new(resource), None)
    }

    /// The informer of a resource in any form, with options of its own (a transform, another resync, …).
    ///
    /// ```no_run
    /// # fn example(factory: informer::SharedInformerFactory) -> Result<(), informer::BuildError> {
    /// use informer::Typed;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::core::ApiResource;
    ///
    /// let pods = factory.configured(&ApiResource::erase::<Pod>(&()), Typed::<Pod>::new(), |informer| {
    ///     informer.transform(|pod| pod.metadata.annotations = None)
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the factory was shut down, or has an informer of this resource in this form already: options cannot be compared,
    /// and one of the two callers would not get what it asked for.
    pub fn configured<F: Format>(
        &self,
        resource: &ApiResource,
        format: F,
        options: impl FnOnce(InformerBuilder<F::Value>) -> InformerBuilder<F::Value>,
    ) -> Result<SharedInformer<F::Value>, BuildError> {
        let builder = options(self.builder(resource, format)?);
        self.shared_as::<F>(resource, Some(builder), || unreachable!("the builder is given"))
    }

    fn shared<F: Format>(
        &self,
        resource: &ApiResource,
        format: F,
        configured: Option<InformerBuilder<F::Value>>,
    ) -> Result<SharedInformer<F::Value>, BuildError> {
        self.shared_as::<F>(resource, configured, || self.builder(resource, format))
    }

    fn shared_as<F: Format>(
        &self,
        resource: &ApiResource,
        configured: Option<InformerBuilder<F::Value>>,
        plain: impl FnOnce() -> Result<InformerBuilder<F::Value>, BuildError>,
    ) -> Result<SharedInformer<F::Value>, BuildError> {
        let key =
            (resource.group.clone(), resource.version.clone(), resource.plural.clone(), TypeId::of::<F>());
        let mut informers = self.informers();
        if informers.shut_down {
            return Err(BuildError::ShutDown("the factory".into()));
        }
        if let Some(entry) = informers.by_key.get_mut(&key) {
            if entry.configured || configured.is_some() {
                return Err(BuildError::Conflict {
                    resource: resource.plural.clone(),
                    what: "set of options",
                });
            }
            entry.users += 1;
            let informer = entry.informer.as_any().downcast_ref::<SharedInformer<F::Value>>();
            return Ok(informer.expect("the key has the format's type").clone());
        }
        let is_configured = configured.is_some();
        let informer = configured.map_or_else(plain, Ok)?.build()?;
        let number = informers.made;
        informers.made += 1;
        let entry =
            Entry { informer: Box::new(informer.clone()), users: 1, number, configured: is_configured };
        informers.by_key.insert(key, entry);
        Ok(informer)
    }

    fn builder<F: Format>(
        &self,
        resource: &ApiResource,
        format: F,
    ) -> Result<InformerBuilder<F::Value>, BuildError> {
        let Config { namespaces, resync, watch_error_handler, .. } = &self.config;
        let metadata_only = TypeId::of::<F>() == TypeId::of::<MetadataOnly>();
        let source = |namespace: Option<&String>| -> (Option<Arc<str>>, Arc<dyn ListWatch>) {
            let source = self.list_watch(resource, namespace).metadata_only(metadata_only);
            (namespace.map(|namespace| Arc::from(namespace.as_str())), Arc::new(source))
        };
        let sources = match &namespaces[..] {
            [] => vec![source(None)],
            some => some.iter().map(|namespace| source(Some(namespace))).collect(),
        };
        let mut builder = InformerBuilder::of_sources(sources, format);
        if let Some(period) = resync {
            builder = builder.resync(*period);
        }
        if let Some(handler) = watch_error_handler.clone() {
            builder = builder.watch_error_handler(move |report| handler(report));
        }
        Ok(builder)
    }

    fn list_watch(&self, resource: &ApiResource, namespace: Option<&String>) -> ResourceListWatch {
        let Config { client, label_selector, field_selector, tweak, .. } = &self.config;
        let mut source = ResourceListWatch::new(client.clone(), resource)
            .label_selector(label_selector)
            .field_selector(field_selector);
        if let Some(namespace) = namespace {
            source = source.namespace(namespace);
        }
        if let Some(tweak) = tweak.clone() {
            source = source.tweak(move |options| tweak(options));
        }
        source
    }

    /// Starts every informer that does not run yet; to be called again after further ones were made.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        for entry in self.informers().by_key.values() {
            entry.informer.start();
        }
    }

    /// The same, until `stop` is cancelled.
    #[doc(alias = "StartWithContext")]
    pub fn start_until(&self, stop: &CancellationToken) {
        for entry in self.informers().by_key.values() {
            entry.informer.start_until(stop);
        }
    }

    /// Waits until the first list of every informer is in its cache.
    ///
    /// # Errors
    /// When `timeout` has passed: who is not synced, in which phase, and why.
    #[doc(alias = "WaitForCacheSync")]
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), SyncError> {
        let begun = Instant::now();
        let waits: Vec<_> =
            self.informers().by_key.values().map(|entry| entry.informer.wait_for_sync(timeout)).collect();
        let missing: Vec<NotSynced> = join_all(waits)
            .await
            .into_iter()
            .filter_map(Result::err)
            .flat_map(|error| error.missing().to_vec())
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(SyncError::new(begun.elapsed().max(timeout), missing)) }
    }

    /// How every informer is doing, the first made first.
    pub fn status(&self) -> Vec<Status> {
        self.informers().in_order().iter().map(|entry| entry.informer.status()).collect()
    }

    /// Says that one caller of [`informer`](Self::informer) needs it no more; after the last one it is stopped and forgotten.
    pub async fn release<V: Send + Sync + 'static>(&self, informer: SharedInformer<V>) {
        let unused = {
            let mut informers = self.informers();
            let same = |entry: &Entry| {
                entry
                    .informer
                    .as_any()
                    .downcast_ref::<SharedInformer<V>>()
                    .is_some_and(|other| other.is(&informer))
            };
            let key = informers.by_key.iter().find(|(_, entry)| same(entry)).map(|(key, _)| key.clone());
            key.and_then(|key| {
                let entry = informers.by_key.get_mut(&key)?;
                entry.users -= 1;
                if entry.users == 0 { informers.by_key.remove(&key) } else { None }
            })
        };
        if let Some(entry) = unused {
            entry.informer.stop().await;
        }
    }

    /// Stops every informer and waits until all have; no further ones are made.
    pub async fn shutdown(&self) {
        let stops: Vec<_> = {
            let mut informers = self.informers();
            informers.shut_down = true;
            informers.by_key.values().map(|entry| entry.informer.stop()).collect()
        };
        join_all(stops).await;
    }

    /// The same for a metrics system, without keeping the factory: those that run, the first made first. `None` when it is gone.
    #[cfg(feature = "metrics")]
    pub(crate) fn observer(&self) -> impl Fn() -> Option<Vec<Observation>> + Send + Sync + use<> {
        let informers = Arc::downgrade(&self.informers);
        move || {
            let informers = informers.upgrade()?;
            let informers = informers.lock().unwrap_or_else(PoisonError::into_inner);
            Some(informers.in_order().iter().filter_map(|entry| entry.informer.observe()).collect())
        }
    }

    /// Whether every informer has its first list, and who has not; without keeping the factory.
    #[cfg(feature = "metrics")]
    pub(crate) fn synced_check(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let informers = Arc::downgrade(&self.informers);
        move || {
            let Some(informers) = informers.upgrade() else { return Err("the informers are gone".into()) };
            let informers = informers.lock().unwrap_or_else(PoisonError::into_inner);
            let missing: Vec<_> = informers
                .in_order()
                .iter()
                .filter_map(|entry| entry.informer.check_synced().err())
                .map(|missing| missing.to_string())
                .collect();
            if missing.is_empty() { Ok(()) } else { Err(missing.join("; ")) }
        }
    }

    fn informers(&self) -> MutexGuard<'_, Informers> {
        self.informers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
