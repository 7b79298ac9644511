//! Our controller on kube-runtime's stores, over the embedded server.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use informer::{
    Action, BoxError, Controller, ControllerBuilder, ControllerHandle, Feed, ObjectKey, RunError,
};
use informer_kube_runtime::feed;
use informer_testserver::{Fault, FaultRule, TestServer, Verb};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// As long as nothing takes under paused time.
const LONG: Duration = Duration::from_secs(100);

struct World {
    server: TestServer,
    client: Client,
    deployments: Feed<Deployment>,
    config_maps: Feed<ConfigMap>,
    store: Store<ConfigMap>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        let server = TestServer::builder().build();
        let client = Client::new(server.clone(), "default");
        let (deployments, _) = kube_feed("deployments", &client);
        let (config_maps, store) = kube_feed("config maps", &client);
        Self { server, client, deployments, config_maps, store, calls: Arc::default() }
    }

    /// Remembers each call as the key and whether the store has the config map.
    fn run<V: Send + Sync + 'static>(&self, builder: ControllerBuilder<V>) -> Running {
        let (calls, store) = (Arc::clone(&self.calls), self.store.clone());
        let controller = builder.sync_timeout(Duration::from_secs(20)).build(move |key: ObjectKey| {
            let is_there = store.get(&ObjectRef::new(key.name()).within(key.namespace())).is_some();
            calls.lock().unwrap().push(format!("{}{}", if is_there { "+" } else { "-" }, key.name()));
            std::future::ready(Ok::<_, BoxError>(Action::Done))
        });
        run(Arc::new(controller.unwrap()))
    }

    /// What was reconciled since this was asked last, once nothing more happens; sorted.
    async fn calls(&self) -> Vec<String> {
        sleep(Duration::from_secs(5)).await;
        let mut calls = std::mem::take(&mut *self.calls.lock().unwrap());
        calls.sort();
        calls
    }

    fn create(&self, name: &str) -> Value {
        self.server.create("configmaps", config_map(name)).unwrap()
    }

    fn touch(&self, name: &str, step: &str) {
        let change = |object: &mut Value| object["data"] = json!({"step": step});
        self.server.modify("configmaps", "default", name, change).unwrap();
    }

    fn delete(&self, name: &str) {
        self.server.delete("configmaps", "default", name).unwrap();
    }

    fn deploy(&self, name: &str) -> Value {
        let object = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }});
        self.server.create("deployments", object).unwrap()
    }
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}})
}

fn owned(name: &str, owner: &Value, controller: bool) -> Value {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment",
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": controller}]);
    object
}

/// What a program with kube-runtime has, as a feed.
fn kube_feed<K>(name: &str, client: &Client) -> (Feed<K>, Store<K>)
where
    K: kube::Resource<DynamicType = ()> + serde::de::DeserializeOwned,
    K: Clone + std::fmt::Debug + Send + Sync + 'static,
{
    let api = Api::<K>::all(client.clone());
    let (reader, writer) = reflector::store();
    let changes = reflector(writer, watcher(api, watcher::Config::default()).default_backoff());
    let feed = feed(name, reader.clone(), changes);
    (feed, reader)
}

struct Running {
    controller: Arc<Controller>,
    handle: ControllerHandle,
    stop: CancellationToken,
    task: JoinHandle<Result<(), RunError>>,
}

fn run(controller: Arc<Controller>) -> Running {
    let (stop, handle) = (CancellationToken::new(), controller.handle());
    let task = tokio::spawn({
        let (controller, stop) = (Arc::clone(&controller), stop.clone());
        async move { controller.run(stop).await }
    });
    Running { controller, handle, stop, task }
}

