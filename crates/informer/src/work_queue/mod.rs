//! The work queue as workers use it: shared, awaited, and on the runtime's clock.

mod builder;
mod gate;
mod processing;

/// What the gate locks with; a model checker puts its own in its place.
mod sync {
    //
    // Where two threads meet often, parking_lot's spins instead of going to sleep, and lets a thread that comes back at once have
    // it again: std's made two threads a quarter slower than one.
    pub(super) use parking_lot::{Mutex, MutexGuard};

    #[inline]
    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }
}

use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use informer_core::{Added, Mono, Priority, RateLimiter, Taken, WorkKey, WorkQueueMetrics};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

pub use builder::WorkQueueBuilder;
pub use processing::Processing;

use self::gate::{Gate, Ticket, Turn};
use crate::clock::Clock;

/// Hands keys to workers: each key to one at a time, what is urgent first, what failed later.
///
/// Clones are the same queue; each worker should have one of its own, which takes 256 bytes. A key is handed out once
/// however often it was added meanwhile, and never while it is being processed: added then, it is handed out once more
/// afterwards.
///
/// - **Priorities.** Higher ones first, first in first out within one. A low one gets its share also while there are
///   always higher ones, see [`oldest_every`](WorkQueueBuilder::oldest_every). [`Priority::of`] a notification puts
///   initial lists and resyncs behind what just changed.
/// - **Delays.** A key has one appointment, and the earliest wins: of two delays the shorter; an immediate add
///   cancels a delay, whichever came first. (client-go's queue hands the key out at both times.) No delay is too
///   long: `Duration::MAX` is never. Time is the runtime's, monotonic, and stands still when a test pauses it.
/// - **Failures.** [`Processing::retry`] lets a key wait as long as the rate limiter says; [`Processing::succeeded`]
///   forgets its failures. By default that is 5 ms, doubled each time up to 1000 s, and 10 a second for all keys
///   together after the first 100. A key with failures is remembered until they are forgotten.
/// - **End.** After [`shut_down`](Self::shut_down) what waits is still handed out, what is delayed is dropped, and
///   adds are ignored; both are counted. [`drain`](Self::drain) also waits until all of it is done.
///
/// No task runs for a queue: delays end when somebody waits in [`get`](Self::get), or when it is called. Each call
/// holds a lock for some 50 to 100 ns and never while anything is awaited.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), informer::DrainError> {
/// use std::time::Duration;
/// use informer::WorkQueue;
///
/// let queue = WorkQueue::<&str>::new();
/// let worker = tokio::spawn({
///     let queue = queue.clone();
///     async move {
///         let mut seen = Vec::new();
///         while let Some(key) = queue.get().await {
///             seen.push(*key);
///             if *key == "flaky" && key.num_requeues() < 2 {
///                 key.retry(); // in 5 ms, 10 ms, …
///             } else {
///                 key.succeeded();
///             }
///         }
///         seen
///     }
/// });
/// queue.add("flaky");
/// queue.add("fine");
/// queue.add("fine");
/// tokio::time::sleep(Duration::from_secs(1)).await;
/// queue.drain(Duration::from_secs(10)).await?;
/// assert_eq!(worker.await.unwrap(), ["flaky", "fine", "flaky", "flaky"]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "TypedRateLimitingInterface")]
#[doc(alias = "TypedDelayingInterface")]
pub struct WorkQueue<K> {
    shared: Arc<Handle<K>>,
}

/// One clone of a queue, and the keys that were handed out through it. They count their references here: a count that is
/// the whole queue's would be one more thing that the threads of all workers write to.
#[repr(align(128))] // Two cache lines, which some processors fetch together.
struct Handle<K>(Arc<Shared<K>>);

#[repr(C, align(128))]
struct Shared<K> {
    gate: Gate<K>,
    clock: Clock,
}

impl<K> Handle<K> {
    fn new(shared: Arc<Shared<K>>) -> Arc<Self> {
        Arc::new(Self(shared))
    }
}

impl<K> Deref for Handle<K> {
    type Target = Shared<K>;

    #[inline]
    fn deref(&self) -> &Shared<K> {
        &self.0
    }
}

impl<K> Shared<K> {
    fn now(&self) -> Mono {
        self.clock.now().mono
    }

