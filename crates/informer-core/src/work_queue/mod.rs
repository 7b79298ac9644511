//! Hands keys to workers: each key to one at a time, what is urgent first, what failed later.

mod item_limiters;
mod key;
mod metrics;
mod priority;
mod rate_limiter;
mod ready;
mod slots;
mod token_bucket;
mod wheel;

use std::fmt;
use std::hash::Hash;

pub use item_limiters::{ItemExponential, ItemFastSlow};
pub use key::WorkKey;
pub use metrics::{Histogram, WorkQueueCounters, WorkQueueMetrics, WorkQueueTimings};
pub use priority::Priority;
pub use rate_limiter::{Jittered, MaxOf, RateLimiter, WithMaxWait};
pub use slots::{KeyHash, KeyHasher, KeyId};
pub use token_bucket::TokenBucket;

use self::metrics::Stopwatch;
use self::ready::Ready;
use self::slots::{Due, Slots};
use self::wheel::Wheel;
use crate::Mono;

/// How a [`WorkQueue`] behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkQueueOptions {
    /// While several priorities wait, each so many-th key handed out is the one that has waited longest, whatever its
    /// priority. With 0, a low priority waits for as long as there is a higher one; with 1, priorities mean nothing.
    pub oldest_every: u32,
    /// Whether to measure how long keys wait and are worked on. Then the queue has to be told the time before each
    /// call, see [`WorkQueue::wants_time`].
    pub timings: bool,
}

impl Default for WorkQueueOptions {
    fn default() -> Self {
        // A tenth of the hand-outs is enough for a resync to end, and leaves the rest to what just changed.
        Self { oldest_every: 10, timings: false }
    }
}

/// What became of an add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Added {
    /// The key waits; if it is being processed, it will as soon as that is done.
    Queued,
    /// The key is delayed.
    Delayed,
    /// The key has an appointment that is as early already; at most its priority was raised.
    Merged,
    /// The queue was shut down. Counted.
    Ignored,
}

/// A key that was handed out, until it is [`done`](WorkQueue::done).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Taken {
    /// Which one.
    pub id: KeyId,
    /// The priority at which it waited; whoever adds it again may want to keep that.
    pub priority: Priority,
}

/// `done` was called for a key that is not being processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotProcessing;

impl fmt::Display for NotProcessing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key is not being processed: it was never taken, or is done already")
    }
}

impl std::error::Error for NotProcessing {}

/// Hands keys to workers.
///
/// A key is handed out once however often it was added meanwhile, and never while it is being processed: added then,
/// it is handed out once more afterwards. Higher [`Priority`] first, first in first out within one; a key that waits
/// and is added again at a higher priority moves to the end of that one. A low priority is slow, not stuck: see
/// [`oldest_every`](WorkQueueOptions::oldest_every), `n`. A key with `p` older ones before it is handed out after at
/// most `n * (p + 1)` hand-outs.
///
/// **One appointment.** Added with a delay, a key waits from then on. It never has more than one appointment, and the
/// earliest wins: of two delays the shorter; and an immediate add cancels the delay, whichever came first (client-go
/// hands it out at both times). A reconciler that wants to come back later says so each time it is done.
/// [`WorkKey::replace_delay`] and [`WorkKey::forget_delayed`] change a delay that is pending.
///
/// **Time.** [`advance`](Self::advance) tells the time and lets delayed keys wait that are due. The calls that take
/// no time need none, unless [`wants_time`](Self::wants_time). Time that goes backwards stands still.
///
/// **Memory.** A key is held for as long as it waits, is delayed, being processed, interned, or has failures that the
/// rate limiter was not told to forget. When the last key goes, the memory that many keys took is given back.
///
/// Each call takes constant time, amortised; a hand-out by age looks at each of the 256 priorities.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{ItemExponential, Mono, Priority, WorkQueue, WorkQueueOptions};
///
/// let limiter = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000));
/// let mut queue = WorkQueue::new(WorkQueueOptions::default(), limiter, 1);
/// queue.key("initial").add(Priority::LOW);
/// queue.key("changed").add(Priority::NORMAL);
/// queue.key("changed").add(Priority::NORMAL);
///
/// let taken = queue.pop().unwrap();
/// assert_eq!(queue.name(taken.id), Some(&"changed"));
/// queue.by_id(taken.id).unwrap().add_rate_limited(Mono(0), taken.priority); // it failed
/// queue.done(taken.id).unwrap();
///
/// let initial = queue.pop().unwrap();
/// assert_eq!(queue.name(initial.id), Some(&"initial"));
/// assert!(queue.pop().is_none());
/// queue.advance(queue.next_wake().unwrap()); // 5 ms later
/// assert_eq!(queue.pop(), Some(taken));
/// ```
#[doc(alias = "TypedRateLimitingInterface")]
#[doc(alias = "TypedDelayingInterface")]
#[derive(Clone)]
#[repr(C)] // What each call looks at comes first and lies together: two threads pass it to and fro.
pub struct WorkQueue<K, L = Box<dyn RateLimiter>> {
    slots: Slots<K>,
    ready: Ready,
    processing: usize,
    /// Keys that are being processed and then wait again.
    again: usize,
    stopwatch: Option<Box<Stopwatch>>,
    shut_down: bool,
    counters: WorkQueueCounters,
    wheel: Wheel,
    limiter: L,
    /// The time as last told.
    now: Mono,
    /// Empty between calls.
    due: Vec<u32>,
}

