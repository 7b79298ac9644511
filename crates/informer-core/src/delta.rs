//! What happened to the collection, as the reflector tells it and the store applies it.

use std::sync::Arc;

use crate::{Item, Object, ObjectKey, ResourceVersion, Uid};

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

/// An object's end.
#[derive(Debug)]
pub struct Deletion<V> {
    /// Who it was; the version is the one at which it is absent.
    pub identity: Identity,
    /// Its final state as the server sent it; `None` if that could not be decoded or was not sent.
    pub last_state: Option<Arc<Object<V>>>,
}

/// A list of the whole collection.
#[derive(Debug)]
pub struct Replacement<V> {
    /// The version of the list.
    pub version: ResourceVersion,
    /// Its entries; if a key occurs twice the later one counts.
    pub entries: Vec<Entry<V>>,
    /// False if some item could not even be identified: then a stored key that is absent may still exist,
    /// and this replacement deletes nothing.
    pub complete: bool,
}

/// One item of a list.
#[derive(Debug)]
pub enum Entry<V> {
    /// A decoded object.
    Object(Item<V>),
    /// The very version that is stored: it was not decoded again.
    Unchanged(Identity),
    /// Present, but it cannot be decoded: what is stored, if anything, stays and is stale.
    Undecodable(Identity),
}

impl<V> Entry<V> {
    /// The key of the item.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Object(item) => &item.object.key,
            Self::Unchanged(identity) | Self::Undecodable(identity) => &identity.key,
        }
    }
}
