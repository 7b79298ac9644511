//! A live, indexed, local copy of a Kubernetes cluster's objects, and the means to act on every change.
//!
//! A program says which resource it cares about. It gets a cache that is complete and true to the server, indices and listers
//! to read it, and every change delivered in order to every handler: through restarts, lost versions, broken connections and
//! bad bytes. The words are client-go's: [`SharedInformerFactory`], [`SharedInformer`], [`EventHandler`], [`Lister`],
//! [`Store`], [`Reflector`], [`DeltaFifo`], [`Indexer`].
//!
//! ```
//! # use informer_testserver::TestServer;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = TestServer::builder().build();
//! # let client = kube::Client::new(server.clone(), "default");
//! use std::time::Duration;
//! use informer::{EventHandler, SharedInformerFactory};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! // let client = informer::client(kube::Config::infer().await?)?;
//! let factory = SharedInformerFactory::new(client).resync(Duration::from_secs(600));
//! let pods = factory.informer::<Pod>()?;
//! let by_node = pods.add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone());
//!
//! pods.add_event_handler(
//!     EventHandler::new()
//!         .on_added(|pod, in_initial_list| println!("+ {} ({in_initial_list})", pod.key))
//!         .on_updated(|old, new| println!("~ {}: {} -> {}", new.key, old.version, new.version))
//!         .on_deleted(|key, last_state| println!("- {key}: {last_state:?}")),
//! );
//!
//! factory.start();
//! factory.wait_for_sync(Duration::from_secs(30)).await?; // the error says who is not synced, in which phase, and why
//!
//! let pod = pods.lister().namespace("team-a").get("web-0"); // Option<Arc<Pod>>
//! let web = pods.lister().list(&"app=web,tier!=cache".parse()?);
//! let here = by_node.get("node-7");
//! let world = pods.snapshot(); // everything, at one resourceVersion
//! # assert!(pod.is_none() && web.is_empty() && here.is_empty() && world.is_empty());
//! # factory.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # The parts
//!
//! [`ListWatch`] (an API server's resource: [`ResourceListWatch`]; any function: [`list_watch_fn`]) yields bytes. They are split
//! into items as they arrive, identified, and only what is new is decoded by a [`Format`] ([`Typed`], [`Dynamic`],
//! [`MetadataOnly`], [`Projection`], and with the feature `packed` also `Packed`: docs/storage.md says which). The reflector
//! decides what to ask next. Changes go through a queue into the store, all that came up to one version at once, and from
//! there to handlers and streams. Each part can be used alone: a [`Reflector`] into a store of yours, a [`DeltaFifo`], an
//! [`Indexer`], the unshared [`new_informer`]. Handlers hand keys to workers through a [`WorkQueue`].
//! What a controller did is told to people by an [`EventRecorder`].
//! A [`Controller`] is all of that in one: whatever concerns a key leads to a call of a function, until it has worked.
//! A [`LeaderElector`] sees to it that of several copies of a program only one works.
//!
//! # Which client
//!
//! [`client`] builds one for informers. A `kube::Client` made by kube works too, but then: kube's retry layer repeats a refused
//! request up to 15 times below the informer, whose own back-off and error reports then come late; failures are logged at ERROR by
//! kube for each attempt; a half-open connection is noticed by the informer's own deadline alone (60 to 90 s).
//!
//! # Cancelling, panics, secrets
//!
//! Every wait has a deadline or can be dropped. Panics of handlers, transforms and index functions are caught and counted. No
//! object's contents ever reach a log, an error or a `Debug` text of this crate; names and versions do.

