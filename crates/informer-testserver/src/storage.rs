//! The store: tables of objects under one version counter, each with its bounded history.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;

use crate::encode::{Encoded, encode};
use crate::names::Rng;
use crate::registry::{Registry, Resource, TableId};
use crate::selector::indexed_fields;
use crate::watchers::Watchers;

/// One version of one object: the bytes, and beside them what selectors need.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// `namespace/name`, or `name` for cluster-scoped objects: the order of the real store.
    pub(crate) key: Arc<str>,
    pub(crate) uid: Box<str>,
    pub(crate) version: u64,
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    /// Values of the field selectors that this kind supports, besides name and namespace.
    pub(crate) fields: Box<[(Box<str>, Box<str>)]>,
    pub(crate) encoded: Encoded,
}

impl Stored {
    pub(crate) fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub(crate) fn name(&self) -> &str {
        self.key.split_once('/').map_or(&self.key, |(_, name)| name)
    }

    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(key, _)| **key == *name).map(|(_, value)| &**value)
    }

    /// The same object at another version.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        Self { version, encoded: self.encoded.at_version(version), ..self.clone() }
    }
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One entry of a table's history.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) change: Change,
    /// The new state; for a deletion the last state at the deletion's version.
    pub(crate) object: Arc<Stored>,
    /// The state before.
    pub(crate) previous: Option<Arc<Stored>>,
}

/// The objects of one resource.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) objects: BTreeMap<Arc<str>, Arc<Stored>>,
    pub(crate) history: VecDeque<Event>,
    /// Version of the newest event that the history no longer holds.
    pub(crate) trimmed: u64,
    pub(crate) watchers: Watchers,
    /// The resource was removed: its watches end.
    pub(crate) gone: bool,
}

impl Table {
    /// Events after `version`, oldest first.
    pub(crate) fn events_after(&self, version: u64) -> impl Iterator<Item = &Event> {
        let start = self.history.partition_point(|event| event.version <= version);
        self.history.range(start..)
    }

    /// Objects of one namespace, or all for "", from `start` (a key) on.
    pub(crate) fn range(&self, namespace: &str, start: &str) -> impl Iterator<Item = &Arc<Stored>> {
        let (low, high) = namespace_bounds(namespace);
        let low = if start > low.as_str() { start.to_owned() } else { low };
        let empty = high.as_ref().is_some_and(|high| *high <= low);
        let high = match (&high, empty) {
            // BTreeMap panics on a reversed range: an empty one instead.
            (_, true) => Bound::Excluded(low.as_str()),
            (Some(high), false) => Bound::Excluded(high.as_str()),
            (None, false) => Bound::Unbounded,
        };
        self.objects.range::<str, _>((Bound::Included(low.as_str()), high)).map(|(_, object)| object)
    }

    fn record(&mut self, event: Event, history_limit: usize) {
        self.history.push_back(event);
        while self.history.len() > history_limit {
            if let Some(oldest) = self.history.pop_front() {
                self.trimmed = oldest.version;
            }
        }
        self.watchers.wake_all();
    }
}

/// The keys of a namespace are those from `namespace/` up to `namespace0`, since `0` follows `/`.
pub(crate) fn namespace_bounds(namespace: &str) -> (String, Option<String>) {
    if namespace.is_empty() {
        (String::new(), None)
    } else {
        (format!("{namespace}/"), Some(format!("{namespace}0")))
    }
}

/// `namespace/name`, or `name`.
pub(crate) fn key_of(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// Everything the server knows, behind one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) version: u64,
    /// Versions before this one are compacted: no list, no watch starts from them.
    pub(crate) compacted: u64,
    pub(crate) history_limit: usize,
    pub(crate) registry: Registry,
    pub(crate) tables: BTreeMap<TableId, Table>,
    pub(crate) rng: Rng,
    pub(crate) next_watcher: u64,
}

impl State {
    pub(crate) fn new(first_version: u64, history_limit: usize, seed: u64) -> Self {
        Self {
            version: first_version,
            compacted: 0,
            history_limit,
            registry: Registry::builtin(),
            tables: BTreeMap::new(),
            rng: Rng::new(seed),
            next_watcher: 0,
        }
    }

    pub(crate) fn table(&mut self, id: TableId) -> &mut Table {
        self.tables.entry(id).or_default()
    }

    pub(crate) fn object(&self, id: TableId, key: &str) -> Option<Arc<Stored>> {
        self.tables.get(&id)?.objects.get(key).cloned()
    }

    /// The oldest version that a list at, or a watch from, can be served for this table.
    pub(crate) fn oldest_version(&self, id: TableId) -> u64 {
        self.compacted.max(self.tables.get(&id).map_or(0, |table| table.trimmed))
    }

    /// Stores an object, new or changed, at the next version.
    pub(crate) fn store(&mut self, resource: &Resource, key: &str, object: &Value) -> Arc<Stored> {
        self.version += 1;
        let version = self.version;
        let limit = self.history_limit;
        let stored = Arc::new(stored(resource, key, object, version));
        let table = self.table(resource.table);
        let previous = table.objects.insert(Arc::clone(&stored.key), Arc::clone(&stored));
        let change = if previous.is_some() { Change::Modified } else { Change::Added };
        table.record(Event { version, change, object: Arc::clone(&stored), previous }, limit);
        stored
    }

    /// Removes an object at the next version and returns its last state, at that version.
    pub(crate) fn remove(&mut self, id: TableId, key: &str) -> Option<Arc<Stored>> {
        let version = self.version + 1;
        let limit = self.history_limit;
        let table = self.table(id);
        let previous = table.objects.remove(key)?;
        let object = Arc::new(previous.at_version(version));
        let event =
            Event { version, change: Change::Deleted, object: Arc::clone(&object), previous: Some(previous) };
        table.record(event, limit);
        self.version = version;
        Some(object)
    }

    /// Makes every version before the present one unavailable to new lists and watches.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
    }

    pub(crate) fn wake_all_watchers(&mut self) {
        for table in self.tables.values_mut() {
            table.watchers.wake_all();
        }
    }
}

/// Builds the stored form of an object at a version.
pub(crate) fn stored(resource: &Resource, key: &str, object: &Value, version: u64) -> Stored {
    let metadata = &object["metadata"];
    let labels = metadata["labels"]
        .as_object()
        .map(|labels| {
            labels
                .iter()
                .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or("").into()))
                .collect()
        })
        .unwrap_or_default();
    Stored {
        key: key.into(),
        uid: metadata["uid"].as_str().unwrap_or("").into(),
        version,
        labels,
        fields: indexed_fields(resource, object),
        encoded: encode(object, version, !resource.builtin),
    }
}
