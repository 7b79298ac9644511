//! Objects as a Rust type.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::{Format, Owner};
use crate::raw_object::{DecodeError, RawObject};

/// A Rust type for the resource: k8s-openapi's, one of `#[derive(CustomResource)]`, or any other that kube knows.
pub struct Typed<K>(PhantomData<fn() -> K>);

impl<K> Typed<K> {
    /// The format of `K`.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K> Default for Typed<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: kube::Resource + DeserializeOwned + Send + Sync + 'static> Format for Typed<K> {
    type Value = K;

    fn decode(&self, object: &mut RawObject<'_>) -> Result<K, DecodeError> {
        object.decode()
    }

    fn label<'v>(value: &'v K, name: &str) -> Option<&'v str> {
        Some(value.meta().labels.as_ref()?.get(name)?.as_str())
    }

    fn owners(value: &K) -> Vec<Owner<'_>> {
        value.meta().owner_references.iter().flatten().map(Owner::from).collect()
    }

    fn generation(value: &K) -> Option<i64> {
        value.meta().generation
    }

    fn same_labels(one: &K, other: &K) -> bool {
        one.meta().labels == other.meta().labels
    }

    fn same_annotations(one: &K, other: &K) -> bool {
        one.meta().annotations == other.meta().annotations
    }

    fn is_being_deleted(value: &K) -> bool {
        value.meta().deletion_timestamp.is_some()
    }
}
