//! The end of a queue.

use std::time::Duration;

use informer::{Added, WorkQueue};
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

async fn work(queue: WorkQueue<u32>, each: Duration) -> Vec<u32> {
    let mut done = Vec::new();
    while let Some(key) = queue.get().await {
        sleep(each).await;
        done.push(*key);
    }
    done
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_every_waiting_worker() {
    let queue = WorkQueue::new();
    let workers = [(); 20].map(|()| tokio::spawn(work(queue.clone(), SECOND)));
    sleep(SECOND).await;
    queue.shut_down();
    queue.shut_down();
    for worker in workers {
        assert!(timeout(SECOND, worker).await.expect("it ends").unwrap().is_empty());
    }
    assert!(queue.is_shut_down() && queue.get().await.is_none());
}

/// `TestBasic`
#[tokio::test(start_paused = true)]
async fn what_waits_at_the_shutdown_is_handed_out_and_nothing_else() {
    let queue = WorkQueue::new();
    queue.add(1);
    queue.add_after(2, SECOND);
    queue.shut_down();
    assert_eq!([queue.add(3), queue.add_after(3, SECOND), queue.add_rate_limited(3)], [Added::Ignored; 3]);
    assert_eq!(work(queue.clone(), SECOND).await, [1]);
    let counters = queue.metrics().counters;
    assert_eq!((counters.ignored, counters.dropped), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_what_waits_and_for_what_is_being_processed() {
    let queue = WorkQueue::new();
    for key in 0..5 {
        queue.add(key);
    }
    let worker = tokio::spawn(work(queue.clone(), SECOND));
    let start = Instant::now();
    queue.drain(60 * SECOND).await.unwrap();
    assert_eq!(start.elapsed(), 5 * SECOND);
    assert_eq!(worker.await.unwrap(), [0, 1, 2, 3, 4]);
    queue.drain(Duration::ZERO).await.expect("it is drained already");
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_a_key_that_was_added_while_it_was_processed() {
    let queue = WorkQueue::new();
    queue.add(1);
    let key = queue.get().await.unwrap();
    queue.add(1);
    let worker = tokio::spawn(work(queue.clone(), SECOND));
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.drain(Duration::MAX).await }
    });
    sleep(SECOND).await;
    assert!(!worker.is_finished(), "the key comes back to somebody");
    key.done();
    drain.await.unwrap().unwrap();
    assert_eq!(worker.await.unwrap(), [1]);
}

#[tokio::test(start_paused = true)]
async fn drain_gives_up_at_its_deadline_and_says_what_is_left() {
    let queue = WorkQueue::new();
    for key in 0..3 {
        queue.add(key);
    }
    let stuck = queue.get().await.unwrap();
    let start = Instant::now();
    let error = queue.drain(10 * SECOND).await.unwrap_err();
    assert_eq!(start.elapsed(), 10 * SECOND);
    assert_eq!((error.waiting, error.processing, error.waited), (2, 1, 10 * SECOND));
    assert_eq!(work(queue.clone(), SECOND).await, [1, 2], "what is left can still be taken");
    timeout(SECOND, queue.drain(Duration::MAX)).await.expect_err("it is cancelled by dropping it");
    let (one, other, ()) = tokio::join!(queue.drain(SECOND), queue.drain(SECOND), async { drop(stuck) });
    assert_eq!((one, other), (Ok(()), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_the_shutdown_is_ignored_and_drain_ends() {
    let queue = WorkQueue::new();
    queue.add(1);
    let key = queue.get().await.unwrap();
    queue.shut_down();
    key.retry();
    queue.drain(SECOND).await.unwrap();
    assert_eq!((queue.metrics().counters.ignored, queue.num_requeues(&1)), (1, 0));
}
