//! What must not harm anybody: lost versions, undecodable objects, panics, hostile servers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{EventHandler, Phase, Trouble};
use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_deletion_in_a_gap_reaches_every_handler() {
    let server = TestServer::new();
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    let informer = config_maps(&server).build().unwrap();
    let witness = Witness::default();
    let registration = informer.add_event_handler(witness.handler());
    informer.start();
    registration.wait_for_sync(LIMIT).await.unwrap();
    witness.take();

    server.add_fault(FaultRule::new(Fault::ResetBeforeHeaders).times(1));
    server.end_watches("configmaps").unwrap();
    eventually("the watch is gone", || server.open_watches() == 0).await;
    delete(&server, "a");
    put(&server, "b", "2");
    server.delete("configmaps", "default", "c").unwrap();
    put(&server, "c", "new");
    server.compact();
    caught_up(&informer, &server).await;
    let told = witness.expect(5).await;
    assert_eq!(told[0], "Deleted a=1 Stale");
    assert_eq!(told.last().unwrap(), "Relisted");
    assert!(told.contains(&"Updated b=1->2".to_owned()), "{told:?}");
    let position =
        |what: &str| told.iter().position(|told| told == what).unwrap_or_else(|| panic!("{what}: {told:?}"));
    assert!(
        position("Deleted c=1 Stale") < position("Added c=new"),
        "another uid is another object: {told:?}"
    );
    assert_eq!(witness.held(), ["b=2", "c=new"]);
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_object_is_not_announced_by_a_relist() {
    let server = TestServer::new();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let decoded = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&decoded);
    let count = move |_: &mut ConfigMap| {
        counter.fetch_add(1, Ordering::SeqCst);
    };
    let informer = listed(config_maps(&server)).transform(count).build().unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler());
    informer.start();
    witness.expect(3).await;
    assert_eq!(decoded.load(Ordering::SeqCst), 2);
    server.fault_once(Verb::Watch, "configmaps", Fault::ExpiredWatch);
    server.end_watches("configmaps").unwrap();
    assert_eq!(witness.expect(1).await, ["Relisted"]);
    assert_eq!(decoded.load(Ordering::SeqCst), 2, "an unchanged item is not even decoded");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_kept_and_never_taken_for_deleted() {
    let server = TestServer::new();
    put(&server, "good", "1");
    put(&server, "bad", "1");
    let troubles = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&troubles);
    let informer = listed(config_maps(&server))
        .watch_error_handler(move |report| seen.lock().unwrap().push(report.trouble.clone()))
        .build()
        .unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler());
    informer.start();
    witness.expect(3).await;

    // `immutable` is a boolean.
    server.modify("configmaps", "default", "bad", |map| map["immutable"] = json!("hunter2")).unwrap();
    eventually("it is stale", || informer.status().stale == 1).await;
    server.fault_once(Verb::Watch, "configmaps", Fault::ExpiredWatch);
    server.end_watches("configmaps").unwrap();
    assert_eq!(witness.expect(1).await, ["Relisted"]);
    assert_eq!(data(&informer.lister().namespace("default").get("bad").unwrap()), "1");
    {
        let troubles = troubles.lock().unwrap();
        let reason = troubles.iter().find_map(|trouble| match trouble {
            Trouble::Undecodable { identity, reason } if identity.key.name() == "bad" => {
                Some(reason.to_string())
            }
            _ => None,
        });
        let reason = reason.expect("it is reported");
        assert!(reason.contains("expected a boolean") && !reason.contains("hunter2"), "{reason}");
    }

    put(&server, "bad", "2");
    assert_eq!(witness.expect(1).await, ["Updated bad=1->2"]);
    assert_eq!(informer.status().stale, 0);
    server.modify("configmaps", "default", "bad", |map| map["immutable"] = json!(7)).unwrap();
    eventually("it is stale again", || informer.status().stale == 1).await;
    delete(&server, "bad");
    assert_eq!(witness.expect(1).await, ["Deleted bad=2 Stale"]);
}

