//! Reads by name, namespace and label selector.

use std::sync::Arc;

use informer_core::{Object, Selector, Snapshot};

use crate::store::StoreShared;

/// Reads the cache by name, namespace and labels; cheap to clone.
///
/// A lister of all namespaces reads cluster-scoped objects by their name; for namespaced ones go through
/// [`namespace`](Self::namespace).
#[doc(alias = "GenericLister")]
pub struct Lister<V> {
    shared: Arc<StoreShared<V>>,
    namespace: Option<Arc<str>>,
}

impl<V> Lister<V> {
    pub(crate) fn new(shared: Arc<StoreShared<V>>, namespace: Option<Arc<str>>) -> Self {
        Self { shared, namespace }
    }

    /// The same for one namespace.
    #[doc(alias = "ByNamespace")]
    pub fn namespace(&self, namespace: &str) -> Self {
        Self::new(Arc::clone(&self.shared), Some(namespace.into()))
    }

    /// The object of this name.
    pub fn get(&self, name: &str) -> Option<Arc<V>> {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        Some(Arc::clone(&self.shared.read().get(namespace, name)?.value))
    }

    /// The objects with matching labels, in no particular order.
    ///
    /// Costs time in proportion to the objects of the namespace, or to all of them: labels are not indexed unless you
    /// [add an index](crate::SharedInformer::add_index).
    pub fn list(&self, selector: &Selector) -> Vec<Arc<V>> {
        self.objects(selector).iter().map(value_of).collect()
    }

    /// Every object, in no particular order.
    pub fn all(&self) -> Vec<Arc<V>> {
        match &self.namespace {
            // A few nanoseconds an object: not worth a copy to get out of the lock.
            Some(namespace) => self.shared.read().list_namespace(namespace).map(value_of).collect(),
            None => self.snapshot().iter().map(value_of).collect(),
        }
    }

    /// The object of this name, with key and version.
    #[cfg(feature = "packed")]
    pub(crate) fn object(&self, name: &str) -> Option<Arc<Object<V>>> {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        self.shared.read().get(namespace, name).cloned()
    }

    /// The objects with matching labels, with key and version.
    pub(crate) fn objects(&self, selector: &Selector) -> Vec<Arc<Object<V>>> {
        let matches =
            |object: &&Arc<Object<V>>| selector.matches(|name| self.shared.label(&object.value, name));
        // Labels are looked at outside of the lock: a format may be anybody's.
        match &self.namespace {
            Some(namespace) => {
                let objects: Vec<_> = self.shared.read().list_namespace(namespace).cloned().collect();
                objects.into_iter().filter(|object| matches(&object)).collect()
            }
            None => self.snapshot().iter().filter(matches).cloned().collect(),
        }
    }

    fn snapshot(&self) -> Snapshot<V> {
        self.shared.read().snapshot()
    }
}

fn value_of<V>(object: &Arc<Object<V>>) -> Arc<V> {
    Arc::clone(&object.value)
}

impl<V> Clone for Lister<V> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared), self.namespace.clone())
    }
}
