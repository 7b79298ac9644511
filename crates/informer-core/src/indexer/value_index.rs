//! One index: which slots have a value, and where each slot stands in its buckets.

use std::hash::BuildHasher;
use std::mem;
use std::slice;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::listed::{Listed, Retired, SharedList};
use crate::Object;
use crate::index_values::Values;

/// Buckets of slot numbers by value, with back positions, so that a slot leaves a bucket in constant time.
pub(super) struct ValueIndex<V> {
    /// Bucket numbers by their value.
    table: HashTable<u32>,
    buckets: Vec<Option<Bucket<V>>>,
    free: Vec<u32>,
    /// By slot; slots beyond the end are vacant.
    links: Vec<Links>,
    /// How many links are [`Links::Unknown`].
    unknown: usize,
}

struct Bucket<V> {
    value: Arc<str>,
    hash: u64,
    /// Slots in order of arrival, but for the last one moving into the place of one that left.
    members: Vec<u32>,
    /// The members' values, in the same order.
    list: SharedList<V>,
}

/// The buckets of one slot.
enum Links {
    /// No object there.
    Vacant,
    /// An object whose values nobody has computed yet.
    Unknown,
    /// An object without values.
    None,
    One(Link),
    /// Boxed twice, so that the common cases take 16 bytes.
    Many(Box<Many>),
}

/// Sorted by bucket, each bucket once.
struct Many(Box<[Link]>);

#[derive(Clone, Copy)]
struct Link {
    bucket: u32,
    position: u32,
}

impl Links {
    fn of(links: Vec<Link>) -> Self {
        match links[..] {
            [] => Self::None,
            [link] => Self::One(link),
            _ => Self::Many(Box::new(Many(links.into_boxed_slice()))),
        }
    }

    fn as_slice(&self) -> &[Link] {
        match self {
            Self::Vacant | Self::Unknown | Self::None => &[],
            Self::One(link) => slice::from_ref(link),
            Self::Many(many) => &many.0,
        }
    }

    fn link_to(&mut self, bucket: u32) -> &mut Link {
        let links = match self {
            Self::Vacant | Self::Unknown | Self::None => &mut [],
            Self::One(link) => slice::from_mut(link),
            Self::Many(many) => &mut *many.0,
        };
        let found = links.binary_search_by_key(&bucket, |link| link.bucket);
        &mut links[found.expect("a member of a bucket has a link to it")]
    }
}

impl<V> ValueIndex<V> {
    pub(super) fn new() -> Self {
        Self { table: HashTable::new(), buckets: Vec::new(), free: Vec::new(), links: Vec::new(), unknown: 0 }
    }

    /// Sets what a slot's new object has under this index. Costs next to nothing if the old one had that already.
    pub(super) fn set(
        &mut self,
        hasher: &FixedState,
        slot: u32,
        mut values: Values<'_>,
        object: &Object<V>,
        retired: &mut Retired<V>,
    ) {
        self.grow_to(slot);
        if values.len() > 1 {
            let mut wanted: Vec<u32> = values.map(|value| self.bucket_of(hasher, value)).collect();
            wanted.sort_unstable();
            wanted.dedup();
            return self.relink(slot, &wanted, Some(object), retired);
        }
        match (values.next(), &self.links[slot as usize]) {
            (None, Links::None) => {}
            (None, _) => self.relink(slot, &[], Some(object), retired),
            (Some(value), &Links::One(link)) if *self.bucket(link.bucket).value == *value => {
                self.renew(link, object, retired);
            }
            (Some(value), _) => {
                let bucket = self.bucket_of(hasher, value);
                self.relink(slot, &[bucket], Some(object), retired);
            }
        }
    }

    /// Notes that nobody knows what a slot's object has under this index.
    pub(super) fn set_unknown(&mut self, slot: u32, retired: &mut Retired<V>) {
        self.grow_to(slot);
        if !matches!(self.links[slot as usize], Links::Unknown) {
            self.relink(slot, &[], None, retired);
            self.links[slot as usize] = Links::Unknown;
            self.unknown += 1;
        }
    }

    /// Sets the one value of a slot, allocating only for a value that no other slot has.
    pub(super) fn set_one(
        &mut self,
        hasher: &FixedState,
        slot: u32,
        value: &str,
        object: &Object<V>,
        retired: &mut Retired<V>,
    ) {
        self.grow_to(slot);
        let bucket = self.bucket_of(hasher, value);
        self.relink(slot, &[bucket], Some(object), retired);
    }

