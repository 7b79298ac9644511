//! The crew by itself: order, one call at a time, and nobody for long behind one that blocks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};

use futures_util::FutureExt;
use informer_core::{Overflow, ResourceVersion, Rng};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use super::*;

const PATIENCE: Duration = Duration::from_secs(120);

/// What handlers are told here: numbers, as versions of relists.
fn numbers(first: u64, count: u64) -> Batch<()> {
    let told = |number: u64| Notification::Relisted { version: number.into() };
    Batch::new((first..first + count).map(told).collect())
}

fn number(version: &ResourceVersion) -> u64 {
    version.to_string().parse().unwrap()
}

/// A handler in the present runtime that loses nothing, however slow it is.
fn handler(mut call: impl FnMut(u64) + Send + 'static) -> Arc<Listener<()>> {
    let handler = EventHandler::new()
        .on_relisted(move |version| call(number(version)))
        .backlog_limit(1_000_000)
        .overflow(Overflow::Block);
    Arc::new(Listener::of_handler(handler, 1, Arc::new(Notify::new())))
}

fn crew() -> Arc<Crew<()>> {
    Arc::new(Crew::new("test".into()))
}

/// As the driver does it.
fn tell_all(crew: &Arc<Crew<()>>, listeners: &[Arc<Listener<()>>], batch: &Batch<()>) {
    let claimed: Vec<_> =
        listeners.iter().filter(|listener| listener.push(Arc::clone(batch)).claimed).cloned().collect();
    crew.call(claimed);
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn each_handler_is_told_all_of_its_own_in_order_and_once_at_a_time() {
    const HANDLERS: usize = 12;
    for seed in 0..8 {
        let runtime = runtime();
        let _entered = runtime.enter();
        let (crew, mut rng) = (crew(), Rng::new(seed));
        let (heard, hears) = mpsc::channel();
        let listeners: Vec<_> = (0..HANDLERS)
            .map(|id| {
                let (heard, inside) = (heard.clone(), AtomicBool::new(false));
                let mut moods = Rng::new(seed ^ id as u64);
                handler(move |number| {
                    assert!(!inside.swap(true, Ordering::SeqCst), "two calls at a time");
                    // A third of them dawdle, and one is slow: some are split off, and come back.
                    if id % 3 == 0 {
                        std::thread::yield_now();
                    }
                    if id == 1 && moods.next_u64().is_multiple_of(64) {
                        spin(2 * TURN);
                    }
                    heard.send((id, number)).unwrap();
                    inside.store(false, Ordering::SeqCst);
                    if id == 2 {
                        std::panic::resume_unwind(Box::new("handlers may"));
                    }
                })
            })
            .collect();
        drop(heard);
        let mut due = vec![Vec::new(); HANDLERS];
        let mut next = 0;
        for _ in 0..400 {
            let count = 1 + rng.next_u64() % 8;
            let subset: Vec<_> = (0..HANDLERS).filter(|_| !rng.next_u64().is_multiple_of(4)).collect();
            subset.iter().for_each(|&id| due[id].extend(next..next + count));
            let told: Vec<_> = subset.iter().map(|&id| Arc::clone(&listeners[id])).collect();
            tell_all(&crew, &told, &numbers(next, count));
            next += count;
        }
        let mut told = vec![Vec::new(); HANDLERS];
        for _ in 0..due.iter().map(Vec::len).sum() {
            let (id, number) = hears.recv_timeout(PATIENCE).expect("everything is told");
            told[id].push(number);
        }
        assert_eq!(told, due, "seed {seed}");
        listeners.iter().for_each(|listener| crew.dismiss(listener));
        assert!(hears.recv_timeout(PATIENCE).is_err(), "nothing twice, and the handlers are dropped");
    }
}

fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn all_handlers_may_block_at_the_same_time() {
    const HANDLERS: usize = 24;
    let runtime = runtime();
    let _entered = runtime.enter();
    let (barrier, (done, dones)) = (Arc::new(Barrier::new(HANDLERS)), mpsc::channel());
    let listeners: Vec<_> = (0..HANDLERS)
        .map(|_| {
            let (barrier, done) = (Arc::clone(&barrier), done.clone());
            handler(move |_| {
                // Passed only when every handler is inside its call.
                barrier.wait();
                done.send(()).unwrap();
            })
        })
        .collect();
    tell_all(&crew(), &listeners, &numbers(0, 2));
    for _ in 0..2 * HANDLERS {
        dones.recv_timeout(PATIENCE).expect("none waits for another one to return");
    }
}

#[test]
fn one_that_blocks_holds_the_others_up_once_and_gets_a_thread_of_its_own() {
    one_blocks_beside(1);
    one_blocks_beside(7);
}

fn one_blocks_beside(others: usize) {
    let runtime = runtime();
    let _entered = runtime.enter();
    let crew = crew();
    let (open, gate) = mpsc::channel::<()>();
    let (slow_heard, slow_hears) = mpsc::channel();
    let mut blocks = true;
    let mut listeners = vec![handler(move |number| {
        if std::mem::take(&mut blocks) {
            let _ = gate.recv();
        }
        slow_heard.send(number).unwrap();
    })];
    let (heard, hears) = mpsc::channel();
    for _ in 0..others {
        let heard = heard.clone();
        listeners.push(handler(move |number| heard.send(number).unwrap()));
    }
    // Fewer than it takes to count as quick again.
    const ROUNDS: u64 = 8;
    for round in 0..ROUNDS {
        tell_all(&crew, &listeners, &numbers(round, 1));
        for _ in 0..others {
            assert_eq!(hears.recv_timeout(PATIENCE), Ok(round), "the others are told while it blocks");
        }
    }
    assert!(slow_hears.try_recv().is_err());
    drop(open);
    for round in 0..ROUNDS {
        assert_eq!(slow_hears.recv_timeout(PATIENCE), Ok(round));
    }
    assert!(listeners[0].is_slow(), "when the long call returned, another one had its worker's place");
    for round in ROUNDS..20_000 {
        if !listeners[0].is_slow() {
            return;
        }
        tell_all(&crew, &listeners[..1], &numbers(round, 1));
        assert_eq!(slow_hears.recv_timeout(PATIENCE), Ok(round));
    }
    panic!("it is quick now, and still counts as slow");
}

#[test]
fn a_dismissed_handler_is_dropped_when_its_call_has_returned() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let crew = crew();
    let (open, gate) = mpsc::channel::<()>();
    let (heard, hears) = mpsc::channel();
    let held = Arc::new(());
    let holds = Arc::clone(&held);
    let busy = handler(move |number| {
        let _held = &holds;
        heard.send(number).unwrap();
        let _ = gate.recv();
    });
    let idle_holds = Arc::clone(&held);
    let idle = handler(move |_| assert_eq!(Arc::strong_count(&idle_holds), 0, "never called"));
    tell_all(&crew, &[Arc::clone(&busy)], &numbers(0, 2));
    assert_eq!(hears.recv_timeout(PATIENCE), Ok(0));
    crew.dismiss(&idle);
    assert!(idle.gone().now_or_never().is_some(), "nobody calls it");
    crew.dismiss(&busy);
    assert!(busy.gone().now_or_never().is_none(), "its call is under way");
    assert_eq!(Arc::strong_count(&held), 2);
    drop(open);
    runtime.block_on(busy.gone());
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(hears.recv().is_err(), "the rest of the batch is not told");
    tell_all(&crew, &[busy, idle], &numbers(2, 1));
    assert!(hears.recv().is_err(), "nor what comes later");
}

#[test]
fn a_runtime_that_has_ended_takes_only_its_own_handlers_with_it() {
    let ended = runtime();
    let crew = crew();
    let lost: Vec<_> = {
        let _entered = ended.enter();
        (0..3).map(|_| handler(|_| panic!("its runtime is gone"))).collect()
    };
    ended.shutdown_background();
    let runtime = runtime();
    let _entered = runtime.enter();
    let (heard, hears) = mpsc::channel();
    let mut listeners = lost.clone();
    listeners.push(handler(move |number| heard.send(number).unwrap()));
    for round in 0..3 {
        tell_all(&crew, &listeners, &numbers(round, 1));
        assert_eq!(hears.recv_timeout(PATIENCE), Ok(round));
    }
    for listener in lost {
        runtime.block_on(listener.gone());
    }
}

#[test]
fn a_handler_that_panics_as_it_is_dropped_harms_nobody() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("what a callback holds may"));
        }
    }
    let runtime = runtime();
    let _entered = runtime.enter();
    let bomb = Bomb;
    let listener = handler(move |_| _ = &bomb);
    crew().dismiss(&listener);
    assert!(listener.gone().now_or_never().is_some());
}
