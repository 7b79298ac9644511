//! What an informer has done so far: numbers for a metrics system to read.

use crate::distribution::Distribution;
use crate::driver::Shared;
use crate::listener::ListenerStats;
use crate::status::items_listed;

/// What an informer has done so far, beside what [`Status`](crate::Status) says of the moment.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct InformerMetrics {
    /// What was asked of the server.
    pub reflector: ReflectorMetrics,
    /// Objects and events that could not be decoded or read.
    pub decode_errors: u64,
    /// Objects received as part of a list that is not complete yet: not in the cache.
    pub queued_items: usize,
    /// Seconds that each batch of changes took into the cache and to the handlers' backlogs.
    pub processing_seconds: Distribution,
    /// How many handlers and subscriptions there are.
    pub handlers: usize,
    /// All of them together; the high-water mark is the highest of all. Those removed since count in what only grows.
    pub listeners: ListenerStats,
}

/// What a reflector has asked of the server, and what came back; of all namespaces together.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ReflectorMetrics {
    /// Lists begun. A WatchList counts as a list and as a watch.
    pub lists: u64,
    /// Seconds that each complete list took, all its pages together.
    pub list_seconds: Distribution,
    /// Items of each complete list.
    pub list_items: Distribution,
    /// Watches that the server accepted.
    pub watches: u64,
    /// Watches that the server ended within a second and without an event.
    pub short_watches: u64,
    /// Seconds that each watch lasted, however it ended.
    pub watch_seconds: Distribution,
    /// Events of each watch, bookmarks included.
    pub watch_items: Distribution,
    /// Requests that failed.
    pub failures: u64,
}

/// client-go's bounds of `informer_processing_latency_seconds`.
const PROCESSING_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// From a small list on a fast link to one of a million objects.
const LIST_SECONDS: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0];
/// A watch in good health lives 5 to 10 minutes.
const WATCH_SECONDS: &[f64] = &[1.0, 10.0, 30.0, 60.0, 120.0, 300.0, 450.0, 600.0, 900.0];
/// Powers of ten, as far as collections go.
const ITEMS: &[f64] = &[0.0, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0];

impl Default for InformerMetrics {
    fn default() -> Self {
        Self {
            reflector: ReflectorMetrics::default(),
            decode_errors: 0,
            queued_items: 0,
            processing_seconds: Distribution::new(PROCESSING_SECONDS),
            handlers: 0,
            listeners: ListenerStats::default(),
        }
    }
}

impl Default for ReflectorMetrics {
    fn default() -> Self {
        Self {
            lists: 0,
            list_seconds: Distribution::new(LIST_SECONDS),
            list_items: Distribution::new(ITEMS),
            watches: 0,
            short_watches: 0,
            watch_seconds: Distribution::new(WATCH_SECONDS),
            watch_items: Distribution::new(ITEMS),
            failures: 0,
        }
    }
}

impl<V> Shared<V> {
    pub(crate) fn metrics(&self) -> InformerMetrics {
        let machine = self.machine();
        let mut metrics = machine.figures.metrics().clone();
        metrics.queued_items =
            (0..self.sources.len()).map(|scope| items_listed(&machine.informer.phase(scope))).sum();
        metrics.handlers = machine.listeners.len();
        // `listeners` holds what those that were removed have left.
        for listener in machine.listeners.values() {
            metrics.listeners.add(&listener.stats());
        }
        metrics
    }
}
