//! What the work queue costs, in nanoseconds and bytes. Run it with `--release`, on a quiet machine.
//!
//! Each figure is the median of seven rounds, single-threaded, without a lock; in CPU time where `/proc` tells it, so that
//! neighbours on the machine disturb it less.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use informer_core::{ItemExponential, KeyId, Mono, ObjectKey, Priority, Rng, WorkQueue, WorkQueueOptions};

type Queue = WorkQueue<ObjectKey, ItemExponential>;

const KEYS: usize = 20_000;
/// Keys added before the same are taken: what one drain of an informer might bring.
const BURST: usize = 100;
const CYCLES: usize = 2_000_000;
const TIMERS: usize = 1_000_000;
const ROUNDS: usize = 7;

fn main() {
    let many: Vec<_> = (0..TIMERS).map(key).collect();
    // First, while the heap has nothing to use again.
    println!("{:<44} {:>7.1} bytes", "per waiting key (1 M; the names apart)", bytes_per_key(&many));
    let keys: Vec<_> = (0..KEYS).map(key).collect();
    report("add-get-done, interned ids, bursts of 100", || {
        interned(&keys, BURST, WorkQueueOptions::default())
    });
    report("add-get-done, interned ids, one at a time", || interned(&keys, 1, WorkQueueOptions::default()));
    report("add-get-done, interned ids, timings on", || {
        interned(&keys, BURST, WorkQueueOptions { timings: true, ..WorkQueueOptions::default() })
    });
    report("add-get-done, interned ids, two priorities", || two_priorities(&keys));
    report("add-get-done, ObjectKey, bursts of 100", || by_key(&keys, BURST));
    report("add-get-done, ObjectKey, one at a time", || by_key(&keys, 1));
    report("1 M delayed, interned ids, add + expire", || delayed(&many, true));
    report("1 M delayed, ObjectKey, add + expire", || delayed(&many, false));
    report("1 M add, get, done of distinct ObjectKeys", || backlog(&many));
}

/// The time that one of these many took.
struct Took {
    time: Duration,
    count: usize,
}

/// Runs what the first argument is a part of, or everything.
fn report(what: &str, mut run: impl FnMut() -> Took) {
    if !std::env::args().nth(1).is_none_or(|wanted| what.contains(&wanted)) {
        return;
    }
    let mut rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let took = run();
            took.time.as_nanos() as f64 / took.count as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{what:<44} {:>7.1} ns  ({:.1} to {:.1})", rounds[ROUNDS / 2], rounds[0], rounds[ROUNDS - 1]);
}

fn key(number: usize) -> ObjectKey {
    ObjectKey::new(&format!("team-{}", number % 40), &format!("web-7d9f8b6c5-{number:06}"))
}

fn queue(options: WorkQueueOptions) -> Queue {
    WorkQueue::new(options, ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000)), 1)
}

/// Numbers below `bound`, so that neighbours in time are not neighbours in memory.
fn shuffled(bound: usize, count: usize) -> Vec<usize> {
    let mut rng = Rng::new(7);
    (0..count).map(|_| rng.below(bound as u64) as usize).collect()
}

fn interned(keys: &[ObjectKey], burst: usize, options: WorkQueueOptions) -> Took {
    let mut queue = queue(options);
    let ids: Vec<_> = keys.iter().map(|key| queue.intern(key.clone())).collect();
    let order: Vec<KeyId> = shuffled(KEYS, CYCLES).into_iter().map(|number| ids[number]).collect();
    cycle(queue, &order, burst, |queue, &id| {
        queue.by_id(id).unwrap().add(Priority::NORMAL);
    })
}

fn two_priorities(keys: &[ObjectKey]) -> Took {
    let mut queue = queue(WorkQueueOptions::default());
    let ids: Vec<_> = keys.iter().map(|key| queue.intern(key.clone())).collect();
    let order: Vec<_> = shuffled(KEYS, CYCLES)
        .into_iter()
        .map(|number| (ids[number], if number % 2 == 0 { Priority::LOW } else { Priority::NORMAL }))
        .collect();
    cycle(queue, &order, BURST, |queue, &(id, priority)| {
        queue.by_id(id).unwrap().add(priority);
    })
}

/// Keys are cloned before the clock runs: a caller has them already, and their drop is part of the cost.
fn by_key(keys: &[ObjectKey], burst: usize) -> Took {
    let order: Vec<_> = shuffled(KEYS, CYCLES)
        .into_iter()
        .map(|number| std::cell::Cell::new(Some(keys[number].clone())))
        .collect();
    cycle(queue(WorkQueueOptions::default()), &order, burst, |queue, key| {
        queue.key(key.take().unwrap()).add(Priority::NORMAL);
    })
}

fn cycle<T>(mut queue: Queue, order: &[T], burst: usize, add: impl Fn(&mut Queue, &T)) -> Took {
    let begun = cpu_time();
    for burst in order.chunks(burst) {
        for what in burst {
            add(&mut queue, what);
        }
        while let Some(taken) = queue.pop() {
            black_box(queue.name(taken.id));
            queue.done(taken.id).unwrap();
        }
    }
    Took { time: cpu_time() - begun, count: order.len() }
}

/// Delays of up to 1000 s, expired in steps of 10 ms.
fn delayed(keys: &[ObjectKey], interned: bool) -> Took {
    let mut queue = queue(WorkQueueOptions::default());
    let mut rng = Rng::new(3);
    let delays: Vec<_> =
        keys.iter().map(|_| rng.duration(Duration::from_nanos(1), Duration::from_secs(1000))).collect();
    let ids: Vec<_> = keys.iter().filter(|_| interned).map(|key| queue.intern(key.clone())).collect();
    let mut owned = keys.to_vec();
    let begun = cpu_time();
    if interned {
        for (id, delay) in ids.into_iter().zip(delays) {
            queue.by_id(id).unwrap().add_after(Mono(0), delay, Priority::NORMAL);
        }
    } else {
        for (key, delay) in owned.drain(..).zip(delays) {
            queue.key(key).add_after(Mono(0), delay, Priority::NORMAL);
        }
    }
    for step in 1..=100_000 {
        queue.advance(Mono(step * 10_000_000));
    }
    assert_eq!((queue.len(), queue.delayed_len()), (keys.len(), 0));
    Took { time: cpu_time() - begun, count: keys.len() }
}

fn backlog(keys: &[ObjectKey]) -> Took {
    let mut queue = queue(WorkQueueOptions::default());
    let mut owned = keys.to_vec();
    let begun = cpu_time();
    for key in owned.drain(..) {
        queue.key(key).add(Priority::NORMAL);
    }
    while let Some(taken) = queue.pop() {
        queue.done(taken.id).unwrap();
    }
    Took { time: cpu_time() - begun, count: keys.len() }
}

/// What the process grew by; 0 where /proc is missing.
fn bytes_per_key(keys: &[ObjectKey]) -> f64 {
    let owned = keys.to_vec();
    let mut queue = queue(WorkQueueOptions::default());
    let before = resident_bytes();
    for key in &owned {
        queue.key(key.clone()).add(Priority::NORMAL);
    }
    let grown = resident_bytes().saturating_sub(before);
    black_box(&queue);
    grown as f64 / keys.len() as f64
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
