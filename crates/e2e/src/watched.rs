//! An informer under watch: its handlers are witnesses, its indices are recomputed, its troubles are kept.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informer::{
    BackoffOptions, Dynamic, Format, Index, Metadata, MetadataOnly, Registration, ResourceVersion,
    SharedInformer, Status, TroubleReport, Typed,
};
use informer::{InformerBuilder, Subscription};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::DynamicObject;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::content::{Content, IndexSpec};
use crate::outcome::{Error, Result};
use crate::scope::Scope;
use crate::witness::Witness;
use crate::world::DEADLINE;

/// How many troubles are kept.
const TROUBLES_KEPT: usize = 10_000;

/// An informer, and everything that is checked about it.
pub(crate) struct Watched<V> {
    pub(crate) informer: SharedInformer<V>,
    pub(crate) scope: Scope,
    /// The first one was there from the beginning.
    pub(crate) witnesses: Vec<Witness<V>>,
    pub(crate) indexes: Vec<(IndexSpec<V>, Index<V>)>,
    pub(crate) registrations: Vec<Registration<V>>,
    /// Counted up whenever a witness or the watch-error handler is told something.
    pub(crate) changed: watch::Sender<u64>,
    troubles: Arc<Mutex<Vec<TroubleReport>>>,
}

impl Watched<Pod> {
    /// Typed Pods.
    pub(crate) fn pods(scope: Scope, client: kube::Client) -> Result<Self> {
        Self::start(scope, client, Typed::<Pod>::new(), |builder| builder)
    }
}

impl Watched<ConfigMap> {
    /// Typed ConfigMaps.
    pub(crate) fn config_maps(scope: Scope, client: kube::Client) -> Result<Self> {
        Self::start(scope, client, Typed::<ConfigMap>::new(), |builder| builder)
    }
}

impl Watched<DynamicObject> {
    /// Dynamic objects.
    pub(crate) fn dynamic(scope: Scope, client: kube::Client) -> Result<Self> {
        let format = Dynamic::new(&scope.resource);
        Self::start(scope, client, format, |builder| builder)
    }
}

impl Watched<Metadata> {
    /// Metadata only, of any resource.
    pub(crate) fn metadata(scope: Scope, client: kube::Client) -> Result<Self> {
        let source = scope.list_watch(client).metadata_only(true);
        let builder = SharedInformer::builder(source, MetadataOnly).reflector_options(impatient);
        Self::of(scope, builder)
    }
}

impl<V: Content> Watched<V> {
    /// An informer with options of its own, started, and with one witness.
    pub(crate) fn start<F: Format<Value = V>>(
        scope: Scope,
        client: kube::Client,
        format: F,
        change: impl FnOnce(InformerBuilder<V>) -> InformerBuilder<V>,
    ) -> Result<Self> {
        let source = scope.list_watch(client);
        let mut builder = SharedInformer::builder(source.clone(), format);
        if !scope.namespaces.is_empty() {
            builder =
                builder.namespaces(scope.namespaces.clone(), |namespace| source.clone().namespace(namespace));
        }
        Self::of(scope, change(builder.reflector_options(impatient)))
    }

    fn of(scope: Scope, builder: InformerBuilder<V>) -> Result<Self> {
        let changed = watch::Sender::new(0);
        let troubles = Arc::<Mutex<Vec<TroubleReport>>>::default();
        let (seen, tell) = (Arc::clone(&troubles), changed.clone());
        let builder = builder.watch_error_handler(move |report| {
            let mut troubles = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if troubles.len() < TROUBLES_KEPT {
                troubles.push(report.clone());
            }
            drop(troubles);
            tell.send_modify(|times| *times += 1);
        });
        let mut watched = Self::without_witness(scope, builder.build()?, changed);
        watched.troubles = troubles;
        watched.add_witness("first handler", 1024);
        watched.informer.start();
        Ok(watched)
    }

