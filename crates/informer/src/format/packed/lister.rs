//! Packed objects, read as if they were not.

use std::sync::Arc;

use informer_core::{Object, ObjectKey, Selector};
use serde::de::DeserializeOwned;

use super::PackedObject;
use crate::lister::Lister;
use crate::raw_object::DecodeError;
use crate::shared_informer::SharedInformer;

impl<K: Send + Sync + 'static> SharedInformer<PackedObject<K>> {
    /// Reads objects decoded, by name, namespace and label selector.
    pub fn decoded(&self) -> PackedLister<K> {
        self.lister().decoded()
    }
}

impl<K> Lister<PackedObject<K>> {
    /// The same, with decoded objects.
    pub fn decoded(&self) -> PackedLister<K> {
        PackedLister { packed: self.clone() }
    }
}

/// A [`Lister`] that decodes what it reads: each read makes a new `Arc<K>`, as [`Typed`](crate::Typed) would have stored it.
///
/// Whoever reads the same objects again and again is better served by [`Typed`](crate::Typed).
pub struct PackedLister<K> {
    packed: Lister<PackedObject<K>>,
}

impl<K: DeserializeOwned> PackedLister<K> {
    /// The same for one namespace.
    pub fn namespace(&self, namespace: &str) -> Self {
        self.packed.namespace(namespace).decoded()
    }

    /// The object of this name.
    ///
    /// # Errors
    /// If it is there and cannot be decoded.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, ReadError> {
        self.packed.object(name).map(|object| decode(&object)).transpose()
    }

    /// The objects with matching labels, in no particular order; those alone are decoded, one at each step.
    pub fn list(&self, selector: &Selector) -> impl Iterator<Item = Result<Arc<K>, ReadError>> + use<K> {
        self.packed.objects(selector).into_iter().map(|object| decode(&object))
    }

    /// Every object, in no particular order; each is decoded when its turn comes.
    pub fn all(&self) -> impl Iterator<Item = Result<Arc<K>, ReadError>> + use<K> {
        self.list(&Selector::default())
    }
}

impl<K> Clone for PackedLister<K> {
    fn clone(&self) -> Self {
        Self { packed: self.packed.clone() }
    }
}

fn decode<K: DeserializeOwned>(object: &Object<PackedObject<K>>) -> Result<Arc<K>, ReadError> {
    object.decode().map(Arc::new).map_err(|error| ReadError { key: object.key.clone(), error })
}

/// A cached object that could not be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key}: {error}")]
pub struct ReadError {
    key: ObjectKey,
    #[source]
    error: DecodeError,
}

impl ReadError {
    /// Which object.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// What is wrong with it.
    pub fn error(&self) -> &DecodeError {
        &self.error
    }
}
