//! Metrics in Prometheus' text format, read from what there is at each scrape, and an endpoint for them.

mod checks;
mod controllers;
mod event_recorders;
mod families;
mod informers;
mod leader_electors;
mod rest;
mod samples;
mod server;
mod work_queues;

use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Uri;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text};
use prometheus_client::registry::Registry;

pub(crate) use informers::Observation;
pub(crate) use rest::RestLayer;
pub use server::{MetricsServer, MetricsServerBuilder, ServeError};

use self::rest::RestMetrics;
use self::samples::Samples;
use crate::controller::ControllerHandle;
use crate::event_recorder::EventRecorder;
use crate::factory::SharedInformerFactory;
use crate::leader_election::LeaderElector;
use crate::shared_informer::SharedInformer;
use crate::work_queue::WorkQueue;

/// So many informers, factories and queues can be observed at once: enough for any program that names them by hand, and a
/// program that names them by data hears of it before its metrics system does.
const MAX_SOURCES: usize = 1000;
/// What messages call it. A controller's queue has series of the same names.
const QUEUE: &str = "a work queue or controller";
/// The longest name.
const MAX_NAME_BYTES: usize = 256;

/// What informers, work queues and clients do, as metrics.
///
/// Names, labels and buckets are client-go's and controller-runtime's where they have the same thing, so that dashboards and
/// alerts made for them fit. Which there are is said in `docs/operations.md`.
///
/// Nothing is counted twice and nothing is paid for while nobody asks: each scrape reads the figures that informers and queues
/// keep anyway. What is observed is not kept alive by it. Its series are gone from the first scrape after it is gone, and those
/// of an informer also while it is stopped. How many series there are depends on what the program registers, never on data:
/// no label holds a namespace, a name or a message.
///
/// It is a [`Collector`] too, for a program that has a [`Registry`] and an endpoint of its own. A clone is the same metrics.
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = kube::Client::new(TestServer::builder().build(), "default");
/// use informer::{Metrics, MetricsServer, SharedInformerFactory, WorkQueue};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let metrics = Metrics::new();
/// // let client = informer::client_with_metrics(config, &metrics)?;
/// let factory = SharedInformerFactory::new(client);
/// let queue: WorkQueue<String> = WorkQueue::<String>::builder().timings(true).build();
/// metrics.factory("my-controller", &factory)?;
/// metrics.work_queue("foo", &queue)?;
///
/// let _pods = factory.informer::<Pod>()?;
/// factory.start();
/// let server = MetricsServer::builder(metrics.clone()).synced(&factory).bind("127.0.0.1:0").await?;
/// println!("http://{}/metrics, /healthz, /readyz", server.local_addr());
///
/// assert!(metrics.text().contains("workqueue_depth{name=\"foo\""));
/// server.shutdown().await;
/// # factory.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    sources: Arc<Sources>,
    /// The program's own metrics, and the sources.
    registry: Registry,
}

#[derive(Default)]
struct Sources {
    rest: RestMetrics,
    named: Mutex<Vec<Named>>,
}

/// One thing that is observed.
struct Named {
    kind: &'static str,
    name: Arc<str>,
    source: Box<dyn Source>,
}

/// Something that can say at any time what it has done.
trait Source: Send + Sync {
    /// Whether what it observes exists no more.
    fn is_gone(&self) -> bool;
    /// Adds what it has to say now.
    fn collect(&self, samples: &mut Samples);
}

/// A source that is one snapshot, and samples made of it.
struct Snapshots<F, C> {
    name: Arc<str>,
    /// `None` when what it reads is gone.
    read: F,
    collect: C,
}

impl<T, F, C> Source for Snapshots<F, C>
where
    F: Fn() -> Option<T> + Send + Sync,
    C: Fn(&str, &T, &mut Samples) + Send + Sync,
{
    fn is_gone(&self) -> bool {
        (self.read)().is_none()
    }

    fn collect(&self, samples: &mut Samples) {
        if let Some(snapshot) = (self.read)() {
            (self.collect)(&self.name, &snapshot, samples);
        }
    }
}

/// Something cannot be observed under this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// Two would write the same series.
    #[error("there are metrics of {kind} named {name:?} already: each needs a name of its own")]
    NameTaken {
        /// What kind of thing has the name.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The name is empty or longer than 256 bytes.
    #[error("a name for metrics has 1 to {MAX_NAME_BYTES} bytes, not {length}")]
    BadName {
        /// Its length.
        length: usize,
    },
    /// A program that registers more makes names of data.
    #[error("more than {MAX_SOURCES} informers, factories and queues have metrics")]
    TooMany,
}