    /// An informer that somebody else has made, and starts: with one witness.
    pub(crate) fn around(scope: Scope, informer: SharedInformer<V>) -> Self {
        let mut watched = Self::without_witness(scope, informer, watch::Sender::new(0));
        watched.add_witness("first handler", 1024);
        watched
    }

    fn without_witness(scope: Scope, informer: SharedInformer<V>, changed: watch::Sender<u64>) -> Self {
        let indexes = V::indexes().into_iter().map(|spec| {
            let index = informer.add_index(spec.name, spec.of_value);
            (spec, index)
        });
        let indexes = indexes.collect();
        let (witnesses, registrations, troubles) = (Vec::new(), Vec::new(), Arc::default());
        Self { informer, scope, witnesses, indexes, registrations, changed, troubles }
    }

    /// Adds a handler with a backlog of so many notifications.
    pub(crate) fn add_witness(&mut self, name: &'static str, backlog_limit: usize) {
        let witness = Witness::new(name, self.changed.clone());
        let handler = witness.handler().backlog_limit(backlog_limit);
        self.registrations.push(self.informer.add_event_handler(handler));
        self.witnesses.push(witness);
    }

    /// Adds a reader of the stream of batches.
    pub(crate) fn add_stream_witness(&mut self, name: &'static str) {
        let witness = Witness::new(name, self.changed.clone());
        let mut stream: Subscription<V> = self.informer.subscribe();
        self.witnesses.push(witness.clone());
        tokio::spawn(async move {
            while let Some(batch) = stream.next().await {
                batch.iter().for_each(|notification| witness.observe(notification));
            }
        });
    }

    /// The witness that was there from the beginning.
    pub(crate) fn witness(&self) -> &Witness<V> {
        &self.witnesses[0]
    }

    /// Waits until the informer and its first handler have the first list.
    pub(crate) async fn synced(&self) -> Result {
        self.informer.wait_for_sync(DEADLINE).await?;
        self.registrations[0].wait_for_sync(DEADLINE).await?;
        Ok(())
    }

    /// Waits until a version is in the cache.
    pub(crate) async fn reached(&self, version: &ResourceVersion) -> Result {
        Ok(self.informer.wait_until(version, DEADLINE).await?)
    }

    /// Every trouble so far.
    pub(crate) fn troubles(&self) -> Vec<TroubleReport> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a trouble of this kind, from the `from`th on.
    pub(crate) async fn trouble(
        &self,
        what: &str,
        from: usize,
        matches: impl Fn(&TroubleReport) -> bool,
    ) -> Result<TroubleReport> {
        let find = || self.troubles().into_iter().skip(from).find(&matches);
        self.eventually(what, find).await
    }

    /// Waits until something can be found, asking whenever the informer tells anybody anything.
    pub(crate) async fn eventually<T>(&self, what: &str, find: impl Fn() -> Option<T>) -> Result<T> {
        let mut changed = self.changed.subscribe();
        let found = timeout(DEADLINE, async {
            loop {
                changed.mark_unchanged();
                if let Some(found) = find() {
                    return found;
                }
                // The sender is ours: it cannot be gone.
                let _ = changed.changed().await;
            }
        });
        found.await.map_err(|_| {
            let Status { informer, phase, last_error, objects, .. } = self.informer.status();
            let error = last_error.unwrap_or_else(|| "none".into());
            Error::from(format!(
                "{what}: not seen in time ({informer}: {phase}, {objects} objects, last error: {error})"
            ))
        })
    }
}

/// The defaults, but with shorter waits: the suite has minutes, and short waits make more happen in them.
fn impatient(options: informer::ReflectorOptions) -> informer::ReflectorOptions {
    let cap = Duration::from_secs(1);
    options.idle(Duration::from_secs(3)).headers_timeout(Duration::from_secs(3)).backoff(BackoffOptions {
        initial: Duration::from_millis(100),
        cap,
        ..BackoffOptions::default()
    })
}
