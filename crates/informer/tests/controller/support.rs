//! What the tests share: a world with deployments that own config maps, and a reconcile that remembers its calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{
    Action, BoxError, Controller, ControllerBuilder, ControllerHandle, ObjectKey, RunError, SharedInformer,
    SharedInformerFactory,
};
use informer_testserver::TestServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Longer than anything may take under paused time, where waiting costs nothing.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) factory: SharedInformerFactory,
    pub(crate) deployments: SharedInformer<Deployment>,
    pub(crate) config_maps: SharedInformer<ConfigMap>,
}

impl World {
    pub(crate) fn new() -> Self {
        let server = TestServer::builder().create_namespaces(true).build();
        let factory = SharedInformerFactory::new(client(&server));
        let deployments = factory.informer::<Deployment>().unwrap();
        let config_maps = factory.informer::<ConfigMap>().unwrap();
        Self { server, factory, deployments, config_maps }
    }

    /// A controller of deployments.
    pub(crate) fn builder(&self) -> ControllerBuilder<Deployment> {
        Controller::builder("test", &self.deployments)
    }

    /// Starts the informers and runs the controller in a task.
    pub(crate) fn run(&self, controller: Controller) -> Running {
        self.factory.start();
        run(controller)
    }

    pub(crate) fn deploy(&self, name: &str) -> Value {
        self.server.create("deployments", deployment(name, 1)).unwrap()
    }

    /// Changes the desired state of a deployment.
    pub(crate) fn scale(&self, name: &str, replicas: u32) {
        let change = |object: &mut Value| object["spec"]["replicas"] = replicas.into();
        self.server.modify("deployments", "default", name, change).unwrap();
    }

    /// A config map owned by a deployment.
    pub(crate) fn own(&self, name: &str, owner: &Value) -> Value {
        self.server.create("configmaps", owned(name, owner)).unwrap()
    }
}

pub(crate) fn run(controller: Controller) -> Running {
    let (stop, handle) = (CancellationToken::new(), controller.handle());
    let token = stop.clone();
    let task = tokio::spawn(async move {
        let result = controller.run(token).await;
        (controller, result)
    });
    Running { stop, handle, task }
}

/// A controller that runs in a task.
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    pub(crate) handle: ControllerHandle,
    pub(crate) task: JoinHandle<(Controller, Result<(), RunError>)>,
}

impl Running {
    pub(crate) async fn stop(self) -> (Controller, Result<(), RunError>) {
        self.stop.cancel();
        tokio::time::timeout(LIMIT, self.task).await.expect("it ends").expect("it does not panic")
    }

    /// How often each result came: success, requeue_after, error, terminal, panic, timeout.
    pub(crate) fn results(&self) -> [u64; 6] {
        let counted = self.handle.metrics().reconciles;
        let informer::ReconcileCounters { success, requeue_after, error, terminal, panic, timeout, .. } =
            counted;
        [success, requeue_after, error, terminal, panic, timeout]
    }
}

pub(crate) fn client(server: &TestServer) -> Client {
    Client::new(server.clone(), "default")
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}, "spec": {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

pub(crate) fn owned(name: &str, owner: &Value) -> Value {
    json!({"metadata": {
        "name": name,
        "namespace": owner["metadata"]["namespace"].as_str().unwrap_or("default"),
        "ownerReferences": [reference(owner)],
    }})
}

pub(crate) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": true,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

/// Lets (paused) time pass: everything that is due until then happens.
pub(crate) async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

/// Remembers which key was reconciled when.
#[derive(Clone)]
pub(crate) struct Calls {
    begun: Instant,
    calls: Arc<Mutex<Vec<(u128, ObjectKey)>>>,
    counts: Arc<Mutex<BTreeMap<ObjectKey, usize>>>,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), calls: Arc::default(), counts: Arc::default() }
    }

    /// Notes a call; answers how many there were of this key before.
    pub(crate) fn note(&self, key: &ObjectKey) -> usize {
        self.calls.lock().unwrap().push((self.begun.elapsed().as_millis(), key.clone()));
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        *count - 1
    }

    /// A reconcile that does nothing else.
    pub(crate) fn reconcile(
        &self,
    ) -> impl Fn(ObjectKey) -> std::future::Ready<Result<Action, BoxError>> + Send + Sync + 'static {
        let calls = self.clone();
        move |key| {
            calls.note(&key);
            std::future::ready(Ok(Action::Done))
        }
    }

    /// The keys since the last call, in order.
    pub(crate) fn take(&self) -> Vec<String> {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        calls.into_iter().map(|(_, key)| key.to_string()).collect()
    }

    /// The times since the last call, in milliseconds from the beginning.
    pub(crate) fn take_times(&self) -> Vec<u128> {
        std::mem::take(&mut *self.calls.lock().unwrap()).into_iter().map(|(at, _)| at).collect()
    }
}
