//! Notifications merged per object, in order of each object's first one.

use std::hash::BuildHasher;
use std::mem;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::{Batch, LastState, Notification, Object, ObjectKey, ResourceVersion};

/// A list, linked through a slab, so that what vanishes leaves no hole; and a table by key.
pub(super) struct Conflated<V> {
    nodes: Vec<Node<V>>,
    free: Vec<u32>,
    head: u32,
    tail: u32,
    keys: HashTable<u32>,
    hasher: FixedState,
    synced: Option<u32>,
    relisted: Option<u32>,
    /// Notifications, not nodes.
    len: usize,
}

struct Node<V> {
    previous: u32,
    next: u32,
    content: Content<V>,
}

enum Content<V> {
    Unused,
    Object { pending: Pending<V>, hash: u64 },
    Synced(ResourceVersion),
    Relisted(ResourceVersion),
}

/// The net change of one object since the handler was told of it last.
enum Pending<V> {
    Added { object: Arc<Object<V>>, in_initial_list: bool },
    Updated { old: Arc<Object<V>>, new: Arc<Object<V>> },
    Deleted { key: ObjectKey, last_state: LastState<V> },
    Recreated { last_state: LastState<V>, object: Arc<Object<V>>, in_initial_list: bool },
    Resync { object: Arc<Object<V>> },
}

/// No node.
const NONE: u32 = u32::MAX;

impl<V> Conflated<V> {
    pub(super) fn new(hash_seed: u64) -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            head: NONE,
            tail: NONE,
            keys: HashTable::new(),
            hasher: FixedState::with_seed(hash_seed),
            synced: None,
            relisted: None,
            len: 0,
        }
    }

    /// The number of notifications.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds notifications in order; says how many, of these and of those that waited, were merged away.
    pub(super) fn extend(&mut self, batch: &[Notification<V>]) -> u64 {
        let before = self.len;
        for notification in batch {
            self.add(notification);
        }
        (before + batch.len() - self.len) as u64
    }

    /// Takes the oldest nodes, up to this many.
    pub(super) fn pop(&mut self, nodes: usize) -> Batch<V> {
        let mut batch = Vec::with_capacity(nodes.min(self.len) + 1);
        for _ in 0..nodes {
            if self.head == NONE {
                break;
            }
            match self.remove(self.head) {
                Content::Object { pending, .. } => pending.tell(&mut batch),
                Content::Synced(version) => batch.push(Notification::Synced { version }),
                Content::Relisted(version) => batch.push(Notification::Relisted { version }),
                Content::Unused => unreachable!("the list names used nodes"),
            }
        }
        Arc::new(batch)
    }

    fn add(&mut self, notification: &Notification<V>) {
        match notification {
            Notification::Synced { version } => {
                if let Some(earlier) = self.synced {
                    self.remove(earlier);
                }
                self.synced = Some(self.append(Content::Synced(version.clone())));
            }
            Notification::Relisted { version } => {
                if let Some(earlier) = self.relisted {
                    self.remove(earlier);
                }
                self.relisted = Some(self.append(Content::Relisted(version.clone())));
            }
            Notification::Added { .. }
            | Notification::Updated { .. }
            | Notification::Deleted { .. }
            | Notification::Resync { .. } => self.add_object(Pending::of(notification)),
        }
    }

    fn add_object(&mut self, new: Pending<V>) {
        let hash = self.hasher.hash_one(new.key());
        let same = |&node: &u32| matches!(&self.nodes[node as usize].content, Content::Object { pending, .. } if pending.key() == new.key());
        let Some(&node) = self.keys.find(hash, same) else {
            let node = self.append(Content::Object { pending: new, hash });
            self.keys.insert_unique(hash, node, |&node| match &self.nodes[node as usize].content {
                Content::Object { hash, .. } => *hash,
                _ => unreachable!("the key table names objects"),
            });
            return;
        };
        let content = &mut self.nodes[node as usize].content;
        let Content::Object { pending, .. } = mem::replace(content, Content::Unused) else {
            unreachable!("the key table names objects");
        };
        self.len -= pending.len();
        match pending.then(new) {
            Some(merged) => {
                self.len += merged.len();
                *content = Content::Object { pending: merged, hash };
            }
            None => {
                self.forget_key(hash, node);
                self.unlink(node);
            }
        }
    }

    fn append(&mut self, content: Content<V>) -> u32 {
        self.len += content.len();
        let new = Node { previous: self.tail, next: NONE, content };
        let number = self.free.pop().unwrap_or_else(|| {
            let next = u32::try_from(self.nodes.len()).ok().filter(|&next| next != NONE);
            next.expect("fewer than 2^32 - 1 objects wait for a handler")
        });
        match self.nodes.get_mut(number as usize) {
            Some(node) => *node = new,
            None => self.nodes.push(new),
        }
        match self.tail {
            NONE => self.head = number,
            tail => self.nodes[tail as usize].next = number,
        }
        self.tail = number;
        number
    }

    fn remove(&mut self, node: u32) -> Content<V> {
        let content = mem::replace(&mut self.nodes[node as usize].content, Content::Unused);
        self.len -= content.len();
        match &content {
            Content::Object { hash, .. } => self.forget_key(*hash, node),
            Content::Synced(_) => self.synced = None,
            Content::Relisted(_) => self.relisted = None,
            Content::Unused => unreachable!("the list names used nodes"),
        }
        self.unlink(node);
        content
    }

    fn forget_key(&mut self, hash: u64, node: u32) {
        let entry = self.keys.find_entry(hash, |&own| own == node);
        entry.expect("a listed object is in the key table").remove();
    }

    fn unlink(&mut self, node: u32) {
        let Node { previous, next, .. } = self.nodes[node as usize];
        match previous {
            NONE => self.head = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => self.nodes[next as usize].previous = previous,
        }
        self.free.push(node);
    }
}

