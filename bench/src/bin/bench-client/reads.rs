//! Reads of the cache, as many as the driver asks for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use informer::{Index, Lister, ObjectKey, SharedInformer, Store};
use serde_json::{Value, json};

use crate::Result;
use crate::subject::LABEL;

/// Reads between looks at the clock.
const BATCH: usize = 1_024;

/// What is read, and by what names.
pub(crate) struct Reads<V> {
    store: Store<V>,
    lister: Lister<V>,
    by_label: Index<V>,
    label_length: fn(&V) -> Option<usize>,
    /// In an order that no cache of the processor foresees.
    keys: Vec<ObjectKey>,
    namespaces: Vec<String>,
    labels: Vec<String>,
}

impl<V: Send + Sync + 'static> Reads<V> {
    pub(crate) fn new(
        informer: &SharedInformer<V>,
        by_label: &Index<V>,
        label_length: fn(&V) -> Option<usize>,
    ) -> Self {
        let keys = informer.store().keys();
        let mut namespaces: Vec<_> = keys.iter().map(|key| key.namespace().to_owned()).collect();
        namespaces.dedup();
        let labels = by_label.values().iter().map(|value| value.to_string()).collect();
        // A stride without a common divisor visits each once; it is prime, and larger than any collection.
        let stride = 15_485_863 % keys.len().max(1);
        // Keys of the reader's own, as the peers' are: not the cache's, which lie beside the objects.
        let own = |key: &ObjectKey| ObjectKey::new(key.namespace(), key.name());
        let keys = (0..keys.len()).map(|at| own(&keys[at * stride % keys.len()])).collect();
        let (store, lister) = (informer.store(), informer.lister());
        Self { store, lister, by_label: by_label.clone(), label_length, keys, namespaces, labels }
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

    fn get_until(&self, store: &Store<V>, is_over: &AtomicBool, first: usize) -> u64 {
        let mut found = 0;
        let mut keys = self.keys.iter().cycle().skip(first);
        while !is_over.load(Ordering::Relaxed) {
            found += keys.by_ref().take(BATCH).filter(|key| store.get(key).is_some()).count() as u64;
        }
        found
    }

    /// Gets by key, and looks at what it got: the object's memory is no warmer than the key's.
    pub(crate) fn look(&self, iterations: usize) -> Value {
        let objects = self.keys.iter().cycle().take(iterations).filter_map(|key| self.store.get(key));
        let bytes: usize = objects.filter_map(|object| (self.label_length)(&object.value)).sum();
        json!({"iterations": iterations, "bytes": bytes})
    }

    pub(crate) fn namespaces(&self, iterations: usize) -> Value {
        let namespaces = self.namespaces.iter().cycle().take(iterations);
        let objects: usize = namespaces.map(|namespace| self.lister.namespace(namespace).all().len()).sum();
        json!({"iterations": iterations, "objects": objects})
    }

    pub(crate) fn labels(&self, iterations: usize) -> Value {
        let labels = self.labels.iter().cycle().take(iterations);
        let objects: usize = labels.map(|label| self.by_label.get(label).len()).sum();
        json!({"iterations": iterations, "objects": objects})
    }

    pub(crate) fn select(&self, iterations: usize) -> Result<Value> {
        let mut objects = 0;
        let pairs = self.namespaces.iter().cycle().zip(self.labels.iter().cycle());
        for (namespace, label) in pairs.take(iterations) {
            let selector = format!("{LABEL}={label}").parse()?;
            objects += self.lister.namespace(namespace).list(&selector).len();
        }
        Ok(json!({"iterations": iterations, "objects": objects}))
    }
}
