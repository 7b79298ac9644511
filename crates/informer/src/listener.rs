//! One listener's end of the pipe: its backlog, and what takes from it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::{Backlog, BacklogOptions, Notification, Overflow};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::event_handler::EventHandler;
use crate::trouble::is_news;

/// A batch of notifications, shared by all listeners.
pub type Batch<V> = Arc<[Notification<V>]>;

/// A handler that was woken goes on for this long before it gives its thread back: a burst should not cost a hand-over
/// for each batch, and a flood should not keep a thread for ever.
const TURN: Duration = Duration::from_millis(50);

/// What the driver puts in and the listener takes out.
pub(crate) struct Listener<V> {
    backlog: Mutex<Backlog<V>>,
    overflow: Overflow,
    /// Nothing more will come; what waits is dropped. Asked before each call of a handler, so it is no part of the mutex.
    closed: AtomicBool,
    /// Wakes the listener: something waits, or it is closed.
    filled: Notify,
    /// Wakes the driver, which may be waiting for room.
    drained: Arc<Notify>,
    synced: watch::Sender<bool>,
    panics: AtomicU64,
}

impl<V> Listener<V> {
    pub(crate) fn new(options: BacklogOptions, hash_seed: u64, drained: Arc<Notify>) -> Self {
        Self {
            overflow: options.overflow,
            backlog: Mutex::new(Backlog::new(options, hash_seed)),
            closed: AtomicBool::new(false),
            filled: Notify::new(),
            drained,
            synced: watch::Sender::new(false),
            panics: AtomicU64::new(0),
        }
    }

    /// Appends a batch; says whether the backlog has passed its limit by that and is now conflated.
    pub(crate) fn push(&self, batch: Batch<V>) -> bool {
        let mut backlog = self.backlog();
        let before = backlog.is_conflated();
        backlog.push(batch);
        let conflated = !before && backlog.is_conflated();
        drop(backlog);
        self.filled.notify_one();
        conflated
    }

    /// The next batch; `None` once closed.
    pub(crate) async fn next(&self) -> Option<Batch<V>> {
        loop {
            match self.try_next() {
                Err(Closed) => return None,
                Ok(Some(batch)) => return Some(batch),
                Ok(None) => self.filled.notified().await,
            }
        }
    }

    pub(crate) fn try_next(&self) -> Result<Option<Batch<V>>, Closed> {
        let mut backlog = self.backlog();
        if self.is_closed() || backlog.is_disconnected() {
            return Err(Closed);
        }
        let was_full = backlog.is_full();
        let batch = backlog.pop();
        drop(backlog);
        if was_full {
            self.drained.notify_one();
        }
        Ok(batch)
    }

    /// The listener has dealt with this batch.
    pub(crate) fn acknowledge(&self, batch: &Batch<V>) {
        let synced = |notification: &Notification<V>| matches!(notification, Notification::Synced { .. });
        if !*self.synced.borrow() && batch.iter().any(synced) {
            self.synced.send_replace(true);
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.filled.notify_one();
        self.drained.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.overflow == Overflow::Block && !self.is_closed() && self.backlog().is_full()
    }

    pub(crate) fn is_disconnected(&self) -> bool {
        self.overflow == Overflow::Disconnect && self.backlog().is_disconnected()
    }

    pub(crate) fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    pub(crate) fn stats(&self) -> ListenerStats {
        let backlog = self.backlog();
        let counters = backlog.counters();
        ListenerStats {
            waiting: backlog.len(),
            conflations: counters.conflations,
            merged: counters.merged,
            high_water: counters.high_water,
            panics: self.panics.load(Ordering::Relaxed),
        }
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog<V>> {
        // No user code runs under this lock.
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The listener was removed or disconnected.
pub(crate) struct Closed;

/// How a listener is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ListenerStats {
    /// Notifications that wait for it.
    pub waiting: usize,
    /// How often its backlog passed the limit and was conflated.
    pub conflations: u64,
    /// Notifications that were merged away.
    pub merged: u64,
    /// The largest number of notifications that ever waited.
    pub high_water: usize,
    /// How often a callback panicked.
    pub panics: u64,
}

impl ListenerStats {
    /// Those of several together; the high-water mark is the highest.
    pub(crate) fn add(&mut self, other: &Self) {
        self.waiting += other.waiting;
        self.conflations += other.conflations;
        self.merged += other.merged;
        self.high_water = self.high_water.max(other.high_water);
        self.panics += other.panics;
    }
}

/// Calls the handler for everything that comes, until the listener is closed.
pub(crate) fn spawn_handler<V: Send + Sync + 'static>(
    listener: Arc<Listener<V>>,
    handler: EventHandler<V>,
    informer: Arc<str>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut handler = Some(handler);
        while let Some(batch) = listener.next().await {
            let (listener, informer) = (Arc::clone(&listener), Arc::clone(&informer));
            let mut own = handler.take().expect("the turn before gave it back");
            // Callbacks may block, so they must not do it on the runtime's own threads.
            let turn = tokio::task::spawn_blocking(move || {
                take_turn(&listener, &mut own, batch, &informer);
                own
            });
            match turn.await {
                Ok(own) => handler = Some(own),
                // The runtime is shutting down: callbacks' panics have been caught.
                Err(_) => return,
            }
        }
    })
}

fn take_turn<V>(listener: &Listener<V>, handler: &mut EventHandler<V>, first: Batch<V>, informer: &str) {
    let begun = std::time::Instant::now();
    let mut next = Some(first);
    while let Some(batch) = next {
        for notification in batch.iter() {
            // A removed handler hears nothing more, not even the rest of a batch.
            if listener.is_closed() {
                return;
            }
            call(listener, handler, notification, informer);
        }
        listener.acknowledge(&batch);
        if begun.elapsed() > TURN {
            return;
        }
        next = listener.try_next().ok().flatten();
    }
}

fn call<V>(
    listener: &Listener<V>,
    handler: &mut EventHandler<V>,
    notification: &Notification<V>,
    informer: &str,
) {
    if catch_unwind(AssertUnwindSafe(|| handler.call(notification))).is_err() {
        let panics = listener.panics.fetch_add(1, Ordering::Relaxed) + 1;
        let key = notification.key().map(ToString::to_string);
        // Without the panic's message, which may quote the object; the panic hook has shown it.
        if is_news(panics) {
            tracing::error!(target: "informer::handler", informer, key, panics, "event handler panicked");
        } else {
            tracing::debug!(target: "informer::handler", informer, key, panics, "event handler panicked");
        }
    }
}
