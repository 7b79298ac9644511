//! The server's handle and its builder.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::faults::{Fault, FaultRule, Rules};
use crate::request::Verb;
use crate::status::ApiError;
use crate::storage::State;
use crate::watchers::Push;

/// An in-memory Kubernetes API server; a cheap handle, all clones of which are the same server.
///
/// ```
/// use informer_testserver::TestServer;
/// use serde_json::json;
///
/// let server = TestServer::new();
/// server.create("pods", json!({"metadata": {"name": "a", "namespace": "default"}}))?;
/// assert_eq!(server.list("pods")?.len(), 1);
/// # Ok::<(), informer_testserver::ApiError>(())
/// ```
#[derive(Clone)]
pub struct TestServer {
    pub(crate) inner: Arc<Inner>,
}

/// Options of a [`TestServer`].
#[derive(Clone)]
pub struct TestServerBuilder {
    seed: u64,
    clock: Clock,
    history_length: usize,
    bookmark_period: Duration,
    create_namespaces: bool,
    bearer_token: Option<String>,
    first_version: u64,
}

/// Tells the time of the server's world.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// What all clones of a handle share.
pub(crate) struct Inner {
    state: Mutex<State>,
    control: Mutex<Control>,
    clock: Clock,
    bookmark_period_millis: AtomicU64,
    bookmarks: AtomicBool,
    pub(crate) create_namespaces: AtomicBool,
    pub(crate) connections: AtomicUsize,
}

/// What tests turn, apart from the store.
#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) rules: Rules,
    pub(crate) denied: BTreeSet<(Verb, String)>,
    pub(crate) bearer_token: Option<String>,
    requests: VecDeque<LoggedRequest>,
}

/// A request as the server saw it; bodies and credentials are never kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// What it asks for.
    pub verb: Verb,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query parameters, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The plural name of the resource, "" if none.
    pub resource: String,
    /// The Accept header.
    pub accept: String,
    /// Asks for gzip.
    pub gzip: bool,
    /// The Content-Type header without parameters.
    pub content_type: String,
    /// The User-Agent header.
    pub user_agent: String,
}

impl LoggedRequest {
    /// The first value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The log holds the newest requests only: a workload running for hours must not fill the memory.
const REQUESTS_KEPT: usize = 10_000;

impl Default for TestServerBuilder {
    fn default() -> Self {
        Self {
            seed: 0,
            clock: Clock(Arc::new(Timestamp::now)),
            history_length: 10_000,
            bookmark_period: Duration::from_secs(60),
            create_namespaces: false,
            bearer_token: None,
            first_version: 200,
        }
    }
}

impl TestServerBuilder {
    /// Uids and generated names follow from this number; 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where timestamps come from; the system's clock by default.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Clock(Arc::new(clock));
        self
    }

    /// How many events each resource's history holds; 10,000 by default. Older versions are answered with 410.
    pub fn history_length(mut self, events: usize) -> Self {
        self.history_length = events;
        self
    }

    /// How often a watch sends a bookmark; 60 s by default.
    pub fn bookmark_period(mut self, period: Duration) -> Self {
        self.bookmark_period = period;
        self
    }

    /// Creates a namespace when an object in it is created, instead of answering 404; off by default.
    pub fn create_namespaces(mut self, create: bool) -> Self {
        self.create_namespaces = create;
        self
    }

    /// Lets in only requests with this bearer token (a wrong one: 401, none: 403); off by default.
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        self.bearer_token = Some(token.into());
        self
    }

    /// The version counter starts after this one; 200 by default.
    pub fn first_version(mut self, version: u64) -> Self {
        self.first_version = version;
        self
    }

    /// Builds the server with the namespaces that every cluster has.
    pub fn build(self) -> TestServer {
        let inner = Inner {
            state: Mutex::new(State::new(self.first_version, self.history_length, self.seed)),
            control: Mutex::new(Control { bearer_token: self.bearer_token, ..Control::default() }),
            clock: self.clock,
            bookmark_period_millis: AtomicU64::new(millis(self.bookmark_period)),
            bookmarks: AtomicBool::new(true),
            create_namespaces: AtomicBool::new(self.create_namespaces),
            connections: AtomicUsize::new(0),
        };
        let server = TestServer { inner: Arc::new(inner) };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            server.inner.create_namespace(&mut server.inner.state(), name);
        }
        server
    }
}

