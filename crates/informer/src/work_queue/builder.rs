//! The options of a work queue.

use std::hash::Hash;
use std::sync::Arc;

use informer_core::{MaxOf, RateLimiter, WorkQueueOptions};

use super::gate::Gate;
use super::{Handle, Shared, WorkQueue};
use crate::clock::Clock;
use crate::shared_informer::random_seed;

/// The options of a [`WorkQueue`].
///
/// ```
/// use std::time::Duration;
/// use informer::{ItemExponential, Jittered, WorkQueue};
///
/// let limiter = ItemExponential::new(Duration::from_millis(20), Duration::from_secs(60));
/// let queue = WorkQueue::<u32>::builder().rate_limiter(Jittered::new(limiter, 0.2, 7)).timings(true).build();
/// queue.add(1);
/// assert_eq!(queue.metrics().depth, 1);
/// ```
#[must_use]
pub struct WorkQueueBuilder {
    options: WorkQueueOptions,
    limiter: Box<dyn RateLimiter>,
}

impl WorkQueueBuilder {
    pub(super) fn new() -> Self {
        Self { options: WorkQueueOptions::default(), limiter: Box::new(MaxOf::controller_default()) }
    }

    /// How long keys that failed have to wait. It is called under the queue's lock, so it must not touch the queue.
    /// Default: [`MaxOf::controller_default`].
    pub fn rate_limiter(mut self, limiter: impl RateLimiter + 'static) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// While several priorities wait, each so many-th key handed out is the one that has waited longest, whatever its
    /// priority. A key with `p` older ones before it is therefore handed out after at most `oldest_every * (p + 1)`
    /// hand-outs. Default: 10. With 0, a low priority waits for as long as there is a higher one.
    pub fn oldest_every(mut self, hand_outs: u32) -> Self {
        self.options.oldest_every = hand_outs;
        self
    }

    /// Whether to measure how long keys wait and are worked on, for [`WorkQueue::metrics`]. Costs reading the clock
    /// at each call. Default: no.
    pub fn timings(mut self, timings: bool) -> Self {
        self.options.timings = timings;
        self
    }

    /// The queue, empty.
    pub fn build<K: Hash + Eq + Clone>(self) -> WorkQueue<K> {
        let queue = informer_core::WorkQueue::new(self.options, self.limiter, random_seed());
        let shared = Arc::new(Shared { gate: Gate::new(queue), clock: Clock::new() });
        WorkQueue { shared: Handle::new(shared) }
    }
}
