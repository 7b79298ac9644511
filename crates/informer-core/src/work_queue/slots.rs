//! Where the keys of a work queue live: numbered slots that are found by key, and lists linked through them.

use std::hash::{BuildHasher, Hash};
use std::ops::{Index, IndexMut};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::Priority;
use crate::slot_entry::{SlotEntry, table_hash};

/// No slot.
const NONE: u32 = u32::MAX;

/// Slots whose memory is kept when the last key goes: half a megabyte with an `ObjectKey`. Bursts up to this size
/// then never allocate, and whatever a larger one took is given back.
const KEPT_SLOTS: usize = 8192;

/// A key's name in one queue: two numbers instead of a string to hash and compare.
///
/// Good for as long as the queue has a use for the key (it waits, is delayed or being processed, the rate limiter
/// remembers failures, or it was [interned](super::WorkQueue::intern)). After that it names nothing, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KeyId {
    index: u32,
    serial: u32,
}

impl KeyId {
    /// A small number that no other living key of the queue has: a rate limiter can keep its state in a `Vec`.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// When a key is to be handed out. It has one appointment at most, so whatever is asked for, the earliest wins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Never,
    /// In the list of its priority; or, while it is being processed, as soon as that is done.
    Now,
    /// In the timing wheel.
    Later,
}

/// One key and all that the queue knows of it: 64 bytes with an `ObjectKey`.
///
/// What delays and lists need comes first: a large allocation begins 16 bytes after a cache line does, so that it lies in
/// one. To align slots to cache lines would be simpler, but such memory cannot grow in place: a million keys took 20 bytes
/// more each.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Slot<K> {
    /// While it waits: its place in the order of arrival. While delayed: when it is due, in nanoseconds.
    pub(super) order: u64,
    /// In the list of its priority. Meaningless for the head.
    previous: u32,
    /// In the list of its priority, or of vacant slots.
    next: u32,
    /// While delayed: tells its timer from those it had before.
    pub(super) ticket: u32,
    serial: u32,
    /// Of its appointment.
    pub(super) priority: Priority,
    pub(super) due: Due,
    pub(super) processing: bool,
    /// The rate limiter remembers something of it.
    pub(super) limited: bool,
    /// How often it was interned by the user.
    pub(super) pins: u32,
    /// `None`: vacant.
    key: Option<K>,
    hash: u32,
}

const _: () = assert!(size_of::<Slot<crate::ObjectKey>>() == 64);

impl<K> Slot<K> {
    pub(super) fn is_held(&self) -> bool {
        self.due != Due::Never || self.processing || self.limited || self.pins > 0
    }
}

/// Hashes keys as one queue does: a copy of it works beside the queue's lock.
#[derive(Clone, Debug)]
pub struct KeyHasher(FixedState);

/// The hash of a key, in one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyHash(u32);

impl KeyHasher {
    /// The key's hash.
    #[inline]
    pub fn hash<K: Hash>(&self, key: &K) -> KeyHash {
        KeyHash((self.0.hash_one(key) >> 32) as u32)
    }
}

/// The queue's own interner. A slot is used again as soon as nothing holds its key.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Slots<K> {
    slots: Vec<Slot<K>>,
    table: HashTable<SlotEntry>,
    vacant: u32,
    serial: u32,
    len: usize,
    hasher: KeyHasher,
}

impl<K> Slots<K> {
    pub(super) fn new(hash_seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            table: HashTable::new(),
            vacant: NONE,
            serial: 0,
            len: 0,
            hasher: KeyHasher(FixedState::with_seed(hash_seed)),
        }
    }

    pub(super) fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// How many keys live here.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many keys there is memory for.
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    #[inline]
    pub(super) fn id(&self, index: u32) -> KeyId {
        KeyId { index, serial: self[index].serial }
    }

    /// The slot of this id, if it still means something.
    #[inline]
    pub(super) fn resolve(&self, id: KeyId) -> Option<u32> {
        let slot = self.slots.get(id.index())?;
        (slot.serial == id.serial && slot.key.is_some()).then_some(id.index)
    }

    #[inline]
    pub(super) fn key(&self, index: u32) -> &K {
        self[index].key.as_ref().expect("a slot in use has a key")
    }

    /// Vacates the slot if nothing holds its key; says whether that was the last one and memory was given back.
    #[inline]
    pub(super) fn release(&mut self, index: u32) -> bool {
        !self[index].is_held() && self.vacate(index)
    }

    fn vacate(&mut self, index: u32) -> bool {
        let vacant = self.vacant;
        let slot = &mut self[index];
        slot.key = None;
        slot.next = vacant;
        let hash = slot.hash;
        let entry = self.table.find_entry(table_hash(hash), |own| own.slot == index);
        entry.expect("a key in use is in the table").remove();
        self.vacant = index;
        self.len -= 1;
        if self.len > 0 || self.slots.len() <= KEPT_SLOTS {
            return false;
        }
        self.slots = Vec::new();
        self.table = HashTable::new();
        self.vacant = NONE;
        true
    }

    pub(super) fn get(&self, index: u32) -> Option<&Slot<K>> {
        self.slots.get(index as usize)
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = u32> + use<K> {
        0..self.slots.len() as u32
    }

    /// Whether a key lives in this slot.
    pub(super) fn is_used(&self, index: u32) -> bool {
        self[index].key.is_some()
    }
}