mod client;
mod clock;
mod controller;
mod crew;
mod decoder;
mod distribution;
mod driver;
mod error;
mod event_handler;
mod event_recorder;
mod exchange;
mod factory;
mod failure;
mod figures;
mod finalizer;
mod format;
mod index;
mod informer_builder;
mod informer_metrics;
mod leader_election;
mod list_watch;
mod listener;
mod lister;
#[cfg(feature = "metrics")]
mod metrics;
mod on_demand;
mod raw_object;
mod read_pacing;
mod readers_lock;
mod reflector;
mod registration;
mod scratch;
#[cfg(feature = "rustls")]
mod shared_connections;
mod shared_informer;
mod status;
mod store;
mod subscription;
mod term_connector;
mod transport;
mod trouble;
mod unshared_informer;
mod watchdog;
mod work_queue;

pub use client::client;
#[cfg(feature = "metrics")]
pub use client::client_with_metrics;
pub use controller::{
    Action, Controller, ControllerBuilder, ControllerHandle, ControllerMetrics, ControllerSource,
    Expectations, Feed, FeedEvent, Predicate, ReconcileCounters, RunError, TerminalError,
};
pub use distribution::Distribution;
pub use error::{BuildError, NotSynced, SyncError, WaitError};
pub use event_handler::EventHandler;
pub use event_recorder::{
    DropReason, Drops, EventRecorder, EventRecorderBuilder, EventRecorderError, EventRecorderMetrics,
    EventSink, EventSinkMetrics, NewEvent, ObjectReference, Recorded, RecordedEvent, RecordedEvents,
    Unflushed,
};
pub use factory::SharedInformerFactory;
pub use finalizer::{Finalized, FinalizerError, finalizer};
pub use format::{Dynamic, Format, Metadata, MetadataOnly, Owner, Pairs, Projected, Projection, Typed};
#[cfg(feature = "packed")]
pub use format::{Packed, PackedLister, PackedObject, PackedStats, ReadError};
pub use index::Index;
pub use informer_builder::InformerBuilder;
pub use informer_core::leader_election::{
    ElectionCounters, ElectionEnd, FencingToken, InvalidElection, LossReason,
};
pub use informer_core::reflector::{
    Failure, FailureKind, ListRequest, NotFoundPolicy, ReflectorOptions, Request, RequestKind, Trouble,
    WatchRequest,
};
pub use informer_core::{
    Added, Histogram, ItemExponential, ItemFastSlow, Jittered, KeyId, MaxOf, Mono, Priority, RateLimiter,
    TokenBucket, WithMaxWait, WorkQueueCounters, WorkQueueMetrics, WorkQueueTimings,
};
pub use informer_core::{
    ApplyOptions, BackoffOptions, Batch, Deletion, Delta, DeltaFifo, Entry, Identity, IndexId, Indexer, Item,
    LastState, Listed, ListedIntoIter, Notification, Object, ObjectKey, Overflow, Replacement,
    ResourceVersion, Retired, Selector, SelectorParseError, Snapshot, Uid,
};
pub use informer_core::{EventCorrelatorOptions, EventSeriesOptions, EventType};
pub use informer_metrics::{InformerMetrics, ReflectorMetrics};
pub use informer_wire::Limits;
pub use kube;
pub use leader_election::{
    ElectionClock, LeaderElectionError, LeaderElectionMetrics, LeaderElector, LeaderElectorBuilder,
    Leadership, NotRenewed, Outcome,
};
pub use list_watch::{BoxError, ByteBody, ListWatch, RequestOptions, ResourceListWatch, list_watch_fn};
pub use listener::ListenerStats;
pub use lister::Lister;
#[cfg(feature = "metrics")]
pub use metrics::{Metrics, MetricsError, MetricsServer, MetricsServerBuilder, ServeError};
pub use raw_object::{DecodeError, RawObject};
pub use reflector::{Reflector, ReflectorStore};
pub use registration::Registration;
pub use shared_informer::SharedInformer;
pub use status::{Phase, Status};
pub use store::Store;
pub use subscription::Subscription;
pub use term_connector::TermOver;
pub use trouble::TroubleReport;
pub use unshared_informer::{UnsharedInformer, new_informer, new_informer_with};
pub use work_queue::{DrainError, Processing, WorkQueue, WorkQueueBuilder};
