//! The store: objects by key, indices over them, and the version they are at.

mod apply;
mod listed;
mod slab;
mod snapshot;
mod validate;
mod value_index;

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::mem;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

pub use apply::ApplyOptions;
pub use listed::{Listed, ListedIntoIter, Retired};
use slab::Slab;
pub use snapshot::Snapshot;
use value_index::ValueIndex;

use crate::{IndexValues, Object, ObjectKey, ResourceVersion};

/// Names one index of an [`Indexer`]: the position of its values in [`IndexValues`].
///
/// Positions are given in order and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(pub usize);

/// Objects by key, with indices, at one version.
///
/// [`apply`](Self::apply) is the one place where deltas become contents and notifications; everything else reads.
/// The index values of an object come with it: functions over objects run outside. There is always an index by
/// namespace. A read costs one table lookup; a write costs one more for each index whose value changed. Nothing is
/// ever listed in hash order: the same history gives the same order whatever the hash seed.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::{ApplyOptions, Delta, Indexer, Item, Notification, Object, ObjectKey, Uid};
///
/// let mut pods = Indexer::new(1);
/// let by_node = pods.add_index();
/// let object = Arc::new(Object {
///     key: ObjectKey::new("team-a", "web-0"),
///     uid: Uid::new("u1"),
///     version: 5.into(),
///     value: Arc::new("a pod"),
/// });
/// let index_values = [["node-7"]].into_iter().collect();
/// let added = Delta::Added(Item { object, index_values });
/// let notifications = pods.apply([added], ApplyOptions::default());
///
/// assert!(matches!(&notifications[..], [Notification::Added { in_initial_list: false, .. }]));
/// assert_eq!(*pods.get("team-a", "web-0").unwrap().value, "a pod");
/// assert_eq!(pods.by_index(by_node, "node-7").len(), 1);
/// assert_eq!(pods.version(), &5.into());
/// ```
#[doc(alias = "Store")]
#[doc(alias = "ThreadSafeStore")]
pub struct Indexer<V> {
    slab: Slab<V>,
    /// Slots by key.
    keys: HashTable<u32>,
    /// The hash of each slot's key, so that growing and removing touch no object.
    hashes: Vec<u64>,
    hasher: FixedState,
    by_namespace: ValueIndex<V>,
    /// By position; `None` once removed.
    indices: Vec<Option<ValueIndex<V>>>,
    /// Lists given up by the write under way.
    retired: Retired<V>,
    /// Empty if unknown.
    version: ResourceVersion,
    synced: bool,
}

impl<V> Indexer<V> {
    /// An empty store. The seed goes into the hash of names and index values, which are other people's text: random
    /// in production, fixed in a simulation. It changes no output.
    pub fn new(hash_seed: u64) -> Self {
        Self {
            slab: Slab::new(),
            keys: HashTable::new(),
            hashes: Vec::new(),
            hasher: FixedState::with_seed(hash_seed),
            by_namespace: ValueIndex::new(),
            indices: Vec::new(),
            retired: Retired::default(),
            version: ResourceVersion::new(""),
            synced: false,
        }
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version the contents are at: every change up to it is in them. Empty before the first one is known, and
    /// after a list that had none.
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Whether the first list of the whole collection has been applied.
    pub fn has_synced(&self) -> bool {
        self.synced
    }

    /// The object of this name; cluster-scoped objects have the empty namespace.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object<V>>> {
        self.find(namespace, name).map(|slot| self.slab.object(slot))
    }

    /// The object with this key.
    #[doc(alias = "GetByKey")]
    pub fn by_key(&self, key: &ObjectKey) -> Option<&Arc<Object<V>>> {
        self.get(key.namespace(), key.name())
    }

    /// Whether an object of this name is stored.
    pub fn contains(&self, namespace: &str, name: &str) -> bool {
        self.find(namespace, name).is_some()
    }

    /// The stored object, for whoever decides if one off the wire needs decoding at all.
    ///
    /// `None` for a stale object, which is to be decoded again whatever its version.
    pub fn known(&self, namespace: &str, name: &str) -> Option<&Arc<Object<V>>> {
        let slot = self.find(namespace, name).filter(|&slot| !self.slab.is_stale(slot))?;
        Some(self.slab.object(slot))
    }

