//! Objects and notifications as JSON, YAML, names and JSON lines.

use crate::discovery::Resource;
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

mod json_lines;
#[cfg(test)]
mod tests;

pub(crate) use json_lines::{LastState, Line};

/// How writing ended.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum WriteError {
    /// Nobody reads any more (`| head`): not a failure, just the end.
    Closed,
    /// Anything else, such as a full disk.
    Failed(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Failed(error),
        }
    }
}

/// Writes text with one `write` and flushes it, so that a reader gets it at once and whole.
///
/// # Errors
/// `WriteError::Closed` when nobody reads any more.
pub(crate) fn write_text(out: &mut impl Write, text: &str) -> Result<(), WriteError> {
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// An object as plain JSON, without managedFields, keys in order.
///
/// The types are filled in from the resource when the object does not carry them (items of a list do not).
pub(crate) fn plain(object: &DynamicObject, resource: &Resource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.entry("apiVersion").or_insert_with(|| json!(resource.api.api_version));
        map.entry("kind").or_insert_with(|| json!(resource.api.kind));
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
    value
}

/// What `get` prints: the object itself when one was asked for by name, a `List` otherwise.
pub(crate) fn document(mut objects: Vec<Value>, single: bool) -> Value {
    match objects.pop() {
        Some(only) if single && objects.is_empty() => only,
        last => {
            objects.extend(last);
            json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
        }
    }
}

/// JSON as kubectl indents it, with a newline at the end.
pub(crate) fn to_json(value: &Value) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // Writing a value to memory does not fail, and JSON is UTF-8.
    let _ = value.serialize(&mut serializer);
    let mut text = String::from_utf8(out).unwrap_or_default();
    text.push('\n');
    text
}

/// YAML, with a newline at the end. Strings that another reader could take for something else are quoted.
pub(crate) fn to_yaml(value: &Value) -> String {
    // JSON is YAML too.
    serde_saphyr::to_string(value).unwrap_or_else(|_| to_json(value))
}

/// `pod/web-0`, `deployment.apps/web`: as `-o name` prints it.
pub(crate) fn reference(resource: &Resource, name: &str) -> String {
    let kind = resource.api.kind.to_lowercase();
    let name = crate::text::escape(name);
    match resource.api.group.as_str() {
        "" => format!("{kind}/{name}"),
        group => format!("{kind}.{group}/{name}"),
    }
}
