//! Starting, stopping, starting again, sharing, letting go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer::{BuildError, Phase, ResourceListWatch, SharedInformerFactory, Typed};
use informer_testserver::{TestServer, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::core::ApiResource;
use tokio_util::sync::CancellationToken;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_the_cache_and_tells_the_difference() {
    let server = TestServer::new();
    put(&server, "a", "1");
    put(&server, "b", "1");
    put(&server, "c", "1");
    let informer = config_maps(&server).build().unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler());
    informer.start();
    informer.start();
    witness.expect(4).await;
    informer.stop().await;
    assert!(informer.is_stopped());
    assert_eq!(server.open_watches(), 0);

    delete(&server, "a");
    put(&server, "b", "2");
    put(&server, "d", "1");
    assert_eq!(informer.store().len(), 3, "readable as it was");
    informer.start();
    caught_up(&informer, &server).await;
    let told = witness.expect(4).await;
    assert_eq!(told, ["Deleted a=1 Stale", "Updated b=1->2", "Added d=1", "Relisted"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_stops_it() {
    let server = TestServer::new();
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    let store = informer.store();
    drop(informer.clone());
    assert_eq!(server.open_watches(), 1);
    drop(informer);
    eventually("the watch is closed", || server.open_watches() == 0).await;
    assert!(store.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_token_stops_it() {
    let server = TestServer::new();
    let informer = config_maps(&server).build().unwrap();
    let stop = CancellationToken::new();
    informer.start_until(&stop);
    informer.wait_for_sync(LIMIT).await.unwrap();
    stop.cancel();
    eventually("the watch is closed", || server.open_watches() == 0 && informer.is_stopped()).await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_shares_informers_until_the_last_user_lets_go() {
    let server = TestServer::new();
    let factory = SharedInformerFactory::new(client(&server));
    let first = factory.informer::<ConfigMap>().unwrap();
    let second = factory.informer::<ConfigMap>().unwrap();
    let metadata = factory.metadata::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(server.open_watches(), 2, "one for objects, one for metadata");
    factory.release(first).await;
    assert_eq!(server.open_watches(), 2);
    factory.release(second).await;
    assert_eq!(server.open_watches(), 1);
    let again = factory.informer::<ConfigMap>().unwrap();
    factory.start();
    again.wait_for_sync(LIMIT).await.unwrap();
    factory.shutdown().await;
    assert_eq!(server.open_watches(), 0);
    assert!(metadata.is_stopped());
    assert!(matches!(factory.informer::<Namespace>(), Err(BuildError::ShutDown(_))));
}

#[tokio::test(start_paused = true)]
async fn options_that_cannot_be_shared_are_refused() {
    let server = TestServer::new();
    let factory = SharedInformerFactory::new(client(&server));
    let resource = ApiResource::erase::<ConfigMap>(&());
    let configured =
        || factory.configured(&resource, Typed::<ConfigMap>::new(), |informer| informer.transform(|_| ()));
    configured().unwrap();
    assert!(matches!(configured(), Err(BuildError::Conflict { .. })));
    assert!(matches!(factory.informer::<ConfigMap>(), Err(BuildError::Conflict { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_factory_says_who_is_missing_and_why() {
    let server = TestServer::new();
    server.deny(Verb::List, "namespaces");
    server.deny(Verb::Watch, "namespaces");
    let factory = SharedInformerFactory::new(client(&server)).namespace("default").label_selector("name=a");
    factory.informer::<ConfigMap>().unwrap();
    let other = SharedInformerFactory::new(client(&server));
    other.informer::<Namespace>().unwrap();
    factory.start();
    other.start();
    factory.wait_for_sync(LIMIT).await.unwrap();
    let error = other.wait_for_sync(Duration::from_secs(3)).await.unwrap_err();
    assert_eq!(error.missing().len(), 1);
    assert_eq!(error.missing()[0].informer, "namespaces");
    assert!(error.missing()[0].last_error.as_ref().unwrap().contains("403"));
}

#[tokio::test(start_paused = true)]
async fn selectors_reach_the_server() {
    let server = TestServer::new();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let factory = SharedInformerFactory::new(client(&server))
        .namespace("default")
        .label_selector("name in (a)")
        .tweak(|options| options.extra.push(("pretty".into(), "false".into())));
    let informer = factory.informer::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(informer.store().len(), 1);
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.path == "/api/v1/namespaces/default/configmaps"));
    assert!(requests.iter().all(|request| request.parameter("labelSelector") == Some("name in (a)")));
    assert!(requests.iter().all(|request| request.parameter("pretty") == Some("false")));
}

#[tokio::test(start_paused = true)]
async fn sources_must_make_sense() {
    let server = TestServer::new();
    let source = |namespace: &str| ResourceListWatch::of::<ConfigMap>(client(&server)).namespace(namespace);
    let twice = config_maps(&server).namespaces(["a", "a"], source).build();
    assert!(matches!(twice.err(), Some(BuildError::Sources(_))));
    let none = config_maps(&server).namespaces(Vec::<String>::new(), source).build();
    assert!(matches!(none.err(), Some(BuildError::Sources(_))));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_driver_is_told_and_survived() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let inner = Arc::new(ResourceListWatch::of::<ConfigMap>(client(&server)));
    let panics = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&panics);
    let source = informer::list_watch_fn("configmaps", move |request: informer::Request| {
        assert_eq!(left.swap(0, Ordering::SeqCst), 0, "as if we had a fault");
        informer::ListWatch::send(&*inner, &request)
    });
    let informer = informer::SharedInformer::builder(source, Typed::<ConfigMap>::new()).build().unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler());
    informer.start();
    caught_up(&informer, &server).await;
    witness.expect(2).await;

    panics.store(1, Ordering::SeqCst);
    server.end_watches("configmaps").unwrap();
    eventually("it says that it failed", || informer.status().phase == Phase::Failed).await;
    assert!(informer.status().last_error.unwrap().contains("as if we had a fault"));
    delete(&server, "a");
    put(&server, "b", "1");
    assert_eq!(witness.expect(3).await, ["Deleted a=1 Stale", "Added b=1", "Relisted"]);
    eventually("it is well again", || informer.status().phase == Phase::Watching).await;
}
