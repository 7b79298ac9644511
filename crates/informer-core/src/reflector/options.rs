//! What a reflector can be told before it starts.

use std::sync::Arc;
use std::time::Duration;

use crate::{BackoffOptions, Rng};

/// The page size where nothing else is asked for: client-go's.
pub(super) const DEFAULT_PAGE_SIZE: u32 = 500;

/// The shortest `timeoutSeconds` of a WATCH, as in client-go: shorter ones cost the server more than they help.
const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A week: beyond that a server rejects or ignores the number anyway, and arithmetic stays far from its limits.
const MAX_WATCH_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Deadlines below this would turn a slow server into a busy loop.
const MIN_DEADLINE: Duration = Duration::from_secs(1);

/// What to do when the resource itself does not exist (two answers 404, at least one back-off apart).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum NotFoundPolicy {
    /// The cached objects are deleted; it is tried again slowly, and recovers when the resource is back.
    #[default]
    Delete,
    /// The cached objects stay as they were; it is tried again slowly.
    Keep,
    /// The cached objects are deleted, and the reflector stops.
    Stop,
}

/// How a [`Reflector`](super::Reflector) works; the defaults are right for almost everybody.
///
/// ```
/// use std::time::Duration;
/// use informer_core::reflector::ReflectorOptions;
///
/// let options = ReflectorOptions::new().page_size(100).watch_timeout(Duration::from_secs(1800));
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct ReflectorOptions {
    pub(super) namespace: Option<Arc<str>>,
    pub(super) page_size: Option<u32>,
    pub(super) watch_list: bool,
    pub(super) consistent_first_list: bool,
    pub(super) opaque_versions: bool,
    watch_timeout: Duration,
    idle: Duration,
    pub(super) headers_timeout: Duration,
    pub(super) backoff: BackoffOptions,
    pub(super) not_found: NotFoundPolicy,
}

impl Default for ReflectorOptions {
    fn default() -> Self {
        Self {
            namespace: None,
            page_size: None,
            watch_list: true,
            consistent_first_list: false,
            opaque_versions: false,
            watch_timeout: MIN_WATCH_TIMEOUT,
            idle: Duration::from_secs(60),
            headers_timeout: Duration::from_secs(30),
            backoff: BackoffOptions::default(),
            not_found: NotFoundPolicy::default(),
        }
    }
}

impl ReflectorOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The namespace that the requests are confined to: where several reflectors, one a namespace, feed one store, a
    /// list then replaces only what is in its own. Default: all namespaces.
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The page size of every LIST.
    ///
    /// Default, and what 0 means: pages of 500 where the server's watch cache does not answer anyway (a list at version
    /// `"0"` or at none), everything at once where it does (a relist at the last version).
    #[doc(alias = "WatchListPageSize")]
    pub fn page_size(mut self, items: u32) -> Self {
        self.page_size = (items > 0).then_some(items);
        self
    }

    /// Whether to read the collection as a stream of changes (WatchList) where the server can. Default: true.
    pub fn watch_list(mut self, enabled: bool) -> Self {
        self.watch_list = enabled;
        self
    }

    /// Whether the first LIST is a consistent read instead of whatever version the server has cached, which after a
    /// restart may be older than what this program has seen before. Default: false.
    pub fn consistent_first_list(mut self, consistent: bool) -> Self {
        self.consistent_first_list = consistent;
        self
    }

    /// Whether versions are known not to be ordered, though they may look like numbers: then going back is not noticed.
    /// Default: false; versions that are no numbers are recognised by themselves.
    pub fn opaque_versions(mut self, opaque: bool) -> Self {
        self.opaque_versions = opaque;
        self
    }

    /// The shortest time after which the server is asked to end a WATCH; each draws from `[timeout, 2 * timeout]`.
    /// Default, and at least: 5 min. At most a week.
    #[doc(alias = "MinWatchTimeout")]
    pub fn watch_timeout(mut self, timeout: Duration) -> Self {
        self.watch_timeout = timeout.clamp(MIN_WATCH_TIMEOUT, MAX_WATCH_TIMEOUT);
        self
    }

    /// How long an answer may be silent after its headers before its connection counts as dead; each request draws from
    /// `[idle, 1.5 * idle)`. Default: 60 s. At least 1 s.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle.max(MIN_DEADLINE);
        self
    }

    /// How long an answer's headers may take. Default: 30 s. At least 1 s.
    pub fn headers_timeout(mut self, timeout: Duration) -> Self {
        self.headers_timeout = timeout.max(MIN_DEADLINE);
        self
    }

    /// The delays between attempts that fail.
    pub fn backoff(mut self, backoff: BackoffOptions) -> Self {
        self.backoff = backoff;
        self
    }

    /// What to do when the resource itself does not exist. Default: [`NotFoundPolicy::Delete`].
    pub fn not_found(mut self, policy: NotFoundPolicy) -> Self {
        self.not_found = policy;
        self
    }

    /// `timeoutSeconds` of one watch: whole seconds, uniform in `[timeout, 2 * timeout]`, so that watches opened
    /// together do not end together.
    pub(super) fn draw_watch_timeout(&self, rng: &mut Rng) -> Duration {
        let shortest_seconds = self.watch_timeout.as_secs();
        Duration::from_secs(shortest_seconds + rng.below(shortest_seconds + 1))
    }

    /// The silence one request is allowed.
    pub(super) fn draw_idle(&self, rng: &mut Rng) -> Duration {
        rng.duration(self.idle, self.idle.saturating_add(self.idle / 2))
    }
}
