//! client-go's own tests of its work queue, by claim.

use std::time::Duration;

use informer_core::{
    Added, ItemExponential, Mono, NotProcessing, Priority, Taken, WorkQueue, WorkQueueOptions,
};

type Queue = WorkQueue<&'static str, ItemExponential>;

fn queue() -> Queue {
    let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1));
    WorkQueue::new(WorkQueueOptions::default(), limiter, 1)
}

fn add(queue: &mut Queue, key: &'static str) -> Added {
    queue.key(key).add(Priority::NORMAL)
}

fn add_after(queue: &mut Queue, now_ms: u64, key: &'static str, delay_ms: u64) -> Added {
    queue.key(key).add_after(ms(now_ms), Duration::from_millis(delay_ms), Priority::NORMAL)
}

fn ms(milliseconds: u64) -> Mono {
    Mono(milliseconds * 1_000_000)
}

fn pop(queue: &mut Queue) -> (&'static str, Taken) {
    let taken = queue.pop().expect("something waits");
    (queue.name(taken.id).unwrap(), taken)
}

/// Takes and finishes everything that waits at this time.
fn drain(queue: &mut Queue, now_ms: u64) -> Vec<&'static str> {
    queue.advance(ms(now_ms));
    std::iter::from_fn(|| {
        let taken = queue.pop()?;
        let key = *queue.name(taken.id).unwrap();
        queue.done(taken.id).unwrap();
        Some(key)
    })
    .collect()
}

/// `TestAddWhileProcessing`, `TestReinsert`
#[test]
fn a_key_added_while_it_is_processed_is_handed_out_once_more() {
    let mut queue = queue();
    add(&mut queue, "foo");
    let (_, taken) = pop(&mut queue);
    assert_eq!(add(&mut queue, "foo"), Added::Queued);
    assert_eq!(queue.len(), 0);
    assert!(queue.pop().is_none(), "nobody else gets it meanwhile");
    queue.done(taken.id).unwrap();
    assert_eq!(drain(&mut queue, 0), ["foo"]);
    assert!(queue.is_empty());
}

/// `TestLen`, `TestCollapse`
#[test]
fn a_key_added_twice_waits_once() {
    let mut queue = queue();
    assert_eq!(add(&mut queue, "foo"), Added::Queued);
    assert_eq!(queue.len(), 1);
    assert_eq!(add(&mut queue, "bar"), Added::Queued);
    assert_eq!(queue.len(), 2);
    assert_eq!(add(&mut queue, "foo"), Added::Merged);
    assert_eq!(queue.len(), 2);
    assert_eq!(drain(&mut queue, 0), ["foo", "bar"]);
}

/// `TestCollapseWhileProcessing`
#[test]
fn two_adds_while_a_key_is_processed_are_one_more_turn() {
    let mut queue = queue();
    add(&mut queue, "foo");
    let (_, taken) = pop(&mut queue);
    assert_eq!(add(&mut queue, "foo"), Added::Queued);
    assert_eq!(add(&mut queue, "foo"), Added::Merged);
    assert!(queue.pop().is_none(), "a second worker has to wait");
    queue.done(taken.id).unwrap();
    assert_eq!(drain(&mut queue, 0), ["foo"]);
}

/// `TestQueueDrainageUsingShutDownWithDrain`, `TestNoQueueDrainageUsingShutDown`
#[test]
fn drained_is_when_all_work_is_done() {
    let mut queue = queue();
    add(&mut queue, "foo");
    add(&mut queue, "bar");
    let (_, first) = pop(&mut queue);
    let (_, second) = pop(&mut queue);
    assert!(!queue.is_drained(), "nobody ended it");
    queue.shut_down();
    assert!(queue.is_exhausted() && !queue.is_drained());
    queue.done(first.id).unwrap();
    assert!(!queue.is_drained());
    queue.done(second.id).unwrap();
    assert!(queue.is_drained());
}

