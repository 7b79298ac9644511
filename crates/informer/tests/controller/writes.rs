//! The next reconcile of a key sees what the one before wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use informer::{
    Action, BoxError, Controller, ControllerHandle, ListWatch, ObjectKey, Request, ResourceVersion,
    SharedInformer, SharedInformerFactory, Typed, list_watch_fn,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::Notify;

use crate::support::*;

/// A reconcile that creates a config map of the key's name if the cache has none; and how often it tried to create one that
/// was there.
fn creates_what_is_missing(
    world: &World,
    handle: ControllerHandle,
    calls: &Calls,
) -> (
    impl Fn(ObjectKey) -> futures_util::future::BoxFuture<'static, Result<Action, BoxError>>
    + Send
    + Sync
    + 'static,
    Arc<AtomicUsize>,
) {
    let (config_maps, client, calls) = (world.config_maps.clone(), client(&world.server), calls.clone());
    let conflicts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&conflicts);
    let reconcile = move |key: ObjectKey| {
        calls.note(&key);
        let (config_maps, client, handle, conflicts) =
            (config_maps.clone(), client.clone(), handle.clone(), Arc::clone(&conflicts));
        Box::pin(async move {
            if config_maps.store().contains(&key) {
                return Ok(Action::Done);
            }
            let mut object = ConfigMap::default();
            object.metadata.name = Some(key.name().into());
            match Api::namespaced(client, key.namespace()).create(&PostParams::default(), &object).await {
                Ok(created) => handle.wrote(&key, &config_maps, &created),
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    conflicts.fetch_add(1, Ordering::SeqCst);
                }
                Err(error) => return Err(error.into()),
            }
            Ok(Action::Done)
        }) as futures_util::future::BoxFuture<'static, Result<Action, BoxError>>
    };
    (reconcile, counter)
}

/// From now on the cache of config maps gets older.
async fn stall(world: &World) {
    world.server.stall_watches("configmaps").unwrap();
    pass(0.01).await;
}

