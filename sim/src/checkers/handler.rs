//! What one handler knows from what it was told, and whether that was right.

use std::collections::{BTreeMap, BTreeSet};

use informer_core::{Indexer, LastState, Notification, Object, ObjectKey, ResourceVersion};

use super::{Checker, Court, Truth};
use crate::connection::number;
use crate::value::{Value, uid_text};

/// What a notification is judged by.
pub(crate) struct Hearing<'a> {
    pub(crate) truth: Truth<'a>,
    pub(crate) store: &'a Indexer<Value>,
    /// Keys that a list did not let be seen.
    pub(crate) unread: &'a BTreeSet<ObjectKey>,
    /// Whether the resource was ever said to be gone: then everything was deleted.
    pub(crate) emptied: bool,
    /// Whether another uid is told as a deletion and an addition.
    pub(crate) split: bool,
    pub(crate) court: &'a mut Court,
}

/// One handler's view of the world, replayed from its notifications.
pub(crate) struct HandlerView {
    name: u64,
    /// What it holds, by key.
    pub(crate) held: BTreeMap<ObjectKey, Value>,
    /// The last version it heard of, also of what is gone.
    heard: BTreeMap<ObjectKey, u64>,
    pub(crate) synced: bool,
    reminded: bool,
    /// The resource was said to be gone before this heard the marker: all that was listed went, and may have come again.
    pub(crate) emptied: bool,
    /// What was stored when it joined late: its initial list.
    initial: Option<Vec<(ObjectKey, Value)>>,
}

impl HandlerView {
    /// The view of a handler that begins now; `reminded` if it asked for a resync.
    pub(crate) fn new(name: u64, reminded: bool, store: &Indexer<Value>) -> Self {
        let stored = || store.iter().map(|object| (object.key.clone(), *object.value)).collect();
        let initial = store.has_synced().then(stored);
        Self {
            name,
            held: BTreeMap::new(),
            heard: BTreeMap::new(),
            synced: false,
            reminded,
            emptied: false,
            initial,
        }
    }

    /// Judges a notification and takes it in.
    pub(crate) fn hear(&mut self, notification: &Notification<Value>, hearing: &mut Hearing<'_>) {
        let initial = match notification {
            Notification::Added { in_initial_list, .. } => *in_initial_list,
            _ => false,
        };
        let is_marker = matches!(notification, Notification::Synced { .. });
        let in_order = is_marker || initial != self.synced;
        self.require(hearing, in_order, Checker::Synced, || {
            format!("synced {}: {notification:?}", self.synced)
        });
        match notification {
            Notification::Added { object, .. } => self.added(object, hearing),
            Notification::Updated { old, new } => self.updated(old, new, hearing),
            Notification::Deleted { key, last_state } => self.deleted(key, last_state, hearing),
            Notification::Resync { object } => {
                let same = self.held.get(&object.key) == Some(&*object.value);
                self.require(hearing, same, Checker::PrevObj, || {
                    format!("reminded of {object:?}, which it does not hold")
                });
                self.require(hearing, self.reminded, Checker::Unique, || {
                    "a reminder nobody asked for".to_owned()
                });
            }
            Notification::Synced { version } => self.synced(version, hearing),
            _ => {}
        }
    }

    fn added(&mut self, object: &Object<Value>, hearing: &mut Hearing<'_>) {
        self.is_true(object, hearing);
        let (key, value) = (&object.key, *object.value);
        let old = self.held.insert(key.clone(), value);
        self.require(hearing, old.is_none(), Checker::Unique, || {
            format!("{object:?} is added, but held as {old:?}")
        });
        let heard = self.heard.insert(key.clone(), value.version);
        let newer = heard.is_none_or(|heard| heard <= value.version);
        self.require(hearing, newer, Checker::Ordered, || format!("{object:?} is added after {heard:?}"));
    }

