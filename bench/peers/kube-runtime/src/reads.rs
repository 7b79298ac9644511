//! Reads of the store, as many as the driver asks for. It has no index: what is not a key is searched for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kube::Resource;
use kube::runtime::reflector::{ObjectRef, Store};
use serde_json::{Value, json};

use crate::Result;
use crate::subject::Cached;

const LABEL: &str = "app";

/// Reads between looks at the clock.
const BATCH: usize = 1_024;

pub(crate) struct Reads<K: Cached> {
    store: Store<K>,
    keys: Vec<ObjectRef<K>>,
    namespaces: Vec<String>,
    labels: Vec<String>,
}

impl<K: Cached> Reads<K> {
    pub(crate) fn new(store: &Store<K>, dynamic_type: &<K as Resource>::DynamicType) -> Self {
        let mut objects = store.state();
        objects.sort_by_cached_key(|object| (object.meta().namespace.clone(), object.meta().name.clone()));
        let namespace = |object: &Arc<K>| object.meta().namespace.clone();
        let mut namespaces: Vec<_> = objects.iter().filter_map(namespace).collect();
        namespaces.dedup();
        let mut labels: Vec<_> =
            objects.iter().filter_map(|object| label(&**object)).map(str::to_owned).collect();
        labels.sort_unstable();
        labels.dedup();
        // As the library's side does it.
        let stride = 15_485_863 % objects.len().max(1);
        let key = |at: usize| ObjectRef::from_obj_with(&*objects[at], dynamic_type.clone());
        let keys = (0..objects.len()).map(|at| key(at * stride % objects.len())).collect();
        Self { store: store.clone(), keys, namespaces, labels }
    }

    /// Gets by key on some threads for some time.
    pub(crate) fn get(&self, readers: usize, time: Duration) -> Result<Value> {
        let is_over = AtomicBool::new(false);
        let started = Instant::now();
        let mut found = 0;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..readers)
                .map(|reader| {
                    let (store, is_over) = (self.store.clone(), &is_over);
                    let first = reader * self.keys.len() / readers.max(1);
                    scope.spawn(move || self.get_until(&store, is_over, first))
                })
                .collect();
            thread::sleep(time);
            is_over.store(true, Ordering::Relaxed);
            for thread in threads {
                found += thread.join().map_err(|_| "a reader panicked")?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        })?;
        let nanoseconds = started.elapsed().as_nanos() as u64;
        Ok(json!({"iterations": found, "read_ns": nanoseconds}))
    }

    fn get_until(&self, store: &Store<K>, is_over: &AtomicBool, first: usize) -> u64 {
        let mut found = 0;
        let mut keys = self.keys.iter().cycle().skip(first);
        while !is_over.load(Ordering::Relaxed) {
            found += keys.by_ref().take(BATCH).filter(|key| store.get(key).is_some()).count() as u64;
        }
        found
    }

    /// Gets by key, and looks at what it got.
    pub(crate) fn look(&self, iterations: usize) -> Value {
        let objects = self.keys.iter().cycle().take(iterations).filter_map(|key| self.store.get(key));
        let bytes: usize = objects.filter_map(|object| Some(label(&*object)?.len())).sum();
        json!({"iterations": iterations, "bytes": bytes})
    }

    pub(crate) fn namespaces(&self, iterations: usize) -> Value {
        let namespaces = self.namespaces.iter().cycle().take(iterations);
        let objects: usize =
            namespaces.map(|namespace| self.find(|object| is_in(object, namespace)).len()).sum();
        json!({"iterations": iterations, "objects": objects})
    }

    pub(crate) fn labels(&self, iterations: usize) -> Value {
        let labels = self.labels.iter().cycle().take(iterations);
        let objects: usize = labels.map(|value| self.find(|object| label(object) == Some(value)).len()).sum();
        json!({"iterations": iterations, "objects": objects})
    }

    pub(crate) fn select(&self, iterations: usize) -> Value {
        let pairs = self.namespaces.iter().cycle().zip(self.labels.iter().cycle());
        let matches = |object: &K, namespace: &str, value: &str| {
            is_in(object, namespace) && label(object) == Some(value)
        };
        let found = pairs
            .take(iterations)
            .map(|(namespace, value)| self.find(|object| matches(object, namespace, value)).len());
        json!({"iterations": iterations, "objects": found.sum::<usize>()})
    }

    fn find(&self, is_meant: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        self.store.state().into_iter().filter(|object| is_meant(object)).collect()
    }
}

fn is_in<K: Resource>(object: &K, namespace: &str) -> bool {
    object.meta().namespace.as_deref() == Some(namespace)
}

fn label<K: Resource>(object: &K) -> Option<&str> {
    object.meta().labels.as_ref()?.get(LABEL).map(String::as_str)
}
