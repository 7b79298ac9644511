//! What a controller has asked for and not yet seen in its cache.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{Mono, Uid};

/// What a controller has asked for and not yet seen: creations by number, deletions by uid, for each of its keys.
///
/// A controller says what it is about to do, does it, and does not act on that key again before its cache shows all of
/// it; otherwise it would create once more what it created already. What is never seen is no longer expected after the
/// timeout, counted from what was expected last.
///
/// Creations are counted, so a creation by somebody else for the same key counts too. A deletion is its uid's: however
/// often it is told, it counts once.
///
/// **Memory.** A key is held for as long as something is expected for it.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{Expectation, Expectations, Mono};
///
/// let mut expectations = Expectations::new(Duration::from_secs(300));
/// expectations.expect_creations(Mono(0), "web", 2);
/// expectations.creation_observed(&"web");
/// assert!(matches!(expectations.check(Mono(1), &"web"), Expectation::Pending { .. }));
/// expectations.creation_observed(&"web");
/// assert_eq!(expectations.check(Mono(1), &"web"), Expectation::Satisfied);
/// ```
#[doc(alias = "UIDTrackingControllerExpectations")]
#[derive(Clone, Debug)]
pub struct Expectations<K> {
    timeout: Duration,
    pending: BTreeMap<K, Pending>,
}

#[derive(Clone, Debug)]
struct Pending {
    creations: u64,
    deletions: BTreeSet<Uid>,
    until: Mono,
}

/// Where a key stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Expectation {
    /// Nothing is expected (any more).
    Satisfied,
    /// Something is.
    Pending {
        /// For how long.
        until: Mono,
    },
    /// Something was, and did not come in time. It is expected no longer: the next answer is `Satisfied`.
    Expired,
}

impl<K: Ord> Expectations<K> {
    /// Nothing is expected yet. What will be is given up after `timeout`.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, pending: BTreeMap::new() }
    }

    /// `count` objects are about to be created for this key, besides what is expected already.
    pub fn expect_creations(&mut self, now: Mono, key: K, count: u64) {
        if count > 0 {
            let pending = self.pending(now, key);
            pending.creations = pending.creations.saturating_add(count);
        }
    }

    /// The objects with these uids are about to be deleted for this key, besides what is expected already.
    pub fn expect_deletions(&mut self, now: Mono, key: K, uids: impl IntoIterator<Item = Uid>) {
        let mut uids = uids.into_iter().peekable();
        if uids.peek().is_some() {
            self.pending(now, key).deletions.extend(uids);
        }
    }

    /// An object of this key was created, or its creation failed. Says whether one was expected.
    #[doc(alias = "LowerExpectations")]
    pub fn creation_observed(&mut self, key: &K) -> bool {
        self.observed(key, |pending| {
            let expected = pending.creations > 0;
            pending.creations = pending.creations.saturating_sub(1);
            expected
        })
    }

    /// This object of this key was deleted, or its deletion failed. Says whether that was expected.
    pub fn deletion_observed(&mut self, key: &K, uid: &Uid) -> bool {
        self.observed(key, |pending| pending.deletions.remove(uid))
    }

    /// Where this key stands.
    #[doc(alias = "SatisfiedExpectations")]
    pub fn check(&mut self, now: Mono, key: &K) -> Expectation {
        match self.pending.get(key) {
            None => Expectation::Satisfied,
            Some(pending) if now < pending.until => Expectation::Pending { until: pending.until },
            Some(_) => {
                self.pending.remove(key);
                Expectation::Expired
            }
        }
    }

    /// Nothing is expected for this key any more. Says whether something was.
    #[doc(alias = "DeleteExpectations")]
    pub fn forget(&mut self, key: &K) -> bool {
        self.pending.remove(key).is_some()
    }

    /// For how many keys something is expected.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    fn pending(&mut self, now: Mono, key: K) -> &mut Pending {
        let until = now.after(self.timeout);
        let new = || Pending { creations: 0, deletions: BTreeSet::new(), until };
        let pending = self.pending.entry(key).or_insert_with(new);
        if pending.until <= now {
            // What was given up must not be waited for again.
            *pending = new();
        }
        pending.until = until;
        pending
    }

    fn observed(&mut self, key: &K, observe: impl FnOnce(&mut Pending) -> bool) -> bool {
        let Some(pending) = self.pending.get_mut(key) else { return false };
        let expected = observe(pending);
        if pending.creations == 0 && pending.deletions.is_empty() {
            self.pending.remove(key);
        }
        expected
    }
}
