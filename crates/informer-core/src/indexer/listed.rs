//! The values of one namespace or of one value of an index, shared by everybody who reads them.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Deref;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Object;

/// Values as they were at one moment, in an order that depends on the history of the store alone.
///
/// It reads like a slice of `Arc`s. The first to read a namespace, or the objects with some value under an index, makes
/// the list, at the cost of an `Arc` clone for each value; whoever reads it after that gets the same one, for a single
/// `Arc` clone. While nobody keeps it, the store changes it in place; so read it, and drop it. A list that is kept
/// shows forever what it showed at first, keeps the values in it alive, and makes the first reader after the next
/// change build a new one.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::Listed;
///
/// let listed: Listed<&str> = ["a", "b"].map(Arc::new).into_iter().collect();
/// assert_eq!(listed.len(), 2);
/// assert!(listed.iter().any(|value| **value == "a"));
/// for value in &listed {
///     assert!(!value.is_empty());
/// }
/// let owned: Vec<Arc<&str>> = listed.into_iter().collect();
/// assert_eq!(*owned[1], "b");
/// ```
pub struct Listed<V>(Arc<Inner<V>>);

struct Inner<V> {
    values: Vec<Arc<V>>,
    /// Changes since somebody read it.
    changes: AtomicU32,
}

impl<V> Deref for Listed<V> {
    type Target = [Arc<V>];

    fn deref(&self) -> &[Arc<V>] {
        &self.0.values
    }
}

impl<V> Clone for Listed<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> Default for Listed<V> {
    fn default() -> Self {
        Self::from_iter([])
    }
}

impl<V> FromIterator<Arc<V>> for Listed<V> {
    fn from_iter<I: IntoIterator<Item = Arc<V>>>(values: I) -> Self {
        Self(Arc::new(Inner { values: values.into_iter().collect(), changes: AtomicU32::new(0) }))
    }
}

impl<V> fmt::Debug for Listed<V> {
    /// How many, without the values, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listed({} values)", self.len())
    }
}

impl<'a, V> IntoIterator for &'a Listed<V> {
    type Item = &'a Arc<V>;
    type IntoIter = slice::Iter<'a, Arc<V>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<V> IntoIterator for Listed<V> {
    type Item = Arc<V>;
    type IntoIter = ListedIntoIter<V>;

    fn into_iter(self) -> ListedIntoIter<V> {
        ListedIntoIter { listed: self, next: 0 }
    }
}

/// The values of a [`Listed`], each an `Arc` clone.
#[derive(Debug)]
pub struct ListedIntoIter<V> {
    listed: Listed<V>,
    next: usize,
}

impl<V> Iterator for ListedIntoIter<V> {
    type Item = Arc<V>;

    fn next(&mut self) -> Option<Arc<V>> {
        let value = self.listed.get(self.next).cloned()?;
        self.next += 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.listed.len() - self.next;
        (left, Some(left))
    }
}

impl<V> ExactSizeIterator for ListedIntoIter<V> {}
impl<V> FusedIterator for ListedIntoIter<V> {}

/// What a store no longer needs, for its writer to drop once no lock is held: that takes time for each value.
pub struct Retired<V> {
    pub(super) lists: Vec<Listed<V>>,
}

impl<V> Default for Retired<V> {
    fn default() -> Self {
        Self { lists: Vec::new() }
    }
}

impl<V> fmt::Debug for Retired<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&self.lists).finish()
    }
}

/// The list of a bucket's values, in the order of its members, once somebody has read it.
///
/// It is changed with the members while nobody holds it, else given up: never copied while readers wait.
pub(super) struct SharedList<V>(OnceLock<Listed<V>>);

impl<V> SharedList<V> {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The list, made now if there is none.
    pub(super) fn read(&self, make: impl FnOnce() -> Listed<V>) -> Listed<V> {
        let listed = self.0.get_or_init(make);
        // Written only if need be: other readers look at the same memory.
        if listed.0.changes.load(Ordering::Relaxed) > 0 {
            listed.0.changes.store(0, Ordering::Relaxed);
        }
        listed.clone()
    }

    pub(super) fn push(&mut self, object: &Object<V>, retired: &mut Retired<V>) {
        self.change(retired, |values| values.push(Arc::clone(&object.value)));
    }

    pub(super) fn replace(&mut self, position: u32, object: &Object<V>, retired: &mut Retired<V>) {
        self.change(retired, |values| values[position as usize] = Arc::clone(&object.value));
    }

    pub(super) fn swap_remove(&mut self, position: u32, retired: &mut Retired<V>) {
        self.change(retired, |values| _ = values.swap_remove(position as usize));
    }

    fn change(&mut self, retired: &mut Retired<V>, change: impl FnOnce(&mut Vec<Arc<V>>)) {
        let Some(listed) = self.0.get_mut() else { return };
        if let Some(inner) = Arc::get_mut(&mut listed.0) {
            let changes = inner.changes.get_mut();
            // Nobody reads it: by now the changes have cost more than a reader that comes after all.
            if *changes as usize <= inner.values.len() {
                *changes = changes.saturating_add(1);
                return change(&mut inner.values);
            }
        }
        self.give_up(retired);
    }

    /// Forgets the list.
    pub(super) fn give_up(&mut self, retired: &mut Retired<V>) {
        retired.lists.extend(self.0.take());
    }

    /// What is kept, for validation.
    pub(super) fn kept(&self) -> Option<&Listed<V>> {
        self.0.get()
    }
}
