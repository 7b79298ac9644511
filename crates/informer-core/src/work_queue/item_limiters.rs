//! Limiters that count each key's failures.

use std::time::Duration;

use super::{KeyId, RateLimiter};
use crate::Mono;

/// Places that are kept when nothing is counted any more; see the queue's slots.
const KEPT_COUNTS: usize = 8192;

/// How often each key failed.
#[derive(Clone, Debug, Default)]
struct Failures {
    /// By [`KeyId::index`].
    counts: Vec<u32>,
    /// How many of them are not 0.
    counted: usize,
}

impl Failures {
    fn of(&self, id: KeyId) -> u32 {
        self.counts.get(id.index()).copied().unwrap_or_default()
    }

    /// One more; says how many there were before.
    fn add(&mut self, id: KeyId) -> u32 {
        if self.counts.len() <= id.index() {
            self.counts.resize(id.index() + 1, 0);
        }
        let count = &mut self.counts[id.index()];
        let before = *count;
        *count = before.saturating_add(1);
        self.counted += usize::from(before == 0);
        before
    }

    fn forget(&mut self, id: KeyId) {
        if self.of(id) == 0 {
            return;
        }
        self.counts[id.index()] = 0;
        self.counted -= 1;
        if self.counted == 0 && self.counts.len() > KEPT_COUNTS {
            self.counts = Vec::new();
        }
    }
}

/// Doubles a key's delay with each of its failures.
///
/// What it knows of a key stays until that is forgotten: 4 bytes, and in the queue the key itself.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{ItemExponential, Mono, RateLimiter, WorkQueue, WorkQueueOptions};
///
/// let mut limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1));
/// let mut queue = WorkQueue::new(WorkQueueOptions::default(), limiter.clone(), 1);
/// let id = queue.intern("a");
/// let delays = [(); 4].map(|()| limiter.when(Mono(0), id).as_millis());
/// assert_eq!(delays, [1, 2, 4, 8]);
/// assert_eq!(limiter.num_requeues(id), 4);
/// limiter.forget(id);
/// assert_eq!(limiter.when(Mono(0), id), Duration::from_millis(1));
/// ```
#[doc(alias = "ItemExponentialFailureRateLimiter")]
#[derive(Clone, Debug)]
pub struct ItemExponential {
    base: Duration,
    cap: Duration,
    failures: Failures,
}

impl ItemExponential {
    /// `base`, then twice, four times, … as much, up to `cap`.
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self { base, cap, failures: Failures::default() }
    }
}

impl RateLimiter for ItemExponential {
    fn when(&mut self, _now: Mono, id: KeyId) -> Duration {
        let doublings = self.failures.add(id);
        let factor = 1_u32.checked_shl(doublings);
        let delay = factor.and_then(|factor| self.base.checked_mul(factor));
        // Beyond 32 doublings even a nanosecond is 4 s, and the cap may be more than that.
        let delay = delay.unwrap_or_else(|| long(self.base, doublings));
        delay.min(self.cap)
    }

    fn forget(&mut self, id: KeyId) {
        self.failures.forget(id);
    }

    fn num_requeues(&self, id: KeyId) -> u32 {
        self.failures.of(id)
    }
}

/// `base` doubled that often, at most `Duration::MAX`.
fn long(base: Duration, doublings: u32) -> Duration {
    if base.is_zero() {
        return base;
    }
    let nanoseconds = base.as_nanos().checked_mul(1_u128.checked_shl(doublings).unwrap_or(u128::MAX));
    let Some(nanoseconds) = nanoseconds else { return Duration::MAX };
    let seconds = u64::try_from(nanoseconds / 1_000_000_000);
    seconds.map_or(Duration::MAX, |seconds| Duration::new(seconds, (nanoseconds % 1_000_000_000) as u32))
}

/// Tries a key again soon a few times, then seldom.
#[doc(alias = "ItemFastSlowRateLimiter")]
#[derive(Clone, Debug)]
pub struct ItemFastSlow {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures,
}

impl ItemFastSlow {
    /// `fast` for the first `fast_attempts` failures of a key, `slow` for all others.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: Failures::default() }
    }
}

impl RateLimiter for ItemFastSlow {
    fn when(&mut self, _now: Mono, id: KeyId) -> Duration {
        if self.failures.add(id) < self.fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, id: KeyId) {
        self.failures.forget(id);
    }

    fn num_requeues(&self, id: KeyId) -> u32 {
        self.failures.of(id)
    }
}
