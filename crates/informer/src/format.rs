//! What a cached object is: typed, dynamic, or metadata only.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{ApiResource, DynamicObject, TypeMeta};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::raw_object::{DecodeError, RawObject};

/// How the bytes of an object become the value that is cached.
///
/// Decoding runs outside every lock, possibly on several threads at once; a panic in it is caught and counts as an error
/// of that one object.
pub trait Format: Send + Sync + 'static {
    /// What is cached.
    type Value: Send + Sync + 'static;

    /// The value of one object.
    ///
    /// # Errors
    /// If the object does not fit. It is then reported and kept as it was before, never taken for deleted.
    fn decode(&self, object: &mut RawObject<'_>) -> Result<Self::Value, DecodeError>;

    /// The value of a label, for label selectors.
    fn label<'v>(value: &'v Self::Value, name: &str) -> Option<&'v str>;

    /// The owner references, for whoever looks for the objects of an owner.
    fn owners(value: &Self::Value) -> Vec<Owner<'_>>;

    /// The generation of the desired state; `None` if the format does not keep it, and each change then counts as one.
    fn generation(_value: &Self::Value) -> Option<i64> {
        None
    }

    /// Whether both have the same labels; no, if the format does not keep them.
    fn same_labels(_one: &Self::Value, _other: &Self::Value) -> bool {
        false
    }

    /// Whether both have the same annotations; no, if the format does not keep them.
    fn same_annotations(_one: &Self::Value, _other: &Self::Value) -> bool {
        false
    }

    /// Whether deletion was asked for; no, if the format does not keep it.
    fn is_being_deleted(_value: &Self::Value) -> bool {
        false
    }
}

/// An owner reference of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner<'v> {
    /// Group and version of the owner: `apps/v1`.
    pub api_version: &'v str,
    /// Kind of the owner: `ReplicaSet`.
    pub kind: &'v str,
    /// Name of the owner, which is in the object's namespace or in none.
    pub name: &'v str,
    /// Uid of the owner.
    pub uid: &'v str,
    /// Whether this owner is the managing controller; at most one is.
    pub controller: bool,
}

impl<'v> From<&'v OwnerReference> for Owner<'v> {
    fn from(reference: &'v OwnerReference) -> Self {
        let OwnerReference { api_version, kind, name, uid, controller, .. } = reference;
        Self { api_version, kind, name, uid, controller: *controller == Some(true) }
    }
}

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

/// Objects of a resource known only at run time, as [`DynamicObject`]s.
///
/// Items of a typed list carry neither kind nor apiVersion; they are filled in, so that an object looks the same however it
/// arrived.
pub struct Dynamic {
    types: TypeMeta,
}

impl Dynamic {
    /// The format of this resource's objects.
    pub fn new(resource: &ApiResource) -> Self {
        let types = TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() };
        Self { types }
    }
}

impl Format for Dynamic {
    type Value = DynamicObject;

    fn decode(&self, object: &mut RawObject<'_>) -> Result<DynamicObject, DecodeError> {
        // Not through DynamicObject's own Deserialize, whose flattened map costs twice as much.
        let mut data: serde_json::Map<String, serde_json::Value> = object.decode()?;
        let mut text = |field: &str| match data.remove(field) {
            Some(serde_json::Value::String(text)) => Some(text),
            _ => None,
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let types = TypeMeta {
            api_version: api_version.unwrap_or_else(|| self.types.api_version.clone()),
            kind: kind.unwrap_or_else(|| self.types.kind.clone()),
        };
        let metadata = data.remove("metadata").unwrap_or_default();
        let metadata = serde_json::from_value(metadata).map_err(|error| DecodeError::from_serde(&error))?;
        Ok(DynamicObject { types: Some(types), metadata, data: data.into() })
    }

    fn label<'v>(value: &'v DynamicObject, name: &str) -> Option<&'v str> {
        Some(value.metadata.labels.as_ref()?.get(name)?.as_str())
    }

    fn owners(value: &DynamicObject) -> Vec<Owner<'_>> {
        value.metadata.owner_references.iter().flatten().map(Owner::from).collect()
    }

    fn generation(value: &DynamicObject) -> Option<i64> {
        value.metadata.generation
    }

    fn same_labels(one: &DynamicObject, other: &DynamicObject) -> bool {
        one.metadata.labels == other.metadata.labels
    }

    fn same_annotations(one: &DynamicObject, other: &DynamicObject) -> bool {
        one.metadata.annotations == other.metadata.annotations
    }

    fn is_being_deleted(value: &DynamicObject) -> bool {
        value.metadata.deletion_timestamp.is_some()
    }
}

/// Only an object's metadata, in a lean form: about a fifth of kube's `PartialObjectMeta`.
///
/// Name, namespace, uid and version are in the [`Object`](crate::Object) around it.
#[derive(Clone, PartialEq, Debug)]
#[doc(alias = "PartialObjectMetadata")]
pub struct Metadata {
    /// Labels.
    pub labels: Pairs,
    /// Annotations.
    pub annotations: Pairs,
    /// Owner references.
    pub owner_references: Box<[OwnerReference]>,
    /// Finalizers.
    pub finalizers: Box<[Box<str>]>,
    /// Creation time, as the server wrote it (RFC 3339).
    pub creation_timestamp: Option<Box<str>>,
    /// When deletion was asked for, as the server wrote it (RFC 3339).
    pub deletion_timestamp: Option<Box<str>>,
    /// Generation of the desired state.
    pub generation: Option<i64>,
}

/// Sorted names and values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairs(Box<[(Box<str>, Box<str>)]>);

impl Pairs {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let position = self.0.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        Some(&self.0[position].1)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Option<BTreeMap<Box<str>, Box<str>>>> for Pairs {
    fn from(map: Option<BTreeMap<Box<str>, Box<str>>>) -> Self {
        Self(map.unwrap_or_default().into_iter().collect())
    }
}

/// The format of [`Metadata`].
#[derive(Clone, Copy, Debug, Default)]
pub struct MetadataOnly;

#[derive(Deserialize)]
struct WireObject {
    metadata: WireMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMetadata {
    labels: Option<BTreeMap<Box<str>, Box<str>>>,
    annotations: Option<BTreeMap<Box<str>, Box<str>>>,
    owner_references: Option<Box<[OwnerReference]>>,
    finalizers: Option<Box<[Box<str>]>>,
    creation_timestamp: Option<Box<str>>,
    deletion_timestamp: Option<Box<str>>,
    generation: Option<i64>,
}

impl Format for MetadataOnly {
    type Value = Metadata;

    fn decode(&self, object: &mut RawObject<'_>) -> Result<Metadata, DecodeError> {
        let WireObject { metadata } = object.decode()?;
        Ok(Metadata {
            labels: metadata.labels.into(),
            annotations: metadata.annotations.into(),
            owner_references: metadata.owner_references.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            generation: metadata.generation,
        })
    }

    fn label<'v>(value: &'v Metadata, name: &str) -> Option<&'v str> {
        value.labels.get(name)
    }

    fn owners(value: &Metadata) -> Vec<Owner<'_>> {
        value.owner_references.iter().map(Owner::from).collect()
    }

    fn generation(value: &Metadata) -> Option<i64> {
        value.generation
    }

    fn same_labels(one: &Metadata, other: &Metadata) -> bool {
        one.labels == other.labels
    }

    fn same_annotations(one: &Metadata, other: &Metadata) -> bool {
        one.annotations == other.annotations
    }

    fn is_being_deleted(value: &Metadata) -> bool {
        value.deletion_timestamp.is_some()
    }
}