impl Running {
    async fn stop(self) -> Arc<Controller> {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
        self.controller
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_there_and_every_change_and_deletion_is_reconciled() {
    let world = World::new();
    world.create("a");
    let running = world.run(Controller::builder("test", &world.config_maps));
    assert_eq!(world.calls().await, ["+a"]);
    world.create("b");
    assert_eq!(world.calls().await, ["+b"]);
    world.touch("a", "2");
    assert_eq!(world.calls().await, ["+a"]);
    world.delete("a");
    assert_eq!(world.calls().await, ["-a"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_vanished_in_a_relist_is_reconciled_and_what_did_not_change_is_not() {
    let world = World::new();
    for name in ["changed", "doomed", "kept"] {
        world.create(name);
    }
    let running = world.run(Controller::builder("test", &world.config_maps));
    assert_eq!(world.calls().await.len(), 3);
    // While nobody is connected.
    world.server.deny(Verb::Watch, "configmaps");
    world.server.end_watches("configmaps").unwrap();
    sleep(LONG).await;
    world.delete("doomed");
    world.touch("changed", "2");
    world.create("new");
    world.server.compact();
    world.server.allow(Verb::Watch, "configmaps");
    sleep(LONG).await;
    assert_eq!(world.calls().await, ["+changed", "+new", "-doomed"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_owned_object_leads_to_its_controlling_owner_also_when_it_goes() {
    let world = World::new();
    let owner = world.deploy("web");
    let running = world.run(Controller::builder("test", &world.deployments).owns(&world.config_maps));
    assert_eq!(world.calls().await, ["-web"]);
    world.server.create("configmaps", owned("child", &owner, true)).unwrap();
    assert_eq!(world.calls().await, ["-web"]);
    world.touch("child", "2");
    assert_eq!(world.calls().await, ["-web"]);
    world.server.create("configmaps", owned("ward", &owner, false)).unwrap();
    world.create("stranger");
    assert_eq!(world.calls().await, [""; 0]);
    world.delete("child");
    assert_eq!(world.calls().await, ["-web"]);
    assert_eq!(running.handle.metrics().dangling_owners, 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_mapped_object_leads_to_the_keys_that_the_function_says() {
    let world = World::new();
    world.create("a");
    let builder = Controller::builder("test", &world.deployments)
        .watches(&world.config_maps, |object| object.metadata.name.as_ref().map(|it| ObjectKey::new("", it)));
    let running = world.run(builder);
    assert_eq!(world.calls().await, ["-a"]);
    world.delete("a");
    assert_eq!(world.calls().await, ["-a"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn dynamic_objects_are_reconciled_deletions_included() {
    let world = World::new();
    let resource = kube::core::ApiResource::erase::<ConfigMap>(&());
    let api = Api::<DynamicObject>::all_with(world.client.clone(), &resource);
    let writer = reflector::store::Writer::new(resource.clone());
    let reader = writer.as_reader();
    let changes = reflector(writer, watcher(api, watcher::Config::default()).default_backoff());
    let objects = informer_kube_runtime::feed_with("objects", reader, changes, resource);
    let running = world.run(Controller::builder("test", &objects));
    world.create("a");
    assert_eq!(world.calls().await, ["-a"]);
    world.delete("a");
    assert_eq!(world.calls().await, ["-a"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_never_ready_is_named_with_its_trouble_and_without_values() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.writer()).finish();
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);
    let world = World::new();
    world.server.create("configmaps", config_map("a")).unwrap();
    let secret =
        r#"{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"},"data":"canary"}]}"#;
    let fault = FaultRule::new(Fault::RawBody(secret.into())).verb(Verb::List).resource("configmaps");
    world.server.add_fault(fault);
    let running = world.run(Controller::builder("test", &world.deployments).owns(&world.config_maps));
    let error = running.task.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("not synced after 20.0 s: config maps (listing"), "{error}");
    assert!(
        error.contains("the list failed: what was read does not fit the type (line 1, column"),
        "{error}"
    );
    assert!(!error.contains("deployments") && !error.contains("canary"), "{error}");
    let log = log.text();
    let lines = log.lines().filter(|line| line.contains("the stream of a feed failed")).count();
    assert_eq!(lines, 1, "said once, however often it fails: {log}");
    let of_ours = log.lines().filter(|line| line.contains("informer::"));
    assert!(of_ours.clone().count() > 0 && !of_ours.clone().any(|line| line.contains("canary")), "{log}");
}

#[tokio::test(start_paused = true)]
async fn after_an_error_in_the_stream_it_goes_on() {
    let world = World::new();
    let running = world.run(Controller::builder("test", &world.config_maps));
    world.create("a");
    assert_eq!(world.calls().await, ["+a"]);
    world.server.deny(Verb::Watch, "configmaps");
    world.server.end_watches("configmaps").unwrap();
    sleep(LONG).await;
    world.create("b");
    world.server.allow(Verb::Watch, "configmaps");
    sleep(LONG).await;
    assert_eq!(world.calls().await, ["+b"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_stream_is_polled_by_the_run_alone_and_the_next_run_goes_on_with_it() {
    let world = World::new();
    world.create("gone");
    world.create("kept");
    assert_eq!(world.calls().await, [""; 0]);
    assert!(world.server.requests().is_empty());
    let running = world.run(Controller::builder("test", &world.config_maps));
    assert_eq!(world.calls().await, ["+gone", "+kept"]);
    let controller = running.stop().await;
    world.delete("gone");
    sleep(LONG).await;
    assert_eq!(world.store.len(), 2, "nobody polls");
    let running = run(controller);
    assert_eq!(world.calls().await, ["+kept", "-gone"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_controllers_share_a_feed_and_the_other_one_goes_on_when_one_stops() {
    let world = World::new();
    world.create("a");
    let one = world.run(Controller::builder("one", &world.config_maps));
    let other = world.run(Controller::builder("other", &world.config_maps));
    assert_eq!(world.calls().await, ["+a", "+a"]);
    world.touch("a", "2");
    assert_eq!(world.calls().await, ["+a", "+a"]);
    one.stop().await;
    world.touch("a", "3");
    assert_eq!(world.calls().await, ["+a"]);
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_ready_before_is_reconciled() {
    let world = World::new();
    world.create("a");
    let api = Api::<ConfigMap>::all(world.client.clone());
    let (reader, writer) = reflector::store();
    let mut changes = reflector(writer, watcher(api, watcher::Config::default()).default_backoff()).boxed();
    while !matches!(changes.next().await, Some(Ok(watcher::Event::InitDone))) {}
    let config_maps = feed("config maps", reader, changes);
    let running = world.run(Controller::builder("test", &config_maps));
    assert_eq!(world.calls().await, ["-a"]);
    world.delete("a");
    assert_eq!(world.calls().await, ["-a"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_ended_is_said_to_have() {
    let world = World::new();
    let (reader, _writer) = reflector::store::<ConfigMap>();
    let ended = feed("nothing", reader, stream::empty());
    let running = world.run(Controller::builder("test", &ended));
    let error = running.task.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("nothing (stopped): its stream has ended"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_next_reconcile_sees_what_was_written() {
    let world = World::new();
    world.create("a");
    let builder = Controller::builder("test", &world.config_maps).cache_timeout(LONG);
    let running = world.run(builder);
    assert_eq!(world.calls().await, ["+a"]);
    // Nothing comes until the watch is connected again.
    world.server.deny(Verb::Watch, "configmaps");
    world.server.end_watches("configmaps").unwrap();
    sleep(Duration::from_secs(10)).await;
    let written = serde_json::from_value::<ConfigMap>(world.create("b")).unwrap();
    let key = ObjectKey::new("default", "a");
    running.handle.wrote(&key, &world.config_maps, &written);
    running.handle.enqueue(key);
    assert_eq!(world.calls().await, [""; 0]);
    assert_eq!(running.handle.metrics().waiting_for_cache, 1);
    world.server.allow(Verb::Watch, "configmaps");
    sleep(LONG / 2).await;
    assert_eq!(world.calls().await, ["+a", "+b"]);
    assert_eq!(running.handle.metrics().stale_reads, 0);
    running.stop().await;
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn writer(&self) -> impl Fn() -> Self + use<> {
        let log = self.clone();
        move || log.clone()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
