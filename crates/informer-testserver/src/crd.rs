//! CustomResourceDefinitions: what they say becomes served resources, and stops being served with them.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::encode::rfc3339;
use crate::registry::{Custom, CustomColumn, Resource, TableId};
use crate::status::{ApiError, Cause};
use crate::storage::{State, Stored};

/// Stores a new definition as the client gets it, then, as the real controller does, once more with its conditions.
pub(crate) fn create(
    state: &mut State,
    crd: &Resource,
    key: &str,
    mut object: Value,
    now: Timestamp,
) -> Result<Arc<Stored>, ApiError> {
    check(crd, &object)?;
    complete(&mut object);
    let stored_versions: Vec<Value> = versions(&object)
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    object["status"] = json!({
        "conditions": null,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored_versions,
    });
    let answer = state.store(crd, key, &object);
    let spec = &object["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let existing = state.registry.all().find(|r| r.group == group && r.plural == plural).cloned();
    if existing.is_some_and(|resource| resource.builtin) {
        return Ok(answer);
    }
    let table = state.registry.new_table();
    state.table(table);
    register(state, &object, table);
    let names = object["spec"]["names"].clone();
    object["status"]["acceptedNames"] = names;
    object["status"]["conditions"] = json!([
        condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
    ]);
    state.store(crd, key, &object);
    Ok(answer)
}

/// Stores a changed definition and serves what it says now.
pub(crate) fn update(
    state: &mut State,
    crd: &Resource,
    key: &str,
    mut object: Value,
    _now: Timestamp,
) -> Result<Arc<Stored>, ApiError> {
    check(crd, &object)?;
    complete(&mut object);
    let spec = &object["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let table =
        state.registry.all().find(|r| r.group == group && r.plural == plural && !r.builtin).map(|r| r.table);
    if let Some(table) = table {
        state.registry.remove(group, plural);
        register(state, &object, table);
    }
    Ok(state.store(crd, key, &object))
}

/// Deletes the definition's objects and stops serving them; their watches end.
pub(crate) fn before_delete(state: &mut State, definition: &Stored) {
    let object = definition.encoded.parse();
    let spec = &object["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let found = state.registry.all().find(|r| r.group == group && r.plural == plural && !r.builtin).cloned();
    let Some(resource) = found else { return };
    let keys: Vec<Arc<str>> = state.table(resource.table).objects.keys().cloned().collect();
    for key in keys {
        state.remove(resource.table, &key);
    }
    state.registry.remove(group, plural);
    let table = state.table(resource.table);
    table.gone = true;
    table.watchers.wake_all();
    if table.watchers.count() == 0 {
        state.tables.remove(&resource.table);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn versions(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["versions"].as_array().into_iter().flatten()
}

fn condition(kind: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    json!({
        "type": kind,
        "status": "True",
        "lastTransitionTime": rfc3339(now),
        "reason": reason,
        "message": message,
    })
}

/// What must be right for the resource to be served at all.
fn check(crd: &Resource, object: &Value) -> Result<(), ApiError> {
    let spec = &object["spec"];
    let name = text(&object["metadata"]["name"]);
    let (group, plural, kind) =
        (text(&spec["group"]), text(&spec["names"]["plural"]), text(&spec["names"]["kind"]));
    let mut causes = Vec::new();
    for (field, value) in [("spec.group", group), ("spec.names.plural", plural), ("spec.names.kind", kind)] {
        if value.is_empty() {
            let message = "Required value".to_owned();
            causes.push(Cause { reason: "FieldValueRequired", message, field: field.into() });
        }
    }
    let expected = format!("{plural}.{group}");
    if causes.is_empty() && name != expected {
        let message = format!("Invalid value: {name:?}: must be spec.names.plural+\".\"+spec.group");
        causes.push(Cause::invalid("metadata.name", message));
    }
    if !matches!(text(&spec["scope"]), "Namespaced" | "Cluster") {
        let message = "Unsupported value: supported values: \"Cluster\", \"Namespaced\"".to_owned();
        causes.push(Cause { reason: "FieldValueNotSupported", message, field: "spec.scope".into() });
    }
    if versions(object).filter(|version| version["storage"] == true).count() != 1 {
        let message = "Invalid value: must have exactly one version marked as storage version".to_owned();
        causes.push(Cause::invalid("spec.versions", message));
    }
    let protected = group == "k8s.io" || group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
    if protected && object["metadata"]["annotations"]["api-approved.kubernetes.io"].is_null() {
        let message =
            "Required value: protected groups must have approval annotation \"api-approved.kubernetes.io\"";
        let field = "metadata.annotations[api-approved.kubernetes.io]".to_owned();
        causes.push(Cause { reason: "FieldValueRequired", message: message.into(), field });
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(&crd.group, &crd.kind, name, causes)) }
}

/// The names and settings that follow from others.
fn complete(object: &mut Value) {
    let spec = &mut object["spec"];
    let kind = text(&spec["names"]["kind"]).to_owned();
    if spec["names"]["singular"].is_null() {
        spec["names"]["singular"] = kind.to_lowercase().into();
    }
    if spec["names"]["listKind"].is_null() {
        spec["names"]["listKind"] = format!("{kind}List").into();
    }
    if spec["conversion"].is_null() {
        spec["conversion"] = json!({"strategy": "None"});
    }
}

fn register(state: &mut State, object: &Value, table: TableId) {
    let spec = &object["spec"];
    let names = &spec["names"];
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|item| text(item).to_owned()).collect()
    };
    let mut served: Vec<&Value> = versions(object).filter(|version| version["served"] == true).collect();
    served.sort_by_key(|version| version_rank(text(&version["name"])));
    for version in served {
        let custom = Custom {
            columns: columns(&version["additionalPrinterColumns"]),
            schema: version["schema"].get("openAPIV3Schema").cloned(),
            selectable: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
                .collect(),
            scale: version["subresources"]["scale"].is_object(),
        };
        state.registry.add(Resource {
            table,
            group: text(&spec["group"]).into(),
            version: text(&version["name"]).into(),
            kind: text(&names["kind"]).into(),
            list_kind: text(&names["listKind"]).into(),
            plural: text(&names["plural"]).into(),
            singular: text(&names["singular"]).into(),
            short_names: list(&names["shortNames"]),
            categories: list(&names["categories"]),
            namespaced: text(&spec["scope"]) == "Namespaced",
            builtin: false,
            has_status: version["subresources"]["status"].is_object(),
            has_generation: true,
            returns_deleted: false,
            create_on_update: false,
            top_fields: &[],
            subresources: &[],
            custom: Some(Arc::new(custom)),
        });
    }
}

/// Stable versions first, then beta, then alpha, higher numbers first: `v2` < `v1` < `v1beta1` < `v1alpha1` < others.
fn version_rank(version: &str) -> (u8, std::cmp::Reverse<u32>, std::cmp::Reverse<u32>) {
    let number = |text: &str| std::cmp::Reverse(text.parse().unwrap_or(0));
    let rest = version.strip_prefix('v').unwrap_or("");
    for (rank, word) in [(1, "beta"), (2, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return (rank, number(major), number(minor));
        }
    }
    if rest.parse::<u32>().is_ok() { (0, number(rest), number("")) } else { (3, number(""), number("")) }
}

fn columns(columns: &Value) -> Vec<CustomColumn> {
    columns
        .as_array()
        .into_iter()
        .flatten()
        .map(|column| CustomColumn {
            name: text(&column["name"]).into(),
            kind: text(&column["type"]).into(),
            format: text(&column["format"]).into(),
            description: match text(&column["description"]) {
                "" => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    text(&column["jsonPath"])
                ),
                description => description.into(),
            },
            priority: column["priority"].as_u64().unwrap_or(0) as u32,
            path: text(&column["jsonPath"]).into(),
        })
        .collect()
}
