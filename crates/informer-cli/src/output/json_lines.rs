//! One line of JSON for each notification, for programs that read along.

use serde::Serialize;
use serde_json::Value;

/// Whether a deleted object's last state is what the server last said or what we last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum LastState {
    Known,
    Stale,
}

/// One notification. What does not apply to its type is left out of the line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    resource: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_initial_list: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_state: Option<LastState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a Value>,
}

impl<'a> Line<'a> {
    /// An object is there; `in_initial_list` if it was before we looked.
    pub(crate) fn added(resource: &'a str, object: &'a Value, in_initial_list: bool) -> Self {
        Self { kind: "Added", in_initial_list: Some(in_initial_list), ..Self::of(resource, object) }
    }

    /// An object has changed from `old`.
    pub(crate) fn updated(resource: &'a str, old: &'a Value, object: &'a Value) -> Self {
        Self { kind: "Updated", old: Some(old), ..Self::of(resource, object) }
    }

    /// An object is gone; this was its last state.
    pub(crate) fn deleted(resource: &'a str, object: &'a Value, last_state: LastState) -> Self {
        Self { kind: "Deleted", last_state: Some(last_state), ..Self::of(resource, object) }
    }

    /// All objects of the resource that there were have been told.
    pub(crate) fn synced(resource: &'a str, resource_version: &'a str) -> Self {
        Self { kind: "Synced", resource, ..Self::default() }.at(resource_version)
    }

    /// The resource was listed again, and every difference has been told.
    pub(crate) fn relisted(resource: &'a str, resource_version: &'a str) -> Self {
        Self { kind: "Relisted", resource, ..Self::default() }.at(resource_version)
    }

    /// The line with its newline.
    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    fn at(self, version: &'a str) -> Self {
        Self { resource_version: Some(version).filter(|v| !v.is_empty()), ..self }
    }

    fn of(resource: &'a str, object: &'a Value) -> Self {
        let field = |name: &str| object.get("metadata")?.get(name)?.as_str();
        Self {
            resource,
            namespace: field("namespace"),
            name: field("name"),
            uid: field("uid"),
            resource_version: field("resourceVersion"),
            object: Some(object),
            ..Self::default()
        }
    }
}
