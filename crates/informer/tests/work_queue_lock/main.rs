//! The lock of the work queue under a model checker: many schedules of few threads, each of which must end.
//!
//! The source is compiled a second time, with locks that the checker controls. A getter that is never woken would be a
//! deadlock, which it reports with the schedule that leads there.

#![allow(dead_code, reason = "the crate uses more of the gate than these tests")]

mod sync {
    pub(super) use shuttle::sync::{Mutex, MutexGuard};

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[path = "../../src/work_queue/gate.rs"]
mod gate;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use gate::{Gate, Ticket, Turn};
use informer_core::{ItemExponential, Mono, Priority, RateLimiter, Taken, WorkQueue, WorkQueueOptions};
use shuttle::sync::Mutex;
use shuttle::{Config, MaxSteps, Runner, future::block_on, scheduler::RandomScheduler, thread};

const SCHEDULES: usize = 3000;
/// A good schedule ends within some hundred; one in which somebody waits for ever would otherwise go on for ever.
const STEPS: usize = 20_000;

type Key = u8;

/// A queue, its clock, and whose alarm is set for when.
struct World {
    gate: Gate<Key>,
    clock: Mutex<Clock>,
    /// Keys that are being processed.
    busy: Mutex<BTreeSet<Key>>,
    taken: Mutex<Vec<Key>>,
}

struct Clock {
    now: Mono,
    alarms: Vec<(Mono, Waker)>,
}

impl World {
    fn new() -> Arc<Self> {
        let limiter = ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000));
        let limiter: Box<dyn RateLimiter> = Box::new(limiter);
        Arc::new(Self {
            gate: Gate::new(WorkQueue::new(WorkQueueOptions::default(), limiter, 1)),
            clock: Mutex::new(Clock { now: Mono(0), alarms: Vec::new() }),
            busy: Mutex::new(BTreeSet::new()),
            taken: Mutex::new(Vec::new()),
        })
    }

    fn now(&self) -> Mono {
        self.clock.lock().unwrap().now
    }

    fn with<R>(&self, act: impl FnOnce(&mut WorkQueue<Key>) -> R) -> R {
        self.gate.with(|| self.now(), act)
    }

    fn add(&self, key: Key) {
        self.with(|queue| queue.key(key).add(Priority::NORMAL));
    }

    fn add_after(&self, key: Key, milliseconds: u64) {
        let now = self.now();
        self.with(|queue| {
            queue.key(key).add_after(now, Duration::from_millis(milliseconds), Priority::NORMAL)
        });
    }

    fn get(&self) -> Get<'_> {
        Get { world: self, ticket: None }
    }

    /// Takes keys until the queue is over; each is nobody else's meanwhile.
    fn work(&self) {
        while let Some((taken, key)) = block_on(self.get()) {
            assert!(self.busy.lock().unwrap().insert(key), "a key is processed by one worker");
            thread::yield_now();
            self.busy.lock().unwrap().remove(&key);
            self.taken.lock().unwrap().push(key);
            self.with(|queue| queue.done(taken.id)).unwrap();
        }
    }

    fn drain(&self) {
        self.with(WorkQueue::shut_down);
        let mut ticket = None;
        block_on(std::future::poll_fn(|cx| self.gate.drained(cx, &mut ticket)));
        assert!(self.with(|queue| queue.is_drained()));
    }

    /// Goes to where the next alarm is set for. Says whether there was one.
    fn ring(&self) -> bool {
        let mut clock = self.clock.lock().unwrap();
        let Some(at) = clock.alarms.iter().map(|(at, _)| *at).min() else { return false };
        clock.now = clock.now.max(at);
        let (due, later) = std::mem::take(&mut clock.alarms).into_iter().partition(|(alarm, _)| *alarm <= at);
        clock.alarms = later;
        drop(clock);
        let due: Vec<(Mono, Waker)> = due;
        due.into_iter().for_each(|(_, waker)| waker.wake());
        true
    }
}

/// What the crate's `get` does, on the world's clock.
struct Get<'a> {
    world: &'a World,
    ticket: Option<Ticket>,
}

