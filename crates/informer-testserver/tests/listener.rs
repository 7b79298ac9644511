//! The HTTP listener: keeps state over restarts, resets, refuses, counts.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use informer_testserver::{Fault, Listening, TestServer, Verb};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(20);

async fn connect(listening: &Listening) -> std::io::Result<SendRequest<Empty<Bytes>>> {
    let stream = TcpStream::connect(listening.addr()).await?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn get(
    sender: &mut SendRequest<Empty<Bytes>>,
    path: &str,
) -> hyper::Result<http::Response<hyper::body::Incoming>> {
    let request = http::Request::get(path).header("host", "server").body(Empty::new()).unwrap();
    timeout(LIMIT, sender.send_request(request)).await.unwrap()
}

fn server() -> TestServer {
    let server = TestServer::new();
    server.create("pods", json!({"metadata": {"name": "a"}})).unwrap();
    server
}

#[tokio::test]
async fn serves_and_counts() {
    let server = server();
    let listening = server.listen().await.unwrap();
    let mut sender = connect(&listening).await.unwrap();
    let response = get(&mut sender, "/api/v1/pods").await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers().contains_key("content-length") && response.headers().contains_key("date"));
    response.into_body().collect().await.unwrap();
    let mut watch = get(&mut sender, "/api/v1/pods?watch=1").await.unwrap().into_body();
    let frame = timeout(LIMIT, watch.frame()).await.unwrap().unwrap().unwrap();
    assert!(frame.into_data().unwrap().starts_with(b"{\"type\":\"ADDED\""));
    assert_eq!((server.open_connections(), server.open_watches()), (1, 1));
    listening.shutdown().await;
    assert_eq!((server.open_connections(), server.open_watches()), (0, 0));
    let ended = timeout(LIMIT, watch.frame()).await.unwrap();
    assert!(ended.is_none_or(|frame| frame.is_err()));
}

#[tokio::test]
async fn restart_keeps_port_and_objects_and_drops_history() {
    let server = server();
    let listening = server.listen().await.unwrap();
    let old = server.resource_version();
    server.create("pods", json!({"metadata": {"name": "b"}})).unwrap();
    let mut sender = connect(&listening).await.unwrap();
    let mut watch = get(&mut sender, "/api/v1/pods?watch=1").await.unwrap().into_body();
    timeout(LIMIT, watch.frame()).await.unwrap().unwrap().unwrap();
    let addr = listening.addr();
    listening.restart(false).await.unwrap();
    assert_eq!(listening.addr(), addr);
    while let Some(Ok(_)) = timeout(LIMIT, watch.frame()).await.unwrap() {}
    let mut sender = connect(&listening).await.unwrap();
    let path = format!("/api/v1/pods?watch=1&resourceVersion={old}");
    let body = get(&mut sender, &path).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{\"type\":\"ERROR\""));
    assert_eq!(server.count("pods"), 2);
}

#[tokio::test]
async fn refused_until_accepted() {
    let server = server();
    let listening = server.listen().await.unwrap();
    let mut open = connect(&listening).await.unwrap();
    get(&mut open, "/healthz").await.unwrap().into_body().collect().await.unwrap();
    listening.refuse().await;
    assert!(connect(&listening).await.is_err());
    assert_eq!(get(&mut open, "/healthz").await.unwrap().status(), 200);
    listening.accept().await.unwrap();
    assert!(connect(&listening).await.is_ok());
}

#[tokio::test]
async fn resets_reach_the_client() {
    let server = server();
    let listening = server.listen().await.unwrap();
    server.fault_once(Verb::List, "pods", Fault::ResetBeforeHeaders);
    let mut sender = connect(&listening).await.unwrap();
    assert!(get(&mut sender, "/api/v1/pods").await.is_err());

    server.fault_once(Verb::List, "pods", Fault::ResetBody { after_bytes: 20 });
    let mut sender = connect(&listening).await.unwrap();
    let mut body = get(&mut sender, "/api/v1/pods").await.unwrap().into_body();
    let mut got = 0;
    let failed = loop {
        match timeout(LIMIT, body.frame()).await.unwrap() {
            Some(Ok(frame)) => got += frame.into_data().unwrap().len(),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(failed);
    assert_eq!(got, 20);
}

#[tokio::test]
async fn long_lists_are_chunked_and_gzipped_on_request() {
    let server = server();
    for number in 0..300 {
        let data = json!({"text": "x".repeat(1000)});
        server
            .create("configmaps", json!({"metadata": {"name": format!("c{number}")}, "data": data}))
            .unwrap();
    }
    let listening = server.listen().await.unwrap();
    let mut sender = connect(&listening).await.unwrap();
    let plain = get(&mut sender, "/api/v1/configmaps").await.unwrap();
    assert!(!plain.headers().contains_key("content-length"));
    let plain = plain.into_body().collect().await.unwrap().to_bytes();
    let request = http::Request::get("/api/v1/configmaps")
        .header("host", "server")
        .header("accept-encoding", "gzip")
        .body(Empty::new())
        .unwrap();
    let packed = timeout(LIMIT, sender.send_request(request)).await.unwrap().unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let packed = packed.into_body().collect().await.unwrap().to_bytes();
    assert!(packed.len() < plain.len() / 4);
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
}
