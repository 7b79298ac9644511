//! Reading the cache.

use std::sync::Arc;

use informer_core::{Indexer, Object, ObjectKey, ResourceVersion, Snapshot};

use crate::format::{Format, Owner};
use crate::lister::Lister;
use crate::readers_lock::{ReadGuard, ReadersLock, WriteGuard};

/// The cache of one informer; cheap to clone, readable from any thread.
///
/// Everything the server said up to one version is visible together: a list of a million objects appears at once or not at
/// all. Values are shared, never copied, and cannot be changed. A read takes the lock for as long as a lookup lasts; lists
/// of everything are made from a [`snapshot`](Self::snapshot), outside of it.
#[doc(alias = "Indexer")]
#[doc(alias = "GetStore")]
pub struct Store<V> {
    shared: Arc<StoreShared<V>>,
}

/// The store between its one writer and its readers.
pub(crate) struct StoreShared<V> {
    indexer: ReadersLock<Indexer<V>>,
    meta: MetaFunctions<V>,
}

/// What a format reads of a value, without the format's type.
pub(crate) struct MetaFunctions<V> {
    pub(crate) label: for<'v> fn(&'v V, &str) -> Option<&'v str>,
    pub(crate) owners: for<'v> fn(&'v V) -> Vec<Owner<'v>>,
    pub(crate) generation: fn(&V) -> Option<i64>,
    pub(crate) same_labels: fn(&V, &V) -> bool,
    pub(crate) same_annotations: fn(&V, &V) -> bool,
    pub(crate) is_being_deleted: fn(&V) -> bool,
}

impl<V> MetaFunctions<V> {
    pub(crate) fn of<F: Format<Value = V>>() -> Self {
        Self {
            label: F::label,
            owners: F::owners,
            generation: F::generation,
            same_labels: F::same_labels,
            same_annotations: F::same_annotations,
            is_being_deleted: F::is_being_deleted,
        }
    }
}

impl<V> StoreShared<V> {
    pub(crate) fn new(hash_seed: u64, meta: MetaFunctions<V>) -> Self {
        Self { indexer: ReadersLock::new(Indexer::new(hash_seed)), meta }
    }

    // No user code runs under this lock, so a panic under it means a fault of ours: the driver then starts over with a
    // relist, and readers see what there is.

    pub(crate) fn read(&self) -> ReadGuard<'_, Indexer<V>> {
        self.indexer.read()
    }

    pub(crate) fn write(&self) -> WriteGuard<'_, Indexer<V>> {
        self.indexer.write()
    }

    pub(crate) fn label<'v>(&self, value: &'v V, name: &str) -> Option<&'v str> {
        (self.meta.label)(value, name)
    }

    /// The other functions of the format.
    pub(crate) fn meta(&self) -> &MetaFunctions<V> {
        &self.meta
    }

    pub(crate) fn owners<'v>(&self, value: &'v V) -> Vec<Owner<'v>> {
        (self.meta.owners)(value)
    }
}

impl<V> Store<V> {
    pub(crate) fn new(shared: Arc<StoreShared<V>>) -> Self {
        Self { shared }
    }

    /// The object with this key.
    #[doc(alias = "GetByKey")]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object<V>>> {
        self.shared.read().by_key(key).cloned()
    }

    /// Whether an object with this key is there.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.shared.read().by_key(key).is_some()
    }

    /// Every object, by key.
    pub fn list(&self) -> Vec<Arc<Object<V>>> {
        self.snapshot().in_key_order()
    }

    /// Every key, sorted.
    #[doc(alias = "ListKeys")]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.list().iter().map(|object| object.key.clone()).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version the cache is at; empty before the first list.
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn version(&self) -> ResourceVersion {
        self.shared.read().version().clone()
    }

    /// Everything at one version, owned. Costs one `Arc` clone for each 64 objects.
    pub fn snapshot(&self) -> Snapshot<V> {
        self.shared.read().snapshot()
    }

    /// Whether the object's newest version could not be decoded, and an older one is stored.
    pub fn is_stale(&self, key: &ObjectKey) -> bool {
        self.shared.read().is_stale(key)
    }

    /// Reads by name, namespace and label selector.
    pub fn lister(&self) -> Lister<V> {
        Lister::new(Arc::clone(&self.shared), None)
    }
}

impl<V> Clone for Store<V> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared))
    }
}