    /// Whether the object is stored and not known to be what the server has: its newer version could not be decoded, or
    /// an incomplete list did not have it.
    pub fn is_stale(&self, key: &ObjectKey) -> bool {
        self.slab.stale_len() > 0
            && self.find(key.namespace(), key.name()).is_some_and(|slot| self.slab.is_stale(slot))
    }

    /// How many objects are stale.
    pub fn stale_len(&self) -> usize {
        self.slab.stale_len()
    }

    /// Every object, in slot order: the same for the same history, otherwise meaningless.
    #[doc(alias = "List")]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Object<V>>> {
        self.slab.objects()
    }

    /// The objects of one namespace, in an order that depends on the history alone.
    pub fn list_namespace<'a>(
        &'a self,
        namespace: &str,
    ) -> impl ExactSizeIterator<Item = &'a Arc<Object<V>>> + use<'a, V> {
        self.objects_of(self.by_namespace.members(&self.hasher, namespace))
    }

    /// The values of the objects of one namespace, in the same order, as a list that all readers share.
    ///
    /// Costs one `Arc` clone, and one for each value if nobody has read it since it was given up: somebody held it when
    /// it changed, or it changed more often than it is long without being read.
    pub fn namespace_listed(&self, namespace: &str) -> Listed<V> {
        self.by_namespace.listed(&self.hasher, namespace, |slot| &self.slab.object(slot).value)
    }

    /// The namespaces that have objects, sorted.
    pub fn namespaces(&self) -> Vec<Arc<str>> {
        self.by_namespace.values()
    }

    /// The objects with this value under an index, each once, in an order that depends on the history alone. None if
    /// the index was removed.
    pub fn by_index<'a>(
        &'a self,
        index: IndexId,
        value: &str,
    ) -> impl ExactSizeIterator<Item = &'a Arc<Object<V>>> + use<'a, V> {
        self.objects_of(self.index(index).map_or(&[], |own| own.members(&self.hasher, value)))
    }

    /// The values of those objects, in the same order, as a list that all readers share: see
    /// [`namespace_listed`](Self::namespace_listed).
    pub fn index_listed(&self, index: IndexId, value: &str) -> Listed<V> {
        let Some(own) = self.index(index) else { return Listed::default() };
        own.listed(&self.hasher, value, |slot| &self.slab.object(slot).value)
    }

    /// The keys of the objects with this value under an index, sorted.
    pub fn index_keys(&self, index: IndexId, value: &str) -> Vec<ObjectKey> {
        let mut keys: Vec<_> = self.by_index(index, value).map(|object| object.key.clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Every value that some object has under an index, sorted.
    #[doc(alias = "ListIndexFuncValues")]
    pub fn index_values(&self, index: IndexId) -> Vec<Arc<str>> {
        self.index(index).map_or_else(Vec::new, ValueIndex::values)
    }

    /// Everything as it is now, owned. Costs one `Arc` clone for each 64 objects.
    pub fn snapshot(&self) -> Snapshot<V> {
        Snapshot::new(
            self.slab.share(),
            self.slab.len(),
            self.slab.stale_len(),
            self.version.clone(),
            self.hasher.clone(),
        )
    }

    /// Adds an index. Objects stored already are [`unindexed`](Self::unindexed) under it until their values are set.
    #[doc(alias = "AddIndexers")]
    pub fn add_index(&mut self) -> IndexId {
        let mut index = ValueIndex::new();
        for slot in (0..self.slab.slots() as u32).filter(|&slot| self.slab.get(slot).is_some()) {
            index.set_unknown(slot, &mut self.retired);
        }
        self.indices.push(Some(index));
        IndexId(self.indices.len() - 1)
    }

    /// Removes an index and frees its memory; its position stays taken. Values for it are ignored from now on.
    /// Hands out the lists of it that have been read.
    pub fn remove_index(&mut self, index: IndexId) -> Retired<V> {
        if let Some(mut own) = self.indices.get_mut(index.0).and_then(Option::take) {
            own.give_up_lists(&mut self.retired);
        }
        mem::take(&mut self.retired)
    }

    /// Sets what a stored object has under one index, if the object is still that very one; says whether it was.
    ///
    /// This fills an index added late. Values of objects that changed since come with their deltas, or the object
    /// is again among the [`unindexed`](Self::unindexed).
    pub fn set_index_values(
        &mut self,
        index: IndexId,
        key: &ObjectKey,
        expected: &Arc<Object<V>>,
        values: impl IntoIterator<Item: AsRef<str>>,
    ) -> bool {
        let Some(slot) = self.find(key.namespace(), key.name()) else { return false };
        if !Arc::ptr_eq(self.slab.object(slot), expected) {
            return false;
        }
        let Some(Some(own)) = self.indices.get_mut(index.0) else { return false };
        let values = IndexValues::from_iter([values]);
        let values = values.get(0).expect("the values under one index");
        own.set(&self.hasher, slot, values, expected, &mut self.retired);
        self.retired.lists.clear();
        true
    }

    /// Objects whose values under an index nobody has given: those stored before the index was added, and those
    /// that arrived without values at its position. An index is complete when there are none.
    ///
    /// Costs nothing if there are none, otherwise time linear in the number of objects.
    pub fn unindexed(&self, index: IndexId) -> Vec<Arc<Object<V>>> {
        match self.index(index) {
            Some(own) if own.unknown_len() > 0 => {
                own.unknown().map(|slot| Arc::clone(self.slab.object(slot))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn index(&self, index: IndexId) -> Option<&ValueIndex<V>> {
        self.indices.get(index.0)?.as_ref()
    }

    fn objects_of<'a>(
        &'a self,
        members: &'a [u32],
    ) -> impl ExactSizeIterator<Item = &'a Arc<Object<V>>> + use<'a, V> {
        members.iter().map(|&slot| self.slab.object(slot))
    }

    fn find(&self, namespace: &str, name: &str) -> Option<u32> {
        let hash = hash_key(&self.hasher, namespace, name);
        let found = self.keys.find(hash, |&slot| {
            let key = &self.slab.object(slot).key;
            key.name() == name && key.namespace() == namespace
        });
        found.copied()
    }

    fn insert(&mut self, object: Arc<Object<V>>, values: &IndexValues) {
        let key = object.key.clone();
        let hash = hash_key(&self.hasher, key.namespace(), key.name());
        let slot = self.slab.insert(object);
        if self.hashes.len() <= slot as usize {
            self.hashes.push(hash);
        } else {
            self.hashes[slot as usize] = hash;
        }
        self.keys.insert_unique(hash, slot, |&slot| self.hashes[slot as usize]);
        let object = self.slab.object(slot);
        self.by_namespace.set_one(&self.hasher, slot, key.namespace(), object, &mut self.retired);
        set_values(&mut self.indices, &self.hasher, slot, values, object, &mut self.retired);
    }

    fn replace(&mut self, slot: u32, object: Arc<Object<V>>, values: &IndexValues) -> Arc<Object<V>> {
        self.by_namespace.renew_one(slot, &object, &mut self.retired);
        set_values(&mut self.indices, &self.hasher, slot, values, &object, &mut self.retired);
        self.slab.replace(slot, object)
    }

    fn remove(&mut self, slot: u32) -> Arc<Object<V>> {
        let entry = self.keys.find_entry(self.hashes[slot as usize], |&own| own == slot);
        entry.expect("a stored object is in the key table").remove();
        self.by_namespace.remove(slot, &mut self.retired);
        for index in self.indices.iter_mut().flatten() {
            index.remove(slot, &mut self.retired);
        }
        self.slab.remove(slot)
    }
}

fn set_values<V>(
    indices: &mut [Option<ValueIndex<V>>],
    hasher: &FixedState,
    slot: u32,
    values: &IndexValues,
    object: &Object<V>,
    retired: &mut Retired<V>,
) {
    let mut values = values.iter();
    for index in indices {
        match (index, values.next()) {
            (Some(index), Some(values)) => index.set(hasher, slot, values, object, retired),
            (Some(index), None) => index.set_unknown(slot, retired),
            (None, _) => {}
        }
    }
}

/// The hash of a key from its parts, so that a lookup need not join them.
fn hash_key(hasher: &FixedState, namespace: &str, name: &str) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(namespace.as_bytes());
    // Neither part may contain this byte, so "a" + "bc" and "ab" + "c" differ.
    hasher.write_u8(0xff);
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl<V> fmt::Debug for Indexer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexer")
            .field("version", &self.version)
            .field("len", &self.len())
            .field("stale", &self.stale_len())
            .field("indices", &self.indices.iter().flatten().count())
            .finish()
    }
}
