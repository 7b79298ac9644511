//! A handler that replays what it is told into a map of its own, and notes whatever cannot be true.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use informer::{EventHandler, LastState, Notification, Object, ObjectKey, ResourceVersion};
use tokio::sync::watch;

/// How many violations are kept: one is enough to fail.
const VIOLATIONS_KEPT: usize = 10;

/// A handler's memory; a clone shares it.
pub(crate) struct Witness<V> {
    pub(crate) name: &'static str,
    history: Arc<Mutex<History<V>>>,
    changed: watch::Sender<u64>,
}

/// What a witness was told.
pub(crate) struct History<V> {
    /// What exists, by what was told.
    pub(crate) held: BTreeMap<ObjectKey, Arc<Object<V>>>,
    /// How each key's last incarnation ended.
    pub(crate) ends: BTreeMap<ObjectKey, End>,
    pub(crate) counts: Counts,
    pub(crate) violations: Vec<String>,
    /// The last version told of each key, dead or alive.
    versions: BTreeMap<ObjectKey, ResourceVersion>,
    synced: bool,
}

/// How often what was told.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
    pub(crate) relisted: usize,
}

/// How a deletion was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Known,
    Stale,
}

impl<V> Witness<V> {
    /// A witness that has been told nothing; `changed` is counted up whenever it is.
    pub(crate) fn new(name: &'static str, changed: watch::Sender<u64>) -> Self {
        let history = History {
            held: BTreeMap::new(),
            ends: BTreeMap::new(),
            counts: Counts::default(),
            violations: Vec::new(),
            versions: BTreeMap::new(),
            synced: false,
        };
        Self { name, history: Arc::new(Mutex::new(history)), changed }
    }

    /// What it was told until now.
    pub(crate) fn history(&self) -> MutexGuard<'_, History<V>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a notification, as a reader of a stream does.
    pub(crate) fn observe(&self, notification: &Notification<V>) {
        match notification {
            Notification::Added { object, in_initial_list } => {
                self.tell(|it| it.added(object, *in_initial_list))
            }
            Notification::Updated { old, new } => self.tell(|it| it.updated(old, new)),
            Notification::Deleted { key, last_state } => self.tell(|it| it.deleted(key, last_state)),
            Notification::Synced { .. } => self.tell(History::synced),
            Notification::Relisted { .. } => self.tell(|it| it.counts.relisted += 1),
            other => self.tell(|it| it.violation(format!("{other:?} was not asked for"))),
        }
    }

    fn tell(&self, change: impl FnOnce(&mut History<V>)) {
        change(&mut self.history());
        self.changed.send_modify(|times| *times += 1);
    }
}

impl<V: Send + Sync + 'static> Witness<V> {
    /// The callbacks that take everything in.
    pub(crate) fn handler(&self) -> EventHandler<V> {
        let it = || self.clone();
        let (added, updated, deleted, synced, relisted) = (it(), it(), it(), it(), it());
        EventHandler::new()
            .on_added(move |object, initial| added.tell(|it| it.added(object, initial)))
            .on_updated(move |old, new| updated.tell(|it| it.updated(old, new)))
            .on_deleted(move |key, last_state| deleted.tell(|it| it.deleted(key, last_state)))
            .on_synced(move |_| synced.tell(History::synced))
            .on_relisted(move |_| relisted.tell(|it| it.counts.relisted += 1))
    }
}

impl<V> History<V> {
    fn added(&mut self, object: &Arc<Object<V>>, in_initial_list: bool) {
        self.counts.added += 1;
        if in_initial_list && self.synced {
            self.violation(format!("{object:?} was added as part of the initial list after the sync"));
        }
        if let Some(held) = self.held.insert(object.key.clone(), Arc::clone(object)) {
            self.violation(format!("{object:?} was added over {held:?}"));
        }
        if self.versions.get(&object.key).is_some_and(|last| *last >= object.version) {
            self.violation(format!(
                "{object:?} was added, though version {} had been told",
                self.versions[&object.key]
            ));
        }
        self.versions.insert(object.key.clone(), object.version.clone());
    }

