//! The store against the server's history.

use std::collections::{BTreeMap, BTreeSet};

use informer_core::{IndexId, Indexer, Object, ObjectKey, Snapshot};

use super::{Checker, Court};
use crate::connection::number;
use crate::model_server::{Change, ModelServer, Namespace, Stored};
use crate::value::{Value, values};

/// How often a snapshot is taken, to be looked at again later.
const APPLIES_A_SNAPSHOT: u64 = 40;

/// What the server had, as far as this informer is concerned.
#[derive(Clone, Copy)]
pub(crate) struct Truth<'a> {
    pub(crate) server: &'a ModelServer,
    /// The namespaces of the informer.
    pub(crate) scopes: &'a [Namespace],
}

impl Truth<'_> {
    /// Whether the informer is to have this.
    pub(crate) fn shows(&self, key: &ObjectKey, object: Option<&Stored>) -> bool {
        self.scopes.iter().any(|namespace| self.server.sees(namespace.as_deref(), key, object))
    }

    /// Whether the server once had this very object, for this informer to see.
    pub(crate) fn had(&self, object: &Object<Value>) -> bool {
        self.server.change_at(object.value.version).is_some_and(|change| {
            let same = change.after.is_some_and(|after| is(&after, &object.value));
            change.key == object.key && same && self.shows(&object.key, change.after.as_ref())
        })
    }

    /// Whether an object that the informer saw ended like this.
    pub(crate) fn is_end(&self, object: &Object<Value>) -> bool {
        self.server.change_at(object.value.version).is_some_and(|change| {
            let same = change.before.is_some_and(|before| {
                (before.uid, before.content) == (object.value.uid, object.value.content)
            });
            let gone = !self.shows(&object.key, change.after.as_ref());
            change.key == object.key && same && gone && self.shows(&object.key, change.before.as_ref())
        })
    }

    /// What the informer could read at that version.
    pub(crate) fn decodable_at(&self, version: u64) -> Vec<(ObjectKey, Value)> {
        let state = self.server.state_at(version).into_iter();
        let shown = state.filter(|(key, object)| object.decodable && self.shows(key, Some(object)));
        shown.map(|(key, object)| (key, value(&object))).collect()
    }

    /// Whether the object of this key was gone, out of sight or undecodable some time after this version.
    pub(crate) fn left(&self, key: &ObjectKey, version: u64) -> bool {
        let log = &self.server.log;
        let after = &log[log.partition_point(|change| change.version <= version)..];
        let seen = |change: &Change| {
            let readable = change.after.filter(|after| after.decodable);
            self.shows(key, readable.as_ref())
        };
        after.iter().any(|change| change.key == *key && !seen(change))
    }

    /// Whether this incarnation was gone or out of sight some time after this version.
    pub(crate) fn ended(&self, key: &ObjectKey, object: &Value) -> bool {
        let log = [&self.server.lost[..], &self.server.log].into_iter().flatten();
        let mut after = log.filter(|change| change.version > object.version && change.key == *key);
        after.any(|change| {
            !self.shows(key, change.after.as_ref())
                || change.after.is_some_and(|after| after.uid != object.uid)
        })
    }

    /// What the informer is to have in the end.
    pub(crate) fn present(&self) -> BTreeMap<ObjectKey, Value> {
        let objects = self.server.objects.iter().filter(|(key, object)| self.shows(key, Some(object)));
        objects.map(|(key, object)| (key.clone(), value(object))).collect()
    }
}

fn value(stored: &Stored) -> Value {
    Value { uid: stored.uid, version: stored.version, content: stored.content }
}

fn is(stored: &Stored, object: &Value) -> bool {
    value(stored) == *object
}

/// The server's state at one version, moved along its history.
#[derive(Default)]
struct Mirror {
    version: u64,
    position: usize,
    state: BTreeMap<ObjectKey, Stored>,
}

impl Mirror {
    fn move_to(&mut self, log: &[Change], version: u64) {
        if version < self.version {
            *self = Self::default();
        }
        self.version = version;
        while let Some(change) = log.get(self.position).filter(|change| change.version <= version) {
            match change.after {
                Some(after) => self.state.insert(change.key.clone(), after),
                None => self.state.remove(&change.key),
            };
            self.position += 1;
        }
    }
}

type Contents = Vec<(ObjectKey, Value)>;

/// Looks at the store each time it has changed.
#[derive(Default)]
pub(crate) struct StoreCheck {
    mirror: Mirror,
    /// The last version up to which all scopes were known to be.
    version: u64,
    applies: u64,
    kept: Option<(Snapshot<Value>, Contents)>,
    /// Items of lists that could not be identified: the store cannot know of them.
    pub(crate) unread: BTreeSet<ObjectKey>,
}

