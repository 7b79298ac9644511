//! What a controller has asked for is observed by what it owns.

use informer::{Action, BoxError, Predicate, Uid};
use serde_json::{Value, json};

use crate::support::*;

fn uid(object: &Value) -> Uid {
    Uid::new(object["metadata"]["uid"].as_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn creations_are_observed_before_the_reconcile_they_lead_to() {
    let world = World::new();
    let web = world.deploy("web");
    let calls = Calls::new();
    // The predicate lets nothing pass: it is the expectation that leads to the reconcile.
    let builder = world.builder().owns_if(&world.config_maps, Predicate::new(|_, _| false));
    let (handle, own) = (builder.handle(), calls.clone());
    let controller = builder.build(move |key| {
        own.note(&key);
        let satisfied = handle.expectations().satisfied(&key);
        async move { if satisfied { Ok(Action::Done) } else { Err(BoxError::from("not yet")) } }
    });
    let running = world.run(controller.unwrap());
    pass(1.0).await;
    calls.take();
    let expectations = running.handle.expectations();
    expectations.expect_creations(&key("web"), 3);
    world.own("one", &web);
    world.own("two", &web);
    let mut foreign = owned("foreign", &web);
    foreign["metadata"]["ownerReferences"][0]["apiVersion"] = json!("example.com/v1");
    world.server.create("configmaps", foreign).unwrap();
    pass(1.0).await;
    assert!(!expectations.satisfied(&key("web")) && calls.take().is_empty());
    expectations.creation_failed(&key("web"));
    assert!(expectations.satisfied(&key("web")));

    expectations.expect_creations(&key("web"), 1);
    world.own("three", &web);
    pass(1.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    assert_eq!(running.results()[2], 0, "it was satisfied");
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deletion_counts_once_from_when_it_was_asked_for() {
    let world = World::new();
    let web = world.deploy("web");
    let mut slow = owned("slow", &web);
    slow["metadata"]["finalizers"] = json!(["example.com/slow"]);
    let slow = world.server.create("configmaps", slow).unwrap();
    let quick = world.own("quick", &web);
    let calls = Calls::new();
    let running = world.run(world.builder().owns(&world.config_maps).build(calls.reconcile()).unwrap());
    pass(1.0).await;
    let expectations = running.handle.expectations();
    expectations.expect_deletions(&key("web"), [uid(&slow), uid(&quick)]);
    world.server.delete("configmaps", "default", "slow").unwrap();
    pass(1.0).await;
    assert_eq!(world.server.count("configmaps"), 2, "it bears a finalizer");
    world.server.modify("configmaps", "default", "slow", |it| it["data"] = json!({"a": "b"})).unwrap();
    world
        .server
        .modify("configmaps", "default", "slow", |it| it["metadata"]["finalizers"] = json!([]))
        .unwrap();
    pass(1.0).await;
    assert!(!expectations.satisfied(&key("web")), "the other one is there still");
    world.server.delete("configmaps", "default", "quick").unwrap();
    pass(1.0).await;
    assert!(expectations.satisfied(&key("web")));
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_never_seen_expires_and_the_key_is_looked_at_again() {
    let world = World::new();
    world.deploy("web");
    let calls = Calls::new();
    let builder = world.builder().owns(&world.config_maps);
    let (handle, own) = (builder.handle(), calls.clone());
    let controller = builder.build(move |key| {
        if own.note(&key) == 0 {
            handle.expectations().expect_creations(&key, 1);
        }
        async { Ok::<_, BoxError>(Action::Done) }
    });
    let running = world.run(controller.unwrap());
    pass(299.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    assert!(!running.handle.expectations().satisfied(&key("web")));
    pass(2.0).await;
    assert_eq!(calls.take(), ["default/web"]);
    assert!(running.handle.expectations().satisfied(&key("web")));
    running.stop().await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deleted_key_expects_nothing() {
    let world = World::new();
    world.deploy("web");
    let calls = Calls::new();
    let running = world.run(world.builder().owns(&world.config_maps).build(calls.reconcile()).unwrap());
    pass(1.0).await;
    running.handle.expectations().expect_creations(&key("web"), 1);
    world.server.delete("deployments", "default", "web").unwrap();
    pass(1.0).await;
    assert!(running.handle.expectations().satisfied(&key("web")));
    assert_eq!(running.handle.metrics().expired_expectations, 0);
    running.stop().await.1.unwrap();
}
