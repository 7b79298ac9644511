//! What a handler is told.

use std::fmt;
use std::sync::Arc;

use crate::{Object, ObjectKey, ResourceVersion};

/// Notifications that came of one write of the store, shared by all who are told.
// Not a slice: to share one of those, everything is copied, and a first list may be of a million objects.
pub type Batch<V> = Arc<Vec<Notification<V>>>;

/// One thing that happened to the store, as a handler hears of it.
///
/// Per handler, notifications of one object arrive in the order in which the server made the changes, always after the
/// store shows them. A handler hears of an object's deletion if and only if it was told of the object.
#[non_exhaustive]
pub enum Notification<V> {
    /// The object is new to this handler.
    Added {
        /// The object.
        object: Arc<Object<V>>,
        /// Whether it was there when the handler began to listen.
        in_initial_list: bool,
    },
    /// The object changed.
    Updated {
        /// What this handler was told last.
        old: Arc<Object<V>>,
        /// What is stored now.
        new: Arc<Object<V>>,
    },
    /// The object is gone.
    Deleted {
        /// Which object.
        key: ObjectKey,
        /// What is known of its end.
        last_state: LastState<V>,
    },
    /// The object did not change; the handler asked to be reminded from time to time.
    Resync {
        /// The object.
        object: Arc<Object<V>>,
    },
    /// Every object of the first list has been told before this.
    Synced {
        /// The version of that list.
        version: ResourceVersion,
    },
    /// The version was lost and the collection was listed again; the differences have been told before this.
    Relisted {
        /// The version of that list.
        version: ResourceVersion,
    },
}

/// What is known of a deleted object's end.
#[doc(alias = "DeletedFinalStateUnknown")]
pub enum LastState<V> {
    /// The object as it was when it was deleted.
    Known(Arc<Object<V>>),
    /// The deletion itself was missed (or its object could not be decoded): this is the last state seen, and
    /// there may have been later ones.
    Stale(Arc<Object<V>>),
    /// Nothing but the key. Only a queue used alone, without a store behind it, says this.
    Unknown,
}

impl<V> LastState<V> {
    /// The last state seen, if any was.
    pub fn object(&self) -> Option<&Arc<Object<V>>> {
        match self {
            Self::Known(object) | Self::Stale(object) => Some(object),
            Self::Unknown => None,
        }
    }
}

impl<V> Notification<V> {
    /// The object's key; `None` for [`Synced`](Self::Synced) and [`Relisted`](Self::Relisted).
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Added { object, .. } | Self::Resync { object } | Self::Updated { new: object, .. } => {
                Some(&object.key)
            }
            Self::Deleted { key, .. } => Some(key),
            Self::Synced { .. } | Self::Relisted { .. } => None,
        }
    }
}

// Derived impls would ask `V: Clone` and `V: Debug`, and the latter would print secrets.

impl<V> Clone for LastState<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Known(object) => Self::Known(Arc::clone(object)),
            Self::Stale(object) => Self::Stale(Arc::clone(object)),
            Self::Unknown => Self::Unknown,
        }
    }
}

impl<V> fmt::Debug for LastState<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(object) => write!(f, "Known({object:?})"),
            Self::Stale(object) => write!(f, "Stale({object:?})"),
            Self::Unknown => f.write_str("Unknown"),
        }
    }
}

impl<V> Clone for Notification<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, in_initial_list } => {
                Self::Added { object: Arc::clone(object), in_initial_list: *in_initial_list }
            }
            Self::Updated { old, new } => Self::Updated { old: Arc::clone(old), new: Arc::clone(new) },
            Self::Deleted { key, last_state } => {
                Self::Deleted { key: key.clone(), last_state: last_state.clone() }
            }
            Self::Resync { object } => Self::Resync { object: Arc::clone(object) },
            Self::Synced { version } => Self::Synced { version: version.clone() },
            Self::Relisted { version } => Self::Relisted { version: version.clone() },
        }
    }
}

impl<V> fmt::Debug for Notification<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { object, in_initial_list: true } => write!(f, "Added({object:?}, initial)"),
            Self::Added { object, .. } => write!(f, "Added({object:?})"),
            Self::Updated { old, new } => write!(f, "Updated({old:?} -> {new:?})"),
            Self::Deleted { key, last_state } => write!(f, "Deleted({key}, {last_state:?})"),
            Self::Resync { object } => write!(f, "Resync({object:?})"),
            Self::Synced { version } => write!(f, "Synced({version})"),
            Self::Relisted { version } => write!(f, "Relisted({version})"),
        }
    }
}
