//! How long a key that failed has to wait, and ways to combine such rules.

use std::time::Duration;

use super::{ItemExponential, KeyId, TokenBucket};
use crate::{Mono, Rng};

/// Decides how long a key has to wait before it is tried again.
///
/// A queue keeps a key's id for as long as [`num_requeues`](Self::num_requeues) is not zero, so an implementation may
/// keep what it knows of a key by [`KeyId::index`] alone. It must not block, and is called under the queue's lock.
pub trait RateLimiter: Send {
    /// How long `id`, which just failed, has to wait. Each call counts as one more failure.
    #[doc(alias = "When")]
    fn when(&mut self, now: Mono, id: KeyId) -> Duration;

    /// The key succeeded, or is given up: its failures are forgotten.
    fn forget(&mut self, id: KeyId);

    /// How often the key failed since it was forgotten last, as far as this limiter counts that.
    fn num_requeues(&self, id: KeyId) -> u32;
}

impl<L: RateLimiter + ?Sized> RateLimiter for Box<L> {
    fn when(&mut self, now: Mono, id: KeyId) -> Duration {
        (**self).when(now, id)
    }

    fn forget(&mut self, id: KeyId) {
        (**self).forget(id);
    }

    fn num_requeues(&self, id: KeyId) -> u32 {
        (**self).num_requeues(id)
    }
}

/// The longest of what several limiters say.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{ItemExponential, MaxOf, Mono, RateLimiter, TokenBucket, WorkQueue, WorkQueueOptions};
///
/// let each = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000));
/// let all = TokenBucket::new(10.0, 1);
/// let mut limiter = MaxOf::new([Box::new(each) as Box<dyn RateLimiter>, Box::new(all)]);
///
/// let mut queue = WorkQueue::new(WorkQueueOptions::default(), MaxOf::controller_default(), 1);
/// let (a, b) = (queue.intern("a"), queue.intern("b"));
/// assert_eq!(limiter.when(Mono(0), a), Duration::from_millis(5));
/// assert_eq!(limiter.when(Mono(0), b), Duration::from_millis(100)); // the bucket is empty
/// ```
#[doc(alias = "MaxOfRateLimiter")]
pub struct MaxOf {
    limiters: Vec<Box<dyn RateLimiter>>,
}

impl MaxOf {
    /// All of these; with none, nobody has to wait.
    pub fn new(limiters: impl IntoIterator<Item = Box<dyn RateLimiter>>) -> Self {
        Self { limiters: limiters.into_iter().collect() }
    }

    /// What a controller wants: 5 ms, doubled with each failure of the key up to 1000 s; and for all keys together 10
    /// a second after the first 100.
    #[doc(alias = "DefaultTypedControllerRateLimiter")]
    pub fn controller_default() -> Self {
        let each = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000));
        Self::new([Box::new(each) as Box<dyn RateLimiter>, Box::new(TokenBucket::new(10.0, 100))])
    }
}

impl RateLimiter for MaxOf {
    fn when(&mut self, now: Mono, id: KeyId) -> Duration {
        // Every one of them has to hear of it.
        self.limiters.iter_mut().map(|limiter| limiter.when(now, id)).max().unwrap_or_default()
    }

    fn forget(&mut self, id: KeyId) {
        for limiter in &mut self.limiters {
            limiter.forget(id);
        }
    }

    fn num_requeues(&self, id: KeyId) -> u32 {
        self.limiters.iter().map(|limiter| limiter.num_requeues(id)).max().unwrap_or_default()
    }
}

/// What another limiter says, but at most so long.
#[doc(alias = "WithMaxWaitRateLimiter")]
#[derive(Clone, Debug)]
pub struct WithMaxWait<L> {
    inner: L,
    max_wait: Duration,
}

impl<L: RateLimiter> WithMaxWait<L> {
    /// `inner`, capped.
    pub fn new(inner: L, max_wait: Duration) -> Self {
        Self { inner, max_wait }
    }
}

impl<L: RateLimiter> RateLimiter for WithMaxWait<L> {
    fn when(&mut self, now: Mono, id: KeyId) -> Duration {
        self.inner.when(now, id).min(self.max_wait)
    }

    fn forget(&mut self, id: KeyId) {
        self.inner.forget(id);
    }

    fn num_requeues(&self, id: KeyId) -> u32 {
        self.inner.num_requeues(id)
    }
}

/// What another limiter says and up to a share of it more, at random: keys that failed together do not come back
/// together.
#[derive(Clone, Debug)]
pub struct Jittered<L> {
    inner: L,
    factor: f64,
    rng: Rng,
}

impl<L: RateLimiter> Jittered<L> {
    /// A delay `d` of `inner` is drawn from `[d, d + factor * d)`; a factor below 0 (or not a number) counts as 0.
    pub fn new(inner: L, factor: f64, seed: u64) -> Self {
        // `max` also turns NaN into 0.
        Self { inner, factor: factor.max(0.0), rng: Rng::new(seed) }
    }
}

impl<L: RateLimiter> RateLimiter for Jittered<L> {
    fn when(&mut self, now: Mono, id: KeyId) -> Duration {
        let delay = self.inner.when(now, id);
        let extra = Duration::try_from_secs_f64(delay.as_secs_f64() * self.factor).unwrap_or(Duration::MAX);
        self.rng.duration(delay, delay.saturating_add(extra))
    }

    fn forget(&mut self, id: KeyId) {
        self.inner.forget(id);
    }

    fn num_requeues(&self, id: KeyId) -> u32 {
        self.inner.num_requeues(id)
    }
}
