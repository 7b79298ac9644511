//! Reading fields of an untyped object: what is missing or of another type reads as empty, never as an error.

use jiff::Timestamp;
use serde_json::Value;

/// The value at a dotted path (`spec.nodeName`), or null.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

/// The string at a dotted path, or `""`.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// The whole number at a dotted path, or 0.
pub(crate) fn int(value: &Value, path: &str) -> i64 {
    at(value, path).as_i64().unwrap_or_default()
}

/// The boolean at a dotted path, or false.
pub(crate) fn flag(value: &Value, path: &str) -> bool {
    at(value, path).as_bool().unwrap_or_default()
}

/// The list at a dotted path, or an empty one.
pub(crate) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

/// The number of entries of the map at a dotted path.
pub(crate) fn count(value: &Value, path: &str) -> usize {
    at(value, path).as_object().map_or(0, |map| map.len())
}

/// The RFC 3339 time at a dotted path.
pub(crate) fn time(value: &Value, path: &str) -> Option<Timestamp> {
    at(value, path).as_str()?.parse().ok()
}

/// The status of the first condition of that type in the list at a dotted path, or `""`.
pub(crate) fn condition<'a>(value: &'a Value, path: &str, kind: &str) -> &'a str {
    list(value, path)
        .iter()
        .find(|condition| text(condition, "type") == kind)
        .map_or("", |c| text(c, "status"))
}

/// `text`, or `<none>` when it is empty.
pub(crate) fn or_none(text: &str) -> String {
    or(text, "<none>")
}

/// `text`, or `instead` when it is empty.
pub(crate) fn or(text: &str, instead: &str) -> String {
    if text.is_empty() { instead.to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_or_of_another_type_reads_as_empty() {
        let value = json!({"spec": {"n": 3, "s": "x", "l": [1], "t": "2026-01-02T03:04:05Z"}});
        assert_eq!(int(&value, "spec.n"), 3);
        assert_eq!(text(&value, "spec.s"), "x");
        assert_eq!(list(&value, "spec.l").len(), 1);
        assert!(time(&value, "spec.t").is_some());
        assert_eq!(text(&value, "spec.n"), "");
        assert_eq!(int(&value, "spec.s.deeper"), 0);
        assert!(list(&value, "status.l").is_empty());
        assert!(time(&value, "spec.s").is_none());
        assert_eq!(count(&value, "spec"), 4);
        assert!(!flag(&Value::Null, "a"));
    }
}
