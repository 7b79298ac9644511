//! Server-side apply in a plain form: the applied fields are merged, and who applied them is recorded.
//!
//! Conflicts are found against other managers' applied fields; fields that a manager no longer applies stay.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::encode::rfc3339;
use crate::handlers::Call;
use crate::patch::object_body;
use crate::service::Answer;
use crate::status::{ApiError, Cause, Details};
use crate::storage::State;
use crate::strategic;
use crate::validate;
use crate::write::{Part, check_kind, metadata_of};

pub(crate) fn apply(call: &Call<'_>, state: &mut State, part: Part) -> Result<Answer, ApiError> {
    let manager = call.request.query.text("fieldManager");
    if manager.is_empty() {
        let causes = vec![Cause {
            reason: "FieldValueRequired",
            message: "Required value: is required for apply patch".into(),
            field: "fieldManager".into(),
        }];
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", causes));
    }
    let mut applied = object_body(call)?;
    check_kind(call.resource, &applied)?;
    validate::shape(call.resource, &applied)?;
    let name = applied["metadata"]["name"].as_str().unwrap_or(&call.path.name).to_owned();
    if name != call.path.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.path.name
        )));
    }
    metadata_of(&mut applied).remove("managedFields");
    let entry = json!({
        "manager": manager,
        "operation": "Apply",
        "apiVersion": call.resource.group_version(),
        "time": rfc3339(call.inner.now()),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields_of(&applied),
    });
    let Ok(object) = call.existing(state) else {
        let metadata = metadata_of(&mut applied);
        metadata.insert("name".into(), call.path.name.as_str().into());
        metadata.insert("managedFields".into(), json!([entry]));
        let stored = call.destination().create(state, applied)?;
        return Ok(call.answer(StatusCode::CREATED, &stored));
    };
    let mut value = object.encoded.parse();
    let mut managers = value["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    if !call.request.query.flag("force") {
        check_conflicts(&managers, manager, &applied, &value)?;
    }
    if call.resource.builtin {
        strategic::merge(&mut value, &applied);
    } else {
        json_patch::merge(&mut value, &applied);
    }
    match managers.iter_mut().find(|known| known["manager"] == manager && known["operation"] == "Apply") {
        // The time of an entry changes only with its fields.
        Some(known) if known["fieldsV1"] == entry["fieldsV1"] => {}
        Some(known) => *known = entry,
        None => managers.push(entry),
    }
    metadata_of(&mut value).insert("managedFields".into(), managers.into());
    let stored = call.destination().update(state, &call.path.name, value, part)?;
    Ok(call.answer(StatusCode::OK, &stored))
}

/// The fields of an applied object in the notation of managedFields, without those that name the object.
fn fields_of(applied: &Value) -> Value {
    let mut fields = applied.clone();
    if let Some(top) = fields.as_object_mut() {
        top.remove("apiVersion");
        top.remove("kind");
    }
    let metadata = metadata_of(&mut fields);
    for field in ["name", "namespace", "generateName", "uid", "resourceVersion", "creationTimestamp"] {
        metadata.remove(field);
    }
    if metadata.is_empty() {
        crate::write::remove(&mut fields, "metadata");
    }
    notation(&fields)
}

fn notation(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (format!("f:{name}"), notation(value))).collect())
        }
        _ => json!({}),
    }
}

fn check_conflicts(
    managers: &[Value],
    manager: &str,
    applied: &Value,
    present: &Value,
) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    for other in managers.iter().filter(|other| other["manager"] != manager) {
        let name = other["manager"].as_str().unwrap_or("");
        if let Some(fields) = other["fieldsV1"].as_object() {
            let mut paths = Vec::new();
            conflicts(fields, applied, present, "", &mut paths);
            causes.extend(paths.into_iter().map(|field| Cause {
                reason: "FieldManagerConflict",
                message: format!("conflict with \"{name}\""),
                field,
            }));
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    let each: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", cause.message, cause.field)).collect();
    let plural = if causes.len() == 1 { "" } else { "s" };
    let message = format!("Apply failed with {} conflict{plural}: {}", causes.len(), each.join(", "));
    Err(ApiError::new(409, "Conflict", message).details(Details { causes, ..Details::default() }))
}

/// The owned leaves whose value the applied object would change.
fn conflicts(
    owned: &Map<String, Value>,
    applied: &Value,
    present: &Value,
    path: &str,
    out: &mut Vec<String>,
) {
    for (field, below) in owned {
        let Some(name) = field.strip_prefix("f:") else { continue };
        let Some(wanted) = applied.get(name) else { continue };
        let now = &present[name];
        let path = format!("{path}.{name}");
        match below.as_object() {
            Some(below) if wanted.is_object() && below.keys().any(|key| key != ".") => {
                conflicts(below, wanted, now, &path, out);
            }
            _ if !wanted.is_object() && wanted != now => out.push(path),
            _ => {}
        }
    }
}