#[tokio::test(start_paused = true)]
async fn panics_in_users_code_are_values() {
    let server = TestServer::new();
    for name in ["a", "b"] {
        put(&server, name, name);
    }
    let informer =
        config_maps(&server).transform(|map| assert_ne!(data(map), "transform", "no")).build().unwrap();
    let index = informer.add_index("picky", |map: &ConfigMap| {
        assert_ne!(data(map), "a", "no");
        [data(map).to_owned()]
    });
    let witness = Witness::default();
    let registration = informer.add_event_handler(EventHandler::new().on_added(|object, _| {
        assert_ne!(object.key.name(), "a", "no");
    }));
    informer.add_event_handler(witness.handler());
    informer.start();
    registration.wait_for_sync(LIMIT).await.expect("a panic counts as delivered");
    assert_eq!(registration.stats().panics, 1);
    assert_eq!(witness.expect(3).await.len(), 3);
    assert!(index.get("a").is_empty());
    assert_eq!(index.get("b").len(), 1);
    assert_eq!(informer.status().index_errors, 1);

    put(&server, "b", "transform");
    eventually("the transform's panic is an error of its object", || informer.status().stale == 1).await;
    put(&server, "b", "fine");
    assert_eq!(witness.expect(1).await, ["Updated b=b->fine"]);
}

#[tokio::test(start_paused = true)]
async fn waiting_says_why_and_recovers_without_a_restart() {
    let server = TestServer::new();
    put(&server, "a", "1");
    server.deny(Verb::List, "configmaps");
    server.deny(Verb::Watch, "configmaps");
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    let error = informer.wait_for_sync(Duration::from_secs(5)).await.unwrap_err().to_string();
    assert!(error.contains("configmaps") && error.contains("403 Forbidden"), "{error}");
    assert!(informer.status().last_error.is_some());
    server.allow(Verb::List, "configmaps");
    server.allow(Verb::Watch, "configmaps");
    informer.wait_for_sync(LIMIT).await.unwrap();
    eventually("the trouble is over", || informer.status().last_error.is_none()).await;
    assert_eq!(informer.status().phase, Phase::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_goes_and_comes_is_followed() {
    let server = TestServer::new();
    let crd = json!({
        "metadata": {"name": "widgets.demo.dev"},
        "spec": {"group": "demo.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    server.create("customresourcedefinitions", crd.clone()).unwrap();
    server.create("widgets", json!({"metadata": {"name": "w", "namespace": "default"}})).unwrap();
    let gvk = kube::core::GroupVersionKind::gvk("demo.dev", "v1", "Widget");
    let resource = kube::core::ApiResource::from_gvk_with_plural(&gvk, "widgets");
    let source = informer::ResourceListWatch::new(client(&server), &resource);
    let builder = informer::SharedInformer::builder(source, informer::Dynamic::new(&resource));
    let informer = builder.build().unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(informer.store().len(), 1);

    server.delete("customresourcedefinitions", "", "widgets.demo.dev").unwrap();
    eventually("its objects are gone", || informer.store().is_empty()).await;
    eventually("it says so", || {
        informer.status().phase == Phase::ResourceGone || informer.status().last_error.is_some()
    })
    .await;
    server.create("customresourcedefinitions", crd).unwrap();
    server.create("widgets", json!({"metadata": {"name": "w2", "namespace": "default"}})).unwrap();
    eventually("it is back", || informer.store().len() == 1).await;
    assert_eq!(informer.store().keys()[0].name(), "w2");
}

#[tokio::test(start_paused = true)]
async fn a_half_open_connection_is_noticed_and_costs_no_list() {
    let server = TestServer::new();
    put(&server, "a", "1");
    server.set_bookmarks(true);
    let informer = listed(config_maps(&server)).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    server.clear_requests();
    server.stall_watches("configmaps").unwrap();
    put(&server, "a", "2");
    let begun = tokio::time::Instant::now();
    caught_up(&informer, &server).await;
    assert!(begun.elapsed() <= Duration::from_secs(91), "{:?}", begun.elapsed());
    assert!(server.requests().iter().all(|request| request.verb == Verb::Watch));
    assert!(informer.status().last_error.is_none());
}

#[tokio::test(start_paused = true)]
async fn throttling_is_waited_for_and_never_relists() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = listed(config_maps(&server)).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    server.clear_requests();
    let busy = ApiError::new(429, "TooManyRequests", "busy");
    server.add_fault(
        FaultRule::new(Fault::RetryAfter(busy, Duration::from_secs(20))).verb(Verb::Watch).times(2),
    );
    server.end_watches("configmaps").unwrap();
    eventually("the watch is gone", || server.open_watches() == 0).await;
    let begun = tokio::time::Instant::now();
    let version = put(&server, "a", "2");
    informer.wait_until(&version, LIMIT).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(39));
    assert!(server.requests().iter().all(|request| request.verb == Verb::Watch));
}