impl<V> Content<V> {
    fn len(&self) -> usize {
        match self {
            Self::Unused => 0,
            Self::Object { pending, .. } => pending.len(),
            Self::Synced(_) | Self::Relisted(_) => 1,
        }
    }
}

impl<V> Pending<V> {
    /// What waits after one notification about an object.
    fn of(notification: &Notification<V>) -> Self {
        match notification.clone() {
            Notification::Added { object, in_initial_list } => Self::Added { object, in_initial_list },
            Notification::Updated { old, new } => Self::Updated { old, new },
            Notification::Deleted { key, last_state } => Self::Deleted { key, last_state },
            Notification::Resync { object } => Self::Resync { object },
            Notification::Synced { .. } | Notification::Relisted { .. } => {
                unreachable!("markers are not about an object")
            }
        }
    }

    fn key(&self) -> &ObjectKey {
        match self {
            Self::Added { object, .. }
            | Self::Updated { new: object, .. }
            | Self::Recreated { object, .. }
            | Self::Resync { object } => &object.key,
            Self::Deleted { key, .. } => key,
        }
    }

    /// How many notifications this will be.
    fn len(&self) -> usize {
        match self {
            Self::Recreated { .. } => 2,
            _ => 1,
        }
    }

    /// The net change of this and what came after it, if any is left.
    ///
    /// What cannot follow (an addition of what is there) is given the nearest sense instead of a panic: it could only
    /// ever panic under load.
    fn then(self, next: Self) -> Option<Self> {
        Some(match (self, next) {
            (Self::Resync { .. }, next) => next,
            (waiting, Self::Resync { .. }) => waiting,

            (Self::Added { .. }, Self::Deleted { .. }) => return None,
            (Self::Added { in_initial_list, .. }, next) => {
                Self::Added { object: next.into_object(), in_initial_list }
            }

            (Self::Updated { .. }, deleted @ Self::Deleted { .. }) => deleted,
            (Self::Updated { old, .. }, next) => Self::Updated { old, new: next.into_object() },

            (deleted @ Self::Deleted { .. }, Self::Deleted { .. }) => deleted,
            (Self::Deleted { last_state, .. }, Self::Added { object, in_initial_list }) => {
                Self::Recreated { last_state, object, in_initial_list }
            }
            (Self::Deleted { last_state, .. }, next) => {
                Self::Recreated { last_state, object: next.into_object(), in_initial_list: false }
            }

            (Self::Recreated { last_state: first, .. }, Self::Deleted { key, last_state: last }) => {
                let uid = |state: &LastState<V>| state.object().map(|object| object.uid.clone());
                let same = uid(&last).is_some() && uid(&first) == uid(&last);
                Self::Deleted { key, last_state: if same { last } else { first } }
            }
            (Self::Recreated { last_state, in_initial_list, .. }, next) => {
                Self::Recreated { last_state, object: next.into_object(), in_initial_list }
            }
        })
    }

    /// The object as it is after this.
    fn into_object(self) -> Arc<Object<V>> {
        match self {
            Self::Added { object, .. }
            | Self::Updated { new: object, .. }
            | Self::Recreated { object, .. }
            | Self::Resync { object } => object,
            Self::Deleted { .. } => unreachable!("deletions are handled before"),
        }
    }

    fn tell(self, batch: &mut Vec<Notification<V>>) {
        match self {
            Self::Added { object, in_initial_list } => {
                batch.push(Notification::Added { object, in_initial_list })
            }
            Self::Updated { old, new } => batch.push(Notification::Updated { old, new }),
            Self::Deleted { key, last_state } => batch.push(Notification::Deleted { key, last_state }),
            Self::Resync { object } => batch.push(Notification::Resync { object }),
            Self::Recreated { last_state, object, in_initial_list } => {
                batch.push(Notification::Deleted { key: object.key.clone(), last_state });
                batch.push(Notification::Added { object, in_initial_list });
            }
        }
    }
}
