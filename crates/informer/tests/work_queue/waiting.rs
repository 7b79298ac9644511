//! Waiting for keys, delayed ones too, and dropping the wait.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use informer::{Added, Priority, WorkQueue};
use tokio::time::{Instant, advance, sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The next key, done at once, and when it came.
async fn next(queue: &WorkQueue<&'static str>, start: Instant) -> (&'static str, Duration) {
    let key = *queue.get().await.expect("the queue was not shut down");
    (key, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn get_waits_until_something_is_added() {
    let queue = WorkQueue::new();
    let mut get = pin!(queue.get());
    assert!(poll_once(get.as_mut()).is_pending());
    assert_eq!(queue.add("a"), Added::Queued);
    assert_eq!(**get.await.as_ref().unwrap(), "a");
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_key_in_somebodys_hands_is_nobody_elses() {
    let queue = WorkQueue::new();
    queue.add("a");
    let first = queue.get().await.unwrap();
    queue.add("a");
    queue.add("a");
    timeout(HOUR, queue.get()).await.expect_err("it is being processed");
    first.done();
    drop(queue.get().await.unwrap());
    timeout(HOUR, queue.get()).await.expect_err("once more is enough");
}

#[tokio::test(start_paused = true)]
async fn delays_end_in_order_while_somebody_waits() {
    let queue = WorkQueue::new();
    let start = Instant::now();
    for (key, delay) in
        [("c", ms(300)), ("a", ms(100)), ("never", Duration::MAX), ("b", ms(200)), ("d", 5 * HOUR)]
    {
        assert_eq!(queue.add_after(key, delay), Added::Delayed);
    }
    for expected in [("a", ms(100)), ("b", ms(200)), ("c", ms(300)), ("d", 5 * HOUR)] {
        assert_eq!(next(&queue, start).await, expected);
    }
    timeout(1000 * HOUR, queue.get()).await.expect_err("never");
    assert_eq!(queue.metrics().delayed, 1);
}

#[tokio::test(start_paused = true)]
async fn delays_end_also_when_nobody_waited() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(10));
    sleep(ms(9)).await;
    assert_eq!(queue.len(), 0);
    sleep(ms(1)).await;
    assert_eq!(queue.len(), 1);
    assert!(poll_once(pin!(queue.get())).is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_shorter_delay_wakes_who_sleeps_for_a_longer_one() {
    let queue = WorkQueue::new();
    queue.add_after("late", HOUR);
    let start = Instant::now();
    let waiter = tokio::spawn({
        let queue = queue.clone();
        async move { next(&queue, start).await }
    });
    sleep(ms(1)).await;
    queue.add_after("early", ms(20));
    assert_eq!(waiter.await.unwrap(), ("early", ms(21)));
}

#[tokio::test(start_paused = true)]
async fn an_immediate_add_cancels_the_delay() {
    let queue = WorkQueue::new();
    queue.add_after("a", 5 * HOUR);
    queue.add("a");
    drop(queue.get().await.unwrap());
    timeout(6 * HOUR, queue.get()).await.expect_err("it was handed out already");

    queue.add_after("a", 5 * HOUR);
    assert_eq!(queue.replace_delay("a", 7 * HOUR), Added::Delayed);
    timeout(6 * HOUR, queue.get()).await.expect_err("it was put off");
    assert!(queue.forget_delayed(&"a") && !queue.forget_delayed(&"a"));
    timeout(6 * HOUR, queue.get()).await.expect_err("it was forgotten");
    assert_eq!(queue.metrics().known, 0);
}

#[tokio::test(start_paused = true)]
async fn a_get_that_is_dropped_loses_no_key() {
    let queue = WorkQueue::new();
    for woken_first in [true, false] {
        let mut second = Box::pin(queue.get());
        {
            let mut first = pin!(queue.get());
            assert!(poll_once(first.as_mut()).is_pending());
            assert!(poll_once(second.as_mut()).is_pending());
            if woken_first {
                // Wakes the first, which does not get to run.
                queue.add("a");
            }
        }
        if !woken_first {
            queue.add("a");
        }
        assert_eq!(*timeout(ms(1), second).await.expect("it is woken instead").unwrap(), "a");
    }
    for _ in 0..100 {
        let _timed_out = timeout(ms(1), queue.get()).await;
    }
    queue.add("b");
    assert_eq!(*queue.get().await.unwrap(), "b");
}

#[tokio::test(start_paused = true)]
async fn a_delay_ends_also_when_who_slept_for_it_is_dropped() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(50));
    let mut keeper = Box::pin(queue.get());
    assert!(poll_once(keeper.as_mut()).is_pending());
    let start = Instant::now();
    let other = tokio::spawn({
        let queue = queue.clone();
        async move { next(&queue, start).await }
    });
    sleep(ms(10)).await;
    drop(keeper);
    assert_eq!(other.await.unwrap(), ("a", ms(50)));
}

#[tokio::test(start_paused = true)]
async fn many_delays_reach_many_workers_on_time() {
    let queue = WorkQueue::<u64>::new();
    let start = Instant::now();
    let workers: Vec<_> = (0..50)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut late = Vec::new();
                while let Some(key) = queue.get().await {
                    late.push(start.elapsed() - ms(1 + *key / 3));
                    sleep(ms(20)).await;
                }
                late
            })
        })
        .collect();
    sleep(Duration::ZERO).await;
    for key in (0..2000).rev() {
        queue.add_after(key, ms(1 + key / 3));
    }
    sleep(ms(2000)).await;
    queue.shut_down();
    let mut seen = 0;
    for worker in workers {
        // With three keys a millisecond, each worked on for 20, some are late when all 50 workers are busy.
        let late = worker.await.unwrap();
        assert!(late.iter().all(|&late| late < ms(200)), "{late:?}");
        seen += late.len();
    }
    assert_eq!(seen, 2000);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_what_there_is_up_to_so_many() {
    let queue = WorkQueue::new();
    for key in 0..5 {
        queue.add_with(key, if key == 3 { Priority::NORMAL } else { Priority::LOW });
    }
    let batch = queue.get_batch(3).await;
    assert_eq!(batch.iter().map(|key| **key).collect::<Vec<_>>(), [3, 0, 1]);
    assert_eq!(batch[0].priority(), Priority::NORMAL);
    assert_eq!(queue.get_batch(0).await.len(), 1, "at least one");
    assert_eq!(queue.get_batch(usize::MAX).await.len(), 1);
    timeout(HOUR, queue.get_batch(9)).await.expect_err("nothing waits");
    assert_eq!(queue.metrics().processing, 3);
    drop(batch);
    queue.shut_down();
    assert!(queue.get_batch(9).await.is_empty());
}