impl<K: Hash + Eq> Slots<K> {
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        self.find_hashed(self.hasher.hash(key), key)
    }

    #[inline]
    fn find_hashed(&self, hash: KeyHash, key: &K) -> Option<u32> {
        let same = |own: &SlotEntry| own.hash == hash.0 && self[own.slot].key.as_ref() == Some(key);
        self.table.find(table_hash(hash.0), same).map(|own| own.slot)
    }

    /// The key's slot, a new one if it has none. Nothing holds it yet.
    #[inline]
    pub(super) fn intern(&mut self, hash: KeyHash, key: K) -> u32 {
        self.find_hashed(hash, &key).unwrap_or_else(|| self.insert(hash, key))
    }

    fn insert(&mut self, hash: KeyHash, key: K) -> u32 {
        // Wraps after four thousand million keys: an id of one that old is nobody's any more.
        self.serial = self.serial.wrapping_add(1);
        let index = match self.vacant {
            NONE => self.push(),
            vacant => {
                self.vacant = self[vacant].next;
                vacant
            }
        };
        let serial = self.serial;
        let slot = &mut self[index];
        // What else a vacant slot says is what a key begins with.
        (slot.key, slot.hash, slot.serial) = (Some(key), hash.0, serial);
        let entry = SlotEntry { slot: index, hash: hash.0 };
        self.table.insert_unique(table_hash(hash.0), entry, SlotEntry::table_hash);
        self.len += 1;
        index
    }

    /// A vacant slot.
    fn push(&mut self) -> u32 {
        let next = u32::try_from(self.slots.len()).ok().filter(|&next| next != NONE);
        self.slots.push(Slot {
            key: None,
            order: 0,
            previous: NONE,
            next: NONE,
            ticket: 0,
            serial: 0,
            hash: 0,
            pins: 0,
            priority: Priority::NORMAL,
            due: Due::Never,
            processing: false,
            limited: false,
        });
        next.expect("a queue knows fewer than 2^32 - 1 keys")
    }
}

impl<K> Index<u32> for Slots<K> {
    type Output = Slot<K>;

    #[inline]
    fn index(&self, index: u32) -> &Slot<K> {
        &self.slots[index as usize]
    }
}

impl<K> IndexMut<u32> for Slots<K> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Slot<K> {
        &mut self.slots[index as usize]
    }
}

/// A list linked through the slots, so that any member leaves in constant time.
#[derive(Clone, Copy)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// The first member.
    #[inline]
    pub(super) fn head(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The member after this one.
    #[inline]
    pub(super) fn after<K>(slots: &Slots<K>, index: u32) -> Option<u32> {
        let next = slots[index].next;
        (next != NONE).then_some(next)
    }

    #[inline]
    pub(super) fn push_back<K>(&mut self, slots: &mut Slots<K>, index: u32) {
        let slot = &mut slots[index];
        slot.previous = self.tail;
        slot.next = NONE;
        match self.tail {
            NONE => self.head = index,
            tail => slots[tail].next = index,
        }
        self.tail = index;
    }

    #[inline]
    pub(super) fn unlink<K>(&mut self, slots: &mut Slots<K>, index: u32) {
        let Slot { previous, next, .. } = slots[index];
        if self.head == index {
            // The next one keeps the number of this one, which nobody asks a head for: it is another cache line.
            self.head = next;
            if next == NONE {
                self.tail = NONE;
            }
            return;
        }
        slots[previous].next = next;
        match next {
            NONE => self.tail = previous,
            next => slots[next].previous = previous,
        }
    }
}
