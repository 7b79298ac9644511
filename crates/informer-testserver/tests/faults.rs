//! Every fault does what it says, in process.

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{get, get_all, read_until};
use http_body_util::{BodyExt, Full};
use informer_testserver::{ApiError, BodyError, Fault, FaultRule, ServeError, TestServer, Verb};
use serde_json::{Value, json};
use tower_service::Service;

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=true&timeoutSeconds=5";
const WATCH_LIST: &str = "/api/v1/pods?watch=true&timeoutSeconds=5&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

fn server() -> TestServer {
    let server = TestServer::new();
    for name in ["a", "b"] {
        server.create("pods", json!({"metadata": {"name": name}})).unwrap();
    }
    server
}

fn once(fault: Fault) -> TestServer {
    let server = server();
    server.add_fault(FaultRule::new(fault).resource("pods").times(1));
    server
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(text: &str) -> Vec<String> {
    lines(text).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn connections_break_and_stall_where_told() {
    let server = once(Fault::ResetBeforeHeaders);
    let request = || http::Request::get(PODS).body(Full::<Bytes>::default()).unwrap();
    assert_eq!(server.clone().call(request()).await.err(), Some(ServeError::default()));
    assert_eq!(get_all(&server, PODS).await.code, 200);

    let server = once(Fault::StallBeforeHeaders);
    let waited = tokio::time::timeout(Duration::from_secs(3600), get(&server, PODS)).await;
    assert!(waited.is_err());

    let server = once(Fault::ResetBody { after_bytes: 10 });
    let mut body = get(&server, PODS).await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first.len(), 10);
    assert_eq!(body.frame().await.unwrap().unwrap_err(), BodyError::default());

    let server = once(Fault::StallBody { after_bytes: 10 });
    let mut body = get(&server, WATCH).await.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), 10);
    assert!(tokio::time::timeout(Duration::from_secs(3600), body.frame()).await.is_err());
    drop(body);
    assert_eq!(server.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_cut_and_dripped() {
    let whole = get_all(&server(), PODS).await.body;
    let server = once(Fault::CutBody { after_bytes: 33 });
    assert_eq!(get_all(&server, PODS).await.body, whole[..33]);

    let server = once(Fault::Drip { chunk_bytes: 1 });
    let mut body = get(&server, PODS).await.into_body();
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        assert!(piece.len() <= 1);
        text.extend_from_slice(&piece);
    }
    assert_eq!(text.len(), whole.len());
}

#[tokio::test(start_paused = true)]
async fn answers_are_replaced() {
    let busy = ApiError::new(429, "TooManyRequests", "wait");
    let server = once(Fault::RetryAfter(busy, Duration::from_secs(7)));
    let answer = get_all(&server, PODS).await;
    assert_eq!(answer.code, 429);
    assert!(answer.headers.contains(&("retry-after".into(), "7".into())));

    let html = Fault::Response {
        code: 503,
        headers: vec![("content-type".into(), "text/html".into())],
        body: "<html>".into(),
    };
    let answer = get_all(&once(html), PODS).await;
    assert_eq!((answer.code, answer.body.as_str()), (503, "<html>"));
    assert_eq!(get_all(&once(Fault::RawBody("{".into())), PODS).await.body, "{");
}

#[tokio::test(start_paused = true)]
async fn lists_are_spoiled() {
    let parsed = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let list = parsed(&get_all(&once(Fault::NullItems), PODS).await.body);
    assert!(list["items"].is_null() && list["metadata"]["resourceVersion"].is_string());
    let list = parsed(&get_all(&once(Fault::OmitListVersion), PODS).await.body);
    assert_eq!(list["metadata"], json!({}));
    let list = parsed(&get_all(&once(Fault::ListVersion("3".into())), PODS).await.body);
    assert_eq!(list["metadata"]["resourceVersion"], "3");
    assert_eq!(get_all(&once(Fault::TooLargeVersion), PODS).await.code, 504);

    let server = server();
    let first = parsed(&get_all(&server, "/api/v1/pods?limit=1").await.body);
    let next = format!("/api/v1/pods?limit=1&continue={}", first["metadata"]["continue"].as_str().unwrap());
    server.fault_once(Verb::List, "pods", Fault::ExpiredContinue);
    let expired = get_all(&server, &next).await;
    assert_eq!(expired.code, 410);
    let fresh = parsed(&expired.body)["metadata"]["continue"].as_str().unwrap().to_owned();
    let rest = parsed(&get_all(&server, &format!("/api/v1/pods?continue={fresh}")).await.body);
    assert_eq!(rest["items"][0]["metadata"]["name"], "b");
}