#[tokio::test]
async fn a_worker_that_always_finds_something_lets_others_run() {
    let queue = WorkQueue::new();
    queue.add(1);
    let others = tokio::spawn(async {});
    let mut turns = 0;
    while !others.is_finished() {
        assert!(turns < 10_000, "others never run");
        let key = queue.get().await.unwrap();
        queue.add(*key);
        turns += 1;
    }
}

#[test]
fn without_delays_any_runtime_will_do() {
    let queue = WorkQueue::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    queue.add(7);
    assert_eq!(runtime.block_on(async { *queue.get().await.unwrap() }), 7);
}

#[tokio::test(start_paused = true)]
async fn who_is_stuck_can_be_seen() {
    let queue = WorkQueue::<&str>::builder().timings(true).build();
    queue.add("a");
    advance(ms(50)).await;
    let _stuck = queue.get().await.unwrap();
    advance(HOUR).await;
    queue.add("b");
    let timings = queue.metrics().timings.unwrap();
    assert_eq!((timings.waiting.sum(), timings.longest_running, timings.unfinished), (ms(50), HOUR, HOUR));
    assert_eq!(queue.metrics().depth_by_priority, [(Priority::NORMAL, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_key_outlives_the_handle_it_was_taken_through() {
    let queue = WorkQueue::new();
    let handle = queue.clone();
    handle.add("a");
    let key = handle.get().await.unwrap();
    drop(handle);
    queue.add("a");
    assert_eq!(queue.metrics().processing, 1);
    key.done();
    assert_eq!(*queue.get().await.unwrap(), "a");
}
