//! The checks of built-in objects that matter to clients: names and unknown fields.

use serde_json::Value;

use crate::registry::Resource;
use crate::schema;
use crate::status::{ApiError, Cause};

/// Names are DNS subdomains, or path segments for RBAC kinds.
pub(crate) fn name(resource: &Resource, name: &str) -> Result<(), ApiError> {
    let invalid = |cause| Err(ApiError::invalid(&resource.group, &resource.kind, name, vec![cause]));
    if name.is_empty() {
        let message = "Required value: name or generateName is required".to_owned();
        return invalid(Cause { reason: "FieldValueRequired", message, field: "metadata.name".into() });
    }
    if resource.group == "rbac.authorization.k8s.io" {
        if matches!(name, "." | "..") || name.contains(['/', '%']) {
            let message = format!("Invalid value: {name:?}: may not be '.' or '..' or contain '/' or '%'");
            return invalid(Cause::invalid("metadata.name", message));
        }
        return Ok(());
    }
    if is_subdomain(name) {
        return Ok(());
    }
    let message = format!(
        "Invalid value: {name:?}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    );
    invalid(Cause::invalid("metadata.name", message))
}

fn is_subdomain(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|part| {
            let bytes = part.as_bytes();
            !bytes.is_empty()
                && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
                && alphanumeric(bytes[0])
                && alphanumeric(bytes[bytes.len() - 1])
        })
}

/// Warns of fields that the kind does not have, or refuses them if asked. Built-in kinds: top-level ones, dropped here.
pub(crate) fn unknown_fields(
    resource: &Resource,
    object: &mut Value,
    validation: &str,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let unknown = if resource.builtin {
        take_unknown(resource, object)
    } else {
        schema::unknown_fields(resource, object)
    };
    if unknown.is_empty() || validation == "Ignore" {
        return Ok(());
    }
    let each: Vec<String> = unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
    if validation == "Strict" {
        return Err(ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
            resource.kind,
            resource.version,
            resource.kind,
            each.join(", ")
        )));
    }
    warnings.extend(each);
    Ok(())
}

fn take_unknown(resource: &Resource, object: &mut Value) -> Vec<String> {
    let Some(fields) = object.as_object_mut() else { return Vec::new() };
    let known = |field: &str| {
        matches!(field, "apiVersion" | "kind" | "metadata")
            || (field == "status" && resource.has_status)
            || resource.top_fields.contains(&field)
    };
    let unknown = fields.keys().filter(|field| !known(field)).cloned().collect();
    fields.retain(|field, _| known(field));
    unknown
}

/// The parts that every built-in kind has as objects must be objects: the code behind counts on it.
pub(crate) fn shape(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    const EVERYWHERE: [&str; 4] = ["", "/metadata", "/metadata/labels", "/metadata/annotations"];
    const BUILTIN: [&str; 9] = [
        "/spec",
        "/status",
        "/data",
        "/stringData",
        "/spec/template",
        "/spec/template/spec",
        "/spec/names",
        "/status/acceptedNames",
        "/source",
    ];
    let builtin = if resource.builtin { &BUILTIN[..] } else { &[] };
    let wrong =
        |path: &&&str| object.pointer(path).is_some_and(|value| !value.is_object() && !value.is_null());
    if let Some(path) = EVERYWHERE.iter().chain(builtin).find(wrong) {
        let field = path.trim_start_matches('/').replace('/', ".");
        let message = format!(
            "{} in version \"{}\" cannot be handled as a {}: json: cannot unmarshal field \"{field}\": an object is expected",
            resource.kind, resource.version, resource.kind
        );
        return Err(ApiError::bad_request(message));
    }
    let containers = ["/spec/containers", "/spec/template/spec/containers"];
    let mut all = containers.iter().filter_map(|path| object.pointer(path)?.as_array()).flatten();
    if resource.builtin && all.any(|container| !container.is_object()) {
        return Err(ApiError::bad_request("a container must be an object"));
    }
    Ok(())
}