    fn updated(&mut self, old: &Arc<Object<V>>, new: &Arc<Object<V>>) {
        self.counts.updated += 1;
        let held = self.held.insert(new.key.clone(), Arc::clone(new));
        match held {
            None => self.violation(format!("{new:?} was updated, but not held")),
            Some(held) if held.version != old.version || held.uid != old.uid => {
                self.violation(format!("{new:?} was updated from {old:?}, but {held:?} was told last"));
            }
            Some(_) => {}
        }
        if old.key != new.key || old.uid != new.uid {
            self.violation(format!("{old:?} was updated to another object, {new:?}"));
        }
        if old.version >= new.version {
            self.violation(format!("{old:?} was updated to {new:?}, which is no later"));
        }
        self.versions.insert(new.key.clone(), new.version.clone());
    }

    fn deleted(&mut self, key: &ObjectKey, last_state: &LastState<V>) {
        self.counts.deleted += 1;
        let held = self.held.remove(key);
        let (last, end) = match last_state {
            LastState::Known(object) => (object, End::Known),
            LastState::Stale(object) => (object, End::Stale),
            LastState::Unknown => return self.violation(format!("{key} was deleted in an unknown state")),
        };
        match held {
            None => self.violation(format!("{last:?} was deleted, but not held")),
            Some(held) if held.uid != last.uid || last.version < held.version || *key != last.key => {
                self.violation(format!("{last:?} was deleted, but {held:?} was told last"));
            }
            Some(_) => {}
        }
        self.ends.insert(key.clone(), end);
        self.versions.insert(key.clone(), last.version.clone());
    }

    fn synced(&mut self) {
        if std::mem::replace(&mut self.synced, true) {
            self.violation("the first sync was told twice".to_owned());
        }
    }

    fn violation(&mut self, text: String) {
        if self.violations.len() < VIOLATIONS_KEPT {
            self.violations.push(text);
        }
    }
}

impl<V> Clone for Witness<V> {
    fn clone(&self) -> Self {
        Self { name: self.name, history: Arc::clone(&self.history), changed: self.changed.clone() }
    }
}

#[cfg(test)]
mod tests {
    use informer::Uid;

    use super::*;

    fn object(uid: &str, version: u64) -> Arc<Object<()>> {
        let key = ObjectKey::new("ns", "a");
        Arc::new(Object { key, uid: Uid::new(uid), version: version.into(), value: Arc::new(()) })
    }

    fn added(uid: &str, version: u64) -> Notification<()> {
        Notification::Added { object: object(uid, version), in_initial_list: false }
    }

    fn updated(old: u64, new: u64) -> Notification<()> {
        Notification::Updated { old: object("1", old), new: object("1", new) }
    }

    fn deleted(last_state: LastState<()>) -> Notification<()> {
        Notification::Deleted { key: ObjectKey::new("ns", "a"), last_state }
    }

    fn violations(told: &[Notification<()>]) -> usize {
        let witness = Witness::new("witness", watch::Sender::new(0));
        told.iter().for_each(|notification| witness.observe(notification));
        witness.history().violations.len()
    }

    #[test]
    fn a_possible_history_is_accepted() {
        let end = |version| deleted(LastState::Known(object("1", version)));
        let history =
            [added("1", 5), updated(5, 7), end(8), added("2", 9), deleted(LastState::Stale(object("2", 9)))];
        assert_eq!(violations(&history), 0);
    }

    #[test]
    fn an_impossible_history_is_noticed() {
        let synced = || Notification::Synced { version: 5.into() };
        let late = Notification::Added { object: object("1", 5), in_initial_list: true };
        let known = |uid: &str, version| deleted(LastState::Known(object(uid, version)));
        let impossible = [
            vec![added("1", 5), added("1", 6)],
            vec![updated(5, 6)],
            vec![known("1", 5)],
            vec![added("1", 5), updated(4, 6)],
            vec![added("1", 5), updated(5, 5)],
            vec![added("1", 5), known("2", 6)],
            vec![added("1", 5), known("1", 4)],
            vec![added("1", 5), deleted(LastState::Unknown)],
            vec![added("1", 5), known("1", 6), added("2", 6)],
            vec![synced(), synced()],
            vec![synced(), late],
        ];
        for history in impossible {
            assert!(violations(&history) > 0, "{history:?}");
        }
    }
}
