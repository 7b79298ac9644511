//! The resources served: built-in kinds, and those that CustomResourceDefinitions add at run time.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin;

/// Names a table of objects; never reused, so that a recreated CRD gets a fresh one.
pub(crate) type TableId = u32;

/// One served resource in one version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Where the objects are: several versions of a resource share one table.
    pub(crate) table: TableId,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// A built-in kind; custom resources are written with sorted keys and differ in details.
    pub(crate) builtin: bool,
    /// Has `/status`, so that writes to the object itself leave the status alone.
    pub(crate) has_status: bool,
    /// `metadata.generation` counts changes of everything but metadata and status.
    pub(crate) has_generation: bool,
    /// DELETE answers with the object instead of a Status.
    pub(crate) returns_deleted: bool,
    /// PUT creates what does not exist.
    pub(crate) create_on_update: bool,
    /// Top-level fields besides apiVersion, kind, metadata, spec and status; empty means "not known".
    pub(crate) top_fields: &'static [&'static str],
    /// Further subresources in discovery: name, kind, verbs.
    pub(crate) subresources: &'static [(&'static str, &'static str, &'static [&'static str])],
    pub(crate) custom: Option<Arc<Custom>>,
}

/// What a CustomResourceDefinition says about one version.
#[derive(Debug, Clone, Default)]
pub(crate) struct Custom {
    pub(crate) columns: Vec<CustomColumn>,
    pub(crate) schema: Option<Value>,
    pub(crate) selectable: Vec<String>,
    pub(crate) scale: bool,
}

/// An additional printer column.
#[derive(Debug, Clone)]
pub(crate) struct CustomColumn {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: u32,
    pub(crate) path: String,
}

impl Resource {
    /// `apps/v1`, or `v1` in the core group.
    pub(crate) fn group_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// Opens an object: `{"kind":"Pod","apiVersion":"v1",` (custom resources sort their keys).
    pub(crate) fn object_prefix(&self) -> String {
        if self.builtin {
            format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", self.kind, self.group_version())
        } else {
            format!("{{\"apiVersion\":\"{}\",\"kind\":\"{}\",", self.group_version(), self.kind)
        }
    }

    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        const BUILTIN: &[&str] =
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        const CUSTOM: &[&str] =
            &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        const NAMESPACE: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
        match (self.builtin, self.plural == "namespaces") {
            (true, true) => NAMESPACE,
            (true, false) => BUILTIN,
            (false, _) => CUSTOM,
        }
    }

    /// The stored form of an events.k8s.io Event is the core one.
    pub(crate) fn converts_events(&self) -> bool {
        self.builtin && self.group == "events.k8s.io"
    }
}

/// `apps/v1`, or `v1` in the core group.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// All served resources.
#[derive(Debug)]
pub(crate) struct Registry {
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
    /// Groups in the order they are announced, each with its versions, the preferred one first.
    groups: Vec<(String, Vec<String>)>,
    next_table: TableId,
}

impl Registry {
    /// The built-in kinds.
    pub(crate) fn builtin() -> Self {
        let mut registry = Self { resources: BTreeMap::new(), groups: Vec::new(), next_table: 0 };
        for resource in builtin::resources() {
            let table = if resource.converts_events() {
                registry.find("", "v1", "events").map_or(registry.next_table, |events| events.table)
            } else {
                registry.new_table()
            };
            registry.add(Resource { table, ..resource });
        }
        registry
    }

    pub(crate) fn new_table(&mut self) -> TableId {
        self.next_table += 1;
        self.next_table
    }

    pub(crate) fn add(&mut self, resource: Resource) {
        match self.groups.iter_mut().find(|(group, _)| *group == resource.group) {
            Some((_, versions)) if versions.contains(&resource.version) => {}
            Some((_, versions)) => versions.push(resource.version.clone()),
            None => self.groups.push((resource.group.clone(), vec![resource.version.clone()])),
        }
        let key = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        self.resources.insert(key, Arc::new(resource));
    }

    /// Removes every version of a resource, and groups and versions left empty.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        self.resources.retain(|(g, _, p), _| g != group || p != plural);
        let resources = &self.resources;
        for (group, versions) in &mut self.groups {
            versions.retain(|version| resources.keys().any(|(g, v, _)| g == group && v == version));
        }
        self.groups.retain(|(_, versions)| !versions.is_empty());
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    pub(crate) fn groups(&self) -> &[(String, Vec<String>)] {
        &self.groups
    }

    pub(crate) fn serves(&self, group: &str, version: &str) -> bool {
        self.groups.iter().any(|(g, versions)| g == group && versions.iter().any(|v| v == version))
    }

    /// The resources of one group and version, by plural name.
    pub(crate) fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values().filter(move |r| r.group == group && r.version == version)
    }

    /// Every resource, by group, version and plural name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// Finds a resource as people write it: `pods`, `po`, `Pod`, `deployments.apps`, `apps/v1/deployments`.
    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<Resource>> {
        let parts: Vec<&str> = name.split('/').collect();
        match parts.as_slice() {
            [version, plural] => return self.find("", version, plural),
            [group, version, plural] => return self.find(group, version, plural),
            _ => {}
        }
        let (short, group) = match name.split_once('.') {
            Some((short, group)) => (short, Some(group)),
            None => (name, None),
        };
        self.all()
            .filter(|r| group.is_none_or(|group| r.group == group))
            .find(|r| {
                r.plural == short
                    || r.singular == short
                    || r.kind == short
                    || r.short_names.iter().any(|known| known == short)
            })
            .cloned()
    }
}
