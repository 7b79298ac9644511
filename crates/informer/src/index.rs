//! Indices: finding objects by what a function says of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use informer_core::{IndexId, IndexValues, Item, Listed, Object, ObjectKey};

use crate::store::StoreShared;
use crate::trouble::is_news;

struct IndexFunction<V> {
    name: String,
    /// Of this one index.
    values: Box<dyn Fn(&V) -> IndexValues + Send + Sync>,
}

/// Removed ones leave their position.
type Functions<V> = Vec<Option<Arc<IndexFunction<V>>>>;

/// The index functions of one informer, by position. They run outside the store's lock.
pub(crate) struct IndexRegistry<V> {
    functions: RwLock<Arc<Functions<V>>>,
    errors: AtomicU64,
}

impl<V> IndexRegistry<V> {
    pub(crate) fn new() -> Self {
        Self { functions: RwLock::default(), errors: AtomicU64::new(0) }
    }

    /// How often an index function has panicked.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// The object's values under every index.
    pub(crate) fn values(&self, object: &Object<V>) -> IndexValues {
        let mut values = IndexValues::default();
        for function in self.functions().iter() {
            values.append(self.call(function.as_deref(), object));
        }
        values
    }

    /// Adds what an item lacks that was decoded before an index was added.
    pub(crate) fn complete(&self, item: &mut Item<V>) {
        let functions = self.functions();
        for function in functions.iter().skip(item.index_values.len()) {
            item.index_values.append(self.call(function.as_deref(), &item.object));
        }
    }

    fn functions(&self) -> Arc<Functions<V>> {
        Arc::clone(&self.functions.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Functions<V>)) {
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut functions));
    }

    /// The values under one index. A panic costs the object its place in this one, nothing else.
    fn call(&self, function: Option<&IndexFunction<V>>, object: &Object<V>) -> IndexValues {
        let nothing = || IndexValues::from_iter([[""; 0]]);
        let Some(function) = function else { return nothing() };
        catch_unwind(AssertUnwindSafe(|| (function.values)(&object.value))).unwrap_or_else(|_panic| {
            let panics = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
            let (index, key) = (&function.name, &object.key);
            // Without the panic's message, which may quote the object; the panic hook has shown it.
            if is_news(panics) {
                tracing::error!(target: "informer::index", index, %key, panics, "index function panicked");
            } else {
                tracing::debug!(target: "informer::index", index, %key, panics, "index function panicked");
            }
            nothing()
        })
    }
}

/// A handle on one index: there is no name to mistype.
pub struct Index<V> {
    id: IndexId,
    name: Arc<str>,
    registry: Arc<IndexRegistry<V>>,
    store: Arc<StoreShared<V>>,
}

impl<V: Send + Sync + 'static> Index<V> {
    /// Adds an index and fills it. The caller keeps the store from being written meanwhile.
    pub(crate) fn add<I>(
        name: &str,
        function: impl Fn(&V) -> I + Send + Sync + 'static,
        registry: &Arc<IndexRegistry<V>>,
        store: &Arc<StoreShared<V>>,
    ) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let values = Box::new(move |value: &V| IndexValues::from_iter([function(value)]));
        let function = Arc::new(IndexFunction { name: name.to_owned(), values });
        registry.change(|functions| functions.push(Some(Arc::clone(&function))));
        let id = store.write().add_index();
        let stored = store.read().unindexed(id);
        let values: Vec<_> = stored.iter().map(|object| registry.call(Some(&function), object)).collect();
        let mut indexer = store.write();
        for (object, values) in stored.iter().zip(values) {
            let values = values.iter().flatten();
            indexer.set_index_values(id, &object.key, object, values);
        }
        drop(indexer);
        Self { id, name: name.into(), registry: Arc::clone(registry), store: Arc::clone(store) }
    }

    /// The objects with this value, each once, in no particular order.
    ///
    /// Costs as much as a lookup if somebody has asked for them before and nobody has kept the answer past a change of
    /// theirs; otherwise time in proportion to their number.
    #[doc(alias = "ByIndex")]
    pub fn get(&self, value: &str) -> Listed<V> {
        self.store.read().index_listed(self.id, value)
    }

    /// The same with key, uid and version. Always costs time in proportion to their number.
    pub fn objects(&self, value: &str) -> Vec<Arc<Object<V>>> {
        self.store.read().by_index(self.id, value).cloned().collect()
    }

    /// The keys of the objects with this value, sorted.
    #[doc(alias = "IndexKeys")]
    pub fn keys(&self, value: &str) -> Vec<ObjectKey> {
        self.store.read().index_keys(self.id, value)
    }

    /// Every value that some object has, sorted.
    #[doc(alias = "ListIndexFuncValues")]
    pub fn values(&self) -> Vec<Arc<str>> {
        self.store.read().index_values(self.id)
    }

    /// The name given when the index was added: for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes the index for every holder of a handle: it finds nothing from now on.
    pub fn remove(self) {
        self.registry.change(|functions| functions[self.id.0] = None);
        let retired = self.store.write().remove_index(self.id);
        drop(retired);
    }
}

impl<V> Clone for Index<V> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            name: Arc::clone(&self.name),
            registry: Arc::clone(&self.registry),
            store: Arc::clone(&self.store),
        }
    }
}
