//! A key in a worker's hands.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use informer_core::{Priority, RateLimiter, Taken, WorkKey};

use super::Handle;

/// A key that was handed out to a worker, and to nobody else until this is gone.
///
/// Dropping it says that the work is done, also in a panic or when the worker's future is dropped: no key stays
/// behind, as it does when client-go's `Done` is forgotten. What became of the work is said by one of the methods
/// that consume it.
#[must_use = "dropping it at once says that the key is done"]
pub struct Processing<K> {
    shared: Arc<Handle<K>>,
    taken: Taken,
    key: K,
    done: bool,
}

/// The key as the queue knows it.
type Known<'a, K> = WorkKey<'a, K, Box<dyn RateLimiter>>;

impl<K> Processing<K> {
    pub(super) fn new(shared: Arc<Handle<K>>, taken: Taken, key: K) -> Self {
        Self { shared, taken, key, done: false }
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The priority at which it waited. It keeps that when it is retried.
    pub fn priority(&self) -> Priority {
        self.taken.priority
    }

    /// How often it failed since it was forgotten last.
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self) -> u32 {
        self.shared.with(|queue| known(queue, self.taken).num_requeues())
    }

    /// The work is done, whatever came of it: the same as dropping it. Failures are remembered, and a key that was
    /// added meanwhile waits again.
    #[doc(alias = "Done")]
    pub fn done(self) {}

    /// It succeeded: its failures are forgotten.
    #[doc(alias = "Forget")]
    pub fn succeeded(self) {
        self.finish(|key, _priority| key.forget());
    }

    /// It failed, and is to be tried again as soon as the rate limiter permits; at once, if it was added meanwhile.
    #[doc(alias = "AddRateLimited")]
    pub fn retry(self) {
        let now = self.shared.now();
        self.finish(|key, priority| {
            key.add_rate_limited(now, priority);
        });
    }

    /// It succeeded, and is to be looked at again after `delay`; at once, if it was added meanwhile.
    #[doc(alias = "RequeueAfter")]
    pub fn requeue_after(self, delay: Duration) {
        let now = self.shared.now();
        self.finish(|key, priority| {
            key.forget();
            key.add_after(now, delay, priority);
        });
    }

    /// Does something to the key and says that it is done, at once as others see it.
    fn finish(mut self, act: impl FnOnce(&mut Known<'_, K>, Priority)) {
        let done = self.shared.with(|queue| {
            act(&mut known(queue, self.taken), self.taken.priority);
            queue.done(self.taken.id)
        });
        self.done = done.is_ok();
    }
}

fn known<K>(queue: &mut informer_core::WorkQueue<K>, taken: Taken) -> Known<'_, K> {
    queue.by_id(taken.id).expect("a key that is being processed is known")
}

impl<K> Deref for Processing<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K> Drop for Processing<K> {
    fn drop(&mut self) {
        if !self.done {
            let done = self.shared.with(|queue| queue.done(self.taken.id));
            debug_assert!(done.is_ok(), "a key is done once");
        }
    }
}

impl<K: fmt::Debug> fmt::Debug for Processing<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processing").field("key", &self.key).field("priority", &self.taken.priority).finish()
    }
}