impl Future for Get<'_> {
    type Output = Option<(Taken, Key)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let world = self.world;
        loop {
            match world.gate.turn(cx, &mut self.ticket, || world.now()) {
                Turn::Key(taken, key) => return Poll::Ready(Some((taken, key))),
                Turn::Over => return Poll::Ready(None),
                Turn::Wait(None) => return Poll::Pending,
                Turn::Wait(Some(wake)) => {
                    let mut clock = world.clock.lock().unwrap();
                    if clock.now < wake {
                        clock.alarms.push((wake, cx.waker().clone()));
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

impl Drop for Get<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.world.gate.leave(ticket);
        }
    }
}

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(STEPS);
    Runner::new(RandomScheduler::new(SCHEDULES), config).run(test);
}

fn spawn(world: &Arc<World>, act: impl FnOnce(&World) + Send + 'static) -> thread::JoinHandle<()> {
    let world = Arc::clone(world);
    thread::spawn(move || act(&world))
}

#[test]
fn every_key_is_handed_out_and_none_twice_at_once() {
    check(|| {
        let world = World::new();
        let workers = [(); 3].map(|()| spawn(&world, World::work));
        let producers = [[1, 2], [2, 3]]
            .map(|keys| spawn(&world, move |world| keys.map(|key| world.add(key)).into_iter().collect()));
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        world.drain();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let taken = world.taken.lock().unwrap().clone();
        assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1, 2, 3]));
        assert!(taken.len() <= 4, "{taken:?}");
    });
}

#[test]
fn a_getter_that_is_dropped_takes_no_wake_up_with_it() {
    check(|| {
        let world = World::new();
        let worker = spawn(&world, World::work);
        // Asks, and may or may not have been woken when it goes.
        let fickle = spawn(&world, |world| {
            let mut get = Box::pin(world.get());
            let once = block_on(std::future::poll_fn(|cx| Poll::Ready(get.as_mut().poll(cx))));
            thread::yield_now();
            if let Poll::Ready(Some((taken, key))) = once {
                world.taken.lock().unwrap().push(key);
                world.with(|queue| queue.done(taken.id)).unwrap();
            }
        });
        let producer = spawn(&world, |world| world.add(1));
        // Nothing else would wake the worker: the queue ends only when the key has been taken.
        while world.taken.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        producer.join().unwrap();
        fickle.join().unwrap();
        world.drain();
        worker.join().unwrap();
    });
}

#[test]
fn a_delay_ends_also_when_the_getter_that_slept_for_it_is_dropped() {
    check(|| {
        let world = World::new();
        let worker = spawn(&world, World::work);
        let fickle = spawn(&world, |world| {
            let mut get = Box::pin(world.get());
            let once = block_on(std::future::poll_fn(|cx| Poll::Ready(get.as_mut().poll(cx))));
            if let Poll::Ready(Some((taken, key))) = once {
                world.taken.lock().unwrap().push(key);
                world.with(|queue| queue.done(taken.id)).unwrap();
            }
        });
        let producer = spawn(&world, |world| {
            world.add_after(1, 50);
            world.add_after(2, 20);
        });
        producer.join().unwrap();
        fickle.join().unwrap();
        while world.taken.lock().unwrap().len() < 2 {
            world.ring();
            thread::yield_now();
        }
        world.drain();
        worker.join().unwrap();
    });
}

/// A worker that has one key waits for the other worker to have the other, which a lost wake-up would prevent.
#[test]
fn delays_that_end_together_wake_as_many_workers() {
    check(|| {
        let world = World::new();
        let workers = [(); 3].map(|()| {
            spawn(&world, |world| {
                while let Some((taken, key)) = block_on(world.get()) {
                    world.taken.lock().unwrap().push(key);
                    while world.taken.lock().unwrap().len() < 2 {
                        thread::yield_now();
                    }
                    world.with(|queue| queue.done(taken.id)).unwrap();
                }
            })
        });
        let producer = spawn(&world, |world| {
            world.add_after(1, 20);
            world.add_after(2, 20);
        });
        producer.join().unwrap();
        while world.taken.lock().unwrap().len() < 2 {
            world.ring();
            thread::yield_now();
        }
        world.drain();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
