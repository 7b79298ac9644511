//! A lock that readers on several cores take without disturbing each other.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A writer takes every lane, some 30 ns each; a few more lanes than most machines have busy readers.
const LANES: usize = 16;

/// A read-write lock for a value that is read far more often than written.
///
/// With one lock word every reader writes to it, and with a second reader the word wanders between cores: reads become slower
/// the more threads read. Here each thread has a lane of its own, and a writer takes them all. The value is behind an `Arc`
/// in each lane, which the writer collects, so that it alone holds the value while it writes.
///
/// Whoever panicked while writing left the value as it was then: poisoning is ignored, as its users want.
pub(crate) struct ReadersLock<T> {
    lanes: [Lane<T>; LANES],
}

/// Two cache lines, since processors fetch them in pairs.
#[repr(align(128))]
struct Lane<T>(RwLock<Option<Arc<T>>>);

impl<T> ReadersLock<T> {
    pub(crate) fn new(value: T) -> Self {
        let value = Arc::new(value);
        Self { lanes: std::array::from_fn(|_| Lane(RwLock::new(Some(Arc::clone(&value))))) }
    }

    /// Must not be called by a thread that holds a guard already.
    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        ReadGuard(self.lanes[own_lane()].0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Must not be called by a thread that holds a guard already.
    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        // Always in the same order: two writers meet at the first lane.
        let mut lanes: [_; LANES] =
            std::array::from_fn(|lane| self.lanes[lane].0.write().unwrap_or_else(PoisonError::into_inner));
        let mut value = None;
        for lane in &mut lanes {
            value = lane.take();
        }
        WriteGuard { value, lanes }
    }
}

/// Lanes are given to threads in turn, when they first read.
fn own_lane() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LANE: Cell<Option<usize>> = const { Cell::new(None) };
    }
    LANE.get().unwrap_or_else(|| {
        let lane = NEXT.fetch_add(1, Ordering::Relaxed) % LANES;
        LANE.set(Some(lane));
        lane
    })
}

pub(crate) struct ReadGuard<'a, T>(RwLockReadGuard<'a, Option<Arc<T>>>);

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("a lane that nobody writes to has the value")
    }
}

pub(crate) struct WriteGuard<'a, T> {
    /// The only one left while the lanes are empty. Declared before them: it must be dropped before the next writer counts.
    value: Option<Arc<T>>,
    lanes: [RwLockWriteGuard<'a, Option<Arc<T>>>; LANES],
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("a writer has the value")
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        let value = self.value.as_mut().expect("a writer has the value");
        Arc::get_mut(value).expect("a writer has collected the value from every lane")
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        for lane in &mut self.lanes {
            **lane = self.value.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_whole_writes_and_writers_lose_nothing() {
        const WRITES: u64 = 2_000;
        let lock = ReadersLock::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..WRITES {
                        let mut both = lock.write();
                        both.0 += 1;
                        both.1 += 1;
                    }
                });
            }
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while last < 2 * WRITES {
                        let both = *lock.read();
                        assert_eq!(both.0, both.1);
                        assert!(both.0 >= last, "time goes forward");
                        last = both.0;
                    }
                });
            }
        });
        assert_eq!((*lock.read()).0, 2 * WRITES);
    }

    #[test]
    fn a_writer_that_panics_gives_the_value_back() {
        let lock = ReadersLock::new(1);
        let writing = std::panic::AssertUnwindSafe(|| {
            let mut value = lock.write();
            *value = 2;
            panic!("in the middle of it");
        });
        assert!(std::panic::catch_unwind(writing).is_err());
        assert_eq!(*lock.read(), 2);
        *lock.write() = 3;
        assert_eq!(*lock.read(), 3);
    }
}
