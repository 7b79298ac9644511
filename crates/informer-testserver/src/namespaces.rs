//! Namespaces: made with their label and phase, emptied and finalised when they are deleted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::encode::rfc3339;
use crate::registry::{Resource, TableId};
use crate::server::Inner;
use crate::storage::{State, Stored};
use crate::write::metadata_of;

/// The life of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Missing,
    Active,
    Terminating,
}

fn resource(state: &State) -> Arc<Resource> {
    // The built-in kinds are never removed from the registry.
    state.registry.find("", "v1", "namespaces").expect("namespaces are served")
}

pub(crate) fn phase(state: &State, name: &str) -> Phase {
    match state.object(resource(state).table, name) {
        None => Phase::Missing,
        Some(object) if is_terminating(&object) => Phase::Terminating,
        Some(_) => Phase::Active,
    }
}

fn is_terminating(object: &Stored) -> bool {
    object.fields.iter().any(|(field, value)| **field == *"status.phase" && **value == *"Terminating")
}

impl Inner {
    pub(crate) fn creates_namespaces(&self) -> bool {
        self.create_namespaces.load(Ordering::Relaxed)
    }

    pub(crate) fn create_namespace(&self, state: &mut State, name: &str) {
        let object = json!({
            "metadata": {
                "name": name,
                "uid": state.rng.uid(),
                "creationTimestamp": rfc3339(self.now()),
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        let resource = resource(state);
        state.store(&resource, name, &object);
    }
}

/// Deletes a namespace: Terminating, then its objects, then, when none is held by a finalizer, itself.
pub(crate) fn delete(inner: &Inner, state: &mut State, object: &Stored) -> Arc<Stored> {
    let resource = resource(state);
    let name = object.name().to_owned();
    if is_terminating(object) {
        return Arc::new(object.clone());
    }
    let mut value = object.encoded.parse();
    metadata_of(&mut value).insert("deletionTimestamp".into(), rfc3339(inner.now()).into());
    value["status"]["phase"] = "Terminating".into();
    let terminating = state.store(&resource, &name, &value);
    for (table, key) in contents(state, &name) {
        if let Some(inside) = state.object(table, &key) {
            crate::delete::remove_or_mark(inner, state, table, &inside);
        }
    }
    after_removal(state, &name);
    terminating
}

fn contents(state: &State, name: &str) -> Vec<(TableId, Arc<str>)> {
    state
        .tables
        .iter()
        .flat_map(|(id, table)| table.range(name, "").map(|object| (*id, Arc::clone(&object.key))))
        .collect()
}

/// Removes a terminating namespace when nothing is left in it.
pub(crate) fn after_removal(state: &mut State, name: &str) {
    if name.is_empty() || phase(state, name) != Phase::Terminating || !contents(state, name).is_empty() {
        return;
    }
    let resource = resource(state);
    if let Some(object) = state.object(resource.table, name) {
        let mut value = object.encoded.parse();
        if value["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty()) {
            return;
        }
        value["spec"] = json!({});
        let last = crate::storage::stored(&resource, name, &value, state.version + 1);
        state.table(resource.table).objects.insert(Arc::clone(&last.key), Arc::new(last));
        state.remove(resource.table, name);
    }
}
