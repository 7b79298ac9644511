//! What becomes of a reconcile that ends in one way or another, or does not end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer::{Action, BoxError, TerminalError};
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn an_error_is_tried_again_with_back_off_until_it_works() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        let before = own.note(&key);
        async move { if before < 4 { Err("not yet") } else { Ok(Action::Done) } }
    });
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    world.deploy("web");
    pass(1.0).await;
    let times = calls.take_times();
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps.len(), 4, "{times:?}");
    for (gap, expected) in gaps.iter().zip([5, 10, 20, 40]) {
        assert!((expected..=expected + 2).contains(gap), "{gaps:?}");
    }
    assert_eq!(running.results(), [1, 0, 4, 0, 0, 0]);

    // Its failures are forgotten.
    world.scale("web", 2);
    pass(1.0).await;
    assert_eq!(running.results(), [2, 0, 4, 0, 0, 0]);
    let metrics = running.handle.metrics();
    assert_eq!((metrics.active, metrics.queue.known, metrics.durations.count()), (0, 0, 6));
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_for_ever_holds_up_nobody_and_is_tried_ever_more_rarely() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        own.note(&key);
        async move { if key.name() == "bad" { Err("never") } else { Ok(Action::Done) } }
    });
    let running = world.run(controller.unwrap());
    world.deploy("bad");
    pass(3600.0).await;
    let tries = calls.take().len();
    assert!((15..25).contains(&tries), "{tries} in an hour");
    world.deploy("good");
    pass(0.1).await;
    assert_eq!(calls.take(), ["default/good"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_and_tried_again() {
    let world = World::new();
    let tries = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&tries);
    let controller = world.builder().build(move |key| {
        let before = own.fetch_add(1, Ordering::SeqCst);
        // The first one in the function, the second one in its future.
        assert!(before != 0, "in the function");
        async move {
            assert!(before != 1, "in the future of {key}");
            Ok::<_, BoxError>(Action::Done)
        }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(1.0).await;
    assert_eq!(running.results(), [1, 0, 0, 0, 2, 0]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_never_returns_is_dropped_and_tried_again() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&dropped);
    let builder = world.builder().reconcile_timeout(Duration::from_secs(60));
    let controller = builder.build(move |key| {
        let (before, counter) = (own.note(&key), Arc::clone(&counter));
        async move {
            let _counts = CountDrop(counter);
            if before < 2 {
                std::future::pending::<()>().await;
            }
            Ok::<_, BoxError>(Action::Done)
        }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(30.0).await;
    assert_eq!(running.handle.active(), [key("web")]);
    pass(300.0).await;
    assert_eq!(running.results(), [1, 0, 0, 0, 0, 2]);
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
    running.stop().await.1.unwrap();
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, thiserror::Error)]
enum OwnError {
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    #[error("with more words")]
    Wrapped(#[source] TerminalError),
}

#[tokio::test(start_paused = true)]
async fn a_terminal_error_is_left_alone_until_something_changes() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        let error = TerminalError::new("the spec makes no sense");
        let error = match own.note(&key) {
            0 => Err(BoxError::from(error)),
            1 => Err(OwnError::from(error).into()),
            2 => Err(OwnError::Wrapped(error).into()),
            _ => Ok(Action::Done),
        };
        async move { error }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    for change in 1..=3 {
        pass(3600.0).await;
        assert_eq!(running.results(), [0, 0, 0, change, 0, 0]);
        world.scale("web", change as u32 + 1);
    }
    pass(3600.0).await;
    assert_eq!(running.results(), [1, 0, 0, 3, 0, 0]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requeue_after_comes_back_and_forgets_failures() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        let before = own.note(&key);
        async move {
            match before {
                0..6 | 7 => Err("no"),
                6 => Ok(Action::RequeueAfter(Duration::from_secs(50))),
                _ => Ok(Action::Done),
            }
        }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(1000.0).await;
    let times = calls.take_times();
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps.len(), 8);
    assert!((50_000..50_010).contains(&gaps[6]), "{gaps:?}");
    assert!((5..10).contains(&gaps[7]), "the back-off begins anew: {gaps:?}");
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_is_not_kept_waiting_by_a_requeue() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        own.note(&key);
        async { Ok::<_, BoxError>(Action::RequeueAfter(Duration::from_secs(1000))) }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(500.0).await;
    world.scale("web", 2);
    pass(999.0).await;
    assert_eq!(calls.take().len(), 2, "the appointment was replaced");
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_reconcile_leads_to_another_one() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().concurrency(4).build(move |key| {
        own.note(&key);
        async {
            pass(10.0).await;
            Ok::<_, BoxError>(Action::Done)
        }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(1.0).await;
    (2..6).for_each(|replicas| world.scale("web", replicas));
    pass(1.0).await;
    assert_eq!(running.handle.active(), [key("web")], "never twice at once");
    pass(100.0).await;
    assert_eq!(calls.take(), ["default/web", "default/web"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_were_asked_for() {
    let world = World::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (own_now, own_most) = (Arc::clone(&now), Arc::clone(&most));
    let controller = world.builder().concurrency(3).build(move |_| {
        let (now, most) = (Arc::clone(&own_now), Arc::clone(&own_most));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pass(1.0).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, BoxError>(Action::Done)
        }
    });
    for number in 0..20 {
        world.deploy(&format!("web-{number}"));
    }
    let running = world.run(controller.unwrap());
    pass(6.5).await;
    assert_eq!(running.handle.metrics().active, 2);
    assert_eq!(running.handle.metrics().concurrency, 3);
    pass(1.0).await;
    assert_eq!((running.results()[0], most.load(Ordering::SeqCst)), (20, 3));
    running.stop().await.1.unwrap();
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "in a destructor");
    }
}

#[derive(Debug)]
struct Unspeakable;

impl std::error::Error for Unspeakable {}

impl std::fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("while it was to be logged")
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_survives_destructors_and_error_texts_that_panic() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let builder = world.builder().reconcile_timeout(Duration::from_secs(1));
    let controller = builder.build(move |key| {
        let before = own.note(&key);
        async move {
            match before {
                0 => {
                    let _trap = PanicsWhenDropped;
                    std::future::pending().await
                }
                1 => Err(BoxError::from(Unspeakable)),
                2 => std::panic::panic_any(PanicsWhenDropped),
                _ => Ok(Action::Done),
            }
        }
    });
    let running = world.run(controller.unwrap());
    world.deploy("web");
    pass(10.0).await;
    assert_eq!(running.results(), [1, 0, 0, 0, 3, 0]);
    assert_eq!(running.handle.metrics().active, 0);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_just_changed_comes_before_what_was_there_at_the_beginning() {
    let world = World::new();
    for number in 0..50 {
        world.deploy(&format!("old-{number:02}"));
    }
    let calls = Calls::new();
    let own = calls.clone();
    let builder = world.builder().queue(|queue| queue.oldest_every(0));
    let controller = builder.build(move |key| {
        own.note(&key);
        async {
            pass(1.0).await;
            Ok::<_, BoxError>(Action::Done)
        }
    });
    let running = world.run(controller.unwrap());
    pass(2.5).await;
    world.server.create("deployments", deployment("new", 1)).unwrap();
    world.server.modify("deployments", "default", "old-40", |it| it["spec"]["replicas"] = json!(7)).unwrap();
    pass(2.0).await;
    let keys = calls.take();
    assert_eq!(&keys[3..], ["default/new", "default/old-40"], "{keys:?}");
    running.stop().await.1.unwrap();
}
