//! So many events about one object at once, and then one in a while.

use std::hash::Hash;
use std::time::Duration;

use super::lru::Lru;
use crate::Mono;

/// A bucket of tokens for each key, of which the last used are remembered. Whole nanoseconds, so that a token comes back
/// exactly when it is due.
pub(super) struct SpamFilter<K> {
    buckets: Lru<K, Bucket>,
    burst: u32,
    refill: Duration,
}

/// The time that has been saved up: a token costs as much as it takes to come back.
struct Bucket {
    saved: Duration,
    last: Mono,
}

impl<K: Hash + Eq> SpamFilter<K> {
    pub(super) fn new(burst: u32, refill: Duration, capacity: usize, seed: u64) -> Self {
        Self { buckets: Lru::new(capacity, seed), burst, refill }
    }

    /// Takes a token, if there is one.
    pub(super) fn accepts(&mut self, now: Mono, key: K) -> bool {
        let full = self.refill.saturating_mul(self.burst);
        let bucket = self.buckets.use_or_insert(key, || Bucket { saved: full, last: now });
        bucket.saved = bucket.saved.saturating_add(now.since(bucket.last)).min(full);
        bucket.last = bucket.last.max(now);
        let Some(rest) = bucket.saved.checked_sub(self.refill) else { return false };
        bucket.saved = rest;
        self.burst > 0
    }
}
