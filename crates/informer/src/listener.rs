//! One listener's end of the pipe: its backlog, and who takes from it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use informer_core::{Backlog, BacklogOptions, Batch, Notification, Overflow};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::event_handler::EventHandler;

/// A handler that was slow counts as slow until it was quick with so many batches: it should not go back and forth.
const SLOW_BATCHES: u8 = 16;

/// What the driver puts in and the listener takes out.
pub(crate) struct Listener<V> {
    waiting: Mutex<Waiting<V>>,
    overflow: Overflow,
    /// Nothing more will come; what waits is dropped. Asked before each call of a handler, so it is no part of the mutex.
    closed: AtomicBool,
    /// Wakes the driver, which may be waiting for room.
    drained: Arc<Notify>,
    synced: watch::Sender<bool>,
    /// The same, to be asked after each batch.
    has_synced: AtomicBool,
    panics: AtomicU64,
    reader: Reader<V>,
}

struct Waiting<V> {
    backlog: Backlog<V>,
    /// Whether somebody has to do with what waits: the crew has the handler in its queue, or calls it. Whoever sets this owns
    /// the handler, until nothing waits.
    claimed: bool,
}

enum Reader<V> {
    /// A subscription, woken by this: something waits, or it is closed.
    Subscription(Notify),
    Handler(Box<Callee<V>>),
}

struct Callee<V> {
    handler: Mutex<Option<EventHandler<V>>>,
    /// Where it was registered: its calls are made by that runtime's blocking threads.
    runtime: Handle,
    /// Batches that it has to be quick with before it ceases to count as slow.
    slow: AtomicU8,
    /// Whether the handler is dropped.
    gone: watch::Sender<bool>,
}

/// What a batch that was pushed has done.
pub(crate) struct Pushed {
    /// The backlog has passed its limit and is now conflated.
    pub(crate) conflated: bool,
    /// The handler has been claimed: it is to be called.
    pub(crate) claimed: bool,
}

/// What a handler is to be told next.
pub(crate) enum Next<V> {
    Batch(Batch<V>),
    /// Nothing for now: the claim is given up.
    Nothing,
    /// Nothing ever; the claim stays.
    Closed,
}

