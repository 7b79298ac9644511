//! Aggregated discovery: every group, version and resource in one document.

use super::{Catalog, Resource};
use crate::{fields::*, text::excerpt};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

/// Reads an `APIGroupDiscoveryList`; `None` if the server answered with something else.
pub(super) fn read(answer: &Value) -> Option<Catalog> {
    if text(answer, "kind") != "APIGroupDiscoveryList" {
        return None;
    }
    let mut catalog = Catalog::default();
    for item in list(answer, "items") {
        let group = text(item, "metadata.name");
        for version in list(item, "versions") {
            let name = text(version, "version");
            if text(version, "freshness") == "Stale" {
                let gv = excerpt(&format!("{group}/{name}"), 128);
                catalog
                    .problems
                    .push(format!("{gv}: its API server does not answer, what it has may be incomplete"));
            }
            let resources = list(version, "resources").iter().filter_map(|r| resource(r, group, name));
            catalog.resources.extend(resources);
        }
    }
    Some(catalog)
}

fn resource(entry: &Value, group: &str, version: &str) -> Option<Resource> {
    let kind = at(entry, "responseKind");
    let (plural, kind_name) = (text(entry, "resource"), text(kind, "kind"));
    // A resource with only subresources has no kind of its own.
    if plural.is_empty() || kind_name.is_empty() {
        return None;
    }
    let gvk = GroupVersionKind::gvk(group, version, kind_name);
    Some(Resource {
        api: ApiResource::from_gvk_with_plural(&gvk, plural),
        singular: text(entry, "singularResource").to_owned(),
        short_names: strings(entry, "shortNames"),
        categories: strings(entry, "categories"),
        namespaced: text(entry, "scope") == "Namespaced",
        verbs: strings(entry, "verbs"),
    })
}

pub(super) fn strings(value: &Value, path: &str) -> Vec<String> {
    list(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
