//! A correlator that remembers everything in lists and looks through all of it.

use informer_core::EventWriteKind::{Create, Patch};
use informer_core::{EventCorrelatorOptions, EventType};

use crate::support::Told;

/// One event, in seconds and text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub(crate) object: &'static str,
    pub(crate) path: &'static str,
    pub(crate) event_type: EventType,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Event {
    fn is_similar(&self, other: &Self) -> bool {
        self.object == other.object && self.event_type == other.event_type && self.reason == other.reason
    }
}

/// Each list has the least recently used first.
pub(crate) struct Naive {
    options: EventCorrelatorOptions,
    groups: Vec<Group>,
    counts: Vec<Count>,
    buckets: Vec<Bucket>,
}

struct Group {
    of: Event,
    messages: Vec<String>,
    last: u64,
}

struct Count {
    of: Event,
    combined: bool,
    count: u32,
    exists: bool,
}

struct Bucket {
    of: Event,
    /// One for each second that was saved up.
    saved: u64,
    last: u64,
}

impl Naive {
    pub(crate) fn new(options: EventCorrelatorOptions) -> Self {
        Self { options, groups: Vec::new(), counts: Vec::new(), buckets: Vec::new() }
    }

    pub(crate) fn tell(&mut self, now: u64, event: &Event) -> Option<Told> {
        let combined = self.combines(now, event);
        let position = self.counts.iter().position(|count| {
            if combined {
                count.combined && count.of.is_similar(event)
            } else {
                !count.combined && count.of == *event
            }
        });
        let mut count = match position {
            Some(position) => self.counts.remove(position),
            None => Count { of: event.clone(), combined, count: 0, exists: false },
        };
        count.count += 1;
        let accepted = self.accepts(now, event);
        let told = accepted.then_some((if count.exists { Patch } else { Create }, count.count, combined));
        count.exists |= accepted;
        self.counts.push(count);
        shorten(&mut self.counts, self.options.capacity);
        told
    }

    fn combines(&mut self, now: u64, event: &Event) -> bool {
        let position = self.groups.iter().position(|group| group.of.is_similar(event));
        let mut group = match position {
            Some(position) => self.groups.remove(position),
            None => Group { of: event.clone(), messages: Vec::new(), last: now },
        };
        if now - group.last > self.options.interval.as_secs() {
            group.messages.clear();
        }
        group.last = now;
        if !group.messages.contains(&event.message) {
            group.messages.push(event.message.clone());
        }
        let combined = group.messages.len() >= self.options.max_messages;
        if combined {
            group.messages.pop();
        }
        self.groups.push(group);
        shorten(&mut self.groups, self.options.capacity);
        combined
    }

    fn accepts(&mut self, now: u64, event: &Event) -> bool {
        let Self { options, buckets, .. } = self;
        let position = buckets.iter().position(|bucket| {
            let same_reason = !options.burst_by_reason || bucket.of.reason == event.reason;
            bucket.of.object == event.object && bucket.of.event_type == event.event_type && same_reason
        });
        let full = u64::from(options.burst) * options.refill.as_secs();
        let mut bucket = match position {
            Some(position) => buckets.remove(position),
            None => Bucket { of: event.clone(), saved: full, last: now },
        };
        while bucket.last < now {
            bucket.last += 1;
            bucket.saved = (bucket.saved + 1).min(full);
        }
        let accepted = bucket.saved >= options.refill.as_secs() && options.burst > 0;
        if accepted {
            bucket.saved -= options.refill.as_secs();
        }
        buckets.push(bucket);
        shorten(buckets, options.capacity);
        accepted
    }
}

fn shorten<T>(list: &mut Vec<T>, capacity: usize) {
    if list.len() > capacity {
        list.remove(0);
    }
}