/// `TestQueueDrainageUsingShutDownWithDrainWithDirtyItem`; and unlike there, what waits is waited for too.
#[test]
fn a_key_added_before_the_shutdown_while_it_is_processed_is_still_handed_out() {
    let mut queue = queue();
    add(&mut queue, "foo");
    let (_, taken) = pop(&mut queue);
    add(&mut queue, "foo");
    queue.shut_down();
    assert!(!queue.is_exhausted(), "it comes back");
    queue.done(taken.id).unwrap();
    assert!(!queue.is_drained(), "it waits");
    let (key, taken) = pop(&mut queue);
    assert_eq!(key, "foo");
    assert!(queue.is_exhausted() && !queue.is_drained());
    queue.done(taken.id).unwrap();
    assert!(queue.is_drained());
}

/// `TestBasic`
#[test]
fn a_shutdown_ignores_adds_and_hands_out_what_waits() {
    let mut queue = queue();
    add(&mut queue, "foo");
    queue.shut_down();
    queue.shut_down();
    assert_eq!(add(&mut queue, "bar"), Added::Ignored);
    assert_eq!(add(&mut queue, "foo"), Added::Ignored);
    assert_eq!(add_after(&mut queue, 0, "bar", 10), Added::Ignored);
    assert_eq!(queue.key("bar").add_rate_limited(ms(0), Priority::NORMAL), Added::Ignored);
    assert_eq!(queue.counters().ignored, 4);
    assert_eq!(drain(&mut queue, 1000), ["foo"]);
    assert!(queue.known(&"bar").is_none() && queue.is_drained());
}

/// `TestGarbageCollection`
#[test]
fn a_key_that_is_done_is_dropped() {
    let key = std::sync::Arc::new(());
    let mut queue = WorkQueue::new(WorkQueueOptions::default(), (), 1);
    queue.key(std::sync::Arc::clone(&key)).add(Priority::NORMAL);
    let taken = queue.pop().unwrap();
    queue.done(taken.id).unwrap();
    assert_eq!(std::sync::Arc::strong_count(&key), 1);
}

/// `TestSimpleQueue`
#[test]
fn a_delayed_key_comes_once_and_not_before() {
    let mut queue = queue();
    assert_eq!(add_after(&mut queue, 0, "foo", 50), Added::Delayed);
    assert_eq!((queue.len(), queue.delayed_len()), (0, 1));
    assert!(drain(&mut queue, 49).is_empty());
    assert_eq!(drain(&mut queue, 60), ["foo"]);
    assert!(drain(&mut queue, 10_000).is_empty());
}

/// `TestDeduping`
#[test]
fn the_earlier_of_two_delays_wins() {
    let mut queue = queue();
    assert_eq!(add_after(&mut queue, 0, "foo", 50), Added::Delayed);
    assert_eq!(add_after(&mut queue, 0, "foo", 70), Added::Merged);
    assert_eq!(queue.delayed_len(), 1);
    assert_eq!(drain(&mut queue, 60), ["foo"]);
    assert!(drain(&mut queue, 80).is_empty());

    assert_eq!(add_after(&mut queue, 80, "foo", 50), Added::Delayed);
    assert_eq!(add_after(&mut queue, 80, "foo", 30), Added::Delayed);
    assert!(drain(&mut queue, 109).is_empty());
    assert_eq!(drain(&mut queue, 110), ["foo"]);
    assert!(drain(&mut queue, 1000).is_empty());
}

/// `TestAddTwoFireEarly`, `TestCopyShifting`
#[test]
fn delayed_keys_come_in_the_order_in_which_they_are_due() {
    let mut queue = queue();
    for (key, delay_ms) in [("first", 1000), ("second", 500), ("third", 250)] {
        add_after(&mut queue, 0, key, delay_ms);
    }
    assert_eq!(drain(&mut queue, 2000), ["third", "second", "first"]);
}

