//! From an owned object to the key of its owner.

use std::sync::Arc;

use informer_core::{Object, ObjectKey, Uid};

use super::handle::Shared;
use super::origin::Origin;
use crate::format::Owner;
use crate::store::MetaFunctions;

/// Which owners are a controller's own, and where they are looked for.
pub(super) struct OwnerKind {
    group: String,
    kind: String,
    /// The uid under which the primary's cache holds a key.
    uid_of: UidOf,
}

type UidOf = Arc<dyn Fn(&ObjectKey) -> Option<Uid> + Send + Sync>;

impl OwnerKind {
    pub(super) fn new<P: Send + Sync + 'static>(
        group: String,
        kind: String,
        primary: Arc<dyn Origin<P>>,
    ) -> Self {
        Self { group, kind, uid_of: Arc::new(move |key| primary.uid_of(key)) }
    }

    /// The key of the controlling owner, if that is one of ours. Counts and logs what is strange about it.
    pub(super) fn owner_of<V: Send + Sync + 'static>(
        &self,
        controller: &Shared,
        meta: &MetaFunctions<V>,
        object: &Object<V>,
    ) -> Option<ObjectKey> {
        let owners = (meta.owners)(&object.value);
        let owner = owners.iter().find(|owner| owner.controller && owner.kind == self.kind)?;
        let (name, child) = (&*controller.name, &object.key);
        if group(owner) != self.group {
            controller.stats.lock().foreign_owners += 1;
            let group = group(owner);
            tracing::debug!(target: "informer::controller", controller = name, %child, group, "its owner has our kind but is of another group");
            return None;
        }
        let key = self.key(owner, object)?;
        if (self.uid_of)(&key).is_none_or(|uid| uid != Uid::new(owner.uid)) {
            controller.stats.lock().dangling_owners += 1;
            tracing::debug!(target: "informer::controller", controller = name, %child, owner = %key, "its owner is not cached under that name and uid");
        }
        Some(key)
    }

    /// The same, quietly.
    pub(super) fn owner_named_by<V: Send + Sync + 'static>(
        &self,
        meta: &MetaFunctions<V>,
        object: &Object<V>,
    ) -> Option<ObjectKey> {
        let owners = (meta.owners)(&object.value);
        let is_ours =
            |owner: &&Owner<'_>| owner.controller && owner.kind == self.kind && group(owner) == self.group;
        self.key(owners.iter().find(is_ours)?, object)
    }

    /// An owner is in the object's own namespace or in none; the reference does not say which.
    fn key<V>(&self, owner: &Owner<'_>, object: &Object<V>) -> Option<ObjectKey> {
        if owner.name.is_empty() {
            return None;
        }
        let without_namespace = ObjectKey::new("", owner.name);
        let is_there = object.key.namespace().is_empty() || (self.uid_of)(&without_namespace).is_some();
        Some(if is_there { without_namespace } else { ObjectKey::new(object.key.namespace(), owner.name) })
    }
}

/// The group of an apiVersion: `apps` of `apps/v1`, nothing of `v1`.
fn group<'v>(owner: &Owner<'v>) -> &'v str {
    owner.api_version.rsplit_once('/').map_or("", |(group, _version)| group)
}
