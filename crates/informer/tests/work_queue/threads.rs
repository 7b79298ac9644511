//! Many threads.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer::{ItemFastSlow, Priority, Processing, WorkQueue};

const KEYS: usize = 50;
const ADDS: usize = 20_000;

/// What each key is to be reconciled to, and was.
#[derive(Default)]
struct World {
    wanted: Vec<AtomicU64>,
    done: Vec<AtomicU64>,
    busy: Mutex<HashSet<usize>>,
    retried: AtomicU64,
}

impl World {
    fn reconcile(&self, key: Processing<usize>) {
        assert!(self.busy.lock().unwrap().insert(*key), "a key is processed by one worker");
        let wanted = self.wanted[*key].load(Ordering::SeqCst);
        let done = self.done[*key].swap(wanted, Ordering::SeqCst);
        self.busy.lock().unwrap().remove(&key);
        match wanted % 5 {
            _ if done == wanted && key.num_requeues() > 0 => key.succeeded(),
            0 => {
                self.retried.fetch_add(1, Ordering::Relaxed);
                key.retry();
            }
            1 => drop(key),
            2 => key.requeue_after(Duration::from_micros(50)),
            _ => key.succeeded(),
        }
    }
}

/// Producers, workers of which some give up waiting all the time, retries and delays: in the end every key was processed after
/// it last changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_change_is_missed_and_no_key_is_processed_twice_at_once() {
    let limiter = ItemFastSlow::new(Duration::from_micros(10), Duration::from_micros(300), 2);
    let queue = WorkQueue::<usize>::builder().rate_limiter(limiter).build();
    let counters = || (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let world: &'static World =
        Box::leak(Box::new(World { wanted: counters(), done: counters(), ..World::default() }));

    let workers: Vec<_> = (0..6)
        .map(|number| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let impatient = Duration::from_micros(if number < 3 { 20 } else { 100_000_000 });
                loop {
                    match tokio::time::timeout(impatient, queue.get()).await {
                        Ok(Some(key)) => world.reconcile(key),
                        Ok(None) => return,
                        Err(_) => tokio::task::yield_now().await,
                    }
                }
            })
        })
        .collect();
    let producers: Vec<_> = (0..4)
        .map(|number| {
            let queue = queue.clone();
            tokio::task::spawn_blocking(move || {
                for add in 0..ADDS {
                    let key = (add * 7 + number * 13 + add / KEYS) % KEYS;
                    world.wanted[key].fetch_add(1, Ordering::SeqCst);
                    match add % 11 {
                        0 => queue.add_after(key, Duration::from_micros(30)),
                        1 => queue.add_with(key, Priority::LOW),
                        _ => queue.add(key),
                    };
                }
            })
        })
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    let settled = || {
        (0..KEYS)
            .all(|key| world.wanted[key].load(Ordering::SeqCst) == world.done[key].load(Ordering::SeqCst))
    };
    tokio::time::timeout(Duration::from_secs(60), async {
        while !settled() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("every change is processed");
    queue.drain(Duration::from_secs(60)).await.unwrap();
    for worker in workers {
        worker.await.unwrap();
    }
    let metrics = queue.metrics();
    assert_eq!((metrics.depth, metrics.delayed, metrics.processing), (0, 0, 0));
    assert!(world.retried.load(Ordering::Relaxed) > 0 && metrics.counters.merged > 0);
}

#[test]
fn queues_and_keys_can_be_sent_and_shared() {
    fn sent<T: Send + 'static>(_: &T) {}
    fn shared<T: Sync>(_: &T) {}
    let queue = WorkQueue::<String>::new();
    sent(&queue);
    shared(&queue);
    fn sent_get(queue: &WorkQueue<String>) -> impl Future<Output = Option<Processing<String>>> + Send {
        queue.get()
    }
    drop(sent_get(&queue));
}
