//! Waiting after failures, counting them, and noticing that all is well again.

use std::time::Duration;

use super::io::{Failure, RequestKind, Trouble};
use super::machine::Reflector;
use super::options::NotFoundPolicy;
use super::state::{Age, Next, State};
use crate::{Delta, Entry, Now, Replacement, ResourceVersion};

/// The longest wait a server may ask for: a hostile or confused one must not silence us for a day.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// Failures in a row, by what they put in doubt.
#[derive(Debug, Default)]
pub(super) struct Strikes {
    /// Watches that ended in order, at once and without an event: is our version one the server no longer tells about?
    pub(super) short_watches: u32,
    /// Watches that ended in order and at once, though with events: is each reconnection worth it?
    pub(super) brief_watches: u32,
    /// Streams that broke by what they said, at one version: is there an event that cannot be got past?
    pub(super) stuck: u32,
    /// Watches that were answered with an error for no reason we know.
    pub(super) rejected: u32,
    /// Watches whose version was lost before anything came of it.
    pub(super) lost: u32,
    /// WatchLists that ended before their end bookmark: does this server know WatchList at all?
    pub(super) early_ends: u32,
    /// WatchLists that failed otherwise: would a LIST work?
    pub(super) watch_lists: u32,
    /// Answers 404.
    pub(super) not_found: u32,
}

impl Strikes {
    /// The version moved: whatever stood in its way does not.
    pub(super) fn progress(&mut self) {
        self.short_watches = 0;
        self.stuck = 0;
        self.rejected = 0;
        self.lost = 0;
    }

    /// The whole collection was read.
    pub(super) fn synced(&mut self) {
        self.short_watches = 0;
        self.stuck = 0;
        self.rejected = 0;
        self.early_ends = 0;
        self.watch_lists = 0;
    }
}

impl<V> Reflector<V> {
    /// Tries again after a while, and says why.
    pub(super) fn back_off(&mut self, now: Now, request: RequestKind, failure: Failure, next: Next<V>) {
        let asked = failure.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        let delay = if self.gone {
            self.backoff.cap_delay(&mut self.rng)
        } else {
            self.backoff.next_delay(&mut self.rng)
        };
        let retry_in = delay.max(asked);
        self.note_failure(request, failure, retry_in);
        self.wait(now, retry_in, next);
    }

    /// Tries again after a while.
    pub(super) fn wait(&mut self, now: Now, delay: Duration, next: Next<V>) {
        self.state = State::Waiting { until: now.mono.after(delay), next };
    }

    pub(super) fn note_failure(&mut self, request: RequestKind, failure: Failure, retry_in: Duration) {
        self.failing = true;
        self.last_failure = Some(failure.clone());
        self.tell(Trouble::RequestFailed { request, failure, retry_in });
    }

    /// A live watch told us something, or was not a short one.
    pub(super) fn works(&mut self) {
        if std::mem::take(&mut self.failing) {
            self.tell(Trouble::Recovered);
        }
    }

    /// The watch under way has come of age.
    pub(super) fn watch_aged(&mut self) {
        // As long as the longest delay: then a server that breaks each watch just after this gets no more requests
        // than one that refuses them all.
        let proof = self.backoff.cap();
        let State::Watching { watch, .. } = &mut self.state else {
            unreachable!("only a watch ages");
        };
        match watch.age {
            Age::New(settled) => {
                watch.age = Age::Settled(settled.after(proof));
                self.strikes.short_watches = 0;
                self.strikes.brief_watches = 0;
                self.works();
            }
            Age::Settled(_) => {
                watch.age = Age::Proven;
                self.backoff.reset();
                self.strikes.rejected = 0;
                self.strikes.lost = 0;
            }
            Age::Unborn | Age::Proven => unreachable!("nothing is left to be noticed"),
        }
    }

    /// An answer other than an error came.
    pub(super) fn resource_exists(&mut self) {
        self.strikes.not_found = 0;
        self.gone = false;
    }

    /// An answer 404. Between two there is always a wait, so the second one is no accident of a rolling update.
    pub(super) fn not_found(&mut self, now: Now, request: RequestKind, failure: Failure, next: Next<V>) {
        self.strikes.not_found = self.strikes.not_found.saturating_add(1);
        if self.strikes.not_found < 2 {
            return self.back_off(now, request, failure, next);
        }
        if !self.gone {
            self.gone = true;
            self.versions.unavailable = true;
            self.tell(Trouble::ResourceGone);
        }
        if self.options.not_found != NotFoundPolicy::Keep && self.has_listed && !self.emptied {
            self.emptied = true;
            let version = self.versions.last.clone();
            self.replace_all(version, Vec::new(), true);
        }
        if self.options.not_found == NotFoundPolicy::Stop {
            self.note_failure(request, failure, Duration::MAX);
            self.state = State::Stopped;
        } else {
            self.back_off(now, request, failure, Next::Sync);
        }
    }

    /// The whole collection was read, and goes to the store.
    pub(super) fn synced(
        &mut self,
        version: Option<ResourceVersion>,
        entries: Vec<Entry<V>>,
        complete: bool,
    ) {
        self.record_list(version.clone());
        self.strikes.synced();
        self.has_listed = true;
        self.emptied = false;
        self.replace_all(version, entries, complete);
    }

    fn replace_all(&mut self, version: Option<ResourceVersion>, entries: Vec<Entry<V>>, complete: bool) {
        // "0" is older than every other one, which is all that is known where the server sends none.
        let version = version.unwrap_or_else(|| ResourceVersion::from(0));
        let namespace = self.options.namespace.clone();
        self.store(Delta::ReplacedAll(Replacement { version, namespace, entries, complete }));
    }
}
