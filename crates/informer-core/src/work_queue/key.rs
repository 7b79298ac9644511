//! One key of a work queue, and all that can be done with it.

use std::time::Duration;

use super::slots::{Due, KeyId};
use super::{Added, Priority, RateLimiter, WorkQueue};
use crate::Mono;

/// One key of a [`WorkQueue`], to be added, delayed, or forgotten.
///
/// However the key was looked up, the same can be done with it. If nothing holds it when this is dropped, the queue
/// lets go of it.
pub struct WorkKey<'a, K, L> {
    queue: &'a mut WorkQueue<K, L>,
    index: u32,
}

impl<'a, K, L> WorkKey<'a, K, L> {
    #[inline]
    pub(super) fn new(queue: &'a mut WorkQueue<K, L>, index: u32) -> Self {
        Self { queue, index }
    }

    /// Its id, good for as long as something holds the key.
    pub fn id(&self) -> KeyId {
        self.queue.slots.id(self.index)
    }

    /// Whether it is being processed.
    pub fn is_processing(&self) -> bool {
        self.queue.slots[self.index].processing
    }

    /// Lets the key wait, or wait again once it is done; a pending delay is cancelled. Of several priorities, the
    /// highest counts.
    #[doc(alias = "Add")]
    #[inline]
    pub fn add(&mut self, priority: Priority) -> Added {
        let (queue, index) = (&mut *self.queue, self.index);
        if queue.shut_down {
            queue.counters.ignored += 1;
            return Added::Ignored;
        }
        let slot = &mut queue.slots[index];
        match slot.due {
            Due::Now => {
                queue.counters.merged += 1;
                queue.raise(index, priority);
                return Added::Merged;
            }
            Due::Later => {
                slot.priority = slot.priority.max(priority);
                queue.wheel.remove(&mut queue.slots, index);
            }
            Due::Never => slot.priority = priority,
        }
        queue.begin_to_wait(index);
        Added::Queued
    }

    /// Lets the key wait in `delay` from `now`, unless it has an earlier appointment. No delay is too long:
    /// `Duration::MAX` is never.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&mut self, now: Mono, delay: Duration, priority: Priority) -> Added {
        self.delay(now, delay, priority, false)
    }

    /// The same, but a delay that is pending is replaced by this one even if it is shorter. A key that waits already
    /// goes on waiting.
    pub fn replace_delay(&mut self, now: Mono, delay: Duration, priority: Priority) -> Added {
        self.delay(now, delay, priority, true)
    }

    /// Cancels a pending delay: the key is not handed out then. Says whether there was one.
    pub fn forget_delayed(&mut self) -> bool {
        let delayed = self.queue.slots[self.index].due == Due::Later;
        if delayed {
            self.queue.wheel.remove(&mut self.queue.slots, self.index);
        }
        delayed
    }

    fn delay(&mut self, now: Mono, delay: Duration, priority: Priority, replace: bool) -> Added {
        if self.queue.shut_down {
            return self.add(priority);
        }
        self.queue.counters.retries += 1;
        self.queue.advance(now);
        if delay.is_zero() {
            return self.add(priority);
        }
        let (queue, index) = (&mut *self.queue, self.index);
        let due = queue.now.after(delay);
        let slot = &mut queue.slots[index];
        match slot.due {
            Due::Now => {
                queue.counters.merged += 1;
                queue.raise(index, priority);
                return Added::Merged;
            }
            Due::Later => {
                slot.priority = slot.priority.max(priority);
                if due.0 >= slot.order && !replace {
                    queue.counters.merged += 1;
                    return Added::Merged;
                }
                queue.wheel.remove(&mut queue.slots, index);
            }
            Due::Never => slot.priority = priority,
        }
        queue.wheel.insert(&mut queue.slots, index, due, queue.now);
        Added::Delayed
    }
}

impl<K, L: RateLimiter> WorkKey<'_, K, L> {
    /// Lets the key wait as soon as the rate limiter permits: it failed.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&mut self, now: Mono, priority: Priority) -> Added {
        if self.queue.shut_down {
            return self.add(priority);
        }
        let id = self.id();
        let delay = self.queue.limiter.when(now, id);
        self.queue.slots[self.index].limited = self.queue.limiter.num_requeues(id) > 0;
        self.delay(now, delay, priority, false)
    }

    /// Tells the rate limiter to forget the key's failures. A pending delay stays.
    #[doc(alias = "Forget")]
    pub fn forget(&mut self) {
        if self.queue.slots[self.index].limited {
            self.queue.limiter.forget(self.id());
            self.queue.slots[self.index].limited = false;
        }
    }

    /// How often the key failed since it was forgotten last.
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self) -> u32 {
        if self.queue.slots[self.index].limited { self.queue.limiter.num_requeues(self.id()) } else { 0 }
    }
}

impl<K, L> Drop for WorkKey<'_, K, L> {
    #[inline]
    fn drop(&mut self) {
        self.queue.release(self.index);
    }
}

impl<K, L> WorkQueue<K, L> {
    /// A key that is due now gets a priority that is at least this.
    #[inline]
    fn raise(&mut self, index: u32, priority: Priority) {
        if priority <= self.slots[index].priority {
            return;
        }
        let waits = !self.slots[index].processing;
        if waits {
            self.ready.remove(&mut self.slots, index);
        }
        self.slots[index].priority = priority;
        if waits {
            self.ready.push(&mut self.slots, index);
        }
    }
}