impl<K, L> WorkQueue<K, L> {
    /// An empty queue. The seed goes into the hash of keys: random in production, fixed in a simulation. It changes
    /// no output.
    pub fn new(options: WorkQueueOptions, limiter: L, hash_seed: u64) -> Self {
        Self {
            slots: Slots::new(hash_seed),
            ready: Ready::new(options.oldest_every),
            wheel: Wheel::new(),
            limiter,
            now: Mono(0),
            processing: 0,
            again: 0,
            shut_down: false,
            counters: WorkQueueCounters::default(),
            stopwatch: options.timings.then(Box::default),
            due: Vec::new(),
        }
    }

    /// Whether [`advance`](Self::advance) is to be called before each other call: something is delayed, or timings
    /// are measured. Otherwise the queue has no use for the time.
    #[inline]
    pub fn wants_time(&self) -> bool {
        self.wheel.len() > 0 || self.stopwatch.is_some()
    }

    /// Tells the time: delayed keys that are due wait from now on, in the order in which they became due.
    #[inline]
    pub fn advance(&mut self, now: Mono) {
        self.now = self.now.max(now);
        self.wheel.advance(self.now, &mut self.slots, &mut self.due);
        if self.due.is_empty() {
            return;
        }
        let due = std::mem::take(&mut self.due);
        for &index in &due {
            self.begin_to_wait(index);
        }
        // A burst's memory goes, an ordinary one's stays.
        if due.capacity() <= 1024 {
            self.due = due;
            self.due.clear();
        }
    }

    /// When [`advance`](Self::advance) is to be called next: never later than the first delayed key is due, sometimes
    /// earlier (up to six times for one key). `None` if nothing is delayed.
    #[inline]
    pub fn next_wake(&self) -> Option<Mono> {
        self.wheel.next_wake()
    }

