//! The keys that wait: a list for each priority, and a share for whoever has waited longest.

use super::Priority;
use super::slots::{List, Slots};

/// One for each `i8`, so that the highest one in use is found in four words of bits.
const LEVELS: usize = 256;

#[derive(Clone, Copy)]
struct Level {
    list: List,
    len: u32,
}

/// First in, first out within a priority; the higher priority first.
///
/// Each list is in order of arrival, so that the oldest key of all is at the head of one of them.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Ready {
    levels: Box<[Level]>,
    /// Bit `i` of word `w`: level `64 * w + i` has members.
    occupied: [u64; LEVELS / 64],
    len: usize,
    arrivals: u64,
    /// Keys handed out by priority since the last one that was handed out by age.
    by_priority: u32,
    /// 0: never by age.
    oldest_every: u32,
}

impl Ready {
    pub(super) fn new(oldest_every: u32) -> Self {
        Self {
            levels: [Level { list: List::EMPTY, len: 0 }; LEVELS].into(),
            occupied: [0; LEVELS / 64],
            len: 0,
            arrivals: 0,
            by_priority: 0,
            oldest_every,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The priorities at which something waits, the highest first, and how much.
    pub(super) fn depths(&self) -> impl Iterator<Item = (Priority, usize)> + use<'_> {
        let levels = self.levels.iter().enumerate().rev().filter(|(_, level)| level.len > 0);
        levels.map(|(number, level)| (Priority::of_level(number), level.len as usize))
    }

    /// Appends a key at its slot's priority.
    #[inline]
    pub(super) fn push<K>(&mut self, slots: &mut Slots<K>, index: u32) {
        self.arrivals += 1;
        slots[index].order = self.arrivals;
        let number = slots[index].priority.level();
        let level = &mut self.levels[number];
        level.list.push_back(slots, index);
        level.len += 1;
        self.occupied[number / 64] |= 1 << (number % 64);
        self.len += 1;
    }

    /// Takes the key whose turn it is.
    #[inline]
    pub(super) fn pop<K>(&mut self, slots: &mut Slots<K>) -> Option<u32> {
        let highest = self.highest()?;
        let mut number = highest;
        // Whoever is alone is both the first and the oldest.
        if self.levels[highest].len as usize != self.len && self.oldest_every > 0 {
            self.by_priority += 1;
            if self.by_priority >= self.oldest_every {
                self.by_priority = 0;
                number = self.oldest(slots, highest);
            }
        }
        let index = self.levels[number].list.head().expect("an occupied level has a head");
        self.remove(slots, index);
        Some(index)
    }

    /// Takes out a key that waits.
    #[inline]
    pub(super) fn remove<K>(&mut self, slots: &mut Slots<K>, index: u32) {
        let number = slots[index].priority.level();
        let level = &mut self.levels[number];
        level.list.unlink(slots, index);
        level.len -= 1;
        if level.len == 0 {
            self.occupied[number / 64] &= !(1 << (number % 64));
        }
        self.len -= 1;
    }

    #[inline]
    fn highest(&self) -> Option<usize> {
        let word = (0..self.occupied.len()).rev().find(|&word| self.occupied[word] != 0)?;
        Some(64 * word + 63 - self.occupied[word].leading_zeros() as usize)
    }

    /// The level whose first key arrived before all others.
    fn oldest<K>(&self, slots: &Slots<K>, highest: usize) -> usize {
        let heads = (0..=highest).filter_map(|number| Some((self.levels[number].list.head()?, number)));
        let oldest = heads.min_by_key(|&(head, _)| slots[head].order);
        oldest.expect("the highest level has a head").1
    }

    /// Panics if lengths, bits and order are not what the lists say.
    pub(super) fn validate<K>(&self, slots: &Slots<K>) {
        let mut total = 0;
        for (number, level) in self.levels.iter().enumerate() {
            let (mut len, mut last, mut next) = (0, 0, level.list.head());
            while let Some(index) = next {
                assert_eq!(slots[index].priority.level(), number, "a key waits at its priority");
                assert!(slots[index].order > last, "a list is in order of arrival");
                (len, last) = (len + 1, slots[index].order);
                next = List::after(slots, index);
            }
            assert_eq!(level.len, len, "a level's length is the number of its members");
            let occupied = self.occupied[number / 64] >> (number % 64) & 1 == 1;
            assert_eq!(occupied, len > 0, "the bits name the levels that have members");
            total += len as usize;
        }
        assert_eq!(self.len, total, "the length is that of all levels");
    }
}
