//! Replays what was recorded from a real kube-apiserver 1.37 and compares the answers byte by byte, but for times,
//! uids, generated names and managedFields.

mod common;

use common::{Answer, Recorded, send};
use http_body_util::BodyExt;
use informer_testserver::{TestServer, Verb};
use serde_json::json;

/// A server whose first object gets the version that it got in the recording.
fn server() -> TestServer {
    TestServer::builder().first_version(205).build()
}

/// Sends a recorded request and compares everything.
async fn replay(server: &TestServer, name: &str) {
    let recorded = Recorded::read(name);
    recorded.compare(&send(server, &recorded).await);
}

async fn replay_all(server: &TestServer, names: &[&str]) {
    for name in names {
        replay(server, name).await;
    }
}

/// As `replay`, for kinds whose fields below metadata a real server writes in an order of its own.
async fn replay_unordered(server: &TestServer, name: &str) {
    let recorded = Recorded::read(name);
    recorded.compare_unordered(&send(server, &recorded).await);
}

/// Sends a recorded request and compares code, reason and keys, since the message holds what we do not know.
async fn replay_shape(server: &TestServer, name: &str) {
    let recorded = Recorded::read(name);
    recorded.compare_shape(&send(server, &recorded).await);
}

const CREATES: [&str; 3] = ["create-c1", "create-c2", "create-c3"];
const WRITES: [&str; 10] = [
    "create-generate-name",
    "create-unknown-field-warn",
    "put-no-rv",
    "put-same-again-no-change",
    "patch-merge",
    "patch-json",
    "patch-strategic",
    "patch-apply",
    "delete-with-finalizer",
    "delete-c3",
];

/// The recording's state when it began to list: version 221.
async fn prepared() -> TestServer {
    let server = server();
    replay_all(&server, &CREATES).await;
    replay(&server, "get-c1").await;
    replay_all(&server, &WRITES).await;
    assert_eq!(server.resource_version(), 221);
    server
}

#[tokio::test(start_paused = true)]
async fn creates_are_as_recorded() {
    let server = server();
    replay_all(&server, &CREATES).await;
    replay_all(
        &server,
        &[
            "create-conflict-409",
            "create-dry-run",
            "create-missing-namespace-404",
            "create-bad-name-422",
            "create-wrong-kind-400",
            "create-wrong-namespace-400",
            "create-unknown-field-strict-400",
            "get-404",
            "get-unknown-resource-404",
            "crd-before-404",
        ],
    )
    .await;
    replay_shape(&server, "create-not-json-400").await;
}

#[tokio::test(start_paused = true)]
async fn writes_are_as_recorded() {
    let server = prepared().await;
    replay_all(
        &server,
        &[
            "put-stale-409",
            "put-name-mismatch-400",
            "patch-json-test-fails-422",
            "patch-bad-type-415",
            "patch-apply-conflict-409",
            "get-deleting",
            "get-partial",
            "delete-404",
        ],
    )
    .await;
    // The uids are ours.
    replay_shape(&server, "delete-precondition-409").await;
}

#[tokio::test(start_paused = true)]
async fn lists_are_as_recorded() {
    let server = prepared().await;
    replay_all(
        &server,
        &[
            "list",
            "list-rv0",
            "list-not-older",
            "list-exact",
            "list-limit-1",
            "list-limit-rv0-ignored",
            "list-label-selector",
            "list-field-selector",
            "list-partial",
            "list-all-namespaces-missing-ns-empty",
            "list-bad-rv",
            "list-bad-continue-400",
            "list-continue-garbage-with-rv-400",
            "list-bad-field-selector-400",
            "list-bad-label-selector-400",
            "list-exact-0-422",
            "list-match-without-rv-422",
            "list-send-initial-422",
            "list-too-large-rv-504",
            "list-unacceptable-406",
        ],
    )
    .await;
    // Descriptions of columns are ours.
    replay_shape(&server, "list-table").await;
}

#[tokio::test(start_paused = true)]
async fn expired_lists_are_as_recorded() {
    let server = prepared().await;
    server.advance_version(50);
    server.compact();
    replay_all(&server, &["list-exact-compacted-410", "list-expired-continue-410"]).await;
}

