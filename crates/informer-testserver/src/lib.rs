//! An embedded, in-memory Kubernetes API server to test and demonstrate on.
//!
//! It serves LIST, WATCH, GET, POST, PUT, PATCH and DELETE of the usual built-in kinds and of custom resources, in
//! process (as a tower service) and over HTTP/1.1, and it fails in every way that a client must survive, on demand.
//!
//! ```
//! use informer_testserver::{Fault, FaultRule, TestServer, Verb};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TestServer::builder().seed(7).create_namespaces(true).build();
//! server.create("configmaps", json!({"metadata": {"name": "a", "namespace": "team-a"}, "data": {"k": "1"}}))?;
//! let listening = server.listen().await?;
//! println!("kubectl --server {}", listening.url());
//! server.add_fault(FaultRule::new(Fault::ExpiredWatch).verb(Verb::Watch).times(1));
//! listening.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # What it imitates
//!
//! Answers have the shapes, codes, messages, key order and headers recorded from kube-apiserver 1.37.
//!
//! - One version counter over everything; a bounded history for each resource; compaction from code.
//! - LIST: any version, `0`, `NotOlderThan`, `Exact`, 410, 504 for the future, pages of one stable snapshot, expired
//!   continue tokens with a fresh one, label and field selectors.
//! - WATCH: from a version, from nowhere, as a list of initial events (WatchList), bookmarks, time limits, selectors
//!   that objects enter and leave, 410 as an event.
//! - Writes: uids, generations, generated names, optimistic locking, no-op writes, finalizers, dry run, JSON, merge
//!   and strategic merge patches, `/status`, `/scale`, `pods/binding`, `pods/eviction`, collections.
//! - Namespaces that go through Terminating; custom resources from their definitions at once: versions, schema
//!   defaults, pruning and common checks, printer columns.
//! - Tables, metadata-only objects, plain and aggregated discovery, bearer tokens, denials.
//!
//! # What it does not
//!
//! - JSON only: no protobuf, no YAML, no CBOR. HTTP/1.1 only, without TLS. A client that writes protobuf (typed Go
//!   clients by default, and so `kubectl create configmap`) gets 415; reading with a protobuf preference gets JSON.
//! - `explain` and client-side validation: the OpenAPI documents hold paths, not schemas.
//! - No controllers, no scheduler, no kubelet, no garbage collection: a deleted owner leaves its dependents, and a
//!   Pod is gone at once, without its grace period. Propagation policies are ignored.
//! - managedFields are kept as clients send them and written for server-side apply only. Apply merges: it finds
//!   conflicts with other managers' applied fields, but leaves fields that a manager no longer applies.
//! - Built-in kinds are not validated beyond names and unknown top-level fields, and few defaults are filled in.
//!   Their fields below metadata are in alphabetical order. Custom resources: no CEL, no patterns, no conversion
//!   webhooks; every version serves the same content.
//! - Strategic merge knows lists by their field's name, not by a schema.
//! - No RBAC, admission, quotas, priority and fairness, audit, aggregation, exec, logs, proxies.
//! - A list "not older than" a future version is answered with 504 at once instead of after three seconds.

mod accept;
mod apply;
mod body;
mod builtin;
mod conversion;
mod crd;
mod defaults;
mod delete;
mod direct;
mod discovery;
mod encode;
mod faults;
mod handlers;
mod history;
mod list;
mod listener;
mod names;
mod namespaces;
mod openapi;
mod patch;
mod registry;
mod representation;
mod request;
mod schema;
mod selector;
mod server;
mod service;
mod status;
mod storage;
mod strategic;
mod subresources;
mod table;
mod validate;
mod watch;
mod watch_body;
mod watchers;
pub mod workload;
mod write;

pub use crate::body::{Body, BodyError};
pub use crate::faults::{Fault, FaultRule};
pub use crate::listener::Listening;
pub use crate::request::Verb;
pub use crate::server::{LoggedRequest, TestServer, TestServerBuilder};
pub use crate::service::ServeError;
pub use crate::status::ApiError;
