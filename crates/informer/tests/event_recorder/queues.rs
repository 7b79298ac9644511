//! Queues are bounded, and each sink has its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{DropReason, EventSink, EventType, Recorded};
use informer_testserver::{Fault, FaultRule, TestServer};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn full_queue_drops_the_newest_and_says_so_at_once() {
    let server = TestServer::new();
    let recorder = v1(&server);
    let mut outcomes = Vec::new();
    for number in 0..3000 {
        let object = object("default", &format!("foo-{number}"));
        outcomes.push(recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok"));
    }
    let taken = outcomes.iter().position(|outcome| *outcome != Recorded::Queued).unwrap();
    assert_eq!(taken, 1000);
    assert!(outcomes[taken..].iter().all(|outcome| *outcome == Recorded::Dropped(DropReason::QueueFull)));
    recorder.shutdown(LIMIT).await.unwrap();
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.dropped.of(DropReason::QueueFull)), (1000, 2000));
    assert_eq!(events(&server).len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn burst_to_a_slow_server_stays_bounded() {
    let server = TestServer::new();
    let recorder = builder().sink(EventSink::v1(client(&server))).queue(100).build().unwrap();
    server.add_fault(FaultRule::new(Fault::StallBeforeHeaders).resource("events"));
    for number in 0..100_000 {
        let object = object("default", &format!("foo-{number}"));
        recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok");
        if number % 1000 == 0 {
            pass(Duration::from_millis(1)).await;
        }
    }
    let metrics = metrics(&recorder);
    assert_eq!(metrics.pending, 108, "the queue and eight writers");
    assert_eq!((metrics.requests, metrics.dropped.of(DropReason::QueueFull)), (8, 100_000 - 108));
}

#[tokio::test(start_paused = true)]
async fn sink_that_hangs_does_not_hold_up_the_others() {
    let (hanging, fine) = (TestServer::new(), TestServer::new());
    hanging.add_fault(FaultRule::new(Fault::StallBeforeHeaders).resource("events"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observe = {
        let seen = Arc::clone(&seen);
        move |event: &informer::RecordedEvent| {
            seen.lock().unwrap().push(event.reason.clone());
            assert_ne!(event.reason, "Reason3", "the observer's own trouble");
        }
    };
    let recorder = builder()
        .sink(EventSink::v1(client(&hanging)))
        .sink(EventSink::observer("mine", observe))
        .sink(EventSink::tracing())
        .sink(EventSink::core_v1(client(&fine)))
        .queue(20)
        .build()
        .unwrap();
    for number in 0..60 {
        let object = object("default", &format!("foo-{number}"));
        let recorded = recorder.event(&object, EventType::Normal, &format!("Reason{number}"), "Sync", "ok");
        assert_eq!(recorded, Recorded::Queued, "somebody takes it");
        pass(Duration::from_millis(10)).await;
    }
    assert_eq!(events(&fine).len(), 60);
    assert_eq!(seen.lock().unwrap().len(), 60);
    let [hanging, mine, tracing, core_v1] = <[_; 4]>::try_from(recorder.metrics().sinks).unwrap();
    assert_eq!((hanging.sink.as_str(), hanging.written, hanging.pending), ("events.k8s.io/v1", 0, 28));
    assert_eq!(hanging.dropped.of(DropReason::QueueFull), 32);
    assert_eq!((mine.sink.as_str(), mine.written, mine.dropped.of(DropReason::Panicked)), ("mine", 59, 1));
    assert_eq!((tracing.written, core_v1.written), (60, 60));
}

#[tokio::test(start_paused = true)]
async fn repeated_events_during_an_outage_are_one_count_afterwards() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    server.add_fault(FaultRule::new(error(503, "ServiceUnavailable")).resource("events").times(3));
    for _ in 0..20 {
        record(&recorder, "Synced", "ok");
    }
    settled(&recorder).await;
    assert_eq!((events(&server)[0]["count"].as_u64(), server.requests().len()), (Some(20), 5));
}