/// And now it does not any more.
async fn catch_up(world: &World) {
    world.config_maps.stop().await;
    world.config_maps.start();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_waits_for_what_was_written_and_holds_up_no_other_key() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().owns(&world.config_maps);
    let (reconcile, conflicts) = creates_what_is_missing(&world, builder.handle(), &calls);
    let running = world.run(builder.build(reconcile).unwrap());
    pass(1.0).await;
    stall(&world).await;
    world.deploy("web");
    pass(0.1).await;
    assert_eq!(calls.take(), ["default/web"]);

    // It has changed, but its cache has not seen the write yet. Other keys go on, with the one worker there is.
    (2..5).for_each(|replicas| world.scale("web", replicas));
    pass(0.5).await;
    world.deploy("other");
    pass(0.5).await;
    world.scale("web", 5);
    pass(0.5).await;
    assert_eq!(calls.take(), ["default/other"]);
    let metrics = running.handle.metrics();
    assert_eq!((metrics.waiting_for_cache, metrics.active, metrics.stale_reads), (1, 0, 0));

    catch_up(&world).await;
    pass(3.0).await;
    assert_eq!(calls.take(), ["default/web"], "once, as soon as it is there");
    assert_eq!(conflicts.load(Ordering::SeqCst), 0);
    let metrics = running.handle.metrics();
    assert_eq!((metrics.waiting_for_cache, metrics.waits_for_cache, metrics.stale_reads), (0, 1, 0));
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_the_note_the_same_controller_reads_the_past() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().owns(&world.config_maps);
    // Notes for another controller: nobody reads them.
    let (reconcile, conflicts) = creates_what_is_missing(&world, world.builder().handle(), &calls);
    let running = world.run(builder.build(reconcile).unwrap());
    pass(1.0).await;
    stall(&world).await;
    world.deploy("web");
    pass(0.1).await;
    world.scale("web", 2);
    pass(0.1).await;
    assert_eq!(conflicts.load(Ordering::SeqCst), 1);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_never_shows_it_is_waited_for_so_long_and_no_longer() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().owns(&world.config_maps).cache_timeout(Duration::from_secs(7));
    let (reconcile, conflicts) = creates_what_is_missing(&world, builder.handle(), &calls);
    let running = world.run(builder.build(reconcile).unwrap());
    pass(1.0).await;
    stall(&world).await;
    world.deploy("web");
    pass(0.1).await;
    world.scale("web", 2);
    pass(6.8).await;
    assert_eq!(calls.take().len(), 1);
    pass(0.2).await;
    assert_eq!(calls.take().len(), 1, "it goes on with what there is");
    assert_eq!(conflicts.load(Ordering::SeqCst), 1);
    assert_eq!(running.handle.metrics().stale_reads, 1);
    world.scale("web", 3);
    pass(0.1).await;
    assert_eq!(calls.take().len(), 1, "and waits no second time for the same");
    assert_eq!(running.handle.metrics().stale_reads, 1);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_written_object_that_is_gone_again_is_not_waited_for() {
    let world = World::new();
    let calls = Calls::new();
    let controller = world.builder().owns(&world.config_maps).build(calls.reconcile()).unwrap();
    let running = world.run(controller);
    pass(1.0).await;
    stall(&world).await;
    let written = world.server.create("configmaps", serde_json::json!({"metadata": {"name": "a"}})).unwrap();
    let version = ResourceVersion::new(written["metadata"]["resourceVersion"].as_str().unwrap());
    world.server.delete("configmaps", "default", "a").unwrap();
    running.handle.wrote_version(&key("web"), &world.config_maps, key("a"), version);
    running.handle.enqueue(key("web"));
    pass(1.0).await;
    assert!(calls.take().is_empty());
    catch_up(&world).await;
    pass(3.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    assert_eq!(running.handle.metrics().stale_reads, 0);
    running.stop().await.1.unwrap();
}

/// The cache as a whole is as old as its oldest namespace; what was written to another one must not wait for that.
#[tokio::test(start_paused = true)]
async fn of_several_namespaces_only_that_of_the_object_counts() {
    let world = World::new();
    let factory =
        SharedInformerFactory::new(client(&world.server)).namespace("default").namespace("elsewhere");
    let config_maps = factory.informer::<ConfigMap>().unwrap();
    factory.start();
    let calls = Calls::new();
    let builder = Controller::builder("test", &world.deployments).owns(&config_maps);
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    let written = world.server.create("configmaps", serde_json::json!({"metadata": {"name": "a"}})).unwrap();
    let version = ResourceVersion::new(written["metadata"]["resourceVersion"].as_str().unwrap());
    // So that the object itself shows nothing.
    world.server.delete("configmaps", "default", "a").unwrap();
    pass(0.1).await;
    assert!(
        config_maps.wait_until(&version, Duration::from_secs(1)).await.is_err(),
        "as a whole it is older"
    );
    running.handle.wrote_version(&key("web"), &config_maps, key("a"), version);
    running.handle.enqueue(key("web"));
    pass(0.1).await;
    assert_eq!(calls.take(), ["default/web"]);
    assert_eq!(running.handle.metrics().waits_for_cache, 0);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_key_that_waits_for_the_cache_outlives_the_run() {
    let world = World::new();
    let calls = Calls::new();
    let running = world.run(world.builder().build(calls.reconcile()).unwrap());
    pass(1.0).await;
    let future = ResourceVersion::from(1_000_000);
    running.handle.wrote_version(&key("web"), &world.config_maps, key("a"), future.clone());
    // A later answer about an earlier version changes nothing.
    running.handle.wrote_version(&key("web"), &world.config_maps, key("b"), ResourceVersion::from(1));
    running.handle.enqueue(key("web"));
    pass(1.0).await;
    let (controller, result) = running.stop().await;
    result.unwrap();
    pass(0.1).await;
    assert_eq!((controller.metrics().waiting_for_cache, controller.metrics().queue.depth), (0, 1));
    let running = world.run(controller);
    pass(3.0).await;
    assert!(calls.take().is_empty());
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    running.stop().await.1.unwrap();
}

/// A list, and a watch with one change that comes when it is asked for, with versions that are no numbers.
fn opaque_versions(change: Arc<Notify>) -> impl ListWatch {
    let object = |version: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"default","uid":"u","resourceVersion":"{version}"}}}}"#
        )
    };
    list_watch_fn("opaque", move |request: Request| {
        let change = Arc::clone(&change);
        async move {
            let list = format!(
                r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"list-1"}},"items":[{}]}}"#,
                object("object-1")
            );
            let line = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", object("object-2"));
            let is_list = matches!(request, Request::List(_));
            let pieces = futures_util::stream::unfold(0, move |sent| {
                let (list, line, change) = (list.clone(), line.clone(), Arc::clone(&change));
                async move {
                    match (is_list, sent) {
                        (true, 0) => Some((list, 1)),
                        (true, _) => None,
                        (false, 0) => {
                            change.notified().await;
                            Some((line, 1))
                        }
                        (false, _) => std::future::pending().await,
                    }
                }
            });
            let frames = pieces.map(|piece| Ok::<_, BoxError>(http_body::Frame::data(piece.into())));
            Ok(http::Response::new(StreamBody::new(frames).boxed_unsync()))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn where_versions_have_no_order_a_change_of_the_object_counts() {
    let world = World::new();
    let change = Arc::new(Notify::new());
    let builder = SharedInformer::builder(opaque_versions(Arc::clone(&change)), Typed::<ConfigMap>::new());
    let opaque = builder.reflector_options(|options| options.watch_list(false)).build().unwrap();
    opaque.start();
    let calls = Calls::new();
    let builder = world.builder().watches(&opaque, |_| None);
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    let present = ResourceVersion::new("object-1");
    running.handle.wrote_version(&key("web"), &opaque, key("a"), present);
    running.handle.enqueue(key("web"));
    pass(0.1).await;
    assert_eq!(calls.take().len(), 1, "it is there already");
    running.handle.wrote_version(&key("web"), &opaque, key("a"), ResourceVersion::new("object-2"));
    running.handle.enqueue(key("web"));
    pass(1.0).await;
    assert_eq!(calls.take().len(), 0);
    change.notify_one();
    pass(0.2).await;
    assert_eq!(calls.take().len(), 1);
    assert_eq!(running.handle.metrics().stale_reads, 0);
    running.stop().await.1.unwrap();
}
