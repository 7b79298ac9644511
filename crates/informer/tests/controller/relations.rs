//! Whose keys a change leads to.

use informer::{
    BuildError, Controller, ObjectKey, SharedInformer, SharedInformerFactory, Typed, list_watch_fn,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::core::ApiResource;
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_change_of_an_owned_object_leads_to_its_owner() {
    let world = World::new();
    let web = world.deploy("web");
    let calls = Calls::new();
    let controller = world.builder().owns(&world.config_maps).build(calls.reconcile());
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"], "the initial list");

    world.own("child", &web);
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"], "created");
    world.server.modify("configmaps", "default", "child", |it| it["data"] = json!({"a": "b"})).unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"], "changed");
    world.server.delete("configmaps", "default", "child").unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"], "deleted");
    world.server.delete("deployments", "default", "web").unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"], "the owner itself was deleted");
    assert_eq!(running.handle.metrics().dangling_owners, 0);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_version_of_the_owner_reference_does_not_matter_its_group_does() {
    let world = World::new();
    let web = world.deploy("web");
    let calls = Calls::new();
    let controller = world.builder().owns(&world.config_maps).build(calls.reconcile());
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    let with = |name: &str, field: &str, value: serde_json::Value| {
        let mut child = owned(name, &web);
        child["metadata"]["ownerReferences"][0][field] = value;
        world.server.create("configmaps", child).unwrap();
    };
    with("old-version", "apiVersion", json!("apps/v1beta2"));
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    with("other-group", "apiVersion", json!("example.com/v1"));
    with("core-group", "apiVersion", json!("v1"));
    with("other-kind", "kind", json!("StatefulSet"));
    with("not-the-controller", "controller", json!(false));
    pass(1.0).await;
    assert!(calls.take().is_empty());
    assert_eq!(running.handle.metrics().foreign_owners, 2);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_never_found_in_another_namespace() {
    let world = World::new();
    let web = world.deploy("web");
    let calls = Calls::new();
    let controller = world.builder().owns(&world.config_maps).build(calls.reconcile());
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    let mut child = owned("child", &web);
    child["metadata"]["namespace"] = json!("elsewhere");
    world.server.create("configmaps", child).unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["elsewhere/web"], "which is not there, as reconcile will see");
    assert_eq!(running.handle.metrics().dangling_owners, 1);

    // The same name, but the reference means an earlier incarnation.
    let mut child = owned("orphan", &web);
    child["metadata"]["ownerReferences"][0]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    world.server.create("configmaps", child).unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"], "its name is taken, so the owner has to know");
    assert_eq!(running.handle.metrics().dangling_owners, 2);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_owner_without_namespace_is_found() {
    let world = World::new();
    let namespaces = world.factory.informer::<Namespace>().unwrap();
    let calls = Calls::new();
    let controller =
        Controller::builder("namespaces", &namespaces).owns(&world.config_maps).build(calls.reconcile());
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    let owner = world.server.get("namespaces", "", "default").unwrap();
    let mut child = owned("child", &owner);
    child["metadata"]["namespace"] = json!("default");
    world.server.create("configmaps", child).unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_owners_leads_to_both() {
    let world = World::new();
    let (one, two) = (world.deploy("one"), world.deploy("two"));
    world.own("child", &one);
    let calls = Calls::new();
    let controller = world.builder().owns(&world.config_maps).build(calls.reconcile());
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    world
        .server
        .modify("configmaps", "default", "child", |it| {
            it["metadata"]["ownerReferences"] = json!([reference(&two)]);
        })
        .unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/one", "default/two"]);
    world
        .server
        .modify("configmaps", "default", "child", |it| it["metadata"]["ownerReferences"] = json!([]))
        .unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/two"], "abandoned");
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_was_missed_leads_to_the_owner() {
    let world = World::new();
    let web = world.deploy("web");
    world.deploy("other");
    world.own("child", &web);
    let calls = Calls::new();
    let controller = world.builder().owns(&world.config_maps).build(calls.reconcile());
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    world.config_maps.stop().await;
    world.server.delete("configmaps", "default", "child").unwrap();
    world.server.compact();
    world.config_maps.start();
    pass(10.0).await;
    assert_eq!(calls.take(), ["default/web"]);

    // While the controller itself is down: everything is looked at again.
    let controller = running.stop().await.0;
    world.own("child", &web);
    pass(1.0).await;
    let running = world.run(controller);
    pass(1.0).await;
    let mut keys = calls.take();
    keys.sort();
    keys.dedup();
    assert_eq!(keys, ["default/other", "default/web"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn any_mapping_maps_the_old_object_and_the_new_one() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().watches(&world.config_maps, |settings: &informer::Object<ConfigMap>| {
        let users = settings.data.as_ref().and_then(|data| data.get("users")).cloned().unwrap_or_default();
        users.split(',').filter(|user| !user.is_empty()).map(key).collect::<Vec<_>>()
    });
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    let users = |users: &str| json!({"metadata": {"name": "settings"}, "data": {"users": users}});
    world.server.put("configmaps", users("a,b")).unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/a", "default/b"]);
    world.server.put("configmaps", users("b,c")).unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/a", "default/b", "default/c"]);
    world.server.delete("configmaps", "default", "settings").unwrap();
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/b", "default/c"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_mapping_that_panics_costs_its_own_keys_only() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().watches(&world.config_maps, |object: &informer::Object<ConfigMap>| {
        assert!(object.key.name() != "bad", "mapped");
        [ObjectKey::new("default", object.key.name())]
    });
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    for name in ["bad", "good"] {
        world.server.create("configmaps", json!({"metadata": {"name": name}})).unwrap();
    }
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/good"]);
    assert_eq!(running.handle.metrics().mapping_panics, 1);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn owners_are_found_by_metadata_alone_and_in_dynamic_objects() {
    let world = World::new();
    let web = world.deploy("web");
    let factory = SharedInformerFactory::new(client(&world.server));
    let config_maps = factory.metadata::<ConfigMap>().unwrap();
    let deployments = factory.dynamic(&ApiResource::erase::<Deployment>(&())).unwrap();
    let calls = Calls::new();
    let controller = Controller::builder("dynamic", &deployments).owns(&config_maps).build(calls.reconcile());
    factory.start();
    let running = run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    world.own("child", &web);
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_refused_when_it_is_built() {
    let world = World::new();
    let calls = Calls::new();
    let idle = world.builder().concurrency(0).build(calls.reconcile());
    assert!(matches!(idle, Err(BuildError::Controller { .. })));

    let source = || list_watch_fn("something", |_| std::future::pending());
    let unknown = SharedInformer::builder(source(), Typed::<Deployment>::new()).build().unwrap();
    let builder = || Controller::builder("unknown", &unknown).owns(&world.config_maps);
    let error = builder().build(calls.reconcile()).unwrap_err();
    assert!(error.to_string().contains("known group and kind"), "{error}");
    builder().kind("apps", "Deployment").build(calls.reconcile()).unwrap();

    let builder = world.builder();
    builder.handle().enqueue(key("a"));
    assert!(builder.queue(|queue| queue.oldest_every(1)).build(calls.reconcile()).is_err());
}
