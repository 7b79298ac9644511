//! What readers see.

use informer::{Dynamic, MetadataOnly, ObjectKey, ResourceListWatch, SharedInformer, WaitError};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::core::ApiResource;
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn the_cache_follows_the_server() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    let lister = informer.lister().namespace("default");
    assert_eq!(data(&lister.get("a").unwrap()), "1");

    put(&server, "a", "2");
    put(&server, "b", "1");
    caught_up(&informer, &server).await;
    assert_eq!(data(&lister.get("a").unwrap()), "2");
    assert_eq!(
        informer.store().keys(),
        ["default/a", "default/b"].map(|key| key.parse::<ObjectKey>().unwrap())
    );

    delete(&server, "a");
    caught_up(&informer, &server).await;
    assert!(lister.get("a").is_none());
    assert_eq!(informer.store().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_one_moment_and_the_next_one_what_came_after() {
    let server = TestServer::new();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let informer = config_maps(&server).build().unwrap();
    let by_data = informer.add_index("data", |map: &ConfigMap| [data(map).to_owned()]);
    informer.start();
    caught_up(&informer, &server).await;
    let lister = informer.lister().namespace("default");
    let (kept, kept_ones) = (lister.all(), by_data.get("1"));
    assert_eq!((kept.len(), kept_ones.len()), (2, 2));
    assert_eq!(kept.as_ptr(), lister.all().as_ptr(), "nothing has changed");

    put(&server, "a", "2");
    delete(&server, "b");
    caught_up(&informer, &server).await;
    assert!(kept.iter().chain(&kept_ones).all(|map| data(map) == "1"));
    assert_eq!(lister.all().iter().map(|map| data(map)).collect::<Vec<_>>(), ["2"]);
    assert_eq!((by_data.get("1").len(), by_data.get("2").len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn every_format_serves_labels_and_identity() {
    let server = TestServer::new();
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    let resource = ApiResource::erase::<ConfigMap>(&());
    let source = || ResourceListWatch::new(client(&server), &resource);
    let dynamic = SharedInformer::builder(source(), Dynamic::new(&resource)).build().unwrap();
    let metadata = SharedInformer::builder(source().metadata_only(true), MetadataOnly).build().unwrap();
    dynamic.start();
    metadata.start();
    caught_up(&dynamic, &server).await;
    caught_up(&metadata, &server).await;

    let selector = "name in (a, c), name != c".parse().unwrap();
    let found = dynamic.lister().list(&selector);
    assert_eq!(found.len(), 1);
    let types = found[0].types.as_ref().unwrap();
    assert_eq!((types.api_version.as_str(), types.kind.as_str()), ("v1", "ConfigMap"));
    assert_eq!(found[0].data["data"]["k"], "1");
    let found = metadata.lister().namespace("default").list(&selector);
    assert_eq!(found[0].labels().get("name"), Some("a"));
    let accepted: Vec<_> = server.requests().into_iter().map(|request| request.accept).collect();
    assert!(accepted.iter().any(|accept| accept.contains("as=PartialObjectMetadata")), "{accepted:?}");
}

#[tokio::test(start_paused = true)]
async fn listed_and_watched_objects_look_the_same() {
    let server = TestServer::new();
    put(&server, "listed", "1");
    let resource = ApiResource::erase::<ConfigMap>(&());
    let source = ResourceListWatch::new(client(&server), &resource);
    let builder = SharedInformer::builder(source, Dynamic::new(&resource));
    let informer = builder.reflector_options(|options| options.watch_list(false)).build().unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    put(&server, "watched", "1");
    caught_up(&informer, &server).await;
    let lister = informer.lister().namespace("default");
    assert_eq!(lister.get("listed").unwrap().types, lister.get("watched").unwrap().types);
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_objects_are_found_by_name() {
    let server = TestServer::new();
    server.create("nodes", json!({"metadata": {"name": "node-1"}})).unwrap();
    let source = ResourceListWatch::of::<Node>(client(&server));
    let informer = SharedInformer::builder(source, informer::Typed::<Node>::new()).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    assert!(informer.lister().get("node-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn an_index_is_complete_whenever_it_is_added() {
    let server = TestServer::new();
    put(&server, "a", "red");
    put(&server, "b", "blue");
    let informer = config_maps(&server).build().unwrap();
    let before = informer.add_index("colour", |map: &ConfigMap| Some(data(map).to_owned()));
    informer.start();
    caught_up(&informer, &server).await;
    let after = informer.add_index("letters", |map: &ConfigMap| {
        data(map).chars().map(|c| c.to_string()).collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(before.get("red").len(), 1);
    assert_eq!(after.keys("e").len(), 2);

    put(&server, "a", "green");
    caught_up(&informer, &server).await;
    assert!(before.get("red").is_empty());
    assert_eq!(before.values().iter().map(|value| &**value).collect::<Vec<_>>(), ["blue", "green"]);
    assert_eq!(after.keys("g"), ["default/a".parse().unwrap()]);
    after.clone().remove();
    assert!(after.get("g").is_empty());
    assert_eq!(before.get("blue").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_does_not_change() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    let snapshot = informer.snapshot();
    put(&server, "a", "2");
    delete(&server, "a");
    caught_up(&informer, &server).await;
    assert_eq!(snapshot.len(), 1);
    assert_eq!(data(snapshot.get("default", "a").unwrap()), "1");
    assert!(informer.snapshot().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_write_can_be_waited_for() {
    let server = TestServer::new();
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    let version = put(&server, "a", "1");
    informer.wait_until(&version, LIMIT).await.unwrap();
    assert!(informer.lister().namespace("default").get("a").is_some());

    let future = informer::ResourceVersion::from(server.resource_version() + 1000);
    let error = informer.wait_until(&future, std::time::Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(&error, WaitError::Timeout { .. }), "{error}");
    let opaque = informer.wait_until(&informer::ResourceVersion::new("x"), LIMIT).await.unwrap_err();
    assert!(matches!(opaque, WaitError::Opaque { .. }));
}

#[tokio::test(start_paused = true)]
async fn several_namespaces_share_a_cache() {
    let server = TestServer::builder().create_namespaces(true).build();
    for namespace in ["a", "b", "c"] {
        server.create("configmaps", json!({"metadata": {"name": "x", "namespace": namespace}})).unwrap();
    }
    let source = |namespace: &str| ResourceListWatch::of::<ConfigMap>(client(&server)).namespace(namespace);
    let informer = config_maps(&server).namespaces(["a", "b"], source).build().unwrap();
    let witness = Witness::default();
    let registration = informer.add_event_handler(witness.handler());
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    registration.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(witness.take(), ["Added x= initial", "Added x= initial", "Synced"]);
    assert_eq!(informer.store().len(), 2);

    // A relist of one namespace leaves the other alone.
    server.delete("configmaps", "a", "x").unwrap();
    eventually("the deletion is seen", || informer.store().len() == 1).await;
    assert_eq!(witness.expect(1).await, ["Deleted x= Known"]);
    assert!(informer.lister().namespace("b").get("x").is_some());
}
