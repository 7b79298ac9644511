//! Events are stored as the core kind; events.k8s.io sees the same objects under its own field names.

use serde_json::{Value, json};

const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Core form to events.k8s.io form.
pub(crate) fn event_to_events_k8s_io(mut event: Value) -> Value {
    if let Some(fields) = event.as_object_mut() {
        for (core, other) in RENAMED {
            if let Some(value) = fields.remove(core) {
                fields.insert(other.into(), value);
            }
        }
        fields.entry("deprecatedSource").or_insert_with(|| json!({}));
        fields.entry("deprecatedFirstTimestamp").or_insert(Value::Null);
        fields.entry("deprecatedLastTimestamp").or_insert(Value::Null);
    }
    event
}

/// Events.k8s.io form to core form.
pub(crate) fn event_from_events_k8s_io(mut event: Value) -> Value {
    if let Some(fields) = event.as_object_mut() {
        for (core, other) in RENAMED {
            if let Some(value) = fields.remove(other) {
                fields.insert(core.into(), value);
            }
        }
    }
    event
}
