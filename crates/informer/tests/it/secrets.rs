//! What is in objects never reaches a log, an error or a debug text.

use std::io;
use std::sync::{Arc, Mutex};

use informer::{EventHandler, ResourceListWatch, SharedInformer, Typed};
use informer_testserver::{Fault, FaultRule, TestServer, Verb};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::*;

const CANARY: &str = "canary-sings-at-dawn";
const TOKEN: &str = "token-of-the-canary";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Over real HTTP, with our own client, at TRACE, through everything that goes wrong.
#[tokio::test(flavor = "current_thread")]
async fn no_value_reaches_a_log_or_an_error() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let server = TestServer::builder().bearer_token(TOKEN).build();
    let listening = server.listen().await.unwrap();
    let secret = |name: &str| json!({"metadata": {"name": name, "namespace": "default", "annotations": {"a": CANARY}}, "stringData": {"k": CANARY}});
    server.create("secrets", secret("good")).unwrap();
    server.create("secrets", secret("bad")).unwrap();
    let mut config = kube::Config::new(listening.url().parse().unwrap());
    config.auth_info.token = Some(String::from(TOKEN).into());
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

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("cannot be decoded"), "the log is there: {log}");
    let errors = errors.lock().unwrap().join("\n");
    assert!(!errors.is_empty() && !debugged.lock().unwrap().is_empty());
    for (what, text) in
        [("log", &log), ("errors", &errors), ("status", &status), ("debug", &*debugged.lock().unwrap())]
    {
        assert!(!text.contains(CANARY) && !text.contains(TOKEN), "{what}: {text}");
    }
    listening.shutdown().await;
}
