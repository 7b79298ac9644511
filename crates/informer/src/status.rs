//! How an informer is doing.

use std::fmt;
use std::time::Duration;

use informer_core::ResourceVersion;
use informer_core::reflector as core;

use crate::clock::Clock;
use crate::driver::Shared;
use crate::listener::ListenerStats;

/// How an informer is doing at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Status {
    /// What is watched: `pods in team-a`.
    pub informer: String,
    /// Where it stands; the least healthy one's, if it watches several namespaces.
    pub phase: Phase,
    /// Whether the first list is in the cache.
    pub synced: bool,
    /// How many objects are cached.
    pub objects: usize,
    /// How many of them are older than the server's, since the newer version cannot be decoded.
    pub stale: usize,
    /// The version the cache is at.
    pub version: Option<ResourceVersion>,
    /// How long ago the server was heard last.
    pub last_heard: Option<Duration>,
    /// The last trouble, until things work again.
    pub last_error: Option<String>,
    /// How many requests were sent.
    pub requests: u64,
    /// How often an index function panicked.
    pub index_errors: u64,
    /// How the handlers are doing, oldest first.
    pub handlers: Vec<ListenerStats>,
}

/// Where an informer stands.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// Not started, or stopped.
    Stopped,
    /// Reading the first list, or a later one.
    Listing {
        /// Items read so far.
        items: usize,
        /// Items in all, where the server says so.
        total: Option<u64>,
    },
    /// In step with the server.
    Watching,
    /// Waiting to try again.
    BackingOff {
        /// How long still.
        retry_in: Duration,
    },
    /// The resource does not exist; tried again slowly.
    ResourceGone,
    /// A fault of the library's own ended it; it is starting over.
    Failed,
}

impl Phase {
    fn from_core(phase: core::Phase, clock: Clock) -> Self {
        match phase {
            core::Phase::Stopped => Self::Stopped,
            core::Phase::Listing { items, total } => Self::Listing { items, total },
            core::Phase::WatchListing { items } => Self::Listing { items, total: None },
            core::Phase::BackingOff { until } => Self::BackingOff { retry_in: until.since(clock.now().mono) },
            core::Phase::ResourceGone => Self::ResourceGone,
            _ => Self::Watching,
        }
    }

    /// The further from being in step, the higher.
    fn severity(&self) -> u8 {
        match self {
            Self::Watching => 0,
            Self::Listing { .. } => 1,
            Self::BackingOff { .. } => 2,
            Self::ResourceGone => 3,
            Self::Stopped => 4,
            Self::Failed => 5,
        }
    }
}

/// Items received as part of a list that is not complete.
pub(crate) fn items_listed(phase: &core::Phase) -> usize {
    match phase {
        core::Phase::Listing { items, .. } | core::Phase::WatchListing { items } => *items,
        _ => 0,
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Listing { items, total: Some(total) } => write!(f, "listing, {items} of {total}"),
            Self::Listing { items, total: None } => write!(f, "listing, {items} so far"),
            Self::Watching => f.write_str("watching"),
            Self::BackingOff { retry_in } => {
                write!(f, "backing off, next try in {:.1} s", retry_in.as_secs_f64())
            }
            Self::ResourceGone => f.write_str("the resource does not exist"),
            Self::Failed => f.write_str("failed, starting over"),
        }
    }
}

impl<V> Shared<V> {
    pub(crate) fn status(&self) -> Status {
        let progress = self.progress.borrow().clone();
        let machine = self.machine();
        let store = self.store.read();
        let phases = (0..self.sources.len()).map(|scope| machine.informer.phase(scope));
        let phases = phases.map(|phase| Phase::from_core(phase, self.clock));
        let phase = match &machine.health.failed {
            Some(_) => Phase::Failed,
            None => phases.max_by_key(Phase::severity).unwrap_or(Phase::Stopped),
        };
        let now = self.clock.now().mono;
        Status {
            informer: self.name.to_string(),
            phase,
            synced: store.has_synced(),
            objects: store.len(),
            stale: store.stale_len(),
            version: progress.version,
            last_heard: machine.health.last_input.map(|last| now.since(last)),
            last_error: machine.health.failed.clone().or_else(|| machine.health.last_error.clone()),
            requests: machine.health.requests,
            index_errors: self.indexes.errors(),
            handlers: machine.listeners.values().map(|listener| listener.stats()).collect(),
        }
    }
}
