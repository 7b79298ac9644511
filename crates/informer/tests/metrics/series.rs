//! There is a bounded number of series, and they end with what they are about.

use informer::{Metrics, MetricsError, SharedInformerFactory, WorkQueue};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use crate::support::*;

fn lines(metrics: &Metrics) -> usize {
    metrics.text().lines().count()
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn series_end_with_their_informer_and_queue() {
    let server = TestServer::builder().build();
    let informer = started(config_maps(&server)).await;
    let queue = WorkQueue::<u8>::new();
    let metrics = Metrics::new();
    metrics.informer("settings", &informer).unwrap();
    metrics.work_queue("foo", &queue).unwrap();
    assert!(lines(&metrics) > 50);

    informer.stop().await;
    assert!(!metrics.text().contains("informer_"), "stopped: {}", metrics.text());
    informer.start();
    assert!(metrics.text().contains("informer_synced"), "it runs again");

    drop(informer);
    drop(queue);
    assert_eq!(metrics.text(), "", "nothing is left");
    assert_eq!(format!("{metrics:?}"), "Metrics({})");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_name_is_taken_until_its_owner_is_gone() {
    let server = TestServer::builder().build();
    let metrics = Metrics::new();
    let informer = config_maps(&server).build().unwrap();
    metrics.informer("x", &informer).unwrap();
    let error = metrics.informer("x", &informer).unwrap_err();
    assert!(matches!(error, MetricsError::NameTaken { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "there are metrics of an informer named \"x\" already: each needs a name of its own"
    );
    // A queue is another kind of thing.
    metrics.work_queue("x", &WorkQueue::<u8>::new()).unwrap();
    drop(informer);
    metrics.informer("x", &config_maps(&server).build().unwrap()).unwrap();

    let queue = WorkQueue::<u8>::new();
    assert!(matches!(metrics.work_queue("", &queue), Err(MetricsError::BadName { length: 0 })));
    assert!(matches!(
        metrics.work_queue(&"x".repeat(257), &queue),
        Err(MetricsError::BadName { length: 257 })
    ));
    let refused = (0..2000).find_map(|n| metrics.work_queue(&n.to_string(), &queue).err());
    assert_eq!(refused, Some(MetricsError::TooMany));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_factory_tells_of_all_its_informers() {
    let server = TestServer::builder().build();
    let factory = SharedInformerFactory::new(kube::Client::new(server, "default"));
    let metrics = Metrics::new();
    metrics.factory("app", &factory).unwrap();
    let _settings = factory.informer::<ConfigMap>().unwrap();
    factory.start();
    let _pods = factory.metadata::<Pod>().unwrap();
    let _more = factory.metadata::<ConfigMap>().unwrap();
    assert_eq!(Scrape::new(metrics.text()).count("informer_objects", &[]), 1, "two do not run yet");

    factory.start();
    factory.wait_for_sync(LIMIT).await.unwrap();
    let scrape = Scrape::new(metrics.text());
    assert_eq!(scrape.value("informer_synced", &["name=\"app\"", "resource=\"pods\"", "group=\"\""]), 1.0);
    assert_eq!(scrape.value("informer_synced", &["name=\"app\"", "resource=\"configmaps\""]), 1.0);
    assert_eq!(scrape.value("informer_synced", &["name=\"app/2\"", "resource=\"configmaps\""]), 1.0);

    factory.shutdown().await;
    assert_eq!(metrics.text(), "");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn more_objects_are_not_more_series() {
    let server = TestServer::builder().build();
    let informer = started(config_maps(&server)).await;
    let metrics = Metrics::new();
    metrics.informer("settings", &informer).unwrap();
    let before = lines(&metrics);
    let mut version = put(&server, "first", "1");
    for n in 0..500 {
        version = put(&server, &format!("n{n}"), "1");
    }
    informer.wait_until(&version, LIMIT).await.unwrap();
    assert_eq!(lines(&metrics), before);
    informer.stop().await;
}
