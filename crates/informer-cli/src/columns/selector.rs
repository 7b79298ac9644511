//! Label selectors and maps in one line, as the server writes them.

use crate::fields::*;
use serde_json::Value;

/// A map as `a=1,b=2` in key order, or `<none>`.
pub(super) fn label_map(map: &Value) -> String {
    let pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or_none(&pairs.join(","))
}

/// A `metav1.LabelSelector` in selector syntax, requirements in key order; empty when it has none.
pub(super) fn label_selector(selector: &Value) -> String {
    let equal = at(selector, "matchLabels").as_object().into_iter().flatten();
    let mut requirements: Vec<(String, String)> = equal
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let mut values: Vec<&str> = list(expression, "values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let requirement = match text(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        requirements.push((key.to_owned(), requirement));
    }
    requirements.sort_by(|a, b| a.0.cmp(&b.0));
    requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_written_in_key_order() {
        let selector = json!({"matchLabels": {"tier": "web", "app": "x"}, "matchExpressions": [
            {"key": "env", "operator": "In", "values": ["prod", "dev"]},
            {"key": "canary", "operator": "DoesNotExist"},
            {"key": "zone", "operator": "Exists"},
            {"key": "arch", "operator": "NotIn", "values": ["arm"]},
        ]});
        assert_eq!(
            label_selector(&selector),
            "app=x,arch notin (arm),!canary,env in (dev,prod),tier=web,zone"
        );
        assert_eq!(label_selector(&Value::Null), "");
        assert_eq!(label_map(&json!({"b": "2", "a": "1"})), "a=1,b=2");
        assert_eq!(label_map(&Value::Null), "<none>");
    }
}
