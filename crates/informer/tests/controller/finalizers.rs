//! The finalizer is there before the first effect, cleans up once, and leaves those of others alone.

use std::sync::{Arc, Mutex};

use informer::{BoxError, Finalized, FinalizerError, TerminalError, finalizer};
use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};

use crate::support::client;

const NAME: &str = "example.com/bucket";

struct Bucket {
    server: TestServer,
    api: Api<ConfigMap>,
    effects: Arc<Mutex<Vec<&'static str>>>,
}

impl Bucket {
    fn new() -> Self {
        let server = TestServer::new();
        let api = Api::default_namespaced(client(&server));
        let bucket = Self { server, api, effects: Arc::default() };
        bucket.create();
        bucket
    }

    fn create(&self) {
        let object = json!({"metadata": {"name": "bucket", "finalizers": ["others.org/one"]}});
        self.server.create("configmaps", object).unwrap();
    }

    async fn read(&self) -> Arc<ConfigMap> {
        Arc::new(self.api.get("bucket").await.unwrap())
    }

    fn modify(&self, change: impl FnOnce(&mut Value)) {
        self.server.modify("configmaps", "default", "bucket", change).unwrap();
    }

    fn delete(&self) {
        self.server.delete("configmaps", "default", "bucket").unwrap();
    }

    fn finalizers(&self) -> Value {
        self.server.get("configmaps", "default", "bucket").unwrap()["metadata"]["finalizers"].clone()
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.effects.lock().unwrap())
    }

    async fn call(&self, object: Arc<ConfigMap>) -> Result<Finalized<()>, FinalizerError> {
        let (made, undone) = (Arc::clone(&self.effects), Arc::clone(&self.effects));
        let apply = |object: Arc<ConfigMap>| async move {
            let bears = object.metadata.finalizers.iter().flatten().any(|name| name == NAME);
            made.lock().unwrap().push(if bears { "made" } else { "made too early" });
            Ok::<_, BoxError>(())
        };
        let cleanup = |_: Arc<ConfigMap>| async move {
            undone.lock().unwrap().push("undone");
            Ok::<_, BoxError>(())
        };
        finalizer(&self.api, NAME, object, apply, cleanup).await
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_added_before_the_first_effect_and_removed_after_the_last() {
    let bucket = Bucket::new();
    for _ in 0..2 {
        assert_eq!(bucket.call(bucket.read().await).await.unwrap(), Finalized::Applied(()));
        assert_eq!(bucket.finalizers(), json!(["others.org/one", NAME]));
    }
    assert_eq!(bucket.take(), ["made", "made"]);
    let patches = bucket.server.requests().iter().filter(|request| request.verb == Verb::Patch).count();
    assert_eq!(patches, 1);

    bucket.delete();
    let deleted = bucket.read().await;
    assert_eq!(bucket.call(Arc::clone(&deleted)).await.unwrap(), Finalized::CleanedUp);
    assert_eq!(bucket.finalizers(), json!(["others.org/one"]));
    // A cache that does not know of it yet does not lead to a second one.
    assert_eq!(bucket.call(Arc::clone(&deleted)).await.unwrap(), Finalized::NothingToDo);
    bucket.modify(|it| it["metadata"]["finalizers"] = json!([]));
    assert_eq!(bucket.call(Arc::clone(&deleted)).await.unwrap(), Finalized::Gone);
    bucket.create();
    assert_eq!(bucket.call(deleted).await.unwrap(), Finalized::Gone, "another one of that name");
    assert_eq!(bucket.take(), ["undone"]);
    assert_eq!(bucket.finalizers(), json!(["others.org/one"]));
}

#[tokio::test(start_paused = true)]
async fn an_outdated_object_costs_no_finalizer_of_others() {
    let bucket = Bucket::new();
    let outdated = bucket.read().await;
    bucket.modify(|it| it["metadata"]["finalizers"] = json!(["others.org/two", "others.org/three"]));
    assert_eq!(bucket.call(Arc::clone(&outdated)).await.unwrap(), Finalized::Applied(()));
    assert_eq!(bucket.finalizers(), json!(["others.org/two", "others.org/three", NAME]));
    bucket.take();

    bucket.delete();
    assert_eq!(bucket.call(outdated).await.unwrap(), Finalized::NothingToDo, "it may not be added any more");
    let deleted = bucket.read().await;
    // Changed while cleaning up.
    let conflict = ApiError::new(409, "Conflict", "changed");
    bucket.server.fault_once(Verb::Patch, "configmaps", Fault::Error(conflict));
    bucket.modify(|it| it["metadata"]["finalizers"] = json!([NAME, "others.org/three"]));
    assert_eq!(bucket.call(deleted).await.unwrap(), Finalized::CleanedUp);
    assert_eq!(bucket.finalizers(), json!(["others.org/three"]));
    assert_eq!(bucket.take(), ["undone"], "once, although the removal was tried twice");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_or_replaced_is_left_alone() {
    let bucket = Bucket::new();
    let first = bucket.read().await;
    bucket.modify(|it| it["metadata"]["finalizers"] = json!([]));
    bucket.delete();
    assert_eq!(bucket.call(Arc::clone(&first)).await.unwrap(), Finalized::Gone);
    bucket.create();
    assert_eq!(bucket.call(first).await.unwrap(), Finalized::Gone);
    assert!(bucket.take().is_empty());
    assert_eq!(bucket.finalizers(), json!(["others.org/one"]));
}

#[tokio::test(start_paused = true)]
async fn errors_say_what_was_done_and_what_was_not() {
    let bucket = Bucket::new();
    let conflict = || Fault::Error(ApiError::new(409, "Conflict", "changed"));
    bucket.server.add_fault(FaultRule::new(conflict()).verb(Verb::Patch));
    assert!(matches!(bucket.call(bucket.read().await).await, Err(FinalizerError::Add(_))));
    assert!(bucket.take().is_empty(), "no effect without a finalizer");
    bucket.server.clear_faults();
    bucket.call(bucket.read().await).await.unwrap();
    bucket.delete();
    bucket.server.add_fault(FaultRule::new(conflict()).verb(Verb::Patch));
    assert!(matches!(bucket.call(bucket.read().await).await, Err(FinalizerError::Remove(_))));
    bucket.server.clear_faults();
    let refused = Fault::Error(ApiError::new(500, "InternalError", "no"));
    let object = bucket.read().await;
    bucket.server.fault_once(Verb::Get, "configmaps", refused);
    assert!(matches!(bucket.call(object).await, Err(FinalizerError::Read(_))));

    let fine = |_: Arc<ConfigMap>| async { Ok::<_, BoxError>(()) };
    let fails = |_: Arc<ConfigMap>| async { Err::<(), _>(TerminalError::new("the bucket is not empty")) };
    let object = bucket.read().await;
    let error = finalizer(&bucket.api, NAME, Arc::clone(&object), fine, fails).await.unwrap_err();
    assert_eq!(error.to_string(), "cleaning up failed: the bucket is not empty");
    assert_eq!(bucket.finalizers(), json!(["others.org/one", NAME]));
    for name in ["bucket", "/bucket", "example.com/", ""] {
        let error = finalizer(&bucket.api, name, Arc::clone(&object), fine, fails).await.unwrap_err();
        assert!(matches!(error, FinalizerError::InvalidName(_)), "{error}");
    }
    let nameless = Arc::new(ConfigMap::default());
    let error = finalizer(&bucket.api, NAME, nameless, fine, fails).await.unwrap_err();
    assert!(matches!(error, FinalizerError::NotAnObject));
}