    /// A slot whose one value stays has another object.
    pub(super) fn renew_one(&mut self, slot: u32, object: &Object<V>, retired: &mut Retired<V>) {
        if let Some(&Links::One(link)) = self.links.get(slot as usize) {
            self.renew(link, object, retired);
        }
    }

    /// Forgets a slot whose object is gone.
    pub(super) fn remove(&mut self, slot: u32, retired: &mut Retired<V>) {
        if (slot as usize) < self.links.len() {
            self.relink(slot, &[], None, retired);
            self.links[slot as usize] = Links::Vacant;
        }
    }

    /// Forgets every list.
    pub(super) fn give_up_lists(&mut self, retired: &mut Retired<V>) {
        self.buckets.iter_mut().flatten().for_each(|bucket| bucket.list.give_up(retired));
    }

    /// The slots with this value.
    pub(super) fn members(&self, hasher: &FixedState, value: &str) -> &[u32] {
        self.find(hasher, value).map_or(&[], |bucket| &bucket.members)
    }

    /// The values of the objects with this value, of which `value_of` knows those that nobody has listed yet.
    pub(super) fn listed<'a>(
        &self,
        hasher: &FixedState,
        value: &str,
        value_of: impl Fn(u32) -> &'a Arc<V>,
    ) -> Listed<V>
    where
        V: 'a,
    {
        let Some(bucket) = self.find(hasher, value) else { return Listed::default() };
        bucket.list.read(|| bucket.members.iter().map(|&slot| Arc::clone(value_of(slot))).collect())
    }

    /// Every value some object has, sorted.
    pub(super) fn values(&self) -> Vec<Arc<str>> {
        let mut values: Vec<_> =
            self.buckets.iter().flatten().map(|bucket| Arc::clone(&bucket.value)).collect();
        values.sort_unstable();
        values
    }

    /// How many objects nobody has computed the values of.
    pub(super) fn unknown_len(&self) -> usize {
        self.unknown
    }

    /// The slots of those objects.
    pub(super) fn unknown(&self) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.links).filter(|(_, links)| matches!(links, Links::Unknown)).map(|(slot, _)| slot)
    }

    fn find(&self, hasher: &FixedState, value: &str) -> Option<&Bucket<V>> {
        let found = self.table.find(hasher.hash_one(value), |&bucket| *self.bucket(bucket).value == *value);
        found.map(|&bucket| self.bucket(bucket))
    }

    fn bucket(&self, bucket: u32) -> &Bucket<V> {
        self.buckets[bucket as usize].as_ref().expect("a bucket named by the table or a link exists")
    }

    fn grow_to(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize_with(slot as usize + 1, || Links::Vacant);
        }
    }

    /// The bucket of a value, made if there is none; the caller puts a member into it.
    fn bucket_of(&mut self, hasher: &FixedState, value: &str) -> u32 {
        let hash = hasher.hash_one(value);
        let buckets = &mut self.buckets;
        let get = |buckets: &[Option<Bucket<V>>], bucket: u32| {
            let bucket = buckets[bucket as usize].as_ref().expect("a bucket named by the table exists");
            (*bucket.value == *value, bucket.hash)
        };
        match self.table.entry(hash, |&bucket| get(buckets, bucket).0, |&bucket| get(buckets, bucket).1) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let bucket =
                    Some(Bucket { value: value.into(), hash, members: Vec::new(), list: SharedList::new() });
                let number = self.free.pop().unwrap_or_else(|| {
                    buckets.push(None);
                    u32::try_from(buckets.len() - 1).expect("an index holds fewer than 2^32 values")
                });
                buckets[number as usize] = bucket;
                entry.insert(number);
                number
            }
        }
    }

    /// Moves a slot from the buckets it is in to those it should be in (sorted, each once), as this object.
    fn relink(&mut self, slot: u32, wanted: &[u32], object: Option<&Object<V>>, retired: &mut Retired<V>) {
        let old = mem::replace(&mut self.links[slot as usize], Links::None);
        if matches!(old, Links::Unknown) {
            self.unknown -= 1;
        }
        let old = old.as_slice();
        for link in old {
            if wanted.binary_search(&link.bucket).is_err() {
                self.leave(*link, retired);
            }
        }
        let mut join = |bucket: u32| {
            let object = object.expect("what has values is an object");
            match old.binary_search_by_key(&bucket, |link| link.bucket) {
                Ok(found) => {
                    self.renew(old[found], object, retired);
                    old[found]
                }
                Err(_) => self.join(slot, bucket, object, retired),
            }
        };
        self.links[slot as usize] = match wanted {
            [] => Links::None,
            [bucket] => Links::One(join(*bucket)),
            _ => {
                let links = wanted.iter().map(|bucket| join(*bucket)).collect();
                Links::of(links)
            }
        };
    }

    fn join(&mut self, slot: u32, bucket: u32, object: &Object<V>, retired: &mut Retired<V>) -> Link {
        let own = self.buckets[bucket as usize].as_mut().expect("a wanted bucket exists");
        own.members.push(slot);
        own.list.push(object, retired);
        // No overflow: a slot is in a bucket once, and slot numbers are u32.
        Link { bucket, position: (own.members.len() - 1) as u32 }
    }

    /// A slot that stays in a bucket has another object.
    fn renew(&mut self, link: Link, object: &Object<V>, retired: &mut Retired<V>) {
        let bucket = self.buckets[link.bucket as usize].as_mut().expect("a linked bucket exists");
        bucket.list.replace(link.position, object, retired);
    }

    fn leave(&mut self, link: Link, retired: &mut Retired<V>) {
        let cell = &mut self.buckets[link.bucket as usize];
        let bucket = cell.as_mut().expect("a linked bucket exists");
        bucket.members.swap_remove(link.position as usize);
        bucket.list.swap_remove(link.position, retired);
        if let Some(&moved) = bucket.members.get(link.position as usize) {
            self.links[moved as usize].link_to(link.bucket).position = link.position;
        } else if bucket.members.is_empty() {
            let hash = bucket.hash;
            let entry = self.table.find_entry(hash, |&bucket| bucket == link.bucket);
            entry.expect("an existing bucket is in the table").remove();
            *cell = None;
            self.free.push(link.bucket);
        }
    }

    /// Panics unless table, buckets, lists and links agree. `value_of` says which slots hold an object, and its value.
    pub(super) fn validate<'a>(&self, hasher: &FixedState, value_of: impl Fn(u32) -> Option<&'a Arc<V>>)
    where
        V: 'a,
    {
        let live = self.buckets.iter().flatten().count();
        assert_eq!(self.table.len(), live, "the table names every bucket once");
        assert_eq!(self.buckets.len(), live + self.free.len(), "the free list names the unused buckets");
        let mut members = 0;
        for (number, bucket) in (0u32..).zip(&self.buckets) {
            let Some(bucket) = bucket else {
                assert!(self.free.contains(&number), "an unused bucket is free");
                continue;
            };
            assert_eq!(bucket.hash, hasher.hash_one(&*bucket.value), "a bucket's hash is its value's");
            assert_eq!(self.members(hasher, &bucket.value), &*bucket.members, "the table finds the bucket");
            assert!(!bucket.members.is_empty(), "an empty bucket is removed");
            members += bucket.members.len();
            if let Some(list) = bucket.list.kept() {
                let values = bucket.members.iter().filter_map(|&slot| value_of(slot));
                assert!(
                    values.map(Arc::as_ptr).eq(list.iter().map(Arc::as_ptr)),
                    "a list has the members' values"
                );
            }
        }
        let mut links = 0;
        let mut unknown = 0;
        for (slot, own) in (0u32..).zip(&self.links) {
            assert_eq!(
                value_of(slot).is_some(),
                !matches!(own, Links::Vacant),
                "an index knows which slots are occupied"
            );
            unknown += usize::from(matches!(own, Links::Unknown));
            let own = own.as_slice();
            assert!(own.is_sorted_by(|a, b| a.bucket < b.bucket), "links are sorted, each bucket once");
            for link in own {
                let bucket = self.bucket(link.bucket);
                assert_eq!(bucket.members[link.position as usize], slot, "a link points at its slot");
                links += 1;
            }
        }
        assert_eq!(links, members, "each member has a link back");
        assert_eq!(unknown, self.unknown, "the unknown count is right");
    }

    /// The values of a slot, sorted; `None` if nobody knows them.
    pub(super) fn values_of(&self, slot: u32) -> Option<Vec<Arc<str>>> {
        let links = self.links.get(slot as usize)?;
        if matches!(links, Links::Unknown | Links::Vacant) {
            return None;
        }
        let mut values: Vec<_> =
            links.as_slice().iter().map(|link| Arc::clone(&self.bucket(link.bucket).value)).collect();
        values.sort_unstable();
        Some(values)
    }
}
