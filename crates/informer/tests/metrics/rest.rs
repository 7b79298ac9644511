//! Requests of a client are counted and timed.

use informer::{Metrics, client_with_metrics};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};

use crate::support::*;

#[tokio::test]
async fn requests_are_counted_by_code_and_method() {
    let server = TestServer::builder().build();
    let listening = server.listen().await.unwrap();
    put(&server, "a", "1");
    let metrics = Metrics::new();
    let config = kube::Config::new(listening.url().parse().unwrap());
    let client = client_with_metrics(config.clone(), &metrics).unwrap();
    let second = client_with_metrics(config, &metrics).unwrap();
    let api = Api::<ConfigMap>::namespaced(client, "default");
    api.list(&ListParams::default()).await.unwrap();
    Api::<ConfigMap>::all(second).list(&ListParams::default()).await.unwrap();
    api.get("missing").await.unwrap_err();
    listening.stop().await;
    api.get("a").await.unwrap_err();

    let scrape = Scrape::new(metrics.text());
    let host = format!("host=\"{}\"", listening.addr());
    let requests = |code: &str| {
        scrape.value("rest_client_requests_total", &[&format!("code=\"{code}\""), "method=\"GET\"", &host])
    };
    assert_eq!((requests("200"), requests("404"), requests("<error>")), (2.0, 1.0, 1.0));
    assert_eq!(scrape.value("rest_client_request_duration_seconds_count", &["verb=\"GET\"", &host]), 4.0);
    listening.shutdown().await;
}