impl<V> Listener<V> {
    pub(crate) fn of_subscription(options: BacklogOptions, hash_seed: u64, drained: Arc<Notify>) -> Self {
        Self::new(options, hash_seed, drained, Reader::Subscription(Notify::new()))
    }

    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) fn of_handler(handler: EventHandler<V>, hash_seed: u64, drained: Arc<Notify>) -> Self {
        let options = handler.backlog;
        let callee = Callee {
            handler: Mutex::new(Some(handler)),
            runtime: Handle::current(),
            slow: AtomicU8::new(0),
            gone: watch::Sender::new(false),
        };
        Self::new(options, hash_seed, drained, Reader::Handler(Box::new(callee)))
    }

    fn new(options: BacklogOptions, hash_seed: u64, drained: Arc<Notify>, reader: Reader<V>) -> Self {
        Self {
            overflow: options.overflow,
            waiting: Mutex::new(Waiting { backlog: Backlog::new(options, hash_seed), claimed: false }),
            closed: AtomicBool::new(false),
            drained,
            synced: watch::Sender::new(false),
            has_synced: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            reader,
        }
    }

    /// Appends a batch.
    pub(crate) fn push(&self, batch: Batch<V>) -> Pushed {
        let mut waiting = self.waiting();
        let before = waiting.backlog.is_conflated();
        waiting.backlog.push(batch);
        let conflated = !before && waiting.backlog.is_conflated();
        let something = !waiting.backlog.is_empty() || waiting.backlog.is_disconnected();
        let claimed = match &self.reader {
            Reader::Subscription(filled) => {
                drop(waiting);
                filled.notify_one();
                false
            }
            Reader::Handler(_) => something && !std::mem::replace(&mut waiting.claimed, true),
        };
        Pushed { conflated, claimed }
    }

    /// The subscription's next batch; `None` once closed.
    pub(crate) async fn next(&self) -> Option<Batch<V>> {
        let Reader::Subscription(filled) = &self.reader else { return None };
        loop {
            match self.take(&mut self.waiting()) {
                Next::Closed => return None,
                Next::Batch(batch) => return Some(batch),
                Next::Nothing => {}
            }
            filled.notified().await;
        }
    }

    /// The handler's next batch; gives the claim up if nothing waits.
    pub(crate) fn next_or_release(&self) -> Next<V> {
        let mut waiting = self.waiting();
        let next = self.take(&mut waiting);
        if matches!(next, Next::Nothing) {
            waiting.claimed = false;
        }
        next
    }

    fn take(&self, waiting: &mut Waiting<V>) -> Next<V> {
        let backlog = &mut waiting.backlog;
        if self.is_closed() || backlog.is_disconnected() {
            return Next::Closed;
        }
        let was_full = backlog.is_full();
        let batch = backlog.pop();
        if was_full {
            self.drained.notify_one();
        }
        batch.map_or(Next::Nothing, Next::Batch)
    }

    /// The listener has dealt with this batch.
    pub(crate) fn acknowledge(&self, batch: &Batch<V>) {
        let synced = |notification: &Notification<V>| matches!(notification, Notification::Synced { .. });
        if !self.has_synced.load(Ordering::Relaxed) && batch.iter().any(synced) {
            self.has_synced.store(true, Ordering::Relaxed);
            self.synced.send_replace(true);
        }
    }

    /// Claims the handler; says whether nobody else has.
    pub(crate) fn claim(&self) -> bool {
        !std::mem::replace(&mut self.waiting().claimed, true)
    }

    /// The handler, for whoever has claimed it; `None` once it is gone.
    pub(crate) fn handler(&self) -> MutexGuard<'_, Option<EventHandler<V>>> {
        let Reader::Handler(callee) = &self.reader else { unreachable!("a subscription is not called") };
        callee.handler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the handler, for whoever has claimed it. The claim stays, so that nobody calls it again.
    pub(crate) fn finish(&self) {
        let Reader::Handler(callee) = &self.reader else { return };
        let handler = self.handler().take();
        // Users' code: what the callbacks hold is dropped. A panic of it has nowhere to go; the hook has shown it.
        let _panic = catch_unwind(AssertUnwindSafe(|| drop(handler)));
        callee.gone.send_replace(true);
    }

    /// Waits until the handler is dropped.
    pub(crate) async fn gone(&self) {
        if let Reader::Handler(callee) = &self.reader {
            // The sender is this very value.
            let _ = callee.gone.subscribe().wait_for(|gone| *gone).await;
        }
    }

    /// Where the handler's calls are made.
    pub(crate) fn runtime(&self) -> Option<&Handle> {
        match &self.reader {
            Reader::Handler(callee) => Some(&callee.runtime),
            Reader::Subscription(_) => None,
        }
    }

    /// Whether the handler has lately been slow.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(&self.reader, Reader::Handler(callee) if callee.slow.load(Ordering::Relaxed) > 0)
    }

    /// Others had to wait for the handler.
    pub(crate) fn note_slow(&self) {
        if let Reader::Handler(callee) = &self.reader {
            callee.slow.store(SLOW_BATCHES, Ordering::Relaxed);
        }
    }

    /// The handler was quick with a batch; told by whoever has claimed it.
    pub(crate) fn note_quick(&self) {
        let Reader::Handler(callee) = &self.reader else { return };
        let slow = callee.slow.load(Ordering::Relaxed);
        if slow > 0 {
            callee.slow.store(slow - 1, Ordering::Relaxed);
        }
    }

    /// Counts a panic of the handler; says how many there were.
    pub(crate) fn count_panic(&self) -> u64 {
        self.panics.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Reader::Subscription(filled) = &self.reader {
            filled.notify_one();
        }
        self.drained.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.overflow == Overflow::Block && !self.is_closed() && self.waiting().backlog.is_full()
    }

    pub(crate) fn is_disconnected(&self) -> bool {
        self.overflow == Overflow::Disconnect && self.waiting().backlog.is_disconnected()
    }

    pub(crate) fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    pub(crate) fn stats(&self) -> ListenerStats {
        let backlog = &self.waiting().backlog;
        let counters = backlog.counters();
        ListenerStats {
            waiting: backlog.len(),
            conflations: counters.conflations,
            merged: counters.merged,
            high_water: counters.high_water,
            panics: self.panics.load(Ordering::Relaxed),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<V>> {
        // No user code runs under this lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
