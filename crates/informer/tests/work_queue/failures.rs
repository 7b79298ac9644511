//! Keys that fail, and workers that do.

use std::time::Duration;

use informer::{ItemExponential, ItemFastSlow, Priority, WorkQueue};
use tokio::time::{Instant, timeout};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_comes_back_later_each_time_at_its_priority() {
    let queue = WorkQueue::new();
    queue.add_with("a", Priority::LOW);
    let mut waits = Vec::new();
    for failures in 0..5 {
        let start = Instant::now();
        let key = queue.get().await.unwrap();
        assert_eq!((key.num_requeues(), key.priority()), (failures, Priority::LOW));
        waits.push(start.elapsed());
        key.retry();
    }
    assert_eq!(waits, [ms(0), ms(5), ms(10), ms(20), ms(40)]);
    assert_eq!(queue.num_requeues(&"a"), 5);
    queue.get().await.unwrap().succeeded();
    assert_eq!((queue.num_requeues(&"a"), queue.metrics().known), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn forgetting_does_not_cancel_the_next_try() {
    let queue = WorkQueue::<&str>::builder().rate_limiter(ItemFastSlow::new(ms(1), ms(50), 1)).build();
    let start = Instant::now();
    queue.add_rate_limited("a");
    queue.add_rate_limited("a");
    assert_eq!(queue.num_requeues(&"a"), 2);
    queue.forget(&"a");
    queue.forget(&"nobody");
    assert_eq!(queue.num_requeues(&"a"), 0);
    assert_eq!(*queue.get().await.unwrap(), "a");
    assert_eq!(start.elapsed(), ms(1), "the earlier of the two delays");
}

#[tokio::test(start_paused = true)]
async fn requeue_after_comes_back_once_and_forgets_failures() {
    let queue = WorkQueue::new();
    queue.add_rate_limited("a");
    let start = Instant::now();
    let key = queue.get().await.unwrap();
    assert_eq!(key.num_requeues(), 1);
    key.requeue_after(Duration::from_secs(30));
    assert_eq!(queue.num_requeues(&"a"), 0);
    let key = queue.get().await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(30_005));
    drop(key);
    timeout(Duration::from_secs(3600), queue.get()).await.expect_err("only once");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_changed_meanwhile_is_retried_at_once() {
    let queue = WorkQueue::new();
    queue.add("a");
    let key = queue.get().await.unwrap();
    queue.add("a");
    key.retry();
    let start = Instant::now();
    assert_eq!(queue.get().await.unwrap().num_requeues(), 1);
    assert_eq!(start.elapsed(), Duration::ZERO);
    timeout(Duration::from_secs(3600), queue.get()).await.expect_err("and not a second time");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_or_is_aborted_leaves_no_key_behind() {
    let queue = WorkQueue::new();
    queue.add("a");
    let panicking = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _key = queue.get().await;
            panic!("on purpose");
        }
    });
    panicking.await.unwrap_err();
    let stuck = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _key = queue.get().await;
            std::future::pending::<()>().await;
        }
    });
    queue.add("a");
    tokio::time::sleep(ms(1)).await;
    assert_eq!((queue.len(), queue.metrics().processing), (0, 1));
    stuck.abort();
    stuck.await.unwrap_err();
    queue.add("a");
    assert_eq!(*queue.get().await.unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn errors_and_debug_texts_name_no_more_than_the_key() {
    let queue = WorkQueue::<&str>::builder().rate_limiter(ItemExponential::new(ms(1), ms(2))).build();
    queue.add("a");
    let key = queue.get().await.unwrap();
    assert!(format!("{key:?}").contains("\"a\""));
    assert!(format!("{queue:?}").contains("processing: 1"));
    let error = queue.drain(ms(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "not drained after 1ms: 0 keys wait, 1 are being processed");
}