    /// Hands out the next key. It is nobody else's until it is [`done`](Self::done).
    ///
    /// After a shutdown what waits is still handed out. `None` if nothing waits.
    #[doc(alias = "Get")]
    #[inline]
    pub fn pop(&mut self) -> Option<Taken> {
        let index = self.ready.pop(&mut self.slots)?;
        let slot = &mut self.slots[index];
        slot.due = Due::Never;
        slot.processing = true;
        let priority = slot.priority;
        let id = self.slots.id(index);
        self.processing += 1;
        self.counters.handed_out += 1;
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.started(id, self.now);
        }
        Some(Taken { id, priority })
    }

    /// The worker has finished with a key, whatever came of it. If it was added meanwhile, it waits again.
    ///
    /// # Errors
    /// If the key is not being processed; nothing has changed then.
    #[doc(alias = "Done")]
    #[inline]
    pub fn done(&mut self, id: KeyId) -> Result<(), NotProcessing> {
        let index =
            self.slots.resolve(id).filter(|&index| self.slots[index].processing).ok_or(NotProcessing)?;
        self.slots[index].processing = false;
        self.processing -= 1;
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.done(id, self.now);
        }
        if self.slots[index].due == Due::Now {
            self.again -= 1;
            self.ready.push(&mut self.slots, index);
        } else {
            self.release(index);
        }
        Ok(())
    }

    /// What makes the hashes for [`key_hashed`](Self::key_hashed).
    #[inline]
    pub fn hasher(&self) -> &KeyHasher {
        self.slots.hasher()
    }

    /// The key of this id, while the queue holds it.
    pub fn name(&self, id: KeyId) -> Option<&K> {
        self.slots.resolve(id).map(|index| self.slots.key(index))
    }

    /// The key of this id, to do something with; `None` if the queue holds it no more.
    #[inline]
    pub fn by_id(&mut self, id: KeyId) -> Option<WorkKey<'_, K, L>> {
        let index = self.slots.resolve(id)?;
        Some(WorkKey::new(self, index))
    }

    /// Undoes one [`intern`](Self::intern). Says whether there was one to undo.
    pub fn release_interned(&mut self, id: KeyId) -> bool {
        let Some(index) = self.slots.resolve(id).filter(|&index| self.slots[index].pins > 0) else {
            return false;
        };
        self.slots[index].pins -= 1;
        self.release(index);
        true
    }

    /// Ends the queue: what waits is still handed out, what is delayed is dropped, every add from now on is ignored;
    /// both are counted. A second time changes nothing.
    ///
    /// A key that is being processed and was added meanwhile still waits afterwards.
    #[doc(alias = "ShutDown")]
    pub fn shut_down(&mut self) {
        self.shut_down = true;
        if self.wheel.len() == 0 {
            return;
        }
        for index in self.slots.indices() {
            // The last one may give all memory back.
            if self.wheel.len() > 0 && self.slots[index].due == Due::Later {
                self.wheel.remove(&mut self.slots, index);
                self.counters.dropped += 1;
                self.release(index);
            }
        }
    }

    /// Whether it was shut down.
    #[doc(alias = "ShuttingDown")]
    pub fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// Whether it was shut down and nothing will ever be handed out again.
    ///
    /// Not yet, while a key that is being processed will wait again afterwards.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.shut_down && self.ready.len() == 0 && self.again == 0
    }

    /// Whether it was shut down and all work is done: nothing waits, nothing is being processed.
    #[doc(alias = "ShutDownWithDrain")]
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.is_exhausted() && self.processing == 0
    }

    /// How many keys wait. Not those that are delayed or being processed.
    #[inline]
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys are delayed.
    pub fn delayed_len(&self) -> usize {
        self.wheel.len()
    }

    /// How many keys are being processed.
    pub fn processing_len(&self) -> usize {
        self.processing
    }

    /// How many keys there is memory for. Goes down when a queue that knew many knows none.
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// What happened so far.
    pub fn counters(&self) -> WorkQueueCounters {
        self.counters
    }

    /// How the queue is doing at the time told last. Looks at every key ever known at one time, if timings are
    /// measured.
    pub fn metrics(&self) -> WorkQueueMetrics {
        WorkQueueMetrics {
            depth: self.ready.len(),
            depth_by_priority: self.ready.depths().collect(),
            delayed: self.wheel.len(),
            processing: self.processing,
            known: self.slots.len(),
            counters: self.counters,
            timings: self.stopwatch.as_ref().map(|stopwatch| stopwatch.timings(self.now)),
        }
    }

    /// Panics if a key is not where its state says, or is held by nobody. Takes time linear in the number of keys.
    pub fn validate(&self) {
        self.ready.validate(&self.slots);
        self.wheel.validate(&self.slots);
        let (mut used, mut waiting, mut delayed, mut processing, mut again) = (0, 0, 0, 0, 0);
        for index in self.slots.indices().filter(|&index| self.slots.is_used(index)) {
            let slot = &self.slots[index];
            used += 1;
            processing += usize::from(slot.processing);
            again += usize::from(slot.processing && slot.due == Due::Now);
            waiting += usize::from(!slot.processing && slot.due == Due::Now);
            delayed += usize::from(slot.due == Due::Later);
            assert!(slot.is_held(), "a key that nothing holds is gone");
        }
        assert_eq!(self.slots.len(), used, "the number of keys is the number of slots in use");
        assert_eq!(self.ready.len(), waiting, "what is due now and not being processed is in a list");
        assert_eq!(self.wheel.len(), delayed, "what is due later is in the wheel");
        assert_eq!((self.processing, self.again), (processing, again), "what is being processed is counted");
        assert!(!self.shut_down || delayed == 0, "a queue that was shut down delays nothing");
    }

    /// The key is due now, and was not before.
    fn begin_to_wait(&mut self, index: u32) {
        self.slots[index].due = Due::Now;
        self.counters.adds += 1;
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.added(self.slots.id(index), self.now);
        }
        if self.slots[index].processing {
            self.again += 1;
        } else {
            self.ready.push(&mut self.slots, index);
        }
    }

    /// Lets go of the key if nothing holds it.
    #[inline]
    fn release(&mut self, index: u32) {
        let was_the_last = self.slots.release(index);
        if was_the_last && let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.give_back_memory();
        }
    }
}

impl<K: Hash + Eq, L> WorkQueue<K, L> {
    /// A key, to do something with; the queue need not know it yet.
    #[inline]
    pub fn key(&mut self, key: K) -> WorkKey<'_, K, L> {
        let hash = self.hasher().hash(&key);
        self.key_hashed(key, hash)
    }

    /// The same with the key's hash, which this queue's [`hasher`](Self::hasher) has made before the queue was locked.
    /// With any other hash, the queue takes the key for one that it does not know.
    #[inline]
    pub fn key_hashed(&mut self, key: K, hash: KeyHash) -> WorkKey<'_, K, L> {
        debug_assert_eq!(hash, self.hasher().hash(&key), "the hash is this queue's");
        let index = self.slots.intern(hash, key);
        WorkKey::new(self, index)
    }

    /// A key, if the queue holds it.
    pub fn known(&mut self, key: &K) -> Option<WorkKey<'_, K, L>> {
        let index = self.slots.find(key)?;
        Some(WorkKey::new(self, index))
    }

    /// An id for the key that stays good until it is [released](Self::release_interned): for whoever adds the same
    /// keys over and over, and would rather hash and compare them once.
    pub fn intern(&mut self, key: K) -> KeyId {
        let index = self.slots.intern(self.hasher().hash(&key), key);
        let pins = &mut self.slots[index].pins;
        *pins = pins.checked_add(1).expect("a key is interned fewer than 2^32 times");
        self.slots.id(index)
    }
}

impl<K, L> fmt::Debug for WorkQueue<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("len", &self.len())
            .field("delayed", &self.delayed_len())
            .field("processing", &self.processing)
            .field("shut_down", &self.shut_down)
            .field("counters", &self.counters)
            .finish()
    }
}
