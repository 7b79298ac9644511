//! A store that is clear more than efficient: a list, searched from the front.

use std::sync::Arc;

use informer_core::{
    ApplyOptions, Deletion, Delta, Entry, Identity, IndexId, Item, LastState, Notification, ObjectKey,
    Replacement, ResourceVersion,
};

use crate::helpers::Obj;

pub(crate) struct NaiveStore {
    pub(crate) rows: Vec<Row>,
    pub(crate) version: ResourceVersion,
    pub(crate) synced: bool,
    /// By position: whether the index exists.
    pub(crate) indices: Vec<bool>,
}

#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) object: Arc<Obj>,
    pub(crate) stale: bool,
    /// By position; `None`: nobody gave them.
    pub(crate) values: Vec<Option<Vec<Arc<str>>>>,
}

impl NaiveStore {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), version: ResourceVersion::new(""), synced: false, indices: Vec::new() }
    }

    pub(crate) fn apply(&mut self, delta: &Delta<u32>, options: ApplyOptions) -> Vec<Notification<u32>> {
        let mut told = Vec::new();
        match delta {
            Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => {
                told = self.put(item, false, options);
                self.advance(&item.object.version);
            }
            Delta::Deleted(deletion) => {
                told.extend(self.delete(deletion));
                self.advance(&deletion.identity.version);
            }
            Delta::ReplacedAll(replacement) => told = self.replace_all(replacement, options),
            Delta::Sync(key) => {
                let found = self.rows.iter().filter(|row| row.object.key == *key);
                told.extend(found.map(|row| Notification::Resync { object: row.object.clone() }));
            }
            // The order of a replay is the real store's business.
            Delta::SyncAll => {
                told.extend(self.rows.iter().map(|row| Notification::Resync { object: row.object.clone() }));
            }
            Delta::Bookmark(version) => self.advance(version),
            Delta::Undecodable(identity) => {
                let stored = self.find(&identity.key).map(|at| self.rows[at].object.clone());
                let old_news = stored.is_some_and(|stored| {
                    stored.uid == identity.uid
                        && identity.version < stored.version
                        && !same(&stored, identity)
                });
                if !old_news {
                    self.keep(identity);
                }
                self.advance(&identity.version);
            }
        }
        told
    }

    pub(crate) fn find(&self, key: &ObjectKey) -> Option<usize> {
        self.rows.iter().position(|row| row.object.key == *key)
    }

    pub(crate) fn keys_with(&self, index: IndexId, value: &str) -> Vec<ObjectKey> {
        let has = |row: &&Row| row.values[index.0].iter().flatten().any(|own| **own == *value);
        let mut keys: Vec<_> = self.rows.iter().filter(has).map(|row| row.object.key.clone()).collect();
        keys.sort();
        keys
    }

    pub(crate) fn add_index(&mut self) {
        self.indices.push(true);
        self.rows.iter_mut().for_each(|row| row.values.push(None));
    }

    fn put(&mut self, item: &Item<u32>, may_go_back: bool, options: ApplyOptions) -> Vec<Notification<u32>> {
        let new = item.object.clone();
        let values =
            (0..self.indices.len()).map(|at| Some(item.index_values.get(at)?.map(Arc::from).collect()));
        let row = Row { object: new.clone(), stale: false, values: values.collect() };
        let added = Notification::Added { object: new.clone(), in_initial_list: options.in_initial_list };
        let Some(at) = self.find(&new.key) else {
            self.rows.push(row);
            return vec![added];
        };
        let old = self.rows[at].object.clone();
        if old.uid == new.uid && old.version == new.version && !new.version.is_empty() {
            self.rows[at].stale = false;
            return Vec::new();
        }
        if old.uid == new.uid && new.version < old.version && !may_go_back && !self.rows[at].stale {
            return Vec::new();
        }
        self.rows[at] = row;
        if old.uid != new.uid && options.split_recreated {
            return vec![
                Notification::Deleted { key: new.key.clone(), last_state: LastState::Stale(old) },
                added,
            ];
        }
        vec![Notification::Updated { old, new }]
    }

    fn delete(&mut self, deletion: &Deletion<u32>) -> Option<Notification<u32>> {
        let identity = &deletion.identity;
        let at = self.find(&identity.key)?;
        let old = self.rows[at].object.clone();
        if old.uid == identity.uid && identity.version < old.version && !self.rows[at].stale {
            return None;
        }
        self.rows.remove(at);
        let last = deletion.last_state.clone();
        let last = last.filter(|last| last.uid == old.uid && same(last, identity));
        let last_state = last.map_or(LastState::Stale(old), LastState::Known);
        Some(Notification::Deleted { key: identity.key.clone(), last_state })
    }

    fn replace_all(&mut self, list: &Replacement<u32>, options: ApplyOptions) -> Vec<Notification<u32>> {
        let options = ApplyOptions { in_initial_list: !self.synced, ..options };
        let mut told = Vec::new();
        self.rows.sort_by_key(|row| row.object.key.clone());
        let gone = |row: &Row| {
            let concerned = list.namespace.as_deref().is_none_or(|own| own == row.object.key.namespace());
            concerned && list.entries.iter().all(|entry| *entry.key() != row.object.key)
        };
        if !list.complete {
            self.rows.iter_mut().filter(|row| gone(row)).for_each(|row| row.stale = true);
        }
        for row in self.rows.extract_if(.., |row| list.complete && gone(row)) {
            let key = row.object.key.clone();
            told.push(Notification::Deleted { key, last_state: LastState::Stale(row.object) });
        }
        for (at, entry) in list.entries.iter().enumerate() {
            if list.entries[at + 1..].iter().any(|later| later.key() == entry.key()) {
                continue;
            }
            match entry {
                Entry::Object(item) => told.extend(self.put(item, true, options)),
                Entry::Unchanged(object) => self.keep(&Identity::of(object)),
                Entry::Undecodable(identity) => self.keep(identity),
            }
        }
        self.version = list.version.clone();
        let version = list.version.clone();
        told.push(match self.synced {
            false => Notification::Synced { version },
            true => Notification::Relisted { version },
        });
        self.synced = true;
        told
    }

    /// The server has this version and we have no other words for it: what is stored is stale unless it is that.
    fn keep(&mut self, identity: &Identity) {
        if let Some(at) = self.find(&identity.key) {
            self.rows[at].stale = !same(&self.rows[at].object, identity);
        }
    }

    fn advance(&mut self, version: &ResourceVersion) {
        let back = version.partial_cmp(&self.version).is_some_and(|order| order.is_lt());
        if !version.is_empty() && !back {
            self.version = version.clone();
        }
    }
}

fn same(object: &Obj, identity: &Identity) -> bool {
    object.uid == identity.uid && object.version == identity.version && !identity.version.is_empty()
}
