//! Servers that refuse, conflict, fail, or do not answer.

use std::time::Duration;

use informer::{DropReason, EventType, Recorded};
use informer_testserver::{Fault, FaultRule, TestServer, Verb};
use serde_json::json;
use tokio::time::Instant;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn server_that_fails_for_an_hour_loses_nothing_uncounted_and_is_not_stormed() {
    for make in [v1, core_v1] {
        let server = TestServer::new();
        let recorder = make(&server);
        server.add_fault(FaultRule::new(error(500, "InternalError")).resource("events"));
        let begun = Instant::now();
        let mut recorded = 0;
        while begun.elapsed() < HOUR {
            for name in ["a", "b", "c", "d"] {
                let object = object("default", &format!("{name}{recorded}"));
                recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok");
                recorded += 1;
            }
            pass(Duration::from_secs(5)).await;
        }
        let during = metrics(&recorder);
        let dropped = &during.dropped;
        assert_eq!(during.written, 0);
        assert!(
            dropped.of(DropReason::GaveUp) > 100 && dropped.of(DropReason::QueueFull) > 100,
            "{during:?}"
        );
        assert_eq!(recorded, during.queued + dropped.of(DropReason::QueueFull));
        assert!(during.pending <= 1008, "{during:?}");
        // Eight writers, one try in 10 s each, and the short first pauses.
        assert!(during.requests < 8 * 3600 / 10 * 6 / 5, "{} requests in an hour", during.requests);

        server.clear_faults();
        pass(Duration::from_secs(30)).await;
        assert_eq!(metrics(&recorder).pending, 0, "the queue is written when the server is back");
        record(&recorder, "Synced", "back");
        recorder.shutdown(LIMIT).await.unwrap();
        let after = metrics(&recorder);
        assert_eq!(after.written, during.pending + 1);
        assert_eq!(events(&server).len() as u64, after.written);
    }
}

#[tokio::test(start_paused = true)]
async fn event_is_given_up_after_twelve_tries() {
    let server = TestServer::new();
    let recorder = v1(&server);
    server.add_fault(FaultRule::new(Fault::ResetBeforeHeaders).resource("events"));
    let begun = Instant::now();
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    assert_eq!((server.requests().len(), metrics(&recorder).dropped.of(DropReason::GaveUp)), (12, 1));
    let took = begun.elapsed();
    assert!((100..140).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn server_that_never_answers_is_given_up() {
    let server = TestServer::new();
    let recorder = v1(&server);
    server.add_fault(FaultRule::new(Fault::StallBeforeHeaders).resource("events"));
    let begun = Instant::now();
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    assert_eq!(metrics(&recorder).dropped.of(DropReason::GaveUp), 1);
    assert!(begun.elapsed() < Duration::from_secs(331), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn thousand_events_survive_a_server_that_fails_for_a_while() {
    let server = TestServer::new();
    let recorder = v1(&server);
    // Some four tries of each of the eight writers.
    server.add_fault(FaultRule::new(error(503, "ServiceUnavailable")).resource("events").times(32));
    for number in 0..1000 {
        let object = object("default", &format!("foo-{number}"));
        assert_eq!(recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok"), Recorded::Queued);
    }
    settled(&recorder).await;
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.requests, events(&server).len()), (1000, 1032, 1000));
}

#[tokio::test(start_paused = true)]
async fn refused_event_is_not_tried_again() {
    for (code, reason) in
        [(400, "BadRequest"), (401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound"), (422, "Invalid")]
    {
        let server = TestServer::new();
        let recorder = v1(&server);
        server.add_fault(FaultRule::new(error(code, reason)).resource("events"));
        record(&recorder, "Synced", "ok");
        settled(&recorder).await;
        assert_eq!(
            (server.requests().len(), metrics(&recorder).dropped.of(DropReason::Rejected)),
            (1, 1),
            "{code}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_resolved() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    server.fault_once(Verb::Create, "events", error(409, "Conflict"));
    server.fault_once(Verb::Patch, "events", error(409, "Conflict"));
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    assert_eq!((events(&server)[0]["count"].as_u64(), server.requests().len()), (Some(2), 4));
}

#[tokio::test(start_paused = true)]
async fn event_that_exists_already_was_written_before() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    server.fault_once(Verb::Create, "events", error(409, "AlreadyExists"));
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    assert_eq!((metrics(&recorder).written, server.requests().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn answer_whose_body_breaks_off_is_an_answer() {
    let server = TestServer::new();
    let recorder = v1(&server);
    server.fault_once(Verb::Create, "events", Fault::ResetBody { after_bytes: 10 });
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    assert_eq!((metrics(&recorder).written, server.requests().len(), events(&server).len()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed() {
    let server = TestServer::new();
    let recorder = v1(&server);
    let busy = informer_testserver::ApiError::new(429, "TooManyRequests", "busy");
    server.fault_once(Verb::Create, "events", Fault::RetryAfter(busy, Duration::from_secs(25)));
    let begun = Instant::now();
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    assert_eq!((metrics(&recorder).written, begun.elapsed().as_secs()), (1, 25));
}

#[tokio::test(start_paused = true)]
async fn namespace_that_is_going_or_gone_drops_its_events_at_once() {
    let server = TestServer::new();
    server.create("namespaces", json!({"metadata": {"name": "going"}})).unwrap();
    let held =
        json!({"metadata": {"name": "held", "namespace": "going", "finalizers": ["example.com/hold"]}});
    server.create("configmaps", held).unwrap();
    server.delete("namespaces", "", "going").unwrap();
    for make in [v1, core_v1] {
        let recorder = make(&server);
        server.clear_requests();
        recorder.event(&object("going", "held"), EventType::Normal, "Deleting", "Delete", "ok");
        recorder.event(&object("gone", "foo"), EventType::Normal, "Deleted", "Delete", "ok");
        settled(&recorder).await;
        let dropped = metrics(&recorder).dropped;
        assert_eq!(dropped.of(DropReason::NamespaceTerminating), 1);
        assert_eq!(dropped.of(DropReason::NamespaceGone), 1);
        assert_eq!((dropped.total(), server.requests().len()), (2, 2), "not tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn event_whose_namespace_goes_away_between_create_and_patch_is_dropped() {
    let server = TestServer::new();
    server.create("namespaces", json!({"metadata": {"name": "team"}})).unwrap();
    let recorder = core_v1(&server);
    recorder.event(&object("team", "foo"), EventType::Normal, "Synced", "Sync", "ok");
    settled(&recorder).await;
    server.delete("namespaces", "", "team").unwrap();
    recorder.event(&object("team", "foo"), EventType::Normal, "Synced", "Sync", "ok");
    settled(&recorder).await;
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.dropped.of(DropReason::NamespaceGone)), (1, 1));
}
