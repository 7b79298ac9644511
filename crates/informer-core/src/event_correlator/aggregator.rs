//! Events that differ by their message only: beyond a number of messages they are one event.

use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::FixedState;

use super::lru::Lru;
use crate::Mono;

/// Counts the different messages of each group of similar events.
pub(super) struct Aggregator<G> {
    groups: Lru<G, Group>,
    max_messages: usize,
    interval: Duration,
    seed: u64,
}

struct Group {
    /// Hashes of the different messages: to count them it is enough to tell them apart, and if two in 2^64 cannot be,
    /// they are combined one later.
    messages: Vec<u64>,
    last: Mono,
}

impl<G: Hash + Eq> Aggregator<G> {
    pub(super) fn new(max_messages: usize, interval: Duration, capacity: usize, seed: u64) -> Self {
        Self { groups: Lru::new(capacity, seed), max_messages, interval, seed }
    }

    /// Whether this one is to be told as one with others. The first messages keep their own events.
    pub(super) fn combines(&mut self, now: Mono, group: G, message: &str) -> bool {
        let message = FixedState::with_seed(self.seed).hash_one(message);
        let group = self.groups.use_or_insert(group, || Group { messages: Vec::new(), last: now });
        if now.since(group.last) > self.interval {
            group.messages.clear();
        }
        group.last = group.last.max(now);
        if group.messages.contains(&message) {
            return false;
        }
        if group.messages.len() + 1 >= self.max_messages {
            return true;
        }
        group.messages.push(message);
        false
    }
}