#[tokio::test(start_paused = true)]
async fn watches_are_as_recorded() {
    let server = prepared().await;
    replay_all(&server, &["watch-from-rv1-or-old", "watch-future-rv", "watch-bad-rv"]).await;
    server.advance_version(2);
    replay_all(
        &server,
        &[
            "watch-no-rv",
            "watch-rv0",
            "watch-label-selector",
            "watch-partial",
            "watchlist",
            "watchlist-no-bookmarks",
            "watchlist-partial",
            "watchlist-without-match-422",
            "watchlist-match-exact-422",
        ],
    )
    .await;
    replay_shape(&server, "watch-table").await;
    assert_eq!(server.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn leaving_a_selector_is_as_recorded() {
    let server = prepared().await;
    server.advance_version(2);
    let recorded = Recorded::read("watch-leaves-selector-and-delete");
    let mut response = common::open(&server, &recorded).await;
    let mut text = common::read_until(response.body_mut(), "BOOKMARK").await;
    for label in ["v1", "v2"] {
        let change = |object: &mut serde_json::Value| object["metadata"]["labels"]["app"] = label.into();
        server.modify("configmaps", "default", "c1", change).unwrap();
    }
    server.delete("configmaps", "default", "c1").unwrap();
    let rest = response.into_body().collect().await.unwrap().to_bytes();
    text.push_str(std::str::from_utf8(&rest).unwrap());
    recorded.compare_body(&text);
}

#[tokio::test(start_paused = true)]
async fn expired_watches_are_as_recorded() {
    let server = prepared().await;
    server.delete("configmaps", "default", "c1").unwrap();
    server.advance_version(17);
    let patched = Recorded::read("patch-before-compaction");
    patched.compare(&send(&server, &patched).await);
    server.advance_version(15);
    server.compact();
    replay_all(&server, &["watch-expired-error-event", "watchlist-expired"]).await;
}

#[tokio::test(start_paused = true)]
async fn custom_resources_are_as_recorded() {
    let server = server();
    server.advance_version(19);
    replay_unordered(&server, "crd-create").await;
    server.advance_version(2);
    // Storage hashes are not imitated.
    replay_shape(&server, "crd-group-discovery").await;
    replay_all(
        &server,
        &[
            "cr-create-defaults-and-prunes",
            "cr-invalid-422",
            "cr-status-patch",
            "cr-list",
            "cr-strategic-415",
        ],
    )
    .await;
    // Descriptions of columns are ours.
    replay_shape(&server, "cr-table").await;
    let recorded = Recorded::read("cr-watch-while-crd-deleted");
    let mut response = common::open(&server, &recorded).await;
    let mut text = common::read_until(response.body_mut(), "BOOKMARK").await;
    server.advance_version(2);
    server.delete("crd", "", "widgets.demo.example.dev").unwrap();
    let rest = response.into_body().collect().await.unwrap().to_bytes();
    text.push_str(std::str::from_utf8(&rest).unwrap());
    recorded.compare_body(&text.replace("\"238\"", "\"237\""));
    replay(&server, "crd-before-404").await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_others_are_as_recorded() {
    let server = server();
    server.advance_version(33);
    replay(&server, "lease-create").await;
    replay_unordered(&server, "event-create").await;
    replay(&server, "namespace-create").await;
    let held =
        json!({"metadata": {"name": "held", "namespace": "gone", "finalizers": ["demo.example.dev/x"]}});
    server.create("configmaps", held).unwrap();
    let recorded = Recorded::read("namespace-delete");
    let answer = send(&server, &recorded).await;
    recorded.compare(&Answer { body: answer.body.replace("\"247\"", "\"246\""), ..answer });
    replay(&server, "create-in-terminating-namespace-403").await;
    let release = |object: &mut serde_json::Value| object["metadata"]["finalizers"] = json!([]);
    server.modify("configmaps", "gone", "held", release).unwrap();
    assert_eq!(server.get("ns", "", "gone").unwrap_err().code(), 404);
}

#[tokio::test(start_paused = true)]
async fn refusals_are_as_recorded() {
    let server = TestServer::builder().bearer_token("right").build();
    replay(&server, "anonymous-forbidden-403").await;
    let recorded = Recorded::read("wrong-token-401");
    recorded.compare(&common::send_with_token(&server, &recorded, "wrong").await);
    server.set_bearer_token(None);
    server.deny(Verb::List, "configmaps");
    assert_eq!(send(&server, &recorded).await.code, 403);
    server.allow(Verb::List, "configmaps");
    assert_eq!(send(&server, &recorded).await.code, 200);
}
