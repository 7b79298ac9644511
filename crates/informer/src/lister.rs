//! Reads by name, namespace and label selector.

use std::sync::Arc;

use informer_core::{Object, Selector};

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
        self.objects(selector).iter().map(|object| Arc::clone(&object.value)).collect()
    }

    /// Every object, in no particular order.
    pub fn all(&self) -> Vec<Arc<V>> {
        self.collect(|_| true).iter().map(|object| Arc::clone(&object.value)).collect()
    }

    /// The object of this name, with key and version.
    #[cfg(feature = "packed")]
    pub(crate) fn object(&self, name: &str) -> Option<Arc<Object<V>>> {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        self.shared.read().get(namespace, name).cloned()
    }

    /// The objects with matching labels, with key and version.
    pub(crate) fn objects(&self, selector: &Selector) -> Vec<Arc<Object<V>>> {
        self.collect(|object| selector.matches(|name| self.shared.label(&object.value, name)))
    }

    fn collect(&self, matches: impl Fn(&&Arc<Object<V>>) -> bool) -> Vec<Arc<Object<V>>> {
        // What is looked at is looked at outside of the lock, so that a long scan does not hold up the writer.
        match &self.namespace {
            Some(namespace) => {
                let objects: Vec<_> = self.shared.read().list_namespace(namespace).cloned().collect();
                objects.into_iter().filter(|object| matches(&object)).collect()
            }
            None => self.shared.read().snapshot().iter().filter(matches).cloned().collect(),
        }
    }
}

impl<V> Clone for Lister<V> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared), self.namespace.clone())
    }
}
