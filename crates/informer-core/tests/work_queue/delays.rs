//! Delays: what cancels them, how long they may be, and many of them.

use std::collections::BTreeMap;
use std::time::Duration;

use informer_core::{Added, KeyId, Mono, Priority, Rng, WorkQueue, WorkQueueOptions};

const HOUR: Duration = Duration::from_secs(3600);

fn queue<K>() -> WorkQueue<K, ()> {
    WorkQueue::new(WorkQueueOptions::default(), (), 1)
}

fn after(delay: Duration) -> Mono {
    Mono(0).after(delay)
}

#[test]
fn an_immediate_add_cancels_the_delay_whichever_came_first() {
    for delay_first in [true, false] {
        let mut queue = queue();
        let delay =
            |queue: &mut WorkQueue<_, ()>| queue.key("a").add_after(Mono(0), 5 * HOUR, Priority::NORMAL);
        if delay_first {
            assert_eq!(delay(&mut queue), Added::Delayed);
        }
        assert_eq!(queue.key("a").add(Priority::NORMAL), Added::Queued);
        if !delay_first {
            assert_eq!(delay(&mut queue), Added::Merged);
        }
        assert_eq!((queue.delayed_len(), queue.next_wake()), (0, None));
        let taken = queue.pop().unwrap();
        queue.done(taken.id).unwrap();
        queue.advance(after(6 * HOUR));
        assert!(queue.pop().is_none(), "it was handed out, and is not a second time");
    }
}

#[test]
fn a_delay_asked_for_while_processing_survives_done_and_not_an_add() {
    let mut queue = queue();
    queue.key("a").add(Priority::NORMAL);
    let taken = queue.pop().unwrap();
    queue.by_id(taken.id).unwrap().add_after(Mono(0), HOUR, Priority::NORMAL);
    queue.done(taken.id).unwrap();
    assert_eq!((queue.len(), queue.delayed_len()), (0, 1));
    queue.advance(after(HOUR));
    let taken = queue.pop().unwrap();
    queue.by_id(taken.id).unwrap().add_after(after(HOUR), HOUR, Priority::NORMAL);
    queue.by_id(taken.id).unwrap().add(Priority::NORMAL);
    queue.done(taken.id).unwrap();
    assert_eq!((queue.len(), queue.delayed_len()), (1, 0));
}

#[test]
fn a_delay_that_ends_while_the_key_is_processed_waits_for_done() {
    let mut queue = queue();
    queue.key("a").add(Priority::NORMAL);
    let taken = queue.pop().unwrap();
    queue.key("a").add_after(Mono(0), HOUR, Priority::NORMAL);
    queue.advance(after(HOUR));
    assert!(queue.pop().is_none());
    queue.done(taken.id).unwrap();
    assert!(queue.pop().is_some());
}

#[test]
fn a_delay_can_be_replaced_by_a_longer_one_or_forgotten() {
    let mut queue = queue();
    queue.key("a").add_after(Mono(0), HOUR, Priority::NORMAL);
    assert_eq!(queue.key("a").replace_delay(Mono(0), 2 * HOUR, Priority::NORMAL), Added::Delayed);
    queue.advance(after(HOUR));
    assert_eq!((queue.len(), queue.delayed_len()), (0, 1));
    queue.advance(after(2 * HOUR));
    assert_eq!((queue.len(), queue.delayed_len()), (1, 0));
    assert_eq!(queue.key("a").replace_delay(after(2 * HOUR), HOUR, Priority::NORMAL), Added::Merged);
    assert!(!queue.key("a").forget_delayed(), "what waits is not delayed");
    queue.key("b").add_after(after(2 * HOUR), HOUR, Priority::NORMAL);
    assert!(queue.key("b").forget_delayed());
    assert!(queue.known(&"b").is_none());
    assert_eq!(queue.key("b").add_after(Mono(0), Duration::ZERO, Priority::NORMAL), Added::Queued);
}

#[test]
fn the_longest_delay_is_never() {
    let mut queue = queue();
    queue.advance(Mono(77));
    queue.key("never").add_after(Mono(77), Duration::MAX, Priority::NORMAL);
    queue.key("late").add_after(Mono(77), Duration::from_secs(60 * 60 * 24 * 365 * 500), Priority::NORMAL);
    assert!(queue.next_wake().unwrap() > Mono(77));
    queue.advance(Mono(u64::MAX - 1));
    assert_eq!((queue.len(), queue.delayed_len()), (1, 1));
    queue.shut_down();
    assert_eq!((queue.delayed_len(), queue.counters().dropped), (0, 1));
}

