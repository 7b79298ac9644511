//! The endpoint tells metrics and health, and does not suffer from its visitors.

use std::net::SocketAddr;

use informer::{Metrics, MetricsServer, SharedInformerFactory, WorkQueue};
use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

/// Sends one request; answers with head and body.
async fn ask(addr: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    tokio::time::timeout(LIMIT, read).await.expect("in time").expect("readable");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer}"));
    (head.to_owned(), body.to_owned())
}

async fn serve(metrics: &Metrics) -> MetricsServer {
    MetricsServer::builder(metrics.clone()).bind("127.0.0.1:0").await.unwrap()
}

#[tokio::test]
async fn a_scrape_is_the_text() {
    let (metrics, queue) = (Metrics::new(), WorkQueue::<u8>::new());
    metrics.work_queue("foo", &queue).unwrap();
    let server = serve(&metrics).await;
    let (head, body) = ask(server.local_addr(), "GET /metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert_eq!(body, metrics.text());
    assert!(!body.is_empty());
    let addr = server.local_addr();
    server.shutdown().await;
    assert!(TcpStream::connect(addr).await.is_err(), "it listens no more");
}

#[tokio::test]
async fn only_what_is_there_is_answered() {
    let server = serve(&Metrics::new()).await;
    let addr = server.local_addr();
    let (head, body) = ask(addr, "GET /healthz").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body, "healthz check passed\n");
    let (head, body) = ask(addr, "HEAD /healthz").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && body.is_empty(), "{head} {body}");
    assert!(ask(addr, "GET /").await.0.starts_with("HTTP/1.1 404 "));
    assert!(ask(addr, "GET /metrics/x").await.0.starts_with("HTTP/1.1 404 "));
    let (head, _) = ask(addr, "POST /metrics").await;
    assert!(head.starts_with("HTTP/1.1 405 ") && head.contains("allow: GET, HEAD"), "{head}");
    assert!(ask(addr, "nonsense").await.0.starts_with("HTTP/1.1 400 "));
    server.shutdown().await;
}

#[tokio::test]
async fn readiness_says_who_is_not_synced_and_why() {
    let api = TestServer::builder().build();
    let refusal = ApiError::new(403, "Forbidden", "configmaps is forbidden: no list for you");
    api.add_fault(FaultRule::new(Fault::Error(refusal.clone())).verb(Verb::List));
    api.add_fault(FaultRule::new(Fault::Error(refusal)).verb(Verb::Watch));
    let factory = SharedInformerFactory::new(kube::Client::new(api.clone(), "default"));
    let settings = factory.informer::<ConfigMap>().unwrap();
    let server = MetricsServer::builder(Metrics::new())
        .synced(&factory)
        .ready_check("leader", || Ok::<_, String>(()))
        .bind("127.0.0.1:0")
        .await
        .unwrap();
    let addr = server.local_addr();
    let (head, body) = ask(addr, "GET /readyz").await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert_eq!(body, "[-]informers failed: configmaps (stopped)\n[+]leader ok\nreadyz check failed\n");

    factory.start();
    while settings.status().last_error.is_none() {
        tokio::task::yield_now().await;
    }
    let (head, body) = ask(addr, "GET /readyz").await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert!(body.contains("configmaps (backing off") && body.contains("no list for you"), "{body}");
    let (head, _) = ask(addr, "GET /readyz?exclude=informers").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(ask(addr, "GET /healthz").await.0.starts_with("HTTP/1.1 200 "), "no reason to restart");

    api.clear_faults();
    factory.wait_for_sync(LIMIT).await.unwrap();
    let (head, body) = ask(addr, "GET /readyz").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body, "[+]informers ok\n[+]leader ok\nreadyz check passed\n");
    drop((factory, settings));
    assert!(ask(addr, "GET /readyz").await.1.contains("[-]informers failed: the informers are gone"));
    server.shutdown().await;
}

#[tokio::test]
async fn a_port_in_use_and_a_bad_address_are_named() {
    let server = serve(&Metrics::new()).await;
    let address = server.local_addr().to_string();
    let error = MetricsServer::builder(Metrics::new()).bind(&address).await.unwrap_err();
    assert!(error.is_in_use(), "{error:?}");
    assert_eq!(error.to_string(), format!("cannot serve metrics on {address:?}: the port is in use"));
    for bad in ["", "nonsense", ":port", "127.0.0.1", "127.0.0.1:99999", "192.0.2.1:0"] {
        let error = MetricsServer::builder(Metrics::new()).bind(bad).await.unwrap_err();
        assert_eq!(error.address(), bad);
        assert!(!error.is_in_use(), "{error}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn silent_connections_keep_nobody_out() {
    let server = serve(&Metrics::new()).await;
    let addr = server.local_addr();
    // As many as are served at once: whoever comes next waits until the first of them are thrown out.
    let mut silent = Vec::new();
    for number in 0..32 {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nx: ").await.unwrap();
        }
        silent.push(stream);
    }
    let begun = std::time::Instant::now();
    assert!(ask(addr, "GET /healthz").await.0.starts_with("HTTP/1.1 200 "));
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    drop(silent);
    server.shutdown().await;
}

#[tokio::test]
async fn a_large_request_is_refused() {
    let server = serve(&Metrics::new()).await;
    let mut stream = TcpStream::connect(server.local_addr()).await.unwrap();
    // The peer may be told before all is sent.
    let _ = stream.write_all(format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)).as_bytes()).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("it ends");
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    assert!(ask(server.local_addr(), "GET /healthz").await.0.starts_with("HTTP/1.1 200 "));
    server.shutdown().await;
}
