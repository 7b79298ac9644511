//! A server, recorders of events in it, and an object to record events about.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use informer::{
    DropReason, EventRecorder, EventRecorderBuilder, EventSink, EventSinkMetrics, EventType, Recorded,
};
use informer_testserver::{ApiError, Fault, TestServer};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

/// Longer than anything may take under paused time, where waiting costs nothing.
pub(crate) const LIMIT: Duration = Duration::from_secs(1000);
/// The wall clock's time when tokio's begins.
pub(crate) const EPOCH: Duration = Duration::from_secs(1_767_225_600);

pub(crate) fn client(server: &TestServer) -> Client {
    Client::new(server.clone(), "default")
}

/// A recorder whose wall clock goes with tokio's.
pub(crate) fn builder() -> EventRecorderBuilder {
    let start = Instant::now();
    EventRecorder::builder("demo").instance("demo-1").wall_clock(move || UNIX_EPOCH + EPOCH + start.elapsed())
}

pub(crate) fn v1(server: &TestServer) -> EventRecorder {
    builder().sink(EventSink::v1(client(server))).build().expect("valid names")
}

pub(crate) fn core_v1(server: &TestServer) -> EventRecorder {
    builder().sink(EventSink::core_v1(client(server))).build().expect("valid names")
}

pub(crate) fn object(namespace: &str, name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
    object.metadata.uid = Some("7d44c9be-0000-4000-8000-000000000001".to_owned());
    object
}

/// Records a Normal event about `default/foo`.
pub(crate) fn record(recorder: &EventRecorder, reason: &str, note: &str) -> Recorded {
    recorder.event(&object("default", "foo"), EventType::Normal, reason, "Sync", note)
}

pub(crate) fn events(server: &TestServer) -> Vec<Value> {
    server.list("events").expect("events are served")
}

/// Of the only sink.
pub(crate) fn metrics(recorder: &EventRecorder) -> EventSinkMetrics {
    let metrics = recorder.metrics().sinks.remove(0);
    let dropped = metrics.dropped.total() - metrics.dropped.of(DropReason::QueueFull);
    assert_eq!(metrics.queued, metrics.written + metrics.pending + dropped, "the books balance: {metrics:?}");
    metrics
}

/// Lets everything happen that happens by itself within this time.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Waits until everything recorded is settled.
pub(crate) async fn settled(recorder: &EventRecorder) {
    let begun = Instant::now();
    while recorder.metrics().sinks.iter().any(|sink| sink.pending > 0) {
        assert!(begun.elapsed() < LIMIT, "never settled: {:?}", recorder.metrics());
        pass(Duration::from_millis(10)).await;
    }
}

pub(crate) fn error(code: u16, reason: &str) -> Fault {
    Fault::Error(ApiError::new(code, reason, "the message of the canary"))
}

/// As the API writes it, with microseconds.
pub(crate) fn micro_time(secs: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + EPOCH + Duration::from_secs(secs);
    let time = k8s_openapi::jiff::Timestamp::try_from(time).expect("a time of this century");
    format!("{}.000000Z", time.strftime("%Y-%m-%dT%H:%M:%S"))
}

pub(crate) fn time(secs: u64) -> String {
    micro_time(secs).replace(".000000", "")
}
