//! What the tests share: a server, informers of it, and a handler that remembers and checks what it is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{
    EventHandler, InformerBuilder, Object, ObjectKey, ReflectorOptions, ResourceListWatch, ResourceVersion,
    SharedInformer, Typed,
};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Longer than anything may take under paused time, where waiting costs nothing.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn client(server: &TestServer) -> Client {
    Client::new(server.clone(), "default")
}

pub(crate) fn config_maps(server: &TestServer) -> InformerBuilder<ConfigMap> {
    SharedInformer::builder(ResourceListWatch::of::<ConfigMap>(client(server)), Typed::new())
}

/// Without WatchList, for tests about lists.
pub(crate) fn listed(builder: InformerBuilder<ConfigMap>) -> InformerBuilder<ConfigMap> {
    builder.reflector_options(|options: ReflectorOptions| options.watch_list(false))
}

pub(crate) fn config_map(name: &str, data: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default", "labels": {"name": name}}, "data": {"k": data}})
}

pub(crate) fn put(server: &TestServer, name: &str, data: &str) -> ResourceVersion {
    let stored = server.put("configmaps", config_map(name, data)).expect("a valid object");
    ResourceVersion::new(stored["metadata"]["resourceVersion"].as_str().expect("it was stored"))
}

pub(crate) fn delete(server: &TestServer, name: &str) {
    server.delete("configmaps", "default", name).expect("it exists");
}

pub(crate) fn data(object: &ConfigMap) -> &str {
    object.data.as_ref().and_then(|data| data.get("k")).map_or("", String::as_str)
}

/// Waits until the informer has seen everything the server has.
pub(crate) async fn caught_up<V: Send + Sync + 'static>(informer: &SharedInformer<V>, server: &TestServer) {
    informer.wait_for_sync(LIMIT).await.expect("it syncs");
    // A change of this resource comes at once, what is after it with the next bookmark.
    let version = ResourceVersion::from(server.resource_version());
    informer.wait_until(&version, LIMIT).await.expect("it catches up");
}

/// Waits until a condition holds. On one thread time is paused, and passes by waiting; on several it is real, and what is
/// waited for happens on another one.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let paused = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
    if !paused {
        return eventually_real(what, condition).await;
    }
    for _ in 0..100_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// The same in real time, without waiting longer than necessary.
pub(crate) async fn eventually_real(what: &str, condition: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "never: {what}");
        tokio::task::yield_now().await;
    }
}

/// Remembers what a handler was told, and checks that it makes sense.
#[derive(Clone, Default)]
pub(crate) struct Witness {
    state: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    told: Vec<String>,
    held: BTreeMap<ObjectKey, Arc<Object<ConfigMap>>>,
}

impl Witness {
    pub(crate) fn handler(&self) -> EventHandler<ConfigMap> {
        let [added, updated, deleted, resynced, synced, relisted] = std::array::from_fn(|_| self.clone());
        EventHandler::new()
            .on_added(move |object, initial| added.added(object, initial))
            .on_updated(move |old, new| updated.updated(old, new))
            .on_deleted(move |key, last| deleted.deleted(key, last))
            .on_resync(move |object| resynced.tell(format!("Resync {}", object.key.name())))
            .on_synced(move |_| synced.tell("Synced".into()))
            .on_relisted(move |_| relisted.tell("Relisted".into()))
    }

    fn added(&self, object: &Arc<Object<ConfigMap>>, initial: bool) {
        let mark = if initial { " initial" } else { "" };
        self.tell(format!("Added {}={}{mark}", object.key.name(), data(object)));
        let before = self.state.lock().unwrap().held.insert(object.key.clone(), Arc::clone(object));
        assert!(before.is_none(), "added twice: {}", object.key);
    }

    fn updated(&self, old: &Arc<Object<ConfigMap>>, new: &Arc<Object<ConfigMap>>) {
        self.tell(format!("Updated {}={}->{}", new.key.name(), data(old), data(new)));
        let before = self.state.lock().unwrap().held.insert(new.key.clone(), Arc::clone(new));
        assert!(
            before.is_some_and(|before| Arc::ptr_eq(&before, old)),
            "not what was told last: {}",
            new.key
        );
    }

    fn deleted(&self, key: &ObjectKey, last: &informer::LastState<ConfigMap>) {
        let kind = match last {
            informer::LastState::Known(_) => "Known",
            informer::LastState::Stale(_) => "Stale",
            informer::LastState::Unknown => "Unknown",
        };
        let value = last.object().map(|object| data(object).to_owned()).unwrap_or_default();
        self.tell(format!("Deleted {}={value} {kind}", key.name()));
        assert!(self.state.lock().unwrap().held.remove(key).is_some(), "deleted but never told of: {key}");
    }

    pub(crate) fn tell(&self, what: String) {
        self.state.lock().unwrap().told.push(what);
    }

    /// What was told since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().told)
    }

    pub(crate) fn told(&self) -> usize {
        self.state.lock().unwrap().told.len()
    }

    /// What was told last.
    pub(crate) fn last(&self) -> String {
        self.state.lock().unwrap().told.last().cloned().unwrap_or_default()
    }

    /// Waits until so many things were told, and takes them.
    pub(crate) async fn expect(&self, count: usize) -> Vec<String> {
        eventually(&format!("{count} notifications"), || self.told() >= count).await;
        self.take()
    }

    pub(crate) fn held(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.held.values().map(|object| format!("{}={}", object.key.name(), data(object))).collect()
    }
}
