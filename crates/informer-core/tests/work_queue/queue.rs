//! Priorities and ageing, ids, and memory.

use std::time::Duration;

use informer_core::{
    Added, ItemExponential, LastState, Mono, Notification, Object, ObjectKey, Priority, ResourceVersion, Uid,
};
use informer_core::{TokenBucket, WorkQueue, WorkQueueOptions};

fn queue<K>(oldest_every: u32) -> WorkQueue<K, ()> {
    WorkQueue::new(WorkQueueOptions { oldest_every, ..WorkQueueOptions::default() }, (), 1)
}

fn names<K: Copy>(queue: &mut WorkQueue<K, ()>, count: usize) -> Vec<K> {
    let taken: Vec<_> = std::iter::from_fn(|| queue.pop()).take(count).collect();
    taken.iter().for_each(|taken| assert!(queue.by_id(taken.id).unwrap().is_processing()));
    taken
        .into_iter()
        .map(|taken| {
            let key = *queue.name(taken.id).unwrap();
            queue.done(taken.id).unwrap();
            key
        })
        .collect()
}

#[test]
fn higher_priority_first_and_fifo_within() {
    let mut queue = queue(0);
    for (key, priority) in [("a", -100), ("b", 0), ("c", 127), ("d", 0), ("e", -128), ("f", 127), ("g", -100)]
    {
        queue.key(key).add(Priority(priority));
    }
    let depths: Vec<_> =
        queue.metrics().depth_by_priority.into_iter().map(|(own, depth)| (own.0, depth)).collect();
    assert_eq!(depths, [(127, 2), (0, 2), (-100, 2), (-128, 1)]);
    assert_eq!(names(&mut queue, 9), ["c", "f", "b", "d", "a", "g", "e"]);
}

#[test]
fn a_waiting_key_is_raised_to_the_end_of_its_new_priority_and_never_lowered() {
    let mut queue = queue(0);
    for key in ["a", "b", "c"] {
        queue.key(key).add(Priority::LOW);
    }
    queue.key("d").add(Priority::NORMAL);
    queue.key("c").add(Priority::NORMAL);
    queue.key("c").add(Priority::LOW);
    queue.key("d").add(Priority::LOW);
    assert_eq!(queue.len(), 4);
    assert_eq!(names(&mut queue, 9), ["d", "c", "a", "b"]);
}

#[test]
fn the_highest_priority_of_a_turn_counts_while_processing_and_through_a_delay() {
    let mut queue = queue(0);
    queue.key("a").add(Priority::LOW);
    let taken = queue.pop().unwrap();
    assert_eq!(taken.priority, Priority::LOW);
    queue.key("a").add(Priority(5));
    queue.key("a").add(Priority::LOW);
    queue.done(taken.id).unwrap();
    let taken = queue.pop().unwrap();
    assert_eq!(taken.priority, Priority(5));
    // A turn that was handed out leaves nothing behind.
    queue.key("a").add_after(Mono(0), Duration::from_secs(9), Priority::LOW);
    queue.key("a").add_after(Mono(0), Duration::from_secs(10), Priority(1));
    queue.done(taken.id).unwrap();
    queue.key("a").add(Priority(-7));
    assert_eq!(queue.pop().unwrap().priority, Priority(1));
}

/// With `n = 4`, and a flood of fresh keys that never ends.
#[test]
fn a_low_priority_gets_its_share_of_a_flood() {
    let mut queue = queue(4);
    for key in 0..25 {
        queue.key(key).add(Priority::LOW);
    }
    let mut low = Vec::new();
    for turn in 0..100 {
        queue.key(1000 + turn).add(Priority::NORMAL);
        queue.key(2000 + turn).add(Priority(3));
        low.extend(names(&mut queue, 1).into_iter().filter(|&key| key < 1000));
    }
    assert_eq!(low, (0..25).collect::<Vec<_>>());
}

/// The bound that the documentation states, at random.
#[test]
fn no_key_waits_longer_than_the_bound() {
    for (seed, every) in (0..60).zip([1, 2, 3, 7, 10].into_iter().cycle()) {
        let mut rng = informer_core::Rng::new(seed);
        let mut queue = queue(every);
        // Since when each key waits, in hand-outs, and how many were older then.
        let mut waits: Vec<(u64, u64, u64)> = Vec::new();
        let mut handed_out = 0;
        for key in 0..2000 {
            queue.key(key).add(Priority((rng.next_u64() as i8) >> rng.below(8)));
            waits.push((key, handed_out, waits.len() as u64));
            if rng.below(5) < 4 {
                let taken = names(&mut queue, 1)[0];
                handed_out += 1;
                let position = waits.iter().position(|(key, ..)| *key == taken).unwrap();
                let (_, since, older) = waits.remove(position);
                assert!(handed_out - since <= u64::from(every) * (older + 1), "seed {seed}, key {taken}");
            }
            for &(key, since, older) in &waits {
                assert!(handed_out - since < u64::from(every) * (older + 1), "seed {seed}, key {key}");
            }
        }
    }
}

