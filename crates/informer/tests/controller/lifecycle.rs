//! Beginning, stopping, running again.

use std::time::Duration;

use informer::{Action, BoxError, RunError};
use informer_testserver::{ApiError, Fault, FaultRule};
use tokio_util::sync::CancellationToken;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_cache_that_does_not_sync_is_named_with_its_reason() {
    let world = World::new();
    let refused = ApiError::new(403, "Forbidden", "config maps are not for you");
    world.server.add_fault(FaultRule::new(Fault::Error(refused)).resource("configmaps"));
    let calls = Calls::new();
    let builder = world.builder().owns(&world.config_maps).watches(&world.config_maps, |_| None);
    let controller = builder.sync_timeout(Duration::from_secs(20)).build(calls.reconcile()).unwrap();
    world.deploy("web");
    let running = world.run(controller);
    pass(21.0).await;
    let (_, result) = running.task.await.unwrap();
    let Err(RunError::NotSynced { controller, source }) = result else { panic!("{result:?}") };
    assert_eq!(controller, "test");
    let [missing] = source.missing() else { panic!("{source}") };
    assert_eq!(missing.informer, "configmaps");
    assert!(missing.last_error.as_ref().unwrap().contains("not for you"), "{missing:?}");
    assert!(calls.take().is_empty(), "nothing was reconciled");
}

#[tokio::test(start_paused = true)]
async fn informers_that_nobody_started_are_named_too() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().owns(&world.config_maps).sync_timeout(Duration::from_secs(1));
    let controller = builder.build(calls.reconcile()).unwrap();
    let error = controller.run(CancellationToken::new()).await.unwrap_err().to_string();
    assert!(
        error.contains("deployments.apps (stopped)") && error.contains("configmaps (stopped)"),
        "{error}"
    );
    let stop = CancellationToken::new();
    stop.cancel();
    controller.run(stop).await.expect("stopped while it waits is no error");
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_running_reconciles_finish_and_begins_no_more() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let controller = world.builder().build(move |key| {
        own.note(&key);
        async {
            pass(20.0).await;
            Ok::<_, BoxError>(Action::Done)
        }
    });
    world.deploy("a");
    world.deploy("b");
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    let begun = tokio::time::Instant::now();
    let (controller, result) = running.stop().await;
    result.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 19);
    assert_eq!(calls.take(), ["default/a"]);
    let metrics = controller.metrics();
    assert_eq!((metrics.reconciles.success, metrics.active), (1, 0));

    // What waited waits for the next run.
    let running = world.run(controller);
    pass(70.0).await;
    let keys = calls.take();
    assert_eq!(keys[0], "default/b");
    assert!(keys.contains(&"default/a".to_owned()), "everything is looked at again: {keys:?}");
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn reconciles_that_do_not_finish_are_dropped_and_named() {
    let world = World::new();
    let calls = Calls::new();
    let own = calls.clone();
    let builder = world.builder().concurrency(2).graceful_timeout(Duration::from_secs(5));
    let controller = builder.build(move |key| {
        own.note(&key);
        std::future::pending::<Result<Action, BoxError>>()
    });
    let running = world.run(controller.unwrap());
    // No objects, so that nothing else brings the keys back later.
    for name in ["b", "a"] {
        running.handle.enqueue(key(name));
    }
    pass(1.0).await;
    let begun = tokio::time::Instant::now();
    let (controller, result) = running.stop().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    let expected = RunError::Unfinished {
        controller: "test".into(),
        keys: vec![key("a"), key("b")],
        waited: Duration::from_secs(5),
    };
    assert_eq!(result, Err(expected));
    let metrics = controller.metrics();
    assert_eq!((metrics.active, metrics.reconciles.cancelled, metrics.queue.processing), (0, 2, 0));
    calls.take();

    let running = world.run(controller);
    pass(1.0).await;
    assert_eq!(calls.take().len(), 2, "their keys come up again");
    drop(running.task);
    running.stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_ends_everything_at_once() {
    let world = World::new();
    let controller = world.builder().build(|_| std::future::pending::<Result<Action, BoxError>>()).unwrap();
    world.deploy("a");
    world.factory.start();
    let run = controller.run(CancellationToken::new());
    assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
    pass(0.1).await;
    let metrics = controller.metrics();
    assert_eq!((metrics.active, metrics.reconciles.cancelled), (0, 1));
    // It can be run again at once.
    let run = controller.run(CancellationToken::new());
    assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
    assert_eq!(controller.metrics().reconciles.total(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_runs_once_at_a_time() {
    let world = World::new();
    let calls = Calls::new();
    let controller = world.builder().build(calls.reconcile()).unwrap();
    world.factory.start();
    let (first, second) = (CancellationToken::new(), CancellationToken::new());
    let run = controller.run(first.clone());
    tokio::pin!(run);
    assert!(tokio::time::timeout(Duration::from_secs(1), run.as_mut()).await.is_err());
    let again = controller.run(second.clone()).await;
    assert_eq!(again, Err(RunError::AlreadyRunning { controller: "test".into() }));
    first.cancel();
    run.await.unwrap();
    second.cancel();
    controller.run(second).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn keys_from_outside_are_reconciled_whenever_they_were_enqueued() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder();
    builder.handle().enqueue(key("before"));
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/before"]);
    running.handle.enqueue(key("while"));
    running.handle.enqueue_after(key("later"), Duration::from_secs(10));
    pass(9.0).await;
    assert_eq!(calls.take(), ["default/while"]);
    let handle = running.handle.clone();
    let (controller, result) = running.stop().await;
    result.unwrap();
    pass(5.0).await;
    handle.enqueue(key("between"));
    assert!(calls.take().is_empty());
    let running = world.run(controller);
    pass(1.0).await;
    let mut keys = calls.take();
    keys.sort();
    assert_eq!(keys, ["default/between", "default/later"], "nothing is lost between two runs");
    running.stop().await.1.unwrap();
}
