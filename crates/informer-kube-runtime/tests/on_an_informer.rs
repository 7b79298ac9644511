//! kube-runtime's stores and controllers, fed by an informer over the embedded server.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use informer::{ResourceListWatch, SharedInformer, Typed};
use informer_kube_runtime::watcher_events;
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, reflector};
use serde_json::json;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(30);

struct World {
    server: TestServer,
    config_maps: SharedInformer<ConfigMap>,
}

fn world() -> World {
    let server = TestServer::builder().build();
    let client = kube::Client::new(server.clone(), "default");
    let list_watch = ResourceListWatch::of::<ConfigMap>(client);
    let config_maps = SharedInformer::builder(list_watch, Typed::<ConfigMap>::new()).build().unwrap();
    World { server, config_maps }
}

impl World {
    fn create(&self, name: &str) {
        let object = json!({"metadata": {"name": name, "namespace": "default"}, "data": {"step": "1"}});
        self.server.create("configmaps", object).unwrap();
    }

    fn patch(&self, name: &str, step: &str) {
        self.server
            .modify("configmaps", "default", name, |object| object["data"]["step"] = json!(step))
            .unwrap();
    }

    fn delete(&self, name: &str) {
        self.server.delete("configmaps", "default", name).unwrap();
    }
}

/// `+a` for `Apply`, `-a` for `Delete`, `=a` for `InitApply`.
fn word(event: &Event<ConfigMap>) -> String {
    match event {
        Event::Apply(object) => format!("+{}", object.name_any()),
        Event::Delete(object) => format!("-{}", object.name_any()),
        Event::Init => "init".into(),
        Event::InitApply(object) => format!("={}", object.name_any()),
        Event::InitDone => "done".into(),
    }
}

async fn next_word(
    events: &mut (impl Stream<Item = Result<Event<ConfigMap>, kube::runtime::watcher::Error>> + Unpin),
) -> String {
    word(&timeout(LIMIT, events.next()).await.unwrap().unwrap().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_first_list_is_one_init_and_every_change_follows() {
    let world = world();
    world.create("b");
    world.create("a");
    let mut events = pin!(watcher_events(&world.config_maps));
    world.config_maps.start();
    for expected in ["init", "=a", "=b", "done"] {
        assert_eq!(next_word(&mut events).await, expected);
    }
    world.patch("a", "2");
    assert_eq!(next_word(&mut events).await, "+a");
    world.create("c");
    assert_eq!(next_word(&mut events).await, "+c");
    world.delete("b");
    assert_eq!(next_word(&mut events).await, "-b");

    let mut late = pin!(watcher_events(&world.config_maps));
    for expected in ["init", "=a", "=c", "done"] {
        assert_eq!(next_word(&mut late).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn what_vanished_unseen_is_deleted_from_the_store() {
    let world = world();
    world.create("kept");
    world.create("doomed");
    let (store, writer) = reflector::store::<ConfigMap>();
    let mut events = pin!(reflector(writer, watcher_events(&world.config_maps)));
    world.config_maps.start();
    for _ in 0..4 {
        next_word(&mut events).await;
    }
    assert_eq!(store.len(), 2);

    world.config_maps.stop().await;
    world.delete("doomed");
    world.server.compact();
    world.config_maps.start();
    assert_eq!(next_word(&mut events).await, "-doomed");
    let left: BTreeSet<_> = store.state().iter().map(|object| object.name_any()).collect();
    assert_eq!(left, BTreeSet::from(["kept".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_controller_of_kube_runtime_reconciles_every_change() {
    let world = world();
    world.create("a");
    world.config_maps.start();
    let (store, writer) = reflector::store();
    let changes = reflector(writer, watcher_events(&world.config_maps)).applied_objects();
    let (told, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
    let controller = Controller::for_stream(changes, store).run(
        move |object: Arc<ConfigMap>, _| {
            let step = object.data.as_ref().and_then(|data| data.get("step").cloned());
            let _ = told.send((object.name_any(), step.unwrap_or_default()));
            std::future::ready(Ok::<_, std::convert::Infallible>(Action::await_change()))
        },
        |_, _, _| Action::requeue(LIMIT),
        Arc::new(()),
    );
    let controller = tokio::spawn(controller.for_each(|_| std::future::ready(())));
    let mut next = async || timeout(LIMIT, reconciled.recv()).await.unwrap().unwrap();
    assert_eq!(next().await, ("a".into(), "1".into()));
    world.patch("a", "2");
    assert_eq!(next().await, ("a".into(), "2".into()));
    world.create("b");
    assert_eq!(next().await, ("b".into(), "1".into()));
    controller.abort();
}

#[tokio::test(start_paused = true)]
async fn the_stream_ends_with_its_informer() {
    let world = world();
    world.config_maps.start();
    let mut events = pin!(watcher_events(&world.config_maps));
    assert_eq!(next_word(&mut events).await, "init");
    assert_eq!(next_word(&mut events).await, "done");
    drop(world.config_maps);
    assert!(timeout(LIMIT, events.next()).await.unwrap().is_none());
    assert!(timeout(LIMIT, events.next()).await.unwrap().is_none(), "it may be asked again");
}