    /// Does something to the queue at the present time.
    #[inline]
    fn with<R>(&self, act: impl FnOnce(&mut informer_core::WorkQueue<K>) -> R) -> R {
        self.gate.with(|| self.now(), act)
    }
}

impl<K: Hash + Eq + Clone> WorkQueue<K> {
    /// A queue with client-go's rate limits for controllers.
    #[doc(alias = "NewTypedRateLimitingQueue")]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A queue with options.
    #[doc(alias = "NewTypedRateLimitingQueueWithConfig")]
    pub fn builder() -> WorkQueueBuilder {
        WorkQueueBuilder::new()
    }

    /// Lets a key wait for a worker.
    #[doc(alias = "Add")]
    pub fn add(&self, key: K) -> Added {
        self.add_with(key, Priority::NORMAL)
    }

    /// Lets a key wait at this priority. If it waits already, the higher one counts.
    #[doc(alias = "AddWithOpts")]
    pub fn add_with(&self, key: K, priority: Priority) -> Added {
        self.with_key(key, |key| key.add(priority))
    }

    /// Lets a key wait after `delay`, unless it has an earlier appointment.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, key: K, delay: Duration) -> Added {
        self.add_after_with(key, delay, Priority::NORMAL)
    }

    /// The same at this priority.
    pub fn add_after_with(&self, key: K, delay: Duration, priority: Priority) -> Added {
        let now = self.shared.now();
        self.with_key(key, |key| key.add_after(now, delay, priority))
    }

    /// Lets a key wait as soon as the rate limiter permits: it failed. A worker rather calls [`Processing::retry`].
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, key: K) -> Added {
        let now = self.shared.now();
        self.with_key(key, |key| key.add_rate_limited(now, Priority::NORMAL))
    }

    /// Like [`add_after`](Self::add_after), but a delay that is pending is replaced even if it is the shorter one. A
    /// key that waits already goes on waiting.
    pub fn replace_delay(&self, key: K, delay: Duration) -> Added {
        let now = self.shared.now();
        self.with_key(key, |key| key.replace_delay(now, delay, Priority::NORMAL))
    }

    /// Cancels a key's pending delay. Says whether there was one.
    pub fn forget_delayed(&self, key: &K) -> bool {
        self.shared.with(|queue| queue.known(key).is_some_and(|mut key| key.forget_delayed()))
    }

    /// Forgets a key's failures; it goes on waiting if it does. A worker rather calls [`Processing::succeeded`].
    #[doc(alias = "Forget")]
    pub fn forget(&self, key: &K) {
        self.shared.with(|queue| {
            if let Some(mut key) = queue.known(key) {
                key.forget();
            }
        });
    }

    /// How often a key failed since it was forgotten last.
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.with(|queue| queue.known(key).map_or(0, |key| key.num_requeues()))
    }

    /// The next key; waits until there is one. `None` when the queue was shut down and there will be none any more.
    ///
    /// It can be dropped at any time without losing a key, so it can stand in a `select!`. Those who wait are woken
    /// in order of arrival; so once polled it should be polled on or dropped, not kept aside: its turn may have come.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled, if something is delayed.
    #[doc(alias = "Get")]
    pub async fn get(&self) -> Option<Processing<K>> {
        // A worker that always finds something to do must not keep its thread from others.
        tokio::task::consume_budget().await;
        let mut getter = Getter { shared: &self.shared, ticket: None, sleep: None };
        let (taken, key) = poll_fn(|cx| getter.poll(cx)).await?;
        Some(Processing::new(Arc::clone(&self.shared), taken, key))
    }

    /// The next keys, at most so many but at least one; waits until there is one. Empty when the queue was shut down
    /// and there will be none any more.
    ///
    /// Each of them is a key of its own: done, retried or dropped apart from the others. Can be dropped like
    /// [`get`](Self::get).
    pub async fn get_batch(&self, at_most: usize) -> Vec<Processing<K>> {
        let Some(first) = self.get().await else { return Vec::new() };
        let more = self.shared.with(|queue| {
            let count = queue.len().min(at_most.saturating_sub(1));
            let mut more = Vec::with_capacity(count);
            while more.len() < count
                && let Some(taken) = queue.pop()
            {
                more.push((taken, key_of(queue, taken)));
            }
            more
        });
        let more = more.into_iter().map(|(taken, key)| Processing::new(Arc::clone(&self.shared), taken, key));
        std::iter::once(first).chain(more).collect()
    }
}

