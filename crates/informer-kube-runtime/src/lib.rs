//! Informers and kube-runtime together.
//!
//! [`watcher_events`] gives what an informer sees as the events of kube-runtime's `watcher`. Whatever is made for those takes
//! them: a `reflector` fills a `Store`, and a `Controller` runs on one watch and one decoding that others share.
//!
//! ```
//! # use informer_testserver::TestServer;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = TestServer::builder().build();
//! # server.create("configmaps", serde_json::json!({"metadata": {"name": "settings", "namespace": "default"}}))?;
//! # let client = kube::Client::new(server.clone(), "default");
//! use std::sync::Arc;
//! use std::time::Duration;
//! use futures_util::StreamExt;
//! use informer::SharedInformerFactory;
//! use informer_kube_runtime::watcher_events;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::runtime::controller::{Action, Controller};
//! use kube::runtime::{WatchStreamExt, reflector};
//!
//! let factory = SharedInformerFactory::new(client);
//! let config_maps = factory.informer::<ConfigMap>()?;
//! factory.start();
//!
//! let (reader, writer) = reflector::store();
//! let changes = reflector(writer, watcher_events(&config_maps)).applied_objects();
//! // `for_stream` is behind kube-runtime's feature `unstable-runtime-stream-control`.
//! let mut reconciled = std::pin::pin!(Controller::for_stream(changes, reader).run(
//!     |config_map, _context| async move {
//!         println!("reconciling {:?}", config_map.metadata.name);
//!         Ok::<_, std::convert::Infallible>(Action::await_change())
//!     },
//!     |_object, _error, _context| Action::requeue(Duration::from_secs(5)),
//!     Arc::new(()),
//! ));
//! let (settings, _action) = reconciled.next().await.expect("it was listed")?;
//! assert_eq!(settings.name, "settings");
//! # Ok(())
//! # }
//! ```
//!
//! The other way round, [`feed`] makes of a `Store` and the stream that fills it what an [`informer::Controller`] runs on:
//!
//! ```
//! # use informer_testserver::TestServer;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = TestServer::builder().build();
//! # server.create("configmaps", serde_json::json!({"metadata": {"name": "settings", "namespace": "default"}}))?;
//! # let client = kube::Client::new(server.clone(), "default");
//! use informer::{Action, BoxError, Controller, ObjectKey};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::runtime::reflector::{self, ObjectRef, reflector};
//! use kube::runtime::{WatchStreamExt, watcher};
//! use tokio_util::sync::CancellationToken;
//!
//! let (reader, writer) = reflector::store::<ConfigMap>();
//! let changes = watcher(kube::Api::all(client), watcher::Config::default()).default_backoff();
//! let config_maps = informer_kube_runtime::feed("config maps", reader.clone(), reflector(writer, changes));
//!
//! let stop = CancellationToken::new();
//! let controller = Controller::builder("printer", &config_maps).build({
//!     let stop = stop.clone();
//!     move |key: ObjectKey| {
//!         let settings = reader.get(&ObjectRef::new(key.name()).within(key.namespace()));
//!         println!("reconciling {key}: {:?}", settings.and_then(|settings| settings.data.clone()));
//!         stop.cancel();
//!         std::future::ready(Ok::<_, BoxError>(Action::Done))
//!     }
//! })?;
//! controller.run(stop).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it costs, and what changes
//!
//! kube-runtime's `Store` keeps an object of its own for each of the informer's: memory doubles for what is watched twice. The
//! informer's [`Lister`](informer::Lister) reads the same objects without that.
//!
//! What kube-runtime's watcher does not do, its stores and controllers gain here: an object that vanished while nobody watched is
//! told as a `Delete`; one that did not change is not told again by a relist; one that cannot be decoded keeps its last state and
//! stops nobody else; errors and back-off are the informer's, so the stream carries no errors.
//!
//! A [`feed`] shares its objects with the store, and keeps some 200 bytes for each beside that.

mod events;
mod feed;
mod watch_error;

pub use events::watcher_events;
pub use feed::{feed, feed_with};
pub use kube::runtime;
