//! What a controller has asked for and not yet seen, on the runtime's clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::{Expectation, Mono, ObjectKey, Uid};

use crate::clock::Clock;

/// What is never seen is no longer expected after this time (client-go's controllers have the same).
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Creations and deletions that a reconcile has asked for and that its controller has not yet seen.
///
/// For controllers that make objects with generated names, where a create whose answer was lost must not be repeated:
/// say what is about to happen, do it, say what failed; and at the beginning of the next reconcile of that key do nothing
/// about those objects while they are not [`satisfied`](Self::satisfied). What
/// [`owns`](crate::ControllerBuilder::owns) watches is observed automatically, a deletion from when it was asked for; a
/// key that is not satisfied when its reconcile ends is reconciled again when its expectations expire, after five
/// minutes. A deleted key expects nothing.
///
/// Creations are counted, so one by somebody else, for the same owner, counts too. Should the controller fall so far
/// behind that changes are conflated, an object that was created and deleted meanwhile is never seen, and the expectation
/// expires.
///
/// A clone is the same set.
///
/// ```
/// use informer::{Expectations, ObjectKey};
///
/// let expectations = Expectations::new();
/// let key = ObjectKey::new("team-a", "web");
/// expectations.expect_creations(&key, 2);
/// assert!(!expectations.satisfied(&key));
/// expectations.creation_observed(&key); // `owns` does that
/// expectations.creation_failed(&key);
/// assert!(expectations.satisfied(&key));
/// ```
#[derive(Clone)]
#[doc(alias = "UIDTrackingControllerExpectations")]
pub struct Expectations {
    inner: Arc<Mutex<Inner>>,
    clock: Clock,
}

struct Inner {
    pending: informer_core::Expectations<ObjectKey>,
    expired: u64,
}

impl Expectations {
    /// An empty set; a controller has one of its own, see [`ControllerHandle`](crate::ControllerHandle::expectations).
    pub fn new() -> Self {
        let inner = Inner { pending: informer_core::Expectations::new(TIMEOUT), expired: 0 };
        Self { inner: Arc::new(Mutex::new(inner)), clock: Clock::new() }
    }

    /// So many objects are about to be created for this key. To be said before the first request is sent.
    pub fn expect_creations(&self, key: &ObjectKey, count: u64) {
        let now = self.now();
        self.lock().pending.expect_creations(now, key.clone(), count);
    }

    /// The objects with these uids are about to be deleted for this key. To be said before the first request is sent.
    pub fn expect_deletions(&self, key: &ObjectKey, uids: impl IntoIterator<Item = Uid>) {
        let uids: Vec<_> = uids.into_iter().collect();
        let now = self.now();
        self.lock().pending.expect_deletions(now, key.clone(), uids);
    }

    /// One of the creations was refused and will not be seen. Not for one whose answer was lost.
    #[doc(alias = "LowerExpectations")]
    pub fn creation_failed(&self, key: &ObjectKey) {
        self.creation_observed(key);
    }

    /// This deletion was refused, or there was nothing to delete, and it will not be seen.
    pub fn deletion_failed(&self, key: &ObjectKey, uid: &Uid) {
        self.deletion_observed(key, uid);
    }

    /// An object was created for this key. Says whether one was expected.
    pub fn creation_observed(&self, key: &ObjectKey) -> bool {
        self.lock().pending.creation_observed(key)
    }

    /// This object of this key was deleted, or is going to be. However often it is said, it counts once. Says whether that
    /// was expected.
    pub fn deletion_observed(&self, key: &ObjectKey, uid: &Uid) -> bool {
        self.lock().pending.deletion_observed(key, uid)
    }

    /// Whether nothing is expected for this key, or no longer: what expires is counted and logged once.
    #[doc(alias = "SatisfiedExpectations")]
    pub fn satisfied(&self, key: &ObjectKey) -> bool {
        self.remaining(key).is_none()
    }

    /// Nothing is expected for this key any more.
    #[doc(alias = "DeleteExpectations")]
    pub fn forget(&self, key: &ObjectKey) {
        self.lock().pending.forget(key);
    }

    /// For how long something is still expected.
    pub(super) fn remaining(&self, key: &ObjectKey) -> Option<Duration> {
        let now = self.now();
        let mut inner = self.lock();
        match inner.pending.check(now, key) {
            Expectation::Pending { until } => Some(until.since(now)),
            Expectation::Expired => {
                inner.expired += 1;
                drop(inner);
                tracing::warn!(target: "informer::controller", %key, "creations or deletions were not seen in {TIMEOUT:?}: expected no longer");
                None
            }
            _ => None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().pending.is_empty()
    }

    pub(super) fn expired(&self) -> u64 {
        self.lock().expired
    }

    fn now(&self) -> Mono {
        self.clock.now().mono
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Expectations {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Expectations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expectations").field("pending", &self.lock().pending).finish()
    }
}
