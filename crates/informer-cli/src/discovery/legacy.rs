//! Discovery of servers before aggregated discovery: a list of groups, and a list of resources for each version.

use super::{Resource, aggregated::strings};
use crate::fields::*;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

/// The group versions of an `APIGroupList` in the server's order, the preferred version of each group first.
pub(super) fn group_versions(groups: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for group in list(groups, "groups") {
        let name = text(group, "name");
        let preferred = text(group, "preferredVersion.version");
        let listed = list(group, "versions").iter().map(|version| text(version, "version"));
        let others = listed.filter(|version| *version != preferred);
        let versions = std::iter::once(preferred).chain(others).filter(|v| is_path_part(v));
        if is_path_part(name) {
            found.extend(versions.map(|version| (name.to_owned(), version.to_owned())));
        }
    }
    found
}

/// The resources of an `APIResourceList`, without subresources.
pub(super) fn resources(answer: &Value, group: &str, version: &str) -> Vec<Resource> {
    let entries = list(answer, "resources").iter();
    entries.filter_map(|entry| resource(entry, group, version)).collect()
}

fn resource(entry: &Value, group: &str, version: &str) -> Option<Resource> {
    let (plural, kind) = (text(entry, "name"), text(entry, "kind"));
    if plural.is_empty() || plural.contains('/') || kind.is_empty() {
        return None;
    }
    let gvk = GroupVersionKind::gvk(group, version, kind);
    Some(Resource {
        api: ApiResource::from_gvk_with_plural(&gvk, plural),
        singular: text(entry, "singularName").to_owned(),
        short_names: strings(entry, "shortNames"),
        categories: strings(entry, "categories"),
        namespaced: flag(entry, "namespaced"),
        verbs: strings(entry, "verbs"),
    })
}

/// What a server sends becomes a path we ask for: letters, digits, dots and dashes only.
fn is_path_part(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
}
