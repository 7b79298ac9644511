//! What a cached object is: typed, dynamic, metadata only, a projection, or packed.

mod dynamic;
mod metadata;
#[cfg(feature = "packed")]
mod packed;
mod projection;
mod tags;
mod texts;
mod typed;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

pub use dynamic::Dynamic;
pub use metadata::{Metadata, MetadataOnly};
#[cfg(feature = "packed")]
pub use packed::{Packed, PackedLister, PackedObject, PackedStats, ReadError};
pub use projection::{Projected, Projection};
pub use tags::Pairs;
pub use typed::Typed;

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
    /// Whether the owner's deletion in the foreground waits for this object's.
    pub block_owner_deletion: bool,
}

impl<'v> From<&'v OwnerReference> for Owner<'v> {
    fn from(reference: &'v OwnerReference) -> Self {
        let OwnerReference { api_version, kind, name, uid, .. } = reference;
        let controller = reference.controller == Some(true);
        let block_owner_deletion = reference.block_owner_deletion == Some(true);
        Self { api_version, kind, name, uid, controller, block_owner_deletion }
    }
}
