//! A limit on all keys together.

use std::time::Duration;

use super::{KeyId, RateLimiter};
use crate::Mono;

/// So many at once, and then so many a second: each failure takes a token, and waits for one if there is none.
///
/// Tokens are taken in advance (*reserved*): whoever comes later waits longer, so that at no time more keys come back
/// than the rate allows. It does not count the failures of a key.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{Mono, RateLimiter, TokenBucket, WorkQueue, WorkQueueOptions};
///
/// let mut bucket = TokenBucket::new(10.0, 2);
/// let mut queue = WorkQueue::new(WorkQueueOptions::default(), bucket.clone(), 1);
/// let id = queue.intern("any");
/// let delays = [(); 4].map(|()| bucket.when(Mono(0), id).as_millis());
/// assert_eq!(delays, [0, 0, 100, 200]);
/// ```
#[doc(alias = "BucketRateLimiter")]
#[derive(Clone, Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    /// Less than none while reserved ones are outstanding.
    tokens: f64,
    last: Mono,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens, refilled at `per_second`.
    ///
    /// An infinite rate means no limit. With a rate of 0 (or less, or not a number) only the burst is ever granted,
    /// and with a burst of 0 nothing is: the delay is then `Duration::MAX`, that is, never.
    pub fn new(per_second: f64, burst: u32) -> Self {
        // `max` also turns NaN into 0.
        Self { per_second: per_second.max(0.0), burst: burst.into(), tokens: burst.into(), last: Mono(0) }
    }

    fn reserve(&mut self, now: Mono) -> Duration {
        if self.per_second == f64::INFINITY {
            return Duration::ZERO;
        }
        if self.burst == 0.0 {
            return Duration::MAX;
        }
        let refilled = now.since(self.last).as_secs_f64() * self.per_second;
        self.last = self.last.max(now);
        self.tokens = (self.tokens + refilled).min(self.burst) - 1.0;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        let missing_secs = -self.tokens / self.per_second;
        Duration::try_from_secs_f64(missing_secs).unwrap_or(Duration::MAX)
    }
}

impl RateLimiter for TokenBucket {
    fn when(&mut self, now: Mono, _id: KeyId) -> Duration {
        self.reserve(now)
    }

    fn forget(&mut self, _id: KeyId) {}

    fn num_requeues(&self, _id: KeyId) -> u32 {
        0
    }
}
