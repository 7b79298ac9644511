//! Strategic merge patch: maps merge, and the well-known lists merge by their elements' keys.

use serde_json::{Map, Value};

/// Lists of objects whose elements are told apart by a key. A list is known by its field's name.
const MERGE_KEYS: [(&str, &[&str]); 17] = [
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    // Container ports first, then ports of services.
    ("ports", &["containerPort", "port"]),
    ("volumes", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeClaimTemplates", &["name"]),
    ("conditions", &["type"]),
    ("imagePullSecrets", &["name"]),
    ("secrets", &["name"]),
    ("ownerReferences", &["uid"]),
    ("hostAliases", &["ip"]),
    ("addresses", &["type"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("taints", &["key"]),
];

/// Lists of plain values that are merged as sets.
const SETS: [&str; 2] = ["finalizers", "podCIDRs"];

/// Applies a strategic merge patch.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(without_directives(patch));
            return;
        }
        Some("delete") => {
            *target = Value::Null;
            return;
        }
        _ => {}
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    retain_keys(fields, patch);
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            delete_from_list(fields, list, value);
        } else if !name.starts_with('$') {
            merge_field(fields, name, value);
        }
    }
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix("$setElementOrder/") {
            set_order(fields, list, order);
        }
    }
}

fn merge_field(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    match value {
        Value::Null => {
            fields.remove(name);
        }
        Value::Object(_) => {
            let target = fields.entry(name).or_insert(Value::Null);
            merge(target, value);
            if target.is_null() {
                fields.remove(name);
            }
        }
        Value::Array(patch) => {
            let target = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = target {
                merge_list(name, list, patch);
            } else {
                *target = value.clone();
            }
        }
        other => {
            fields.insert(name.into(), other.clone());
        }
    }
}

fn merge_list(name: &str, list: &mut Vec<Value>, patch: &[Value]) {
    let replace =
        patch.iter().any(|element| element.get("$patch").and_then(Value::as_str) == Some("replace"));
    let key = merge_key(name, list, patch);
    if replace || (key.is_none() && !SETS.contains(&name)) {
        *list = patch.iter().filter(|element| element.get("$patch").is_none()).cloned().collect();
        return;
    }
    for element in patch {
        let found = match key {
            Some(key) => list.iter().position(|known| known.get(key) == element.get(key)),
            None => list.iter().position(|known| known == element),
        };
        let delete = element.get("$patch").and_then(Value::as_str) == Some("delete");
        match found {
            Some(at) if delete => {
                list.remove(at);
            }
            Some(at) => merge(&mut list[at], element),
            None if delete => {}
            None => {
                let mut new = Value::Null;
                merge(&mut new, element);
                list.push(new);
            }
        }
    }
}

fn merge_key(name: &str, list: &[Value], patch: &[Value]) -> Option<&'static str> {
    let (_, keys) = MERGE_KEYS.iter().find(|(known, _)| *known == name)?;
    keys.iter().copied().find(|key| patch.iter().chain(list).all(|element| element.get(key).is_some()))
}

fn delete_from_list(fields: &mut Map<String, Value>, name: &str, values: &Value) {
    if let (Some(Value::Array(list)), Value::Array(values)) = (fields.get_mut(name), values) {
        list.retain(|value| !values.contains(value));
    }
}

/// `$retainKeys` lists the only fields that stay.
fn retain_keys(fields: &mut Map<String, Value>, patch: &Map<String, Value>) {
    if let Some(Value::Array(keep)) = patch.get("$retainKeys") {
        fields.retain(|name, _| keep.iter().any(|kept| kept == name));
    }
}

/// Puts the named elements into the given order; others stay behind them.
fn set_order(fields: &mut Map<String, Value>, name: &str, order: &Value) {
    let (Some(Value::Array(list)), Value::Array(order)) = (fields.get_mut(name), order) else { return };
    let key = merge_key(name, list, order);
    let position = |element: &Value| {
        order
            .iter()
            .position(|wanted| match key {
                Some(key) => wanted.get(key) == element.get(key),
                None => wanted == element,
            })
            .unwrap_or(usize::MAX)
    };
    list.sort_by_key(position);
}

fn without_directives(patch: &Map<String, Value>) -> Map<String, Value> {
    patch
        .iter()
        .filter(|(name, _)| !name.starts_with('$'))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(mut target: Value, patch: &Value) -> Value {
        merge(&mut target, patch);
        target
    }

    #[test]
    fn known_lists_merge_by_key() {
        let target = json!({"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]}});
        let patch = json!({"spec": {"containers": [{"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]}, {"name": "b", "$patch": "delete"}, {"name": "c"}]}});
        assert_eq!(
            merged(target, &patch),
            json!({"spec": {"containers": [
                {"name": "a", "image": "2", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
                {"name": "c"},
            ]}})
        );
    }

    #[test]
    fn other_lists_are_replaced_and_null_removes() {
        let target = json!({"args": ["a", "b"], "x": 1, "finalizers": ["f"]});
        let patch = json!({"args": ["c"], "x": null, "finalizers": ["g"]});
        assert_eq!(merged(target, &patch), json!({"args": ["c"], "finalizers": ["f", "g"]}));
    }

    #[test]
    fn directives_work() {
        let target =
            json!({"finalizers": ["a", "b"], "map": {"x": 1}, "conditions": [{"type": "A"}, {"type": "B"}]});
        let patch = json!({
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "map": {"$patch": "replace", "y": 2},
            "$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}],
        });
        assert_eq!(
            merged(target, &patch),
            json!({"finalizers": ["b"], "map": {"y": 2}, "conditions": [{"type": "B"}, {"type": "A"}]})
        );
    }
}
