//! What is in objects never reaches a log, an error or a debug text.

use std::sync::{Arc, Mutex};

use informer::{
    Delta, DeltaFifo, Entry, EventHandler, Item, Notification, ResourceListWatch, SharedInformer, Typed,
    WorkQueue,
};
use informer_testserver::{Fault, FaultRule, TestServer, Verb};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use tracing::Level;

use crate::log::Log;
use crate::support::*;

const CANARY: &str = "canary-sings-at-dawn";
const TOKEN: &str = "token-of-the-canary";
const HEADER: &str = "header-of-the-canary";

fn assert_silent(what: &str, text: &str) {
    for secret in [CANARY, TOKEN, HEADER] {
        assert!(!text.contains(secret), "{what}: {text}");
    }
}

/// Over real HTTP, with our own client, at TRACE, through everything that goes wrong.
#[tokio::test(flavor = "current_thread")]
async fn no_value_reaches_a_log_or_an_error() {
    let log = Log::default();
    let _guard = log.capture(Level::TRACE);

    let server = TestServer::builder().bearer_token(TOKEN).build();
    let listening = server.listen().await.unwrap();
    let secret = |name: &str| json!({"metadata": {"name": name, "namespace": "default", "annotations": {"a": CANARY}}, "stringData": {"k": CANARY}});
    server.create("secrets", secret("good")).unwrap();
    server.create("secrets", secret("bad")).unwrap();
    let mut config = kube::Config::new(listening.url().parse().unwrap());
    config.auth_info.token = Some(String::from(TOKEN).into());
    config.headers.push(("x-api-key".parse().unwrap(), HEADER.parse().unwrap()));
    let source = ResourceListWatch::of::<Secret>(informer::client(config).unwrap());
    let errors = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&errors);
    let informer = SharedInformer::builder(source, Typed::<Secret>::new())
        .reflector_options(|options| options.watch_list(false))
        .transform(|secret| {
            secret.data.get_or_insert_default().insert("t".into(), ByteString(CANARY.into()));
        })
        .watch_error_handler(move |report| seen.lock().unwrap().push(format!("{report} {report:?}")))
        .build()
        .unwrap();
    let debugged = Arc::new(Mutex::new(String::new()));
    let debug = Arc::clone(&debugged);
    informer.add_event_handler(EventHandler::new().on_added(move |object, _| {
        debug.lock().unwrap().push_str(&format!("{object:?}"));
    }));
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();

    let stream = format!("{{\"type\":\"ADDED\",\"object\":{{\"{CANARY}\":[\n");
    let list = format!(
        "{{\"kind\":\"SecretList\",\"metadata\":{{\"resourceVersion\":\"1\"}},\"items\":[{{\"data\":\"{CANARY}\""
    );
    for fault in [
        Fault::InjectBytes { after_events: 0, bytes: stream.into() },
        Fault::CutBody { after_bytes: 200 },
        Fault::ResetBody { after_bytes: 300 },
        Fault::ExpiredWatch,
    ] {
        server.fault_once(Verb::Watch, "secrets", fault);
        server.fault_once(Verb::List, "secrets", Fault::RawBody(list.clone().into()));
        server.end_watches("secrets").unwrap();
        let version = server
            .modify("secrets", "default", "good", |secret| secret["data"]["x"] = json!("eA=="))
            .unwrap();
        let version =
            informer::ResourceVersion::new(version["metadata"]["resourceVersion"].as_str().unwrap());
        informer.wait_until(&version, LIMIT).await.unwrap();
    }
    for field in ["immutable", "type", "data"] {
        server.modify("secrets", "default", "bad", |secret| secret[field] = json!({"x": [CANARY]})).unwrap();
    }
    eventually_real("it is stale", || informer.status().stale == 1).await;
    server.add_fault(
        FaultRule::new(Fault::Error(informer_testserver::ApiError::new(500, "InternalError", "no"))).times(2),
    );
    server.reset_watches("secrets").unwrap();
    eventually_real("the error is seen", || informer.status().last_error.is_some()).await;
    let status = format!("{:?}", informer.status());
    informer.stop().await;

    let log = log.text();
    assert!(log.contains("cannot be decoded"), "the log is there: {log}");
    let errors = errors.lock().unwrap().join("\n");
    assert!(!errors.is_empty() && !debugged.lock().unwrap().is_empty());
    for (what, text) in
        [("log", &log), ("errors", &errors), ("status", &status), ("debug", &*debugged.lock().unwrap())]
    {
        assert_silent(what, text);
    }
    listening.shutdown().await;
}

