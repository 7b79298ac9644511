//! The end: what is left is written, in time, or counted.

use std::time::Duration;

use informer::{DropReason, EventSink, EventType, Recorded};
use informer_testserver::{Fault, FaultRule, TestServer, Verb};
use tokio::time::Instant;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn shutdown_writes_what_is_queued_and_counted() {
    for make in [v1, core_v1] {
        let server = TestServer::new();
        let recorder = make(&server);
        for number in 0..500 {
            let object = object("default", &format!("foo-{}", number / 2));
            recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok");
        }
        recorder.shutdown(Duration::from_secs(5)).await.unwrap();
        let metrics = metrics(&recorder);
        assert_eq!((metrics.written, metrics.pending, events(&server).len()), (500, 0, 250));
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_at_its_deadline_and_says_how_many_are_left() {
    let server = TestServer::new();
    let recorder = v1(&server);
    server.add_fault(FaultRule::new(Fault::StallBeforeHeaders).resource("events"));
    for number in 0..50 {
        let object = object("default", &format!("foo-{number}"));
        recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok");
    }
    let begun = Instant::now();
    let unflushed = recorder.shutdown(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((unflushed.count, begun.elapsed().as_secs()), (50, 5));
    assert_eq!(unflushed.to_string(), "50 events were not written within 5s");
    let metrics = metrics(&recorder);
    assert_eq!((metrics.pending, metrics.dropped.of(DropReason::Unflushed)), (0, 50));
    assert_eq!(recorder.shutdown(LIMIT).await.unwrap_err().count, 50, "the same again");
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_the_next_try() {
    let server = TestServer::new();
    let recorder = v1(&server);
    server.add_fault(FaultRule::new(error(503, "ServiceUnavailable")).resource("events").times(4));
    record(&recorder, "Synced", "ok");
    while server.requests().len() < 2 {
        pass(Duration::from_millis(100)).await;
    }
    let begun = Instant::now();
    recorder.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(events(&server).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn recording_after_shutdown_is_dropped_and_counted() {
    let server = TestServer::new();
    let recorder = v1(&server);
    let named = recorder.named("other").unwrap();
    recorder.clone().shutdown(Duration::ZERO).await.unwrap();
    assert_eq!(record(&recorder, "Synced", "ok"), Recorded::Dropped(DropReason::ShutDown));
    assert_eq!(record(&named, "Synced", "ok"), Recorded::Dropped(DropReason::ShutDown));
    let metrics = recorder.metrics();
    assert_eq!((metrics.recorded, metrics.dropped.of(DropReason::ShutDown)), (2, 2));
    assert!(events(&server).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recording_while_shutting_down_loses_nothing_uncounted() {
    for _ in 0..20 {
        let server = TestServer::new();
        let recorder = v1(&server);
        let tasks = (0..10).map(|task| {
            let recorder = recorder.clone();
            tokio::spawn(async move {
                for number in 0..50 {
                    let object = object("default", &format!("foo-{task}-{number}"));
                    recorder.event(&object, EventType::Normal, "Synced", "Sync", "ok");
                    tokio::task::yield_now().await;
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        tokio::task::yield_now().await;
        recorder.shutdown(LIMIT).await.unwrap();
        for task in tasks {
            task.await.unwrap();
        }
        let all = recorder.metrics();
        assert_eq!(all.recorded, 500);
        let sink = &all.sinks[0];
        assert_eq!(sink.written, events(&server).len() as u64);
        assert_eq!(all.recorded, all.dropped.total() + sink.written + sink.dropped.total(), "{all:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_recorder_writes_what_is_queued() {
    let server = TestServer::new();
    let recorder = v1(&server);
    for _ in 0..3 {
        record(&recorder, "Synced", "ok");
    }
    drop(recorder);
    pass(Duration::from_secs(1)).await;
    assert_eq!(events(&server)[0]["series"]["count"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observer_that_blocks_does_not_block_the_shutdown() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let observe = move |_: &informer::RecordedEvent| {
        let _ = blocked.lock().unwrap().recv();
    };
    let recorder = builder().sink(EventSink::observer("blocking", observe)).build().unwrap();
    record(&recorder, "Synced", "ok");
    record(&recorder, "Synced", "ok");
    let unflushed = recorder.shutdown(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(unflushed.count, 2);
    drop(release);
}

#[tokio::test(start_paused = true)]
async fn shutdown_reports_what_was_counted_while_a_series_is_patched() {
    let server = TestServer::new();
    let recorder = v1(&server);
    record(&recorder, "Synced", "ok");
    settled(&recorder).await;
    server.fault_once(Verb::Patch, "events", error(503, "ServiceUnavailable"));
    record(&recorder, "Synced", "ok");
    while server.requests().len() < 2 {
        pass(Duration::from_millis(1)).await;
    }
    record(&recorder, "Synced", "ok");
    recorder.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!((events(&server)[0]["series"]["count"].as_u64(), metrics(&recorder).written), (Some(3), 3));
}