#[tokio::test(start_paused = true)]
async fn watches_are_spoiled() {
    let all = |fault, path| async move { get_all(&once(fault), path).await.body };
    assert_eq!(types(&all(Fault::ExpiredWatch, WATCH).await), ["ERROR"]);
    let error = ApiError::new(500, "InternalError", "etcd");
    let events = all(Fault::ErrorEvent { after_events: 1, error }, WATCH).await;
    assert_eq!(types(&events), ["ADDED", "ERROR"]);
    assert_eq!(types(&all(Fault::DuplicateEvents, WATCH).await), ["ADDED"; 4]);
    assert_eq!(types(&all(Fault::NoBookmarks, WATCH_LIST).await), ["ADDED"; 2]);
    let inject = Fault::InjectBytes { after_events: 1, bytes: "{\"type\":\"ODD\"}\n".into() };
    assert_eq!(types(&all(inject, WATCH).await), ["ADDED", "ODD", "ADDED"]);
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_wrongly() {
    let ends = |text: &str| -> Vec<(usize, bool)> {
        lines(text)
            .iter()
            .enumerate()
            .filter(|(_, line)| line["type"] == "BOOKMARK")
            .map(|(at, line)| (at, line["object"]["metadata"]["annotations"].is_object()))
            .collect()
    };
    let all = |fault| async move { get_all(&once(fault), WATCH_LIST).await };
    // The last one is the bookmark before the stream's end.
    assert_eq!(ends(&get_all(&server(), WATCH_LIST).await.body), [(2, true), (3, false)]);
    assert_eq!(ends(&all(Fault::NoInitialEventsEnd).await.body), [(2, false)]);
    assert_eq!(ends(&all(Fault::InitialEventsEndWithoutAnnotation).await.body), [(2, false), (3, false)]);
    assert_eq!(ends(&all(Fault::InitialEventsEndFirst).await.body), [(0, true), (3, false)]);
    assert_eq!(ends(&all(Fault::IgnoreWatchList).await.body), [(2, false)]);
    assert_eq!(all(Fault::RejectWatchList).await.code, 422);
}

#[tokio::test(start_paused = true)]
async fn gzip_gives_one_member_an_event() {
    let server = once(Fault::GzipMembers);
    let request =
        http::Request::get(WATCH).header("accept-encoding", "gzip").body(Full::<Bytes>::default()).unwrap();
    let response = server.clone().call(request).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let mut body = response.into_body();
    let mut members = Vec::new();
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        assert_eq!(piece[..2], [0x1f, 0x8b]);
        members.push(piece);
    }
    assert_eq!(members.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn open_watches_are_pushed_and_counted() {
    let server = server();
    let mut one = get(&server, WATCH).await.into_body();
    let mut two = get(&server, WATCH).await.into_body();
    read_until(&mut one, "\"b\"").await;
    read_until(&mut two, "\"b\"").await;
    assert_eq!(server.open_watches(), 2);
    server.inject("pods", "junk").unwrap();
    assert_eq!(read_until(&mut one, "junk").await, "junk");
    server.send_bookmark("pods").unwrap();
    read_until(&mut one, "BOOKMARK").await;
    server.send_error("pods", &ApiError::new(500, "InternalError", "x")).unwrap();
    read_until(&mut one, "ERROR").await;
    server.end_watches("pods").unwrap();
    assert!(one.frame().await.is_none());
    drop(one);
    assert_eq!(server.open_watches(), 1);
    drop(two);
    let mut three = get(&server, WATCH).await.into_body();
    server.reset_watches("pods").unwrap();
    read_until(&mut three, "\"b\"").await;
    assert!(three.frame().await.unwrap().is_err());
}

#[tokio::test]
async fn requests_are_logged_and_rules_are_cleared() {
    let server = server();
    server.add_fault(FaultRule::new(Fault::Error(ApiError::new(500, "", ""))).verb(Verb::Watch));
    assert_eq!(get_all(&server, WATCH).await.code, 500);
    server.clear_faults();
    assert_eq!(get_all(&server, "/api/v1/pods?limit=1").await.code, 200);
    let requests = server.requests();
    assert_eq!(requests.iter().map(|request| request.verb).collect::<Vec<_>>(), [Verb::Watch, Verb::List]);
    assert_eq!(requests[1].parameter("limit"), Some("1"));
    assert_eq!(requests[1].resource, "pods");
}
