//! One figure of the work queue, as one number: `bench-queue shell`. bench/peers/client-go/queue.go does the same.
//!
//! Keys are added in bursts of a hundred, what a drain of an informer might bring, and then taken and done one by one. The names are
//! made before the clock runs.

use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use informer::WorkQueue;
use informer_core::{ItemExponential, Mono, ObjectKey, Priority, Rng, WorkQueueOptions};

/// Prints one figure.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(value_enum)]
    figure: Figure,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Figure {
    /// Nanoseconds of CPU for add, get, done in the pure core, by interned ids.
    CoreId,
    /// The same by keys.
    CoreKey,
    /// The same in the shared, awaited queue.
    Shell,
    /// The same with the failures forgotten, as a worker does on success.
    ShellLimited,
    /// Nanoseconds of CPU for each of a million delays and their ends in the pure core, by interned ids.
    DelayedCoreId,
    /// The same by keys.
    DelayedCoreKey,
    /// The same in the shared, awaited queue, taken and done, on the real clock.
    DelayedShell,
    /// Bytes of each of a million waiting keys, their names apart.
    Bytes,
    /// Millions of add, get, done a second, of one thread.
    OneThread,
    /// The same of two threads on one queue.
    TwoThreads,
}

type Core = informer_core::WorkQueue<ObjectKey, ItemExponential>;

const KEYS: usize = 20_000;
const BURST: usize = 100;
const CYCLES: usize = 2_000_000;
const MANY: usize = 1_000_000;
/// The longest of the delays on the real clock.
const DELAY: Duration = Duration::from_secs(2);

fn main() {
    let value = match Arguments::parse().figure {
        Figure::CoreId => core_id(),
        Figure::CoreKey => core_key(),
        Figure::Shell => shell(false),
        Figure::ShellLimited => shell(true),
        Figure::DelayedCoreId => delayed_core(true),
        Figure::DelayedCoreKey => delayed_core(false),
        Figure::DelayedShell => delayed_shell(),
        Figure::Bytes => bytes(),
        Figure::OneThread => threads(1),
        Figure::TwoThreads => threads(2),
    };
    println!("{value}");
}

fn names(count: usize) -> Vec<ObjectKey> {
    let name =
        |number| ObjectKey::new(&format!("team-{}", number % 40), &format!("web-7d9f8b6c5-{number:06}"));
    (0..count).map(name).collect()
}

/// Every number below `count` once, in an order in which neighbours are not neighbours in memory.
fn shuffled(count: usize) -> Vec<usize> {
    let mut rng = Rng::new(7);
    let mut order: Vec<_> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, rng.below(at as u64 + 1) as usize);
    }
    order
}

fn core() -> Core {
    let limiter = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000));
    Core::new(WorkQueueOptions::default(), limiter, 1)
}

fn each(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count as f64
}

fn core_id() -> f64 {
    let mut queue = core();
    let ids: Vec<_> = names(KEYS).into_iter().map(|key| queue.intern(key)).collect();
    let order: Vec<_> = shuffled(KEYS).into_iter().map(|number| ids[number]).collect();
    cycles(&mut queue, &order, |queue, &id| {
        queue.by_id(id).expect("it was interned").add(Priority::NORMAL);
    })
}

fn core_key() -> f64 {
    let keys = names(KEYS);
    let order: Vec<_> = shuffled(KEYS).into_iter().map(|number| keys[number].clone()).collect();
    cycles(&mut core(), &order, |queue, key| {
        queue.key(key.clone()).add(Priority::NORMAL);
    })
}

