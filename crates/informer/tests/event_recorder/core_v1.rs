//! core/v1: what is sent, counts, combined events, spam.

use std::time::Duration;

use informer::{DropReason, EventSink, EventType, Recorded};
use informer_testserver::TestServer;
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn identical_events_are_one_object_with_a_count() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    for _ in 0..5 {
        record(&recorder, "Synced", "ok");
        pass(Duration::from_secs(1)).await;
    }
    let all = events(&server);
    assert_eq!(all.len(), 1);
    let event = &all[0];
    assert_eq!((&event["count"], &event["message"]), (&json!(5), &json!("ok")));
    assert_eq!((&event["firstTimestamp"], &event["lastTimestamp"]), (&json!(time(0)), &json!(time(4))));
    assert_eq!(event["source"], json!({"component": "demo"}));
    assert_eq!(
        (&event["reportingComponent"], &event["reportingInstance"]),
        (&json!("demo"), &json!("demo-1"))
    );
    assert!(event.get("eventTime").is_none() && event.get("series").is_none(), "{event}");
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.creates, metrics.patches), (5, 1, 4));
    assert_eq!(server.requests()[0].path, "/api/v1/namespaces/default/events");
}

#[tokio::test(start_paused = true)]
async fn similar_events_are_combined_from_the_tenth_message_on() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    for number in 1..=14 {
        record(&recorder, "Synced", &format!("message {number}"));
    }
    settled(&recorder).await;
    let all = events(&server);
    assert_eq!(all.len(), 10);
    let combined: Vec<_> = all.iter().filter(|event| event["count"] == 5).collect();
    assert_eq!(combined.len(), 1);
    assert_eq!(combined[0]["message"], "(combined from similar events): message 14");
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.combined), (14, 5));
}

#[tokio::test(start_paused = true)]
async fn combined_message_fits_too() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    for number in 1..=10 {
        record(&recorder, "Synced", &format!("{number}{}", "€".repeat(400)));
    }
    settled(&recorder).await;
    let lengths: Vec<_> =
        events(&server).iter().map(|event| event["message"].as_str().unwrap().len()).collect();
    assert!(lengths.iter().all(|length| (1020..=1024).contains(length)), "{lengths:?}");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_burst_normal_events_are_counted_and_warnings_pass() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    for number in 0..30 {
        assert_eq!(record(&recorder, &format!("Reason{number}"), "ok"), Recorded::Queued);
    }
    settled(&recorder).await;
    assert_eq!(events(&server).len(), 25);
    assert_eq!(metrics(&recorder).dropped.of(DropReason::Spam), 5);
    recorder.event(&object("default", "foo"), EventType::Warning, "Failed", "Sync", "no");
    recorder.event(&object("default", "bar"), EventType::Normal, "Synced", "Sync", "ok");
    settled(&recorder).await;
    assert_eq!(events(&server).len(), 27);

    pass(Duration::from_secs(300)).await;
    record(&recorder, "Reason29", "ok");
    settled(&recorder).await;
    let all = events(&server);
    let last = all.iter().find(|event| event["reason"] == "Reason29").unwrap();
    assert_eq!(last["count"], 2, "the one that was dropped is in the count");
}

#[tokio::test(start_paused = true)]
async fn figures_can_be_changed() {
    let server = TestServer::new();
    let by_reason = builder().sink(EventSink::core_v1(client(&server)));
    let recorder = by_reason.correlator(|options| options.burst_by_reason = true).build().unwrap();
    for number in 0..30 {
        record(&recorder, &format!("Reason{number}"), "ok");
    }
    recorder.shutdown(LIMIT).await.unwrap();
    assert_eq!(events(&server).len(), 30);
}

#[tokio::test(start_paused = true)]
async fn expired_event_is_created_again_with_its_count() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    let name = events(&server)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    server.delete("events", "default", &name).unwrap();
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    let all = events(&server);
    assert_eq!((all.len(), &all[0]["count"]), (1, &json!(2)));
    assert_eq!(metrics(&recorder).written, 2);
}
