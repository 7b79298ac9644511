//! Where the objects lie: numbered slots in pages that a snapshot can share.

use std::slice;
use std::sync::Arc;

use crate::Object;

/// Slots in a page.
///
/// A snapshot clones one `Arc` a page, and the first write to a page after that clones the page: 64 keeps both
/// small (300 clones for 20,000 objects; about a microsecond for a page) and lets one word hold the stale marks.
pub(super) const PAGE_LEN: usize = 64;

type Slot<V> = Option<Arc<Object<V>>>;

pub(super) struct Page<V> {
    slots: [Slot<V>; PAGE_LEN],
    /// Bit `i`: the object in slot `i` is not what the server has.
    stale: u64,
}

impl<V> Page<V> {
    fn new() -> Self {
        Self { slots: [const { None }; PAGE_LEN], stale: 0 }
    }
}

impl<V> Clone for Page<V> {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), stale: self.stale }
    }
}

/// The objects by slot number. Numbers of removed objects are used again, the last freed first.
pub(super) struct Slab<V> {
    pages: Vec<Arc<Page<V>>>,
    free: Vec<u32>,
    len: usize,
    stale: usize,
}

impl<V> Slab<V> {
    pub(super) fn new() -> Self {
        Self { pages: Vec::new(), free: Vec::new(), len: 0, stale: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn stale_len(&self) -> usize {
        self.stale
    }

    /// One more than the highest slot number in use so far.
    pub(super) fn slots(&self) -> usize {
        self.len + self.free.len()
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Arc<Object<V>>> {
        let (page, position) = split(slot);
        self.pages.get(page)?.slots[position].as_ref()
    }

    /// The object in a slot that is known to hold one.
    pub(super) fn object(&self, slot: u32) -> &Arc<Object<V>> {
        self.get(slot).expect("a slot named by the key table or an index holds an object")
    }

    pub(super) fn insert(&mut self, object: Arc<Object<V>>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let next = u32::try_from(self.len).expect("a store holds fewer than 2^32 objects");
            if self.len.is_multiple_of(PAGE_LEN) && self.pages.len() == self.len / PAGE_LEN {
                self.pages.push(Arc::new(Page::new()));
            }
            next
        });
        let (page, position) = split(slot);
        Arc::make_mut(&mut self.pages[page]).slots[position] = Some(object);
        self.len += 1;
        slot
    }

    /// Puts another object into an occupied slot; it is not stale. Returns what was there.
    pub(super) fn replace(&mut self, slot: u32, object: Arc<Object<V>>) -> Arc<Object<V>> {
        self.set_stale(slot, false);
        let (page, position) = split(slot);
        let old = Arc::make_mut(&mut self.pages[page]).slots[position].replace(object);
        old.expect("a replaced slot holds an object")
    }

    pub(super) fn remove(&mut self, slot: u32) -> Arc<Object<V>> {
        self.set_stale(slot, false);
        let (page, position) = split(slot);
        let old = Arc::make_mut(&mut self.pages[page]).slots[position].take();
        self.free.push(slot);
        self.len -= 1;
        old.expect("a removed slot holds an object")
    }

    pub(super) fn is_stale(&self, slot: u32) -> bool {
        let (page, position) = split(slot);
        self.pages[page].is_stale(position)
    }

    pub(super) fn set_stale(&mut self, slot: u32, stale: bool) {
        if self.is_stale(slot) == stale {
            return;
        }
        let (page, position) = split(slot);
        Arc::make_mut(&mut self.pages[page]).stale ^= 1 << position;
        if stale {
            self.stale += 1;
        } else {
            self.stale -= 1;
        }
    }

    pub(super) fn objects(&self) -> Objects<'_, V> {
        Objects::new(&self.pages, self.len)
    }

    /// The pages, shared: whoever writes to one later copies it first.
    pub(super) fn share(&self) -> Box<[Arc<Page<V>>]> {
        self.pages.iter().cloned().collect()
    }

    /// Panics if lengths, free list and stale marks are not what the pages say.
    pub(super) fn validate(&self) {
        let mut free = vec![false; self.slots()];
        for &slot in &self.free {
            let seen = std::mem::replace(&mut free[slot as usize], true);
            assert!(!seen, "a free slot is listed once");
        }
        let mut stale = 0;
        for (number, page) in self.pages.iter().enumerate() {
            for position in 0..PAGE_LEN {
                let slot = number * PAGE_LEN + position;
                let vacant = free.get(slot).copied().unwrap_or(true);
                assert_eq!(page.slots[position].is_none(), vacant, "the free list names the vacant slots");
                assert!(!(vacant && page.is_stale(position)), "a vacant slot is not stale");
                stale += usize::from(page.is_stale(position));
            }
        }
        assert_eq!(self.objects().count(), self.len, "the length is the number of occupied slots");
        assert_eq!(stale, self.stale, "the stale count is the number of stale marks");
    }
}

impl<V> Page<V> {
    pub(super) fn get(&self, position: usize) -> Option<&Arc<Object<V>>> {
        self.slots[position].as_ref()
    }

    pub(super) fn is_stale(&self, position: usize) -> bool {
        self.stale >> position & 1 == 1
    }
}

/// Page number and position within the page.
pub(super) fn split(slot: u32) -> (usize, usize) {
    (slot as usize / PAGE_LEN, slot as usize % PAGE_LEN)
}

/// Objects in slot order.
pub(super) struct Objects<'a, V> {
    pages: slice::Iter<'a, Arc<Page<V>>>,
    page: slice::Iter<'a, Slot<V>>,
    left: usize,
}

impl<'a, V> Objects<'a, V> {
    pub(super) fn new(pages: &'a [Arc<Page<V>>], len: usize) -> Self {
        Self { pages: pages.iter(), page: [].iter(), left: len }
    }
}

impl<'a, V> Iterator for Objects<'a, V> {
    type Item = &'a Arc<Object<V>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(object) = self.page.by_ref().flatten().next() {
                self.left -= 1;
                return Some(object);
            }
            self.page = self.pages.next()?.slots.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V> ExactSizeIterator for Objects<'_, V> {}