impl StoreCheck {
    /// The store has changed; `version` is the one up to which it should have everything, unless nobody can say so now.
    pub(crate) fn applied(
        &mut self,
        store: &Indexer<Value>,
        version: Option<u64>,
        truth: Truth<'_>,
        indices: &[IndexId],
        court: &mut Court,
    ) {
        self.applies += 1;
        store.validate();
        check_indices(store, indices, court);
        if let Some(version) = version {
            court.require(version >= self.version, Checker::Ordered, || {
                format!("the store goes back from {} to {version}", self.version)
            });
            self.version = version;
            self.mirror.move_to(&truth.server.log, version);
            self.compare(store, truth, court);
        }
        if self.applies.is_multiple_of(APPLIES_A_SNAPSHOT) {
            self.check_snapshot(court);
            self.kept = Some((store.snapshot(), contents(store)));
        }
    }

    /// Looks at the last snapshot again.
    pub(crate) fn check_snapshot(&mut self, court: &mut Court) {
        if let Some((snapshot, was)) = self.kept.take() {
            let is: Vec<_> =
                snapshot.in_key_order().iter().map(|object| (object.key.clone(), *object.value)).collect();
            court.require(is == was, Checker::Snapshot, || format!("a snapshot was {was:?} and is {is:?}"));
        }
    }

    fn compare(&self, store: &Indexer<Value>, truth: Truth<'_>, court: &mut Court) {
        let version = self.version;
        // With several scopes one may be further on than the version that all have reached; and so may be the later pages of
        // a list.
        let ahead = truth.scopes.len() > 1 || truth.server.sloppy_pages;
        for (key, stored) in self.mirror.state.iter().filter(|(key, stored)| truth.shows(key, Some(stored))) {
            let has = store.by_key(key);
            if has.is_some_and(|object| is(stored, &object.value)) || self.unread.contains(key) {
                continue;
            }
            let stale = store.is_stale(key);
            let newer = ahead && later(truth, key, version, has.map(|object| object.value.version));
            let excused = newer || stale || (!stored.decodable && has.is_none());
            court.require(excused, Checker::ReadYourWrites, || {
                format!("at {version} the server has {key} {stored:?}, the store {has:?}, stale {stale}")
            });
            court.require(excused, Checker::Snapshot, || {
                format!("at {version}: {key} {stored:?}, stored {has:?}")
            });
        }
        for object in store.iter() {
            let shown = truth.shows(&object.key, self.mirror.state.get(&object.key));
            let newer = ahead && object.value.version > version;
            let excused = shown || newer || store.is_stale(&object.key);
            court
                .require(excused, Checker::Snapshot, || format!("at {version} the server has no {object:?}"));
        }
    }
}

/// Whether the store may have gone on to this version (or absence) of a key, after `version`.
fn later(truth: Truth<'_>, key: &ObjectKey, version: u64, has: Option<u64>) -> bool {
    match has {
        Some(has) => has > version,
        None => truth.left(key, version),
    }
}

/// Everything in a store, in key order.
fn contents(store: &Indexer<Value>) -> Contents {
    let mut contents: Contents = store.iter().map(|object| (object.key.clone(), *object.value)).collect();
    contents.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    contents
}

fn check_indices(store: &Indexer<Value>, indices: &[IndexId], court: &mut Court) {
    for (position, &index) in indices.iter().enumerate() {
        let unknown: BTreeSet<_> = store.unindexed(index).iter().map(|object| object.key.clone()).collect();
        let mut expected: BTreeMap<String, BTreeSet<ObjectKey>> = BTreeMap::new();
        for object in store.iter().filter(|object| !unknown.contains(&object.key)) {
            for value in values(&object.value, position) {
                expected.entry(value.to_string()).or_default().insert(object.key.clone());
            }
        }
        let has = store.index_values(index);
        court.require(has.iter().map(|value| &**value).eq(expected.keys()), Checker::Index, || {
            format!("index {position} has the values {has:?} instead of {:?}", expected.keys())
        });
        for (value, keys) in &expected {
            let has = store.index_keys(index, value);
            court.require(has.iter().eq(keys), Checker::Index, || {
                format!("index {position} has {has:?} under {value} instead of {keys:?}")
            });
        }
    }
}

/// Whether the informer has arrived: nothing stale, and everything as the server has it.
pub(crate) fn has_converged(store: &Indexer<Value>, truth: Truth<'_>) -> Result<(), String> {
    let (has, wants) = (contents(store), truth.present());
    if store.stale_len() > 0 || !has.iter().map(|(key, value)| (key, value)).eq(&wants) {
        return Err(format!("{} stale, stored {has:?}, served {wants:?}", store.stale_len()));
    }
    Ok(())
}

impl StoreCheck {
    /// The version as a number; `None` if there is none yet.
    pub(crate) fn version_of(version: &informer_core::ResourceVersion) -> Option<u64> {
        (!version.is_empty()).then(|| number(version))
    }
}
