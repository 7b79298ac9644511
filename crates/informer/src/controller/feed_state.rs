//! What a feed has been told, and what of it is news.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::{LastState, Notification, Object, ObjectKey, ResourceVersion};

use super::origin::Listener;

/// An event of a feed, with each object identified.
pub(super) enum Change<V> {
    Replaced(Vec<Arc<Object<V>>>),
    Applied(Arc<Object<V>>),
    Deleted(Arc<Object<V>>),
    Failed(String),
}

pub(super) struct State<V> {
    pub(super) known: BTreeMap<ObjectKey, Arc<Object<V>>>,
    pub(super) has_synced: bool,
    /// Everything up to this is known; nothing, if versions cannot be compared.
    pub(super) version: Option<ResourceVersion>,
    /// The last failure, until something works again.
    pub(super) trouble: Option<String>,
    pub(super) has_ended: bool,
    listeners: BTreeMap<u64, Listener<V>>,
    tickets: u64,
}

impl<V> State<V> {
    pub(super) fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            has_synced: false,
            version: None,
            trouble: None,
            has_ended: false,
            listeners: BTreeMap::new(),
            tickets: 0,
        }
    }

    /// Answers the listener's ticket, and what is there already. Every change from now on is told to it.
    pub(super) fn listen(&mut self, listener: Listener<V>) -> (u64, Vec<Notification<V>>) {
        self.tickets += 1;
        self.listeners.insert(self.tickets, listener);
        let present = self.known.values();
        let present =
            present.map(|object| Notification::Added { object: Arc::clone(object), in_initial_list: true });
        (self.tickets, present.collect())
    }

    pub(super) fn forget(&mut self, ticket: u64) -> Option<Listener<V>> {
        self.listeners.remove(&ticket)
    }

    pub(super) fn listeners(&self) -> Vec<Listener<V>> {
        self.listeners.values().cloned().collect()
    }

    /// Takes a change in, and answers what is new about it.
    pub(super) fn take(&mut self, change: Change<V>) -> Vec<Notification<V>> {
        match change {
            Change::Replaced(all) => self.replace(all),
            Change::Applied(object) => {
                self.reach(&object.version);
                let in_initial_list = !self.has_synced;
                self.known
                    .insert(object.key.clone(), Arc::clone(&object))
                    .map_or_else(|| Some(added(&object, in_initial_list)), |old| updated(old, &object))
                    .into_iter()
                    .collect()
            }
            Change::Deleted(object) => {
                self.reach(&object.version);
                // Told also of one that was not known: a reconcile for nothing is better than none.
                self.known.remove(&object.key);
                vec![Notification::Deleted { key: object.key.clone(), last_state: LastState::Known(object) }]
            }
            Change::Failed(text) => {
                self.trouble = Some(text);
                Vec::new()
            }
        }
    }

    fn replace(&mut self, all: Vec<Arc<Object<V>>>) -> Vec<Notification<V>> {
        // It may be a list of earlier than what was told.
        self.version = None;
        let mut before = std::mem::take(&mut self.known);
        let mut news = Vec::new();
        for object in all {
            self.reach(&object.version);
            match before.remove(&object.key) {
                None => news.push(added(&object, !self.has_synced)),
                Some(old) => news.extend(updated(old, &object)),
            }
            // Also if it is the same: the value that others have dropped is not kept.
            self.known.insert(object.key.clone(), object);
        }
        news.extend(
            before
                .into_iter()
                .map(|(key, last)| Notification::Deleted { key, last_state: LastState::Stale(last) }),
        );
        self.has_synced = true;
        news
    }

    /// Nothing later than this is missing.
    fn reach(&mut self, version: &ResourceVersion) {
        if version.is_ordered() && self.version.as_ref().is_none_or(|at| at < version) {
            self.version = Some(version.clone());
        }
    }
}

fn added<V>(object: &Arc<Object<V>>, in_initial_list: bool) -> Notification<V> {
    Notification::Added { object: Arc::clone(object), in_initial_list }
}

/// Nothing, if it is the same version of the same object.
fn updated<V>(old: Arc<Object<V>>, new: &Arc<Object<V>>) -> Option<Notification<V>> {
    let is_same = old.uid == new.uid && old.version == new.version && !new.version.is_empty();
    (!is_same).then(|| Notification::Updated { old, new: Arc::clone(new) })
}

#[cfg(test)]
mod tests {
    use informer_core::{Rng, Uid};

    use super::*;

    /// What is told, replayed, is what a plain map of the same changes holds; and `old` is what was told last.
    #[test]
    fn what_is_told_adds_up_to_what_is_known() {
        for seed in 0..200 {
            let (mut rng, mut state) = (Rng::new(seed), State::new());
            let (mut model, mut told) = (BTreeMap::new(), BTreeMap::new());
            for version in 1..60 {
                let object = |name: u64, version: u64| {
                    let key = ObjectKey::new("", &format!("o{name}"));
                    let (uid, version) = (Uid::new(""), ResourceVersion::from(version));
                    Arc::new(Object { key, uid, version, value: Arc::new(()) })
                };
                let changed = object(rng.below(6), version);
                let change = match rng.below(10) {
                    0 => {
                        // Some vanish, some change, some stay as they are.
                        model.retain(|_, _| rng.below(3) > 0);
                        model.insert(changed.key.clone(), Arc::clone(&changed));
                        Change::Replaced(model.values().cloned().collect())
                    }
                    1..4 => {
                        model.remove(&changed.key);
                        Change::Deleted(changed)
                    }
                    _ => {
                        model.insert(changed.key.clone(), Arc::clone(&changed));
                        Change::Applied(changed)
                    }
                };
                for notification in state.take(change) {
                    match notification {
                        Notification::Added { object, .. } => {
                            assert!(told.insert(object.key.clone(), object.version.clone()).is_none());
                        }
                        Notification::Updated { old, new } => {
                            assert_ne!(old.version, new.version, "seed {seed}");
                            let before = told.insert(new.key.clone(), new.version.clone());
                            assert_eq!(before, Some(old.version.clone()), "seed {seed}");
                        }
                        Notification::Deleted { key, .. } => drop(told.remove(&key)),
                        _ => unreachable!("nothing else is told"),
                    }
                }
                let versions: BTreeMap<_, _> =
                    model.iter().map(|(key, object)| (key.clone(), object.version.clone())).collect();
                assert_eq!(told, versions, "seed {seed}");
                assert!(state.known.keys().eq(model.keys()), "seed {seed}");
                let newest =
                    model.values().map(|object| &object.version).max_by(|a, b| a.partial_cmp(b).unwrap());
                assert!(newest.is_none_or(|newest| state.version.as_ref() >= Some(newest)), "seed {seed}");
            }
        }
    }
}
