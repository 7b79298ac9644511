//! The figures of controllers and event recorders are those of what happened.

use std::time::Duration;

use informer::{
    Action, BoxError, Controller, ElectionClock, EventRecorder, EventSink, EventType, LeaderElector, Metrics,
    TerminalError,
};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use crate::support::*;

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn figures_of_a_controller_follow_what_it_did() {
    let server = TestServer::builder().build();
    for name in ["good", "later", "bad", "hopeless"] {
        put(&server, name, "1");
    }
    let informer = started(config_maps(&server)).await;
    let controller = Controller::builder("foo", &informer)
        .build(|key| async move {
            match key.name() {
                "good" => Ok(Action::Done),
                "later" => Ok(Action::RequeueAfter(Duration::from_secs(1_000_000))),
                "hopeless" => Err(BoxError::from(TerminalError::new("no"))),
                _ => Err("not yet".into()),
            }
        })
        .unwrap();
    let metrics = Metrics::new();
    metrics.controller(&controller.handle()).unwrap();
    assert!(metrics.work_queue("foo", &informer::WorkQueue::<u8>::new()).is_err(), "its queue has that name");
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { controller.run(stop).await }
    });
    eventually("two tries", || {
        metrics.text().contains("controller_runtime_reconcile_errors_total{controller=\"foo\"} 3\n")
    })
    .await;

    let scrape = Scrape::new(metrics.text());
    let value = |name: &str| scrape.value(name, &["controller=\"foo\""]);
    let result = |result: &str| {
        scrape.value(
            "controller_runtime_reconcile_total",
            &["controller=\"foo\"", &format!("result=\"{result}\"")],
        )
    };
    assert_eq!((result("success"), result("requeue_after"), result("error")), (1.0, 1.0, 3.0));
    assert_eq!(value("controller_runtime_terminal_reconcile_errors_total"), 1.0);
    assert_eq!(value("controller_runtime_reconcile_panics_total"), 0.0);
    assert_eq!(value("controller_runtime_reconcile_time_seconds_count"), 5.0);
    assert_eq!(value("controller_runtime_max_concurrent_reconciles"), 1.0);
    assert_eq!(value("controller_runtime_active_workers"), 0.0);
    assert_eq!(value("workqueue_queue_duration_seconds_count"), 5.0);
    assert_eq!(scrape.count("controller_runtime_reconcile_time_seconds_bucket", &[]), 41);

    stop.cancel();
    running.await.unwrap().unwrap();
    drop(informer);
    assert_eq!(metrics.text(), "", "it is gone");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn figures_of_a_recorder_follow_what_it_did() {
    let server = TestServer::builder().build();
    let client = kube::Client::new(server.clone(), "default");
    let recorder = EventRecorder::builder("foo").sink(EventSink::v1(client)).build().unwrap();
    let metrics = Metrics::new();
    metrics.event_recorder("foo", &recorder).unwrap();
    let mut object = ConfigMap::default();
    object.metadata.name = Some("a".into());
    object.metadata.namespace = Some("default".into());
    recorder.event(&object, EventType::Normal, "Seen", "Look", "it is there");
    recorder.event(&object, EventType::Normal, "", "Look", "no reason");
    let written = "informer_event_recorder_written_events_total{name=\"foo\",sink=\"events.k8s.io/v1\"} 1\n";
    eventually("it is written", || metrics.text().contains(written)).await;

    let scrape = Scrape::new(metrics.text());
    assert_eq!(scrape.value("informer_event_recorder_events_total", &["name=\"foo\""]), 2.0);
    let refused =
        scrape.value("informer_event_recorder_refused_events_total", &["reason=\"invalid_reason\""]);
    assert_eq!(refused, 1.0);
    assert_eq!(scrape.value("informer_event_recorder_pending_events", &[]), 0.0);
    recorder.shutdown(LIMIT).await.unwrap();
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn figures_of_an_elector_follow_what_it_did() {
    let server = TestServer::builder().build();
    let client = kube::Client::new(server.clone(), "default");
    let elector =
        LeaderElector::builder(client, "default", "app", "me").clock(ElectionClock::tokio()).build().unwrap();
    let metrics = Metrics::new();
    metrics.leader_elector(&elector).unwrap();
    assert!(metrics.leader_elector(&elector).is_err());
    let leads = || Scrape::new(metrics.text()).value("leader_election_master_status", &["name=\"app\""]);
    assert_eq!(leads(), 0.0);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (elector, stop) = (elector.clone(), stop.clone());
        async move { elector.run(stop, |term| async move { term.cancelled().await }).await }
    });
    eventually("it leads", || leads() == 1.0).await;
    assert_eq!(Scrape::new(metrics.text()).value("informer_leader_election_terms_total", &[]), 1.0);
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(leads(), 0.0);
    drop(elector);
    assert_eq!(metrics.text(), "");
}
