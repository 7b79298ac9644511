//! The figures are those of what happened.

use std::sync::mpsc;
use std::time::Duration;

use informer::{EventHandler, Metrics, Overflow, Priority, WorkQueue};
use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
use serde_json::json;

use crate::support::*;

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn figures_of_an_informer_follow_what_it_did() {
    let server = TestServer::builder().build();
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    let informer = started(config_maps(&server)).await;
    let metrics = Metrics::new();
    metrics.informer("settings", &informer).unwrap();
    informer.add_event_handler(EventHandler::new());
    put(&server, "a", "2");
    let version = put(&server, "d", "1");
    informer.wait_until(&version, LIMIT).await.unwrap();

    let scrape = Scrape::new(metrics.text());
    let value =
        |name: &str| scrape.value(name, &["resource=\"configmaps\"", "name=\"settings\"", "version=\"v1\""]);
    assert_eq!(value("informer_objects"), 4.0);
    assert_eq!(value("informer_synced"), 1.0);
    assert_eq!(value("informer_watching"), 1.0);
    assert_eq!(value("informer_failing"), 0.0);
    assert_eq!(value("informer_stale_objects"), 0.0);
    assert_eq!(value("informer_queued_items"), 0.0);
    assert_eq!(value("informer_handlers"), 1.0);
    assert_eq!(value("informer_requests_total"), 2.0);
    assert_eq!(value("informer_decode_errors_total"), 0.0);
    assert_eq!(value("reflector_lists_total"), 1.0);
    assert_eq!(value("reflector_items_per_list_sum"), 3.0);
    assert_eq!(value("reflector_items_per_list_count"), 1.0);
    assert_eq!(value("reflector_watches_total"), 1.0);
    assert_eq!(value("reflector_watch_duration_seconds_count"), 0.0);
    assert!(value("informer_processing_latency_seconds_count") >= 2.0);
    let version: f64 = version.to_string().parse().unwrap();
    assert_eq!(value("informer_store_resource_version"), version);
    assert_eq!(value("reflector_last_resource_version"), version);

    // The server ends the watch; then it has lost the version, and there is a second list.
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.fault_once(Verb::Watch, "configmaps", Fault::ExpiredWatch);
    server.end_watches("configmaps").unwrap();
    eventually("a relist", || informer.metrics().reflector.list_items.count() == 2).await;
    let scrape = Scrape::new(metrics.text());
    let value = |name: &str| scrape.value(name, &["name=\"settings\""]);
    assert_eq!(value("reflector_lists_total"), 2.0);
    assert_eq!(value("reflector_items_per_list_sum"), 7.0);
    assert!(value("reflector_watch_duration_seconds_sum") >= 30.0);
    assert!(value("reflector_items_per_watch_sum") >= 2.0);
    informer.stop().await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_watch_list_is_a_list_and_a_watch() {
    let server = TestServer::builder().build();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let informer = started(config_maps(&server).reflector_options(|options| options.watch_list(true))).await;
    let reflector = informer.metrics().reflector;
    assert_eq!((reflector.lists, reflector.watches), (1, 1));
    assert_eq!((reflector.list_items.sum(), reflector.list_items.count()), (2.0, 1));
    assert_eq!(reflector.watch_items.count(), 0);
    informer.stop().await;
    assert_eq!(informer.metrics().reflector.watch_items.count(), 1, "the watch is over");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn pages_are_one_list() {
    let server = TestServer::builder().build();
    for n in 0..25 {
        put(&server, &format!("c{n}"), "1");
    }
    // A page size counts for consistent reads; version "0" is answered whole.
    let builder =
        config_maps(&server).reflector_options(|options| options.page_size(10).consistent_first_list(true));
    let informer = started(builder).await;
    let metrics = informer.metrics();
    assert_eq!((metrics.reflector.lists, metrics.reflector.list_items.count()), (1, 1));
    assert_eq!(metrics.reflector.list_items.sum(), 25.0);
    assert_eq!(informer.status().requests, 4, "three pages and a watch");
    informer.stop().await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn undecodable_objects_and_failures_are_counted() {
    let server = TestServer::builder().build();
    put(&server, "a", "1");
    let informer = started(config_maps(&server)).await;
    let metrics = Metrics::new();
    metrics.informer("settings", &informer).unwrap();
    server
        .modify("configmaps", "default", "a", |object| object["data"] = json!({"k": ["no", "text"]}))
        .unwrap();
    eventually("it is stale", || informer.status().stale == 1).await;
    server.add_fault(FaultRule::new(Fault::Error(ApiError::new(500, "InternalError", "no"))).times(3));
    server.reset_watches("configmaps").unwrap();
    eventually("a failure", || informer.status().last_error.is_some()).await;
    let scrape = Scrape::new(metrics.text());
    let value = |name: &str| scrape.value(name, &["name=\"settings\""]);
    assert_eq!(value("informer_stale_objects"), 1.0);
    assert!(value("informer_decode_errors_total") >= 1.0);
    assert!(value("informer_request_failures_total") >= 1.0);
    assert_eq!(value("informer_failing"), 1.0);
    eventually("it works again", || informer.status().last_error.is_none()).await;
    assert_eq!(Scrape::new(metrics.text()).value("informer_failing", &[]), 0.0);
    informer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_removed_handler_counted_stays_counted() {
    let server = TestServer::builder().build();
    put(&server, "a", "1");
    let informer = started(config_maps(&server)).await;
    let (send, receive) = mpsc::channel::<()>();
    let receive = std::sync::Mutex::new(receive);
    let slow = EventHandler::new().backlog_limit(2).overflow(Overflow::Conflate).on_updated(move |_, _| {
        // Until the test lets go.
        let _ = receive.lock().unwrap().recv();
        panic!("handlers may");
    });
    let registration = informer.add_event_handler(slow);
    let mut version = put(&server, "a", "first");
    informer.wait_until(&version, LIMIT).await.unwrap();
    for n in 0..20 {
        version = put(&server, "a", &n.to_string());
        informer.wait_until(&version, LIMIT).await.unwrap();
    }
    let listeners = informer.metrics().listeners;
    assert!(listeners.conflations >= 1 && listeners.merged >= 10 && listeners.waiting >= 1, "{listeners:?}");
    drop(send);
    while informer.metrics().listeners.panics == 0 {
        tokio::task::yield_now().await;
    }
    registration.remove().await;
    let metrics = informer.metrics();
    assert_eq!((metrics.handlers, metrics.listeners.waiting), (0, 0));
    assert!(metrics.listeners.conflations >= 1 && metrics.listeners.panics >= 1, "{metrics:?}");
    informer.stop().await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn figures_of_a_queue_follow_what_it_did() {
    let queue = WorkQueue::<&str>::builder().timings(true).build();
    let metrics = Metrics::new();
    metrics.work_queue("foo", &queue).unwrap();
    for _ in 0..5 {
        queue.add("a");
    }
    queue.add_with("b", Priority(7));
    queue.add_after("c", Duration::from_secs(1000));
    let taken = queue.get().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;

    let scrape = Scrape::new(metrics.text());
    let value = |name: &str| scrape.value(name, &["name=\"foo\"", "controller=\"foo\""]);
    assert_eq!(value("workqueue_adds_total"), 2.0);
    assert_eq!(value("workqueue_retries_total"), 1.0);
    assert_eq!(value("workqueue_delayed"), 1.0);
    assert_eq!(value("workqueue_processing"), 1.0);
    assert_eq!(value("workqueue_unfinished_work_seconds"), 2.0);
    assert_eq!(value("workqueue_longest_running_processor_seconds"), 2.0);
    assert_eq!(value("workqueue_queue_duration_seconds_count"), 1.0);
    assert_eq!(value("workqueue_work_duration_seconds_count"), 0.0);
    // "b" was taken: it is the more urgent one.
    assert_eq!(scrape.value("workqueue_depth", &["priority=\"0\""]), 1.0);
    assert_eq!(scrape.count("workqueue_depth", &[]), 1);

    taken.succeeded();
    let scrape = Scrape::new(metrics.text());
    assert_eq!(scrape.value("workqueue_work_duration_seconds_sum", &[]), 2.0);
    let bucket =
        |le: &str| scrape.value("workqueue_work_duration_seconds_bucket", &[&format!("le=\"{le}\"")]);
    assert_eq!((bucket("1"), bucket("10"), bucket("+Inf")), (0.0, 1.0, 1.0));
}