fn cycles<T>(queue: &mut Core, order: &[T], add: impl Fn(&mut Core, &T)) -> f64 {
    let begun = cpu_time();
    for _ in 0..CYCLES / KEYS {
        for burst in order.chunks(BURST) {
            burst.iter().for_each(|key| add(queue, key));
            while let Some(taken) = queue.pop() {
                black_box(queue.name(taken.id));
                queue.done(taken.id).expect("it was taken");
            }
        }
    }
    each(cpu_time() - begun, CYCLES)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

fn shell(with_limiter: bool) -> f64 {
    let keys = names(KEYS);
    let order: Vec<_> = shuffled(KEYS).into_iter().map(|number| keys[number].clone()).collect();
    let queue = WorkQueue::new();
    let begun = cpu_time();
    runtime().block_on(work(&queue, &order, CYCLES / KEYS, with_limiter));
    each(cpu_time() - begun, CYCLES)
}

/// Adds each of the keys, so many times over, and takes as many.
async fn work(queue: &WorkQueue<ObjectKey>, keys: &[ObjectKey], times: usize, with_limiter: bool) {
    for _ in 0..times {
        for burst in keys.chunks(BURST) {
            for key in burst {
                queue.add(key.clone());
            }
            for _ in burst {
                let taken = queue.get().await.expect("it is not shut down");
                black_box(taken.key());
                if with_limiter { taken.succeeded() } else { taken.done() }
            }
        }
    }
}

fn delays(longest: Duration) -> Vec<Duration> {
    let mut rng = Rng::new(3);
    (0..MANY).map(|_| rng.duration(Duration::from_nanos(1), longest)).collect()
}

/// Delays of up to 1000 s, ended in steps of 10 ms.
fn delayed_core(interned: bool) -> f64 {
    let (mut queue, mut keys) = (core(), names(MANY));
    let delays = delays(Duration::from_secs(1000));
    let ids: Vec<_> =
        if interned { keys.drain(..).map(|key| queue.intern(key)).collect() } else { Vec::new() };
    let begun = cpu_time();
    for (id, &delay) in ids.into_iter().zip(&delays) {
        queue.by_id(id).expect("it was interned").add_after(Mono(0), delay, Priority::NORMAL);
    }
    for (key, &delay) in keys.into_iter().zip(&delays) {
        queue.key(key).add_after(Mono(0), delay, Priority::NORMAL);
    }
    for step in 1..=100_000 {
        queue.advance(Mono(step * 10_000_000));
    }
    assert_eq!(queue.len(), MANY);
    each(cpu_time() - begun, MANY)
}

fn delayed_shell() -> f64 {
    let (keys, delays, queue) = (names(MANY), delays(DELAY), WorkQueue::new());
    let begun = cpu_time();
    runtime().block_on(async {
        for (key, delay) in keys.into_iter().zip(delays) {
            queue.add_after(key, delay);
        }
        for _ in 0..MANY {
            queue.get().await.expect("it is not shut down").done();
        }
    });
    each(cpu_time() - begun, MANY)
}

/// What the process grew by.
fn bytes() -> f64 {
    let (keys, queue) = (names(MANY), WorkQueue::new());
    let before = resident_bytes();
    for key in &keys {
        queue.add(key.clone());
    }
    let grown = resident_bytes().saturating_sub(before);
    black_box(&queue);
    grown as f64 / MANY as f64
}

/// Each of a million keys once: one that came again while the thread that took it is held up would be one less to take.
fn threads(count: usize) -> f64 {
    let keys = names(MANY);
    let order: Vec<_> = shuffled(MANY).into_iter().map(|number| keys[number].clone()).collect();
    // Each thread's own, made before the clock runs and dropped after.
    let parts: Vec<Arc<[_]>> = order.chunks(MANY / count).map(Arc::from).collect();
    let queue = WorkQueue::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(count).enable_time().build();
    let runtime = runtime.expect("a runtime");
    let begun = Instant::now();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for part in &parts {
            let (queue, part) = (queue.clone(), Arc::clone(part));
            // As much in all, however many there are.
            tasks.push(tokio::spawn(async move { work(&queue, &part, 1, false).await }));
        }
        for task in tasks {
            task.await.expect("it does not panic");
        }
    });
    MANY as f64 / begun.elapsed().as_secs_f64() / 1e6
}

/// The time this thread has been running.
fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let running_ns = schedule.split(' ').next().and_then(|running| running.parse().ok());
    running_ns.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}