impl Metrics {
    /// Metrics of nothing yet.
    pub fn new() -> Self {
        Self::with_registry(Registry::default())
    }

    /// The same, with the program's own metrics before them in [`text`](Self::text).
    pub fn with_registry(mut registry: Registry) -> Self {
        let sources = Arc::new(Sources::default());
        registry.register_collector(Box::new(Arc::clone(&sources)));
        Self { inner: Arc::new(Inner { sources, registry }) }
    }

    /// Observes an informer.
    ///
    /// # Errors
    /// If an informer or a factory has this name, or for a bad name.
    pub fn informer<V: Send + Sync + 'static>(
        &self,
        name: &str,
        informer: &SharedInformer<V>,
    ) -> Result<(), MetricsError> {
        self.add("an informer", name, |name| informers::of_informer(name, informer))
    }

    /// Observes every informer of a factory, those made later too. They share the name and differ in group, version and
    /// resource; if there are several of one resource, all but the first have `/2`, `/3`, … after the name.
    ///
    /// # Errors
    /// As [`informer`](Self::informer).
    pub fn factory(&self, name: &str, factory: &SharedInformerFactory) -> Result<(), MetricsError> {
        self.add("an informer", name, |name| informers::of_factory(name, factory))
    }

    /// Observes a work queue. Histograms of durations are there if it [measures](crate::WorkQueueBuilder::timings) them.
    ///
    /// # Errors
    /// If a queue has this name, or for a bad name.
    pub fn work_queue<K>(&self, name: &str, queue: &WorkQueue<K>) -> Result<(), MetricsError>
    where
        K: Hash + Eq + Clone + Send + 'static,
    {
        self.add(QUEUE, name, |name| work_queues::of_queue(name, queue))
    }

    /// Observes a controller and its queue, under the controller's own name.
    ///
    /// # Errors
    /// If a controller or a queue has this name, or for a bad name.
    pub fn controller(&self, controller: &ControllerHandle) -> Result<(), MetricsError> {
        self.add(QUEUE, controller.name(), |name| controllers::of_controller(name, controller))
    }

    /// Observes an event recorder.
    ///
    /// # Errors
    /// If a recorder has this name, or for a bad name.
    pub fn event_recorder(&self, name: &str, recorder: &EventRecorder) -> Result<(), MetricsError> {
        self.add("an event recorder", name, |name| event_recorders::of_recorder(name, recorder))
    }

    /// Observes a leader elector, under the name of its Lease.
    ///
    /// # Errors
    /// If an elector of a Lease of this name is observed already, in whatever namespace.
    pub fn leader_elector(&self, elector: &LeaderElector) -> Result<(), MetricsError> {
        let lease = elector.lease();
        let name = lease.rsplit_once('/').map_or(lease, |(_, name)| name);
        self.add("a leader elector", name, |name| leader_electors::of_elector(name, elector))
    }

    /// Everything in Prometheus' text format, version 0.0.4.
    pub fn text(&self) -> String {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.inner.registry).expect("a String takes everything");
        text
    }

    pub(crate) fn rest_layer(&self, server: &Uri) -> RestLayer {
        self.inner.sources.rest.layer(server)
    }

    fn add<S: Source + 'static>(
        &self,
        kind: &'static str,
        name: &str,
        source: impl FnOnce(Arc<str>) -> S,
    ) -> Result<(), MetricsError> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(MetricsError::BadName { length: name.len() });
        }
        let mut named = self.inner.sources.named();
        named.retain(|one| !one.source.is_gone());
        if named.iter().any(|one| one.kind == kind && *one.name == *name) {
            return Err(MetricsError::NameTaken { kind, name: name.to_owned() });
        }
        if named.len() >= MAX_SOURCES {
            return Err(MetricsError::TooMany);
        }
        let name: Arc<str> = name.into();
        named.push(Named { kind, name: Arc::clone(&name), source: Box::new(source(name)) });
        Ok(())
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.inner.sources.encode(encoder)
    }
}

impl Sources {
    fn named(&self) -> MutexGuard<'_, Vec<Named>> {
        // Nothing under this lock leaves the list half changed.
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Sources {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut samples = Samples::default();
        self.rest.collect(&mut samples);
        {
            let mut named = self.named();
            named.retain(|one| !one.source.is_gone());
            for one in named.iter() {
                one.source.collect(&mut samples);
            }
        }
        samples.encode(&mut encoder)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metrics({:?})", self.inner.sources)
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.named().iter().map(|one| &one.name)).finish()
    }
}