/// A token that is refused, a server that is not there, a proxy in between: each error is told without it.
#[tokio::test(flavor = "current_thread")]
async fn no_token_or_header_reaches_a_log_or_an_error() {
    let log = Log::default();
    let _guard = log.capture(Level::TRACE);
    let server = TestServer::builder().bearer_token("another").build();
    let listening = server.listen().await.unwrap();
    let mut config = kube::Config::new(listening.url().parse().unwrap());
    config.auth_info.token = Some(String::from(TOKEN).into());
    config.headers.push(("proxy-authorization".parse().unwrap(), HEADER.parse().unwrap()));
    let client = informer::client(config).unwrap();
    let source = ResourceListWatch::of::<Secret>(client);
    let debug = format!("{source:?}");
    let informer = SharedInformer::builder(source, Typed::<Secret>::new()).build().unwrap();
    informer.start();
    eventually_real("it is refused", || informer.status().last_error.is_some()).await;
    let refused = format!("{:?} {}", informer.status(), informer.check_synced().unwrap_err());
    assert!(refused.contains("Unauthorized"), "{refused}");
    listening.stop().await;
    eventually_real("it is gone", || format!("{:?}", informer.status()).contains("refused")).await;
    let gone = format!("{:?} {:?}", informer.status(), informer.check_synced());
    informer.stop().await;
    let log = log.text();
    assert!(log.contains("informer::trouble"), "{log}");
    for (what, text) in [("debug", &debug), ("refused", &refused), ("gone", &gone), ("log", &log)] {
        assert_silent(what, text);
    }
}

/// `Secret` prints itself, so what holds one must not ask it to.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_debug_text_shows_a_value() {
    let server = TestServer::builder().build();
    let secret =
        |name: &str| json!({"metadata": {"name": name, "namespace": "default"}, "stringData": {"k": CANARY}});
    server.create("secrets", secret("a")).unwrap();
    let source = ResourceListWatch::of::<Secret>(client(&server));
    let informer = SharedInformer::builder(source, Typed::<Secret>::new()).build().unwrap();
    let mut changes = informer.subscribe();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    let value = informer.lister().namespace("default").get("a").unwrap();
    let bytes = &value.data.as_ref().unwrap()["k"].0;
    assert_eq!(std::str::from_utf8(bytes), Ok(CANARY), "it is there to be seen");

    let mut texts = vec![format!("{:?} {:?}", informer.snapshot(), informer.store().list())];
    texts.push(format!("{:?} {:?}", informer.status(), informer.metrics()));
    let mut batches = vec![changes.next().await.unwrap()];
    server.modify("secrets", "default", "a", |secret| secret["type"] = json!(CANARY)).unwrap_or_default();
    server.modify("secrets", "default", "a", |secret| secret["data"]["x"] = json!("eA==")).unwrap();
    batches.push(changes.next().await.unwrap());
    server.delete("secrets", "default", "a").unwrap();
    batches.push(changes.next().await.unwrap());
    texts.push(format!("{batches:?}"));
    for batch in &batches {
        for notification in batch.iter() {
            if let Notification::Added { object, .. } = notification {
                let item = Item { object: Arc::clone(object), index_values: Default::default() };
                let mut fifo = DeltaFifo::new();
                fifo.push(Delta::Added(item.clone()));
                texts.push(format!(
                    "{item:?} {fifo:?} {:?} {:?}",
                    Delta::Added(item.clone()),
                    Entry::Object(item.clone())
                ));
            }
        }
    }
    let queue = WorkQueue::<String>::new();
    queue.add(CANARY.to_owned());
    texts.push(format!("{queue:?} {:?}", queue.metrics()));
    assert!(texts.len() >= 5 && texts.iter().any(|text| text.contains("default/a")), "{texts:?}");
    let encoded = format!("{bytes:?}");
    for text in &texts {
        assert_silent("debug", text);
        assert!(!text.contains(&encoded), "as bytes: {text}");
    }
    informer.stop().await;
}