fn millis(period: Duration) -> u64 {
    u64::try_from(period.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl Default for TestServer {
    fn default() -> Self {
        Self::new()
    }
}

impl TestServer {
    /// A server with the defaults.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts to configure a server.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }

    /// Adds a fault rule; rules are tried in the order they were added, and all that match apply.
    pub fn add_fault(&self, rule: FaultRule) {
        self.inner.control().rules.add(rule);
    }

    /// Adds a fault for the next request with this verb and resource.
    pub fn fault_once(&self, verb: Verb, resource: &str, fault: Fault) {
        self.add_fault(FaultRule::new(fault).verb(verb).resource(resource).times(1));
    }

    /// Removes all fault rules.
    pub fn clear_faults(&self) {
        self.inner.control().rules.clear();
    }

    /// From now on answers 403 to this verb on this resource (plural name).
    pub fn deny(&self, verb: Verb, resource: &str) {
        self.inner.control().denied.insert((verb, resource.to_owned()));
    }

    /// Undoes [`deny`](Self::deny).
    pub fn allow(&self, verb: Verb, resource: &str) {
        self.inner.control().denied.remove(&(verb, resource.to_owned()));
    }

    /// Changes the bearer token that lets requests in; `None` lets in everybody.
    pub fn set_bearer_token(&self, token: Option<String>) {
        self.inner.control().bearer_token = token;
    }

    /// Switches periodic bookmarks off and on; the one that ends the initial events is not affected.
    pub fn set_bookmarks(&self, enabled: bool) {
        self.inner.bookmarks.store(enabled, Ordering::Relaxed);
    }

    /// Changes the period of bookmarks; open watches follow after their next one.
    pub fn set_bookmark_period(&self, period: Duration) {
        self.inner.bookmark_period_millis.store(millis(period), Ordering::Relaxed);
    }

    /// The newest requests, oldest first; 10,000 are kept.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.inner.control().requests.iter().cloned().collect()
    }

    /// Forgets the requests seen so far.
    pub fn clear_requests(&self) {
        self.inner.control().requests.clear();
    }

    /// The number of watches whose streams are open, in-process and over HTTP.
    pub fn open_watches(&self) -> usize {
        self.inner.state().tables.values().map(|table| table.watchers.count()).sum()
    }

    /// The number of open HTTP connections, over all listeners.
    pub fn open_connections(&self) -> usize {
        self.inner.connections.load(Ordering::Relaxed)
    }

    /// Sends these bytes, as they are, in every open watch of a resource.
    ///
    /// # Errors
    /// The resource is not known.
    pub fn inject(&self, resource: &str, bytes: impl Into<Bytes>) -> Result<(), ApiError> {
        self.push(resource, Push::Raw(bytes.into()))
    }

    /// Sends this ERROR event in every open watch of a resource, which goes on.
    ///
    /// # Errors
    /// The resource is not known.
    pub fn send_error(&self, resource: &str, error: &ApiError) -> Result<(), ApiError> {
        let mut line = br#"{"type":"ERROR","object":"#.to_vec();
        line.extend_from_slice(&error.to_json());
        line.extend_from_slice(b"}\n");
        self.inject(resource, line)
    }

    /// Sends a bookmark in every open watch of a resource, now.
    ///
    /// # Errors
    /// The resource is not known.
    pub fn send_bookmark(&self, resource: &str) -> Result<(), ApiError> {
        self.push(resource, Push::Bookmark)
    }

    /// Ends every open watch of a resource, as a server's time limit does.
    ///
    /// # Errors
    /// The resource is not known.
    pub fn end_watches(&self, resource: &str) -> Result<(), ApiError> {
        self.push(resource, Push::End)
    }

    /// Breaks the connection of every open watch of a resource.
    ///
    /// # Errors
    /// The resource is not known.
    pub fn reset_watches(&self, resource: &str) -> Result<(), ApiError> {
        self.push(resource, Push::Reset)
    }

    /// Makes every open watch of a resource silent for ever, as a half-open connection is.
    ///
    /// # Errors
    /// The resource is not known.
    pub fn stall_watches(&self, resource: &str) -> Result<(), ApiError> {
        self.push(resource, Push::Stall)
    }

    fn push(&self, resource: &str, push: Push) -> Result<(), ApiError> {
        let mut state = self.inner.state();
        let found = state.registry.by_name(resource).ok_or_else(ApiError::unknown_resource)?;
        state.table(found.table).watchers.push_all(&push);
        Ok(())
    }

    /// Breaks every open watch, of all resources.
    pub(crate) fn reset_all_watches(&self) {
        for table in self.inner.state().tables.values_mut() {
            table.watchers.push_all(&Push::Reset);
        }
    }
}

impl Inner {
    /// A panic elsewhere does not spoil the store: each change is made whole under the lock.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    pub(crate) fn bookmark_period(&self) -> Duration {
        Duration::from_millis(self.bookmark_period_millis.load(Ordering::Relaxed))
    }

    pub(crate) fn bookmarks_enabled(&self) -> bool {
        self.bookmarks.load(Ordering::Relaxed)
    }
}

impl Control {
    pub(crate) fn log(&mut self, request: LoggedRequest) {
        if self.requests.len() == REQUESTS_KEPT {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TestServer").finish_non_exhaustive()
    }
}

impl fmt::Debug for TestServerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TestServerBuilder").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inner").finish_non_exhaustive()
    }
}
