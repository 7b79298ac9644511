//! Which changes lead to a reconcile.

use std::time::Duration;

use informer::{
    Controller, Dynamic, MetadataOnly, Object, Predicate, ResourceListWatch, SharedInformer, Typed,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ApiResource;
use serde_json::{Value, json};

use crate::support::*;

/// What a controller of deployments does with the predicate; each change by name, and the calls it led to.
async fn told<V: Send + Sync + 'static>(
    world: &World,
    informer: SharedInformer<V>,
    predicate: Predicate<V>,
) -> Vec<(&'static str, usize)> {
    let calls = Calls::new();
    let controller = Controller::builder("test", &informer).predicate(predicate).build(calls.reconcile());
    informer.start();
    let running = run(controller.unwrap());
    pass(1.0).await;
    let modify = |change: fn(&mut Value)| {
        world.server.modify("deployments", "default", "web", change).unwrap();
    };
    let mut told = Vec::new();
    for step in ["created", "status", "spec", "label", "annotation", "deleted"] {
        match step {
            "created" => drop(world.deploy("web")),
            "status" => modify(|it| it["status"]["readyReplicas"] = json!(1)),
            "spec" => modify(|it| it["spec"]["replicas"] = json!(3)),
            "label" => modify(|it| it["metadata"]["labels"] = json!({"a": "b"})),
            "annotation" => modify(|it| it["metadata"]["annotations"] = json!({"a": "b"})),
            _ => world.server.delete("deployments", "default", "web").unwrap(),
        }
        pass(1.0).await;
        told.push((step, calls.take().len()));
    }
    running.stop().await.1.unwrap();
    told
}

fn source(world: &World) -> ResourceListWatch {
    ResourceListWatch::of::<Deployment>(client(&world.server))
}

const GENERATION: [(&str, usize); 6] =
    [("created", 1), ("status", 0), ("spec", 1), ("label", 0), ("annotation", 0), ("deleted", 1)];

#[tokio::test(start_paused = true)]
async fn generation_changed_passes_the_desired_state_in_every_format() {
    let world = World::new();
    let typed = SharedInformer::builder(source(&world), Typed::<Deployment>::new()).build().unwrap();
    assert_eq!(told(&world, typed, Predicate::generation_changed()).await, GENERATION);
    let resource = ApiResource::erase::<Deployment>(&());
    let dynamic = SharedInformer::builder(source(&world), Dynamic::new(&resource)).build().unwrap();
    assert_eq!(told(&world, dynamic, Predicate::generation_changed()).await, GENERATION);
    let metadata = SharedInformer::builder(source(&world).metadata_only(true), MetadataOnly).build().unwrap();
    assert_eq!(told(&world, metadata, Predicate::generation_changed()).await, GENERATION);
}

#[tokio::test(start_paused = true)]
async fn predicates_are_combined() {
    let world = World::new();
    let typed = || SharedInformer::builder(source(&world), Typed::<Deployment>::new()).build().unwrap();
    let either = Predicate::labels_changed().or(Predicate::annotations_changed());
    let expected =
        [("created", 1), ("status", 0), ("spec", 0), ("label", 1), ("annotation", 1), ("deleted", 1)];
    assert_eq!(told(&world, typed(), either.clone()).await, expected);
    let expected =
        [("created", 0), ("status", 1), ("spec", 1), ("label", 0), ("annotation", 0), ("deleted", 0)];
    assert_eq!(told(&world, typed(), !either.clone()).await, expected);
    let custom = Predicate::new(|old: Option<&Object<Deployment>>, new: &Object<Deployment>| {
        old.is_some() && new.metadata.labels.is_some()
    });
    let expected =
        [("created", 0), ("status", 0), ("spec", 0), ("label", 1), ("annotation", 1), ("deleted", 0)];
    assert_eq!(told(&world, typed(), either.and(custom)).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_selector_passes_what_matches_or_did() {
    let world = World::new();
    let typed = SharedInformer::builder(source(&world), Typed::<Deployment>::new()).build().unwrap();
    let selector = Predicate::selector("!a".parse().unwrap());
    let expected =
        [("created", 1), ("status", 1), ("spec", 1), ("label", 1), ("annotation", 0), ("deleted", 0)];
    assert_eq!(told(&world, typed, selector).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_that_panics_passes_and_is_counted() {
    let world = World::new();
    let calls = Calls::new();
    let builder = world.builder().predicate(Predicate::new(|_, _| panic!("asked")));
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    world.deploy("web");
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    assert_eq!(running.handle.metrics().mapping_panics, 1);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_created_again_passes_whatever_its_generation() {
    for split in [true, false] {
        let world = World::new();
        let builder = SharedInformer::builder(source(&world), Typed::<Deployment>::new());
        let informer = builder.split_recreated(split).build().unwrap();
        world.deploy("web");
        let calls = Calls::new();
        let builder = Controller::builder("test", &informer).predicate(Predicate::generation_changed());
        informer.start();
        let running = run(builder.build(calls.reconcile()).unwrap());
        pass(1.0).await;
        calls.take();
        informer.stop().await;
        world.server.delete("deployments", "default", "web").unwrap();
        world.deploy("web");
        world.server.compact();
        informer.start();
        pass(10.0).await;
        assert_eq!(calls.take(), ["default/web"], "split: {split}");
        running.stop().await.1.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn resyncs_pass_and_reconcile_everything() {
    let world = World::new();
    let builder = SharedInformer::builder(source(&world), Typed::<Deployment>::new());
    let informer = builder.resync(Duration::from_secs(600)).build().unwrap();
    world.deploy("a");
    world.deploy("b");
    let calls = Calls::new();
    let builder = Controller::builder("test", &informer).predicate(Predicate::generation_changed());
    informer.start();
    let running = run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    calls.take();
    pass(605.0).await;
    let mut keys = calls.take();
    keys.sort();
    assert_eq!(keys, ["default/a", "default/b"]);
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_relation_has_a_predicate_of_its_own() {
    let world = World::new();
    let web = world.deploy("web");
    let calls = Calls::new();
    let with_data = Predicate::new(|_, settings: &Object<ConfigMap>| settings.data.is_some());
    let builder = world.builder().owns_if(&world.config_maps, with_data.clone()).watches_if(
        &world.config_maps,
        with_data,
        |_| [key("watched")],
    );
    let running = world.run(builder.build(calls.reconcile()).unwrap());
    pass(1.0).await;
    calls.take();
    world.own("child", &web);
    pass(1.0).await;
    assert!(calls.take().is_empty());
    world.server.modify("configmaps", "default", "child", |it| it["data"] = json!({"a": "b"})).unwrap();
    pass(1.0).await;
    let mut keys = calls.take();
    keys.sort();
    assert_eq!(keys, ["default/watched", "default/web"]);
    running.stop().await.1.unwrap();
}