impl<K: Hash + Eq> WorkQueue<K> {
    #[inline]
    fn with_key<R>(&self, key: K, act: impl FnOnce(&mut WorkKey<'_, K, Box<dyn RateLimiter>>) -> R) -> R {
        self.shared.gate.with_key(key, || self.shared.now(), act)
    }
}

impl<K> WorkQueue<K> {
    /// How many keys wait. Not those that are delayed or being processed.
    #[doc(alias = "Len")]
    pub fn len(&self) -> usize {
        self.shared.with(|queue| queue.len())
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the queue: what waits is still handed out, what is delayed is dropped, every add from now on is ignored.
    /// Returns at once; a second time changes nothing.
    #[doc(alias = "ShutDown")]
    pub fn shut_down(&self) {
        self.shared.with(informer_core::WorkQueue::shut_down);
    }

    /// Whether it was shut down.
    #[doc(alias = "ShuttingDown")]
    pub fn is_shut_down(&self) -> bool {
        self.shared.with(|queue| queue.is_shut_down())
    }

    /// Shuts down, and waits until everything that waited has been processed too.
    ///
    /// Somebody has to go on taking keys meanwhile. What is delayed is dropped, not waited for: its time may be hours
    /// away. Dropping the future ends the wait, not the shutdown; several may wait.
    ///
    /// # Errors
    /// When `deadline`, counted from now, has passed. What waits can still be taken.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    #[doc(alias = "ShutDownWithDrain")]
    pub async fn drain(&self, deadline: Duration) -> Result<(), DrainError> {
        self.shut_down();
        let mut drainer = Drainer { shared: &self.shared, ticket: None };
        let drained = poll_fn(|cx| self.shared.gate.drained(cx, &mut drainer.ticket));
        match timeout(deadline, drained).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.shared.with(|queue| DrainError {
                waited: deadline,
                waiting: queue.len(),
                processing: queue.processing_len(),
            })),
        }
    }

    /// How the queue is doing.
    pub fn metrics(&self) -> WorkQueueMetrics {
        self.shared.with(|queue| queue.metrics())
    }

    /// The same without keeping the queue; `None` when it is gone.
    #[cfg(feature = "metrics")]
    pub(crate) fn observer(&self) -> impl Fn() -> Option<WorkQueueMetrics> + Send + Sync + use<K>
    where
        K: Send + 'static,
    {
        let shared = Arc::downgrade(&self.shared.0);
        move || Some(shared.upgrade()?.with(|queue| queue.metrics()))
    }
}

fn key_of<K: Clone>(queue: &informer_core::WorkQueue<K>, taken: Taken) -> K {
    queue.name(taken.id).expect("a key that was handed out is known").clone()
}

/// Not everything was done in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not drained after {waited:?}: {waiting} keys wait, {processing} are being processed")]
#[non_exhaustive]
pub struct DrainError {
    /// How long it was waited.
    pub waited: Duration,
    /// Keys that nobody has taken.
    pub waiting: usize,
    /// Keys that are still being processed.
    pub processing: usize,
}

/// One call of `get`.
struct Getter<'a, K> {
    shared: &'a Shared<K>,
    ticket: Option<Ticket>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<K: Hash + Eq + Clone> Getter<'_, K> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Taken, K)>> {
        loop {
            match self.shared.gate.turn(cx, &mut self.ticket, || self.shared.now()) {
                Turn::Key(taken, key) => return Poll::Ready(Some((taken, key))),
                Turn::Over => return Poll::Ready(None),
                Turn::Wait(None) => {
                    self.sleep = None;
                    return Poll::Pending;
                }
                Turn::Wait(Some(wake)) => {
                    if self.sleep_until(self.shared.clock.instant(wake)).poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    fn sleep_until(&mut self, deadline: Instant) -> Pin<&mut Sleep> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut()
    }
}

impl<K> Drop for Getter<'_, K> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.gate.leave(ticket);
        }
    }
}

/// One call of `drain`.
struct Drainer<'a, K> {
    shared: &'a Shared<K>,
    ticket: Option<Ticket>,
}

impl<K> Drop for Drainer<'_, K> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.gate.stop_draining(ticket);
        }
    }
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { shared: Handle::new(Arc::clone(&self.shared.0)) }
    }
}

impl<K: Hash + Eq + Clone> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.with(|queue| fmt::Debug::fmt(queue, f))
    }
}
