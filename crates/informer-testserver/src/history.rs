//! A table as it was at an earlier version: the present, with the later events undone.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::storage::{Stored, Table, namespace_bounds};

/// The objects of a namespace (all for "") from key `start` on, as of `version`, in key order.
///
/// The caller has checked that the history reaches back to `version`. Cost: the events since, and the objects.
pub(crate) fn objects_at(table: &Table, version: u64, namespace: &str, start: &str) -> Vec<Arc<Stored>> {
    let (low, high) = namespace_bounds(namespace);
    let inside =
        |key: &str| key >= low.as_str() && key >= start && high.as_deref().is_none_or(|high| key < high);
    // The first later event of a key tells what was there before it.
    let mut undone: BTreeMap<Arc<str>, Option<Arc<Stored>>> = BTreeMap::new();
    for event in table.events_after(version) {
        let key = &event.object.key;
        if inside(key) && !undone.contains_key(key) {
            undone.insert(Arc::clone(key), event.previous.clone());
        }
    }
    let present = table.range(namespace, start);
    if undone.is_empty() {
        return present.cloned().collect();
    }
    let mut objects: Vec<Arc<Stored>> =
        present.filter(|object| !undone.contains_key(&object.key)).cloned().collect();
    objects.extend(undone.into_values().flatten());
    objects.sort_by(|a, b| a.key.cmp(&b.key));
    objects
}