    fn updated(&mut self, old: &Object<Value>, new: &Object<Value>, hearing: &mut Hearing<'_>) {
        self.is_true(new, hearing);
        let (key, value) = (&new.key, *new.value);
        let held = self.held.insert(key.clone(), value);
        let told = held == Some(*old.value) && old.key == *key;
        self.require(hearing, told, Checker::PrevObj, || {
            format!("{old:?} -> {new:?}, but it holds {held:?}")
        });
        let split = !hearing.split || old.value.uid == value.uid;
        self.require(hearing, split, Checker::NoLostDelete, || {
            format!("another incarnation is an update: {old:?} -> {new:?}")
        });
        // Net, there and back again is nothing new; only a restored server goes back.
        let repeated = held.is_some_and(|held| held == value) && !hearing.court.is_muted(Checker::Ordered);
        self.require(hearing, !repeated, Checker::Unique, || format!("{new:?} is told twice"));
        let heard = self.heard.insert(key.clone(), value.version);
        let newer = heard.is_none_or(|heard| heard <= value.version);
        self.require(hearing, newer, Checker::Ordered, || format!("{new:?} comes after {heard:?}"));
    }

    fn deleted(&mut self, key: &ObjectKey, last_state: &LastState<Value>, hearing: &mut Hearing<'_>) {
        let held = self.held.remove(key);
        self.require(hearing, held.is_some(), Checker::NoLostDelete, || {
            format!("{key} is deleted, but was unknown")
        });
        let last = last_state.object();
        let known = last.is_some_and(|last| last.key == *key);
        self.require(hearing, known, Checker::NoLostDelete, || {
            format!("{key}: {last_state:?} is not its last state")
        });
        let (Some(held), Some(last)) = (held, last) else { return };
        let same = !hearing.split || last.value.uid == held.uid;
        self.require(hearing, same, Checker::NoLostDelete, || {
            format!("{last_state:?} is told, but {held:?} was held")
        });
        let excused = hearing.emptied || hearing.court.is_muted(Checker::Ordered);
        let ended = excused || !hearing.split || hearing.truth.ended(key, &held);
        self.require(hearing, ended, Checker::NoLostDelete, || {
            format!("{held:?} of {key} is deleted, but was there")
        });
        match last_state {
            LastState::Known(last) => {
                let is_end = hearing.truth.is_end(last);
                self.require(hearing, is_end, Checker::NoLostDelete, || {
                    format!("{last:?} is not how the object ended")
                });
            }
            _ => self.is_true(last, hearing),
        }
        let newer = held.version <= last.value.version;
        self.require(hearing, newer, Checker::Ordered, || format!("deleted as {last:?}, held as {held:?}"));
        self.heard.insert(key.clone(), last.value.version);
    }

    fn synced(&mut self, version: &ResourceVersion, hearing: &mut Hearing<'_>) {
        self.require(hearing, !self.synced, Checker::Synced, || "the marker came twice".to_owned());
        self.synced = true;
        if self.emptied {
            return;
        }
        let listed = self.initial.take().unwrap_or_else(|| hearing.truth.decodable_at(number(version)));
        for (key, listed) in listed {
            // What came and went while this waited, it need not hear of; or later, if it came again.
            let stored = hearing.store.by_key(&key).is_some_and(|object| object.value.uid == listed.uid);
            let stayed =
                stored && !hearing.truth.left(&key, listed.version) && !hearing.unread.contains(&key);
            let told = self.heard.contains_key(&key) || !stayed;
            self.require(hearing, told, Checker::Synced, || format!("the marker came before {key}"));
        }
    }

    fn is_true(&self, object: &Object<Value>, hearing: &mut Hearing<'_>) {
        let named = object.version == object.value.version.into()
            && object.uid.to_string() == uid_text(object.value.uid);
        let holds = named && hearing.truth.had(object);
        self.require(hearing, holds, Checker::Filter, || format!("the server never showed {object:?}"));
    }

    fn require(
        &self,
        hearing: &mut Hearing<'_>,
        holds: bool,
        checker: Checker,
        message: impl FnOnce() -> String,
    ) {
        let name = self.name;
        hearing.court.require(holds, checker, || format!("handler {name}: {}", message()));
    }
}
