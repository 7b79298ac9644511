//! How stored objects are written into an answer: whole, metadata only, or as rows of a table.

use bytes::{BufMut, BytesMut};
use serde_json::Value;

use crate::accept::Shape;
use crate::conversion;
use crate::encode::{encode, quoted};
use crate::registry::Resource;
use crate::server::Clock;
use crate::storage::Stored;
use crate::table::TableShape;

/// How the objects of one request are written.
#[derive(Debug)]
pub(crate) enum Representation {
    Object { prefix: String, item_prefix: String, builtin: bool, converts: bool },
    Partial { builtin: bool },
    Table(Box<TableShape>),
}

impl Representation {
    pub(crate) fn new(resource: &Resource, shape: Shape, include_object: &str, clock: Clock) -> Self {
        match shape {
            Shape::Object => {
                let prefix = resource.object_prefix();
                // Items of built-in lists carry neither kind nor apiVersion; custom ones do.
                let item_prefix = if resource.builtin { String::new() } else { prefix.clone() };
                let converts = resource.converts_events();
                Self::Object { prefix, item_prefix, builtin: resource.builtin, converts }
            }
            Shape::Partial => Self::Partial { builtin: resource.builtin },
            Shape::Table => Self::Table(Box::new(TableShape::new(resource, include_object, clock))),
        }
    }

    /// What comes before and after the items of a list.
    pub(crate) fn list_frame(&self, resource: &Resource, metadata: &ListMetadata) -> (String, String) {
        match self {
            Self::Object { builtin: false, .. } => (
                format!("{{\"apiVersion\":\"{}\",\"items\":[", resource.group_version()),
                format!("],\"kind\":\"{}\",\"metadata\":{}}}", resource.list_kind, metadata.sorted()),
            ),
            Self::Object { .. } => (
                format!(
                    "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                    resource.list_kind,
                    resource.group_version(),
                    metadata.ordered()
                ),
                "]}".into(),
            ),
            Self::Partial { .. } => (
                format!(
                    "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{},\"items\":[",
                    metadata.ordered()
                ),
                "]}".into(),
            ),
            Self::Table(table) => (table.head(&metadata.ordered()), "]}".into()),
        }
    }

    /// Appends one item of a list.
    pub(crate) fn write_item(&self, object: &Stored, out: &mut BytesMut) {
        match self {
            Self::Object { item_prefix, converts: true, .. } => write_converted(object, item_prefix, out),
            Self::Object { item_prefix, .. } => object.encoded.write(item_prefix, out),
            Self::Partial { builtin } => write_partial(object, *builtin, out),
            Self::Table(table) => table.write_row(object, out),
        }
    }

    /// Appends one object that stands alone. `first`: the first of its stream (tables then name their columns).
    pub(crate) fn write_object(&self, object: &Stored, first: bool, out: &mut BytesMut) {
        match self {
            Self::Object { prefix, converts: true, .. } => write_converted(object, prefix, out),
            Self::Object { prefix, .. } => object.encoded.write(prefix, out),
            Self::Partial { builtin } => write_partial(object, *builtin, out),
            Self::Table(table) => table.write_single(object, first, out),
        }
    }

    /// Appends the object of a BOOKMARK event.
    pub(crate) fn write_bookmark(&self, version: u64, initial_end: bool, out: &mut BytesMut) {
        let annotations =
            if initial_end { r#""annotations":{"k8s.io/initial-events-end":"true"}"# } else { "" };
        let comma = if initial_end { "," } else { "" };
        let version = format!("\"resourceVersion\":\"{version}\"");
        let ordered = format!("\"metadata\":{{{version}{comma}{annotations}}}}}");
        match self {
            Self::Object { prefix, builtin: true, .. } => {
                out.put_slice(prefix.as_bytes());
                out.put_slice(ordered.as_bytes());
            }
            Self::Object { prefix, .. } => {
                out.put_slice(prefix.as_bytes());
                out.put_slice(format!("\"metadata\":{{{annotations}{comma}{version}}}}}").as_bytes());
            }
            Self::Partial { .. } => {
                out.put_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#);
                out.put_slice(ordered.as_bytes());
            }
            Self::Table(table) => table.write_bookmark(&ordered, &version, out),
        }
    }
}

/// Metadata alone is written in the order of built-in kinds, whatever the object's own order is.
pub(crate) fn write_partial(object: &Stored, builtin: bool, out: &mut BytesMut) {
    if builtin {
        object.encoded.write_partial(out);
    } else {
        encode(&object.encoded.parse(), object.version, false).write_partial(out);
    }
}

fn write_converted(object: &Stored, prefix: &str, out: &mut BytesMut) {
    let value: Value = conversion::event_to_events_k8s_io(object.encoded.parse());
    encode(&value, object.version, false).write(prefix, out);
}

/// The metadata of a list.
#[derive(Debug, Default)]
pub(crate) struct ListMetadata {
    /// "" leaves it out.
    pub(crate) version: String,
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<usize>,
}

impl ListMetadata {
    fn ordered(&self) -> String {
        let mut members = Vec::new();
        if !self.version.is_empty() {
            members.push(format!("\"resourceVersion\":{}", quoted(&self.version)));
        }
        if !self.continue_token.is_empty() {
            members.push(format!("\"continue\":\"{}\"", self.continue_token));
        }
        if let Some(remaining) = self.remaining {
            members.push(format!("\"remainingItemCount\":{remaining}"));
        }
        format!("{{{}}}", members.join(","))
    }

    /// As custom resources have it: sorted, and `continue` always there.
    fn sorted(&self) -> String {
        let mut members = vec![format!("\"continue\":\"{}\"", self.continue_token)];
        if let Some(remaining) = self.remaining {
            members.push(format!("\"remainingItemCount\":{remaining}"));
        }
        if !self.version.is_empty() {
            members.push(format!("\"resourceVersion\":{}", quoted(&self.version)));
        }
        format!("{{{}}}", members.join(","))
    }
}
