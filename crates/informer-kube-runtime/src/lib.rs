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
//! # What it costs, and what changes
//!
//! kube-runtime's `Store` keeps an object of its own for each of the informer's: memory doubles for what is watched twice. The
//! informer's [`Lister`](informer::Lister) reads the same objects without that.
//!
//! What kube-runtime's watcher does not do, its stores and controllers gain here: an object that vanished while nobody watched is
//! told as a `Delete`; one that did not change is not told again by a relist; one that cannot be decoded keeps its last state and
//! stops nobody else; errors and back-off are the informer's, so the stream carries no errors.

mod events;

pub use events::watcher_events;
pub use kube::runtime;
