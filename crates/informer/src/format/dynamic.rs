//! Objects whose type is known only at run time.

use kube::core::{ApiResource, DynamicObject, TypeMeta};

use super::{Format, Owner};
use crate::raw_object::{DecodeError, RawObject};

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
