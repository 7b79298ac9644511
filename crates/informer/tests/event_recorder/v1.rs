//! events.k8s.io/v1: what is sent, and series.

use std::time::Duration;

use informer::{EventType, ObjectReference};
use informer_testserver::Verb;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn first_event_has_everything_that_the_api_demands() {
    let (server, mut node) = (informer_testserver::TestServer::new(), Node::default());
    node.metadata.name = Some("node-1".into());
    let recorder = v1(&server);
    let regarding = ObjectReference::from(&object("default", "foo")).field_path("data.k");
    recorder.related(regarding, &node, EventType::Warning, "Failed", "Sync", "no");
    settled(&recorder).await;

    let event = &events(&server)[0];
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("foo.") && name.len() == 28, "{name}");
    assert_eq!(event["metadata"]["namespace"], "default");
    assert_eq!(event["eventTime"], micro_time(0));
    assert_eq!(
        (&event["type"], &event["reason"], &event["action"]),
        (&json!("Warning"), &json!("Failed"), &json!("Sync"))
    );
    assert_eq!(
        (&event["reportingComponent"], &event["reportingInstance"]),
        (&json!("demo"), &json!("demo-1"))
    );
    assert_eq!(event["message"], "no");
    let regarding = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "foo", "fieldPath": "data.k",
        "uid": "7d44c9be-0000-4000-8000-000000000001",
    });
    assert_eq!(event["involvedObject"], regarding);
    assert_eq!(event["related"], json!({"apiVersion": "v1", "kind": "Node", "name": "node-1"}));
    assert!(event.get("count").is_none() && event.get("series").is_none(), "{event}");
    let request = &server.requests()[0];
    assert_eq!(request.path, "/apis/events.k8s.io/v1/namespaces/default/events");
}

#[tokio::test(start_paused = true)]
async fn series_is_begun_at_once_and_finished_when_quiet() {
    let server = informer_testserver::TestServer::new();
    let recorder = v1(&server);
    for note in ["one", "two", "three", "four"] {
        record(&recorder, "Synced", note);
        pass(Duration::from_secs(1)).await;
    }
    let all = events(&server);
    assert_eq!(all.len(), 1, "isomorphic events are one object");
    assert_eq!(all[0]["series"], json!({"count": 2, "lastObservedTime": micro_time(1)}));
    assert_eq!(metrics(&recorder).pending, 2);

    pass(Duration::from_secs(13 * 60)).await;
    let event = &events(&server)[0];
    assert_eq!(event["series"], json!({"count": 4, "lastObservedTime": micro_time(3)}));
    assert_eq!(event["message"], "one", "a note cannot be changed");
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.creates, metrics.patches, metrics.requests), (4, 1, 2, 3));

    record(&recorder, "Synced", "five");
    settled(&recorder).await;
    assert_eq!(events(&server).len(), 2, "the series is over");
}

#[tokio::test(start_paused = true)]
async fn series_that_goes_on_is_patched_every_half_hour() {
    let server = informer_testserver::TestServer::new();
    let recorder = v1(&server);
    for _ in 0..24 * 60 {
        record(&recorder, "Synced", "ok");
        pass(Duration::from_secs(60)).await;
    }
    let metrics = metrics(&recorder);
    assert_eq!((metrics.creates, metrics.patches), (1, 1 + 47), "in a day");
    recorder.shutdown(LIMIT).await.unwrap();
    assert_eq!(events(&server)[0]["series"]["count"], 1440);
}

#[tokio::test(start_paused = true)]
async fn change_of_the_object_does_not_split_a_series() {
    let server = informer_testserver::TestServer::new();
    let recorder = v1(&server);
    for version in 1..=3 {
        let mut object = object("default", "foo");
        object.metadata.resource_version = Some(version.to_string());
        recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok");
    }
    recorder.event(&object("default", "foo"), EventType::Normal, "Synced", "Other", "ok");
    recorder.shutdown(LIMIT).await.unwrap();
    let counts: Vec<_> = events(&server).iter().map(|event| event["series"]["count"].as_u64()).collect();
    assert_eq!(counts, [Some(3), None], "another action is another event");
}

#[tokio::test]
async fn hundred_tasks_at_once_make_one_series_of_a_hundred() {
    let server = informer_testserver::TestServer::new();
    let recorder = v1(&server);
    let tasks = (0..100).map(|_| {
        let recorder = recorder.clone();
        tokio::spawn(async move { record(&recorder, "Synced", "ok") })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    recorder.shutdown(LIMIT).await.unwrap();
    let all = events(&server);
    assert_eq!((all.len(), all[0]["series"]["count"].as_u64()), (1, Some(100)));
    let creates = server.requests().iter().filter(|request| request.verb == Verb::Create).count();
    assert_eq!(creates, 1);
}

#[tokio::test(start_paused = true)]
async fn expired_series_is_created_again_with_its_count() {
    let server = informer_testserver::TestServer::new();
    let recorder = v1(&server);
    record(&recorder, "Synced", "ok");
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    let name = events(&server)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    server.delete("events", "default", &name).unwrap();
    record(&recorder, "Synced", "ok");
    recorder.shutdown(LIMIT).await.unwrap();
    let all = events(&server);
    assert_eq!((all.len(), all[0]["series"]["count"].as_u64()), (1, Some(3)));
}

#[tokio::test(start_paused = true)]
async fn another_controller_shares_the_sinks_and_not_the_series() {
    let server = informer_testserver::TestServer::new();
    let recorder = v1(&server);
    let other = recorder.named("example.com/other").unwrap();
    record(&recorder, "Synced", "ok");
    record(&other, "Synced", "ok");
    other.shutdown(LIMIT).await.unwrap();
    let controllers: Vec<_> = events(&server)
        .iter()
        .map(|event| event["reportingComponent"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(controllers.len(), 2);
    assert!(controllers.contains(&"example.com/other".to_owned()), "{controllers:?}");
    assert!(recorder.named("a/b/c").is_err());
}
