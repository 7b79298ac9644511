//! What happened to the collection, as the reflector tells it and the store applies it.

use std::sync::Arc;

use crate::{Item, LastState, Object, ObjectKey, ResourceVersion, Uid};

/// One change on its way from the server to the store.
#[derive(Debug)]
pub enum Delta<V> {
    /// The server says the object is new.
    Added(Item<V>),
    /// The server says the object changed.
    Updated(Item<V>),
    /// The server says the object is gone.
    Deleted(Deletion<V>),
    /// The object was in a list of the whole collection (a queue used alone emits these; informers use
    /// [`Delta::ReplacedAll`]).
    Replaced(Item<V>),
    /// The whole collection at one version, applied atomically.
    ReplacedAll(Replacement<V>),
    /// Replay of one stored object; the server was not asked.
    Sync(ObjectKey),
    /// Replay of every stored object; the server was not asked.
    SyncAll,
    /// Nothing changed up to this version.
    Bookmark(ResourceVersion),
    /// The object exists in a newer version that cannot be decoded: what is stored is stale.
    Undecodable(Identity),
}

impl<V> Delta<V> {
    /// The key of the one object concerned; `None` if the delta is about the whole collection.
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Added(item) | Self::Updated(item) | Self::Replaced(item) => Some(&item.object.key),
            Self::Deleted(deletion) => Some(&deletion.identity.key),
            Self::Undecodable(identity) => Some(&identity.key),
            Self::Sync(key) => Some(key),
            Self::ReplacedAll(_) | Self::SyncAll | Self::Bookmark(_) => None,
        }
    }
}

/// Who an object is, known even when the rest of it cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which incarnation.
    pub uid: Uid,
    /// Which version.
    pub version: ResourceVersion,
}

impl Identity {
    /// Who this object is.
    pub fn of<V>(object: &Object<V>) -> Self {
        Self { key: object.key.clone(), uid: object.uid.clone(), version: object.version.clone() }
    }
}

/// An object's end.
#[derive(Debug)]
pub struct Deletion<V> {
    /// Who it was; the version is the one at which it is absent.
    pub identity: Identity,
    /// Its final state, at the very version of `identity`, as the server sent it; `None` if that could not be decoded or
    /// was not sent. A queue used alone may put an earlier state here, see [`state`](Self::state).
    pub last_state: Option<Arc<Object<V>>>,
}

impl<V> Deletion<V> {
    /// What this says of the object's end: `Known` if the last state is the one at the deletion's own version.
    pub fn state(&self) -> LastState<V> {
        match &self.last_state {
            Some(last)
                if last.uid == self.identity.uid
                    && last.version == self.identity.version
                    && !last.version.is_empty() =>
            {
                LastState::Known(Arc::clone(last))
            }
            Some(last) => LastState::Stale(Arc::clone(last)),
            None => LastState::Unknown,
        }
    }
}

/// A list of the whole collection, or of one namespace of it.
#[derive(Debug)]
pub struct Replacement<V> {
    /// The version of the list.
    pub version: ResourceVersion,
    /// The namespace that was listed, or `None` for all: stored objects of other namespaces are not concerned, neither
    /// deleted nor looked at.
    pub namespace: Option<Arc<str>>,
    /// Its entries; if a key occurs twice the later one counts.
    pub entries: Vec<Entry<V>>,
    /// False if some item could not even be identified: then a stored key that is absent may still exist,
    /// and this replacement deletes nothing.
    pub complete: bool,
}

/// One item of a list. Small: a million of them wait until the last one is there.
#[derive(Debug)]
pub enum Entry<V> {
    /// A decoded object.
    Object(Item<V>),
    /// This very object was stored when the item came: it was not decoded again.
    Unchanged(Arc<Object<V>>),
    /// Present, but it cannot be decoded: what is stored, if anything, stays and is stale.
    Undecodable(Box<Identity>),
}

const _: () = assert!(size_of::<Entry<()>>() == 32);

impl<V> Entry<V> {
    /// The key of the item.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Object(item) => &item.object.key,
            Self::Unchanged(object) => &object.key,
            Self::Undecodable(identity) => &identity.key,
        }
    }
}