#[test]
fn what_nobody_waits_for_has_low_priority() {
    let version = || ResourceVersion::new("1");
    let (key, uid) = (ObjectKey::new("a", "b"), Uid::new("u"));
    let object = || {
        let value = std::sync::Arc::new(());
        std::sync::Arc::new(Object { key: key.clone(), uid: uid.clone(), version: version(), value })
    };
    let added = |in_initial_list| Notification::Added { object: object(), in_initial_list };
    assert_eq!(Priority::of(&added(true)), Priority::LOW);
    assert_eq!(Priority::of(&Notification::Resync { object: object() }), Priority::LOW);
    assert_eq!(Priority::of(&added(false)), Priority::NORMAL);
    let deleted = Notification::Deleted { key: key.clone(), last_state: LastState::Known(object()) };
    assert_eq!(Priority::of(&deleted), Priority::NORMAL);
}

#[test]
fn memory_goes_back_when_a_burst_of_keys_is_done() {
    let mut queue = queue(10);
    for key in 0..100_000_u32 {
        queue.key(key).add(Priority::NORMAL);
    }
    assert!(queue.capacity() >= 100_000);
    while let Some(taken) = queue.pop() {
        queue.done(taken.id).unwrap();
    }
    assert_eq!((queue.metrics().known, queue.capacity()), (0, 0));
    queue.key(7).add(Priority::NORMAL);
    assert!(queue.capacity() < 100);
    queue.validate();
}

#[test]
fn a_shutdown_lets_go_of_all_delayed_keys() {
    let mut queue = queue(10);
    for key in 0..20_000_u64 {
        queue.key(key).add_after(Mono(0), Duration::from_millis(1 + key), Priority::NORMAL);
    }
    queue.shut_down();
    assert_eq!((queue.counters().dropped, queue.capacity(), queue.next_wake()), (20_000, 0, None));
    assert!(queue.is_drained());
}

#[test]
fn an_id_is_good_while_something_holds_its_key() {
    let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1));
    let mut queue = WorkQueue::new(WorkQueueOptions::default(), limiter, 1);
    let id = queue.key("a").id();
    assert_eq!(queue.name(id), None, "nothing held it");
    let id = queue.intern("a");
    assert_eq!(queue.intern("a"), id);
    assert!(queue.release_interned(id));
    queue.by_id(id).unwrap().add_rate_limited(Mono(0), Priority::NORMAL);
    assert!(queue.release_interned(id));
    assert_eq!(queue.name(id), Some(&"a"), "it is delayed");
    queue.by_id(id).unwrap().forget();
    assert_eq!(queue.name(id), Some(&"a"), "it is still delayed");
    queue.by_id(id).unwrap().add_rate_limited(Mono(0), Priority::NORMAL);
    queue.by_id(id).unwrap().forget_delayed();
    assert_eq!(queue.name(id), Some(&"a"), "the limiter remembers it");
    queue.by_id(id).unwrap().forget();
    assert_eq!(queue.name(id), None);
}

#[test]
fn a_limiter_that_counts_no_failures_holds_no_key() {
    let mut queue = WorkQueue::new(WorkQueueOptions::default(), TokenBucket::new(10.0, 2), 1);
    for key in 0..4 {
        queue.key(key).add_rate_limited(Mono(0), Priority::NORMAL);
    }
    assert_eq!((queue.len(), queue.delayed_len()), (2, 2));
    while let Some(taken) = queue.pop() {
        queue.done(taken.id).unwrap();
    }
    assert_eq!(queue.metrics().known, 2);
    queue.advance(Mono(200_000_000));
    assert_eq!(queue.len(), 2);
}

#[test]
fn a_key_hashed_beforehand_is_the_same_key() {
    let mut queue = queue(10);
    let hasher = queue.hasher().clone();
    queue.key("a").add(Priority::NORMAL);
    assert_eq!(queue.key_hashed("a", hasher.hash(&"a")).add(Priority::NORMAL), Added::Merged);
    assert_eq!(queue.key_hashed("b", hasher.hash(&"b")).add(Priority::NORMAL), Added::Queued);
    assert_eq!(queue.key("b").add(Priority::NORMAL), Added::Merged);
    assert_eq!(names(&mut queue, 9), ["a", "b"]);
}