#[test]
fn time_that_goes_backwards_stands_still() {
    let mut queue = queue();
    queue.advance(after(HOUR));
    queue.advance(Mono(0));
    queue.key("a").add_after(Mono(0), HOUR, Priority::NORMAL);
    queue.advance(after(2 * HOUR - Duration::from_nanos(1)));
    assert!(queue.is_empty());
    queue.advance(after(2 * HOUR));
    assert_eq!(queue.len(), 1);
}

/// One key, which is delayed again and again.
#[test]
fn cancelled_delays_do_not_pile_up() {
    let mut queue = queue();
    queue.key(u32::MAX).add_after(Mono(0), HOUR, Priority::NORMAL);
    for number in 0..50_000_u32 {
        queue.key(number % 3).add_after(Mono(0), 5 * HOUR, Priority::NORMAL);
        queue.key(number % 3).add(Priority::NORMAL);
        let taken = queue.pop().unwrap();
        queue.done(taken.id).unwrap();
        if number % 997 == 0 {
            // Among other things: no more dead timers than a thousand.
            queue.validate();
        }
    }
    assert_eq!((queue.metrics().known, queue.delayed_len()), (1, 1));
}

/// Against a sorted map, with times from nanoseconds to centuries, and steps as uneven.
#[test]
fn any_delays_come_in_order_at_their_time() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut queue = queue();
        let ids: Vec<KeyId> = (0..60).map(|key| queue.intern(key)).collect();
        let mut model = BTreeMap::new();
        let mut due_of = vec![None; ids.len()];
        let mut now = Mono(rng.next_u64() >> (1 + rng.below(63)));
        queue.advance(now);
        for added in 0..600_u64 {
            let key = rng.below(60) as usize;
            let delay = Duration::from_nanos((rng.next_u64() >> rng.below(63)).max(1));
            if let Some(before) = due_of[key].take() {
                model.remove(&before);
            }
            queue.by_id(ids[key]).unwrap().replace_delay(now, delay, Priority::NORMAL);
            due_of[key] = Some((now.after(delay), added));
            model.insert((now.after(delay), added), key);

            if rng.below(4) == 0 {
                let step = rng.next_u64() >> rng.below(64);
                // Mostly to where something happens, or just before.
                let wake = queue.next_wake().unwrap_or(now);
                now = if rng.below(3) > 0 {
                    Mono(wake.0 - rng.below(2)).max(now)
                } else {
                    Mono(now.0.saturating_add(step))
                };
                // At the end of time everything would be due at once.
                now = now.min(Mono(u64::MAX - 1));
                let mut due = Vec::new();
                while let Some(entry) = model.first_entry().filter(|entry| entry.key().0 <= now) {
                    due_of[*entry.get()] = None;
                    due.push(ids[entry.remove()]);
                }
                queue.advance(now);
                let handed_out: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|taken| taken.id).collect();
                assert_eq!(handed_out, due, "seed {seed}");
                for id in handed_out {
                    queue.done(id).unwrap();
                }
                queue.validate();
            }
        }
    }
}

#[test]
fn few_wakes_lead_to_a_far_delay() {
    let mut queue = queue();
    queue.key("a").add_after(Mono(12_345), 500 * 24 * HOUR, Priority::NORMAL);
    queue.key("b").add_after(Mono(12_345), Duration::MAX, Priority::NORMAL);
    let mut wakes = 0;
    while queue.is_empty() {
        queue.advance(queue.next_wake().unwrap());
        wakes += 1;
    }
    assert!(wakes <= 9, "{wakes}");
}

/// On its way down, where a cancelled timer is left behind, and at its end.
#[test]
fn what_was_cancelled_on_the_way_never_comes() {
    for stop in [Duration::ZERO, Duration::from_millis(9_900), Duration::from_millis(9_999)] {
        let mut queue = queue();
        for key in 0..900_u64 {
            queue.key(key).add_after(Mono(0), Duration::from_micros(10_000_000 + key), Priority::NORMAL);
        }
        queue.advance(after(stop));
        for key in (0..900).filter(|key| key % 3 > 0) {
            assert!(queue.key(key).forget_delayed());
        }
        queue.validate();
        queue.advance(after(Duration::from_millis(9_999)));
        queue.validate();
        queue.advance(after(Duration::from_secs(11)));
        queue.validate();
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let keys: Vec<_> = taken.iter().map(|taken| *queue.name(taken.id).unwrap()).collect();
        assert_eq!(keys, (0..900).filter(|key| key % 3 == 0).collect::<Vec<_>>());
    }
}
