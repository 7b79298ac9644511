//! Objects as compact JSON in the order a real server writes them, and the spans needed to reuse those bytes.

use std::fmt::Write as _;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

/// One object's JSON without apiVersion and kind: `{"metadata":{…},"spec":…}`.
///
/// Written once and shared by every answer: a prefix with kind and version goes in front, metadata alone can be cut
/// out, and the resourceVersion can be replaced, all without parsing.
#[derive(Debug, Clone)]
pub(crate) struct Encoded {
    pub(crate) body: Bytes,
    /// End of the metadata object, exclusive; it starts at [`METADATA_AT`].
    metadata_end: usize,
    /// The digits of the resourceVersion.
    version: Range<usize>,
}

/// Where the metadata object starts: after `{"metadata":`.
const METADATA_AT: usize = 12;

const METADATA_ORDER: [&str; 14] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Writes an object; apiVersion and kind are left out, metadata comes first. `sorted` keys as custom resources have.
pub(crate) fn encode(object: &Value, resource_version: u64, sorted: bool) -> Encoded {
    let empty = Map::new();
    let top = object.as_object().unwrap_or(&empty);
    let metadata = top.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"{\"metadata\":{");
    let mut version = 0..0;
    let mut first = true;
    let mut member = |out: &mut Vec<u8>, key: &str, value: &Value| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_key(out, key);
        if key == "resourceVersion" {
            out.push(b'"');
            version.start = out.len();
            out.extend_from_slice(resource_version.to_string().as_bytes());
            version.end = out.len();
            out.push(b'"');
        } else {
            write_value(out, value);
        }
    };
    let mut names: Vec<&str> =
        metadata.keys().map(String::as_str).filter(|key| *key != "resourceVersion").collect();
    if resource_version > 0 {
        names.push("resourceVersion");
    }
    let position =
        |key: &str| METADATA_ORDER.iter().position(|known| *known == key).unwrap_or(METADATA_ORDER.len());
    names
        .sort_by(|a, b| if sorted { a.cmp(b) } else { position(a).cmp(&position(b)).then_with(|| a.cmp(b)) });
    for name in names {
        member(&mut out, name, metadata.get(name).unwrap_or(&Value::Null));
    }
    out.push(b'}');
    let metadata_end = out.len();
    let mut names: Vec<&str> = top
        .keys()
        .map(String::as_str)
        .filter(|key| !matches!(*key, "metadata" | "apiVersion" | "kind"))
        .collect();
    let rank = |key: &str| match key {
        "spec" => 0,
        "status" if !sorted => 2,
        _ => 1,
    };
    names.sort_by(|a, b| if sorted { a.cmp(b) } else { rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)) });
    for name in names {
        out.push(b',');
        write_key(&mut out, name);
        write_value(&mut out, &top[name]);
    }
    out.push(b'}');
    Encoded { body: Bytes::from(out.into_boxed_slice()), metadata_end, version }
}

fn write_key(out: &mut Vec<u8>, key: &str) {
    write_value(out, &Value::String(key.to_owned()));
    out.push(b':');
}

/// A `Value` always serialises into memory, so that there is no error to report.
fn write_value(out: &mut Vec<u8>, value: &Value) {
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok());
}

impl Encoded {
    /// The same object at another resourceVersion.
    pub(crate) fn at_version(&self, resource_version: u64) -> Self {
        if self.version.is_empty() {
            return self.clone();
        }
        let digits = resource_version.to_string();
        let mut out = Vec::with_capacity(self.body.len() + 4);
        out.extend_from_slice(&self.body[..self.version.start]);
        out.extend_from_slice(digits.as_bytes());
        out.extend_from_slice(&self.body[self.version.end..]);
        let version = self.version.start..self.version.start + digits.len();
        let metadata_end = self.metadata_end - self.version.len() + digits.len();
        Self { body: Bytes::from(out.into_boxed_slice()), metadata_end, version }
    }

    /// Appends the whole object behind `prefix`, which opens it (`{"kind":…,"apiVersion":…,`).
    pub(crate) fn write(&self, prefix: &str, out: &mut BytesMut) {
        out.reserve(prefix.len() + self.body.len());
        if prefix.is_empty() {
            out.put_slice(&self.body);
        } else {
            out.put_slice(prefix.as_bytes());
            out.put_slice(&self.body[1..]);
        }
    }

    /// Appends a PartialObjectMetadata.
    pub(crate) fn write_partial(&self, out: &mut BytesMut) {
        out.put_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#);
        out.put_slice(&self.body[METADATA_AT..self.metadata_end]);
        out.put_slice(b"}");
    }

    /// The object as a value, without apiVersion and kind.
    pub(crate) fn parse(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// JSON string syntax for text that goes into hand-written JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// An RFC 3339 time in whole seconds, as object metadata has it.
pub(crate) fn rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A duration as kubectl prints an age: `42s`, `3m12s`, `5h`, `12d`.
pub(crate) fn human_age(seconds: i64) -> String {
    let (s, m, h, d) = (seconds, seconds / 60, seconds / 3600, seconds / 86_400);
    let mut out = String::new();
    let mut pair = |big: i64, unit: char, small: i64, small_unit: char| {
        let written = if small == 0 {
            write!(out, "{big}{unit}")
        } else {
            write!(out, "{big}{unit}{small}{small_unit}")
        };
        debug_assert!(written.is_ok());
    };
    match seconds {
        ..0 => return "0s".into(),
        0..120 => return format!("{s}s"),
        120..600 => pair(m, 'm', s % 60, 's'),
        600..10_800 => return format!("{m}m"),
        10_800..28_800 => pair(h, 'h', m % 60, 'm'),
        28_800..172_800 => return format!("{h}h"),
        172_800..691_200 => pair(d, 'd', h % 24, 'h'),
        691_200..63_072_000 => return format!("{d}d"),
        63_072_000..252_288_000 => pair(d / 365, 'y', d % 365, 'd'),
        _ => return format!("{}y", d / 365),
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_and_version_are_found_again() {
        let object = json!({
            "status": {"a": 1}, "spec": {"b": 2}, "data": {"x": "y"}, "kind": "K", "apiVersion": "v1",
            "metadata": {"labels": {"resourceVersion": "no"}, "name": "n", "resourceVersion": "3"},
        });
        let encoded = encode(&object, 99, false);
        let text = r#"{"metadata":{"name":"n","resourceVersion":"99","labels":{"resourceVersion":"no"}},"spec":{"b":2},"data":{"x":"y"},"status":{"a":1}}"#;
        assert_eq!(encoded.body, text);
        let later = encoded.at_version(1000);
        assert_eq!(later.body, text.replace("\"99\"", "\"1000\""));
        let mut partial = BytesMut::new();
        later.write_partial(&mut partial);
        let partial: Value = serde_json::from_slice(&partial).unwrap();
        assert_eq!(partial["metadata"]["resourceVersion"], "1000");
        assert_eq!(partial["metadata"]["labels"]["resourceVersion"], "no");
    }

    #[test]
    fn ages_read_like_kubectl() {
        let expected = [
            (5, "5s"),
            (119, "119s"),
            (192, "3m12s"),
            (180, "3m"),
            (900, "15m"),
            (11_000, "3h3m"),
            (200_000, "2d7h"),
        ];
        for (seconds, text) in expected {
            assert_eq!(human_age(seconds), text);
        }
    }
}
