//! The simple JSONPath of printer columns: fields, quoted fields, indices, wildcards, and equality filters.

use jiff::Timestamp;
use serde_json::Value;

use super::age;

/// The cell of a column with this path; null when there is nothing.
pub(super) fn cell(object: &Value, path: &str, kind: &str, now: Timestamp) -> Value {
    let found = find(object, path);
    let Some(first) = found.first() else { return Value::Null };
    match kind {
        "date" => age(first, now),
        "integer" | "number" if first.is_number() => (*first).clone(),
        "boolean" if first.is_boolean() => (*first).clone(),
        "string" => {
            let texts: Vec<String> = found
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .collect();
            texts.join(",").into()
        }
        _ => Value::Null,
    }
}

/// The values that a path names. What the path's syntax does not know finds nothing.
fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut values = vec![object];
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let Some(end) = inner.find(']') else { return Vec::new() };
            values = values.into_iter().flat_map(|value| bracket(value, &inner[..end])).collect();
            rest = &inner[end + 1..];
        } else {
            let (name, after) = field(rest.trim_start_matches('.'));
            if name.is_empty() {
                return Vec::new();
            }
            values = values.into_iter().filter_map(|value| value.get(&name)).collect();
            rest = after;
        }
    }
    values.retain(|value| !value.is_null());
    values
}

/// A field's name up to the next dot or bracket; a backslash takes the next character as it is.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, &text[at..]),
            other => name.push(other),
        }
    }
    (name, "")
}

fn bracket<'a>(value: &'a Value, inside: &str) -> Vec<&'a Value> {
    let inside = inside.trim();
    if inside == "*" {
        return value.as_array().map(|list| list.iter().collect()).unwrap_or_default();
    }
    if let Ok(index) = inside.parse::<i64>() {
        let Some(list) = value.as_array() else { return Vec::new() };
        let index = if index < 0 { list.len() as i64 + index } else { index };
        return usize::try_from(index).ok().and_then(|index| list.get(index)).into_iter().collect();
    }
    if let Some(filter) = inside.strip_prefix("?(@.").and_then(|filter| filter.strip_suffix(')')) {
        let Some((path, wanted)) = filter.split_once("==") else { return Vec::new() };
        let wanted = wanted.trim().trim_matches(['"', '\'']);
        let path = format!(".{}", path.trim());
        return value
            .as_array()
            .into_iter()
            .flatten()
            .filter(|element| {
                let found = find(element, &path);
                let text = found
                    .first()
                    .map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned));
                text.is_some_and(|text| text == wanted)
            })
            .collect();
    }
    value.get(inside.trim_matches(['"', '\''])).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_values() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "x"}},
            "spec": {"size": 3, "list": [{"n": 1}, {"n": 2}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        });
        let now = Timestamp::UNIX_EPOCH;
        for (path, kind, expected) in [
            (".spec.size", "integer", json!(3)),
            (".spec.list[1].n", "integer", json!(2)),
            (".spec.list[*].n", "string", json!("1,2")),
            (".metadata.labels.a\\.b/c", "string", json!("x")),
            (".status.conditions[?(@.type==\"Ready\")].status", "string", json!("True")),
            (".nothing.here", "string", Value::Null),
            (".spec[", "string", Value::Null),
            (".", "string", Value::Null),
        ] {
            assert_eq!(cell(&object, path, kind, now), expected, "{path}");
        }
    }
}