/// `TestRateLimitingQueue`
#[test]
fn a_failing_key_waits_longer_each_time_until_it_is_forgotten() {
    let mut queue = queue();
    let fail = |queue: &mut Queue, key| queue.key(key).add_rate_limited(ms(0), Priority::NORMAL);
    let due_in = |queue: &mut Queue, key| {
        let due = queue.next_wake();
        queue.known(&key).unwrap().forget_delayed();
        due
    };
    fail(&mut queue, "one");
    assert_eq!(due_in(&mut queue, "one"), Some(ms(1)));
    fail(&mut queue, "one");
    assert_eq!(due_in(&mut queue, "one"), Some(ms(2)));
    assert_eq!(queue.known(&"one").unwrap().num_requeues(), 2);
    fail(&mut queue, "two");
    assert_eq!(due_in(&mut queue, "two"), Some(ms(1)));
    queue.known(&"one").unwrap().forget();
    assert!(queue.known(&"one").is_none(), "nothing holds it any more");
    fail(&mut queue, "one");
    assert_eq!(due_in(&mut queue, "one"), Some(ms(1)));
}

/// `TestMetrics`
#[test]
fn metrics_count_and_measure() {
    let options = WorkQueueOptions { timings: true, ..WorkQueueOptions::default() };
    let mut queue = WorkQueue::new(options, (), 1);
    assert!(queue.wants_time());
    let us = |microseconds: u64| Mono(microseconds * 1000);
    queue.advance(us(0));
    queue.key("foo").add(Priority::NORMAL);
    assert_eq!((queue.metrics().depth, queue.metrics().counters.adds), (1, 1));

    queue.advance(us(50));
    let taken = queue.pop().unwrap();
    let metrics = queue.metrics();
    assert_eq!((metrics.depth, metrics.processing), (0, 1));
    assert_eq!(metrics.timings.unwrap().waiting.sum(), Duration::from_micros(50));
    for _ in 0..5 {
        queue.key("foo").add(Priority::NORMAL);
    }
    assert_eq!(queue.metrics().counters.adds, 2);

    queue.advance(us(1050));
    let timings = queue.metrics().timings.unwrap();
    assert_eq!([timings.unfinished, timings.longest_running], [Duration::from_millis(1); 2]);
    assert_eq!(timings.working.count(), 0);
    queue.done(taken.id).unwrap();
    let metrics = queue.metrics();
    let timings = metrics.timings.unwrap();
    assert_eq!((metrics.depth, metrics.processing), (1, 0));
    assert_eq!((timings.working.count(), timings.working.sum()), (1, Duration::from_millis(1)));
    assert_eq!(timings.unfinished, Duration::ZERO);
    assert_eq!(timings.working.counts()[5], 1, "within 1 ms, and more than 100 µs");

    let taken = queue.pop().unwrap();
    queue.advance(us(2050));
    assert_eq!(queue.metrics().timings.unwrap().longest_running, Duration::from_millis(1));
    queue.done(taken.id).unwrap();
    assert_eq!(queue.metrics().timings.unwrap().waiting.count(), 2);
}

#[test]
fn done_for_a_key_that_was_not_taken_is_an_error() {
    let mut queue = queue();
    let waiting = queue.intern("foo");
    assert_eq!(queue.done(waiting), Err(NotProcessing));
    add(&mut queue, "foo");
    assert_eq!(queue.done(waiting), Err(NotProcessing));
    let (_, taken) = pop(&mut queue);
    assert_eq!((taken.id, queue.done(taken.id)), (waiting, Ok(())));
    assert_eq!(queue.done(waiting), Err(NotProcessing));
    assert!(queue.release_interned(waiting) && !queue.release_interned(waiting));
    // The slot is another key's now.
    add(&mut queue, "bar");
    pop(&mut queue);
    assert_eq!(queue.done(waiting), Err(NotProcessing));
    assert!(queue.by_id(waiting).is_none() && queue.name(waiting).is_none());
}
