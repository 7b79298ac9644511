//! How urgent a key is.

use std::fmt;

use crate::Notification;

/// How urgent a key is: the higher, the sooner it is handed out.
///
/// Any `i8` will do; most programs need two of them, and get both from [`Priority::of`].
///
/// ```
/// use informer_core::Priority;
/// assert!(Priority::NORMAL > Priority::LOW && Priority(7) > Priority::NORMAL);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Priority(pub i8);

impl Priority {
    /// What just changed.
    pub const NORMAL: Self = Self(0);
    /// What nobody waits for: the objects of an initial list, and resyncs.
    pub const LOW: Self = Self(-100);

    /// What a notification deserves: low for an object of an initial list and for a resync, otherwise normal.
    ///
    /// A program that starts beside 10,000 objects then still reacts at once when one of them changes.
    pub fn of<V>(notification: &Notification<V>) -> Self {
        match notification {
            Notification::Added { in_initial_list: true, .. } | Notification::Resync { .. } => Self::LOW,
            _ => Self::NORMAL,
        }
    }

    /// Its place among the 256 levels, the lowest first.
    pub(super) fn level(self) -> usize {
        (i16::from(self.0) - i16::from(i8::MIN)) as usize
    }

    pub(super) fn of_level(level: usize) -> Self {
        Self((level as i16 + i16::from(i8::MIN)) as i8)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
