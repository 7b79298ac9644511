//! The structural schema of custom resources: defaults, pruning, and the common checks.

use serde_json::{Map, Value};

use crate::registry::Resource;
use crate::status::{ApiError, Cause};

/// Prunes, defaults and checks a custom resource by its schema; other kinds pass.
pub(crate) fn admit(resource: &Resource, object: &mut Value, name: &str) -> Result<(), ApiError> {
    let Some(schema) = resource.custom.as_ref().and_then(|custom| custom.schema.as_ref()) else {
        return Ok(());
    };
    let mut causes = Vec::new();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    let keep_unknown = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if let Some(fields) = object.as_object_mut() {
        if !keep_unknown {
            fields.retain(|field, _| {
                matches!(field.as_str(), "apiVersion" | "kind" | "metadata") || properties.contains_key(field)
            });
        }
        for (field, schema) in properties {
            if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
                member(fields, field, schema, field, &mut causes);
            }
        }
        required(fields, schema, "", &mut causes);
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(&resource.group, &resource.kind, name, causes))
}

/// The paths of fields that the schema does not have: what [`admit`] prunes.
pub(crate) fn unknown_fields(resource: &Resource, object: &Value) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(schema) = resource.custom.as_ref().and_then(|custom| custom.schema.as_ref()) {
        collect_unknown(object, schema, "", &mut out);
    }
    out
}

fn collect_unknown(value: &Value, schema: &Value, path: &str, out: &mut Vec<String>) {
    let keep = schema["x-kubernetes-preserve-unknown-fields"] == true;
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            for (field, value) in fields {
                let envelope =
                    path.is_empty() && matches!(field.as_str(), "apiVersion" | "kind" | "metadata");
                let below = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
                match properties.get(field) {
                    _ if envelope => {}
                    Some(schema) => collect_unknown(value, schema, &below, out),
                    None if keep => {}
                    None => out.push(below),
                }
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect_unknown(value, &schema["items"], &format!("{path}[{index}]"), out);
            }
        }
        _ => {}
    }
}

fn member(fields: &mut Map<String, Value>, field: &str, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let (false, Some(default)) = (fields.contains_key(field), schema.get("default")) {
        fields.insert(field.into(), default.clone());
    }
    if let Some(value) = fields.get_mut(field) {
        if value.is_null() && schema["nullable"] != true {
            // Null stands for "not there" unless the schema says otherwise.
            match schema.get("default") {
                Some(default) => *value = default.clone(),
                None => {
                    fields.remove(field);
                    return;
                }
            }
        }
        check(value, schema, path, causes);
    }
}

fn check(value: &mut Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(wrong) = wrong_type(value, schema) {
        causes.push(Cause {
            reason: "FieldValueTypeInvalid",
            message: format!(
                "Invalid value: {wrong:?}: {path} in body must be of type {}: {wrong:?}",
                schema_type(schema)
            ),
            field: path.into(),
        });
        return;
    }
    range(value, schema, path, causes);
    match value {
        Value::Object(fields) => {
            let none = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
            let additional = schema.get("additionalProperties");
            let keep = schema["x-kubernetes-preserve-unknown-fields"] == true || additional.is_some();
            if schema.get("properties").is_some() && !keep {
                fields.retain(|field, _| properties.contains_key(field));
            }
            for (field, schema) in properties {
                member(fields, field, schema, &format!("{path}.{field}"), causes);
            }
            if let Some(additional @ Value::Object(_)) = additional {
                for (field, value) in fields.iter_mut().filter(|(field, _)| !properties.contains_key(*field))
                {
                    check(value, additional, &format!("{path}.{field}"), causes);
                }
            }
            required(fields, schema, path, causes);
        }
        Value::Array(list) => {
            for (index, value) in list.iter_mut().enumerate() {
                check(value, &schema["items"], &format!("{path}[{index}]"), causes);
            }
        }
        _ => {}
    }
}

fn required(fields: &Map<String, Value>, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in names
        .filter(|name| !fields.contains_key(*name) && !matches!(*name, "metadata" | "apiVersion" | "kind"))
    {
        let field = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        causes.push(Cause { reason: "FieldValueRequired", message: "Required value".into(), field });
    }
}

fn schema_type(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or("")
}

/// The name of the value's type if the schema wants another one.
fn wrong_type(value: &Value, schema: &Value) -> Option<&'static str> {
    if schema["x-kubernetes-int-or-string"] == true || (value.is_null() && schema["nullable"] == true) {
        return None;
    }
    let (name, fits): (_, &[&str]) = match value {
        Value::Null => ("null", &[]),
        Value::Bool(_) => ("boolean", &["boolean"]),
        Value::Number(number) if number.is_i64() || number.is_u64() => ("integer", &["integer", "number"]),
        Value::Number(_) => ("number", &["number"]),
        Value::String(_) => ("string", &["string"]),
        Value::Array(_) => ("array", &["array"]),
        Value::Object(_) => ("object", &["object"]),
    };
    let wanted = schema_type(schema);
    (!wanted.is_empty() && !fits.contains(&wanted)).then_some(name)
}

fn range(value: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut say = |what: String| {
        causes.push(Cause::invalid(path, format!("Invalid value: {value}: {path} in body {what}")));
    };
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(minimum) = limit("minimum").filter(|minimum| number < *minimum) {
            say(format!("should be greater than or equal to {minimum}"));
        }
        if let Some(maximum) = limit("maximum").filter(|maximum| number > *maximum) {
            say(format!("should be less than or equal to {maximum}"));
        }
    }
    let length = match value {
        Value::String(text) => Some((text.chars().count(), "minLength", "maxLength", "chars long")),
        Value::Array(list) => Some((list.len(), "minItems", "maxItems", "items")),
        _ => None,
    };
    if let Some((length, minimum, maximum, unit)) = length {
        if let Some(minimum) = limit(minimum).filter(|minimum| (length as f64) < *minimum) {
            say(format!("should be at least {minimum} {unit}"));
        }
        if let Some(maximum) = limit(maximum).filter(|maximum| length as f64 > *maximum) {
            say(format!("should be at most {maximum} {unit}"));
        }
    }
    if let Some(allowed) =
        schema.get("enum").and_then(Value::as_array).filter(|allowed| !allowed.contains(value))
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        causes.push(Cause {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {value}: supported values: {}", allowed.join(", ")),
            field: path.into(),
        });
    }
}
