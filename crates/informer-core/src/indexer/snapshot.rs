//! The whole store at one version, owned by whoever asked for it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::hash_key;
use super::slab::{Objects, PAGE_LEN, Page, split};
use crate::{Object, ObjectKey, ResourceVersion};

/// Every object of a store as it was at one version; unaffected by what happens to the store later.
///
/// Taking one costs an `Arc` clone for each 64 objects, cloning one costs a single `Arc` clone. It keeps alive the
/// objects it shows, and delays the store only by one copied page (64 `Arc` clones) the first time it writes to a
/// page after the snapshot. The first lookup by key builds a table, in time linear in the number of objects.
pub struct Snapshot<V>(Arc<Inner<V>>);

struct Inner<V> {
    pages: Box<[Arc<Page<V>>]>,
    len: usize,
    stale: usize,
    version: ResourceVersion,
    hasher: FixedState,
    keys: OnceLock<HashTable<u32>>,
}

impl<V> Snapshot<V> {
    pub(super) fn new(
        pages: Box<[Arc<Page<V>>]>,
        len: usize,
        stale: usize,
        version: ResourceVersion,
        hasher: FixedState,
    ) -> Self {
        Self(Arc::new(Inner { pages, len, stale, version, hasher, keys: OnceLock::new() }))
    }

    /// The version at which this was the server's state, but for stale objects; empty if none was known.
    pub fn version(&self) -> &ResourceVersion {
        &self.0.version
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// How many objects are not known to be what the server had at that version.
    pub fn stale_len(&self) -> usize {
        self.0.stale
    }

    /// The objects in slot order: the same for the same history of the store, otherwise meaningless.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Object<V>>> {
        Objects::new(&self.0.pages, self.0.len)
    }

    /// The objects in key order. Sorts them each time.
    pub fn in_key_order(&self) -> Vec<Arc<Object<V>>> {
        let mut objects: Vec<_> = self.iter().cloned().collect();
        objects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        objects
    }

    /// The object of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object<V>>> {
        self.find(namespace, name).map(|(object, _)| object)
    }

    /// The object with this key.
    pub fn by_key(&self, key: &ObjectKey) -> Option<&Arc<Object<V>>> {
        self.get(key.namespace(), key.name())
    }

    /// Whether the object is there and not known to be what the server had: its newer version could not be decoded, or an
    /// incomplete list did not have it.
    pub fn is_stale(&self, key: &ObjectKey) -> bool {
        self.0.stale > 0 && self.find(key.namespace(), key.name()).is_some_and(|(_, stale)| stale)
    }

    fn find(&self, namespace: &str, name: &str) -> Option<(&Arc<Object<V>>, bool)> {
        let inner = &*self.0;
        let at = |slot: u32| {
            let (page, position) = split(slot);
            let object =
                inner.pages[page].get(position).expect("a slot named by the key table holds an object");
            (object, inner.pages[page].is_stale(position))
        };
        let hash = hash_key(&inner.hasher, namespace, name);
        let keys = inner.keys.get_or_init(|| inner.key_table());
        let found = keys.find(hash, |&slot| {
            let key = &at(slot).0.key;
            key.name() == name && key.namespace() == namespace
        });
        found.map(|&slot| at(slot))
    }
}

impl<V> Inner<V> {
    fn key_table(&self) -> HashTable<u32> {
        let hash = |object: &Object<V>| hash_key(&self.hasher, object.key.namespace(), object.key.name());
        let mut keys = HashTable::with_capacity(self.len);
        for (number, page) in (0u32..).zip(&self.pages) {
            for position in 0..PAGE_LEN {
                if let Some(object) = page.get(position) {
                    let slot = number * PAGE_LEN as u32 + position as u32;
                    keys.insert_unique(hash(object), slot, |_| {
                        unreachable!("the table has room for every object")
                    });
                }
            }
        }
        keys
    }
}

impl<V> Clone for Snapshot<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> fmt::Debug for Snapshot<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("version", &self.0.version).field("len", &self.0.len).finish()
    }
}
