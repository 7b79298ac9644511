//! WATCH: following the changes from the last version.

use std::sync::Arc;

use super::io::{Failure, FailureKind, ListItem, Request, RequestKind, Trouble, WatchEvent, WatchRequest};
use super::machine::{Reflector, SHORT_WATCH, failure};
use super::state::{Age, Flight, Next, State, Watch};
use crate::{Deletion, Delta, Identity, Now, ResourceVersion};

/// How many short watches in a row mean that the version is one the server no longer tells about.
const SHORT_WATCHES: u32 = 3;

/// How many watches that end at once, but bring something, may follow each other without a pause.
const BRIEF_WATCHES: u32 = 5;

/// How many streams may break at one version by what they say before the collection is read anew: an event that cannot
/// be got past (an object that etcd can no longer decode, a line over the limit) is not in a list, or not as an event.
const STUCK: u32 = 3;

/// How many watches may be rejected before the collection is read anew. With the default back-off that is about five
/// minutes: as long as etcd usually keeps a version.
const REJECTED: u32 = 10;

/// The three kinds of change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Modified,
    Deleted,
}

impl<V> Reflector<V> {
    pub(super) fn begin_watch(&mut self, now: Now) {
        let version = self.versions.last.clone();
        let timeout = self.options.draw_watch_timeout(&mut self.rng);
        let synthetic = version.as_ref().is_none_or(|version| *version == ResourceVersion::from(0));
        let flight = self.send(now, Request::Watch(WatchRequest { version, timeout, initial_events: false }));
        let watch = Watch { synthetic, any_event: false, moved: false, age: Age::Unborn };
        self.state = State::Watching { flight, watch };
    }

    pub(super) fn live_event(&mut self, now: Now, event: WatchEvent<V>) {
        match event {
            WatchEvent::Added(item) => self.change(now, Change::Added, item),
            WatchEvent::Modified(item) => self.change(now, Change::Modified, item),
            WatchEvent::Deleted(item) => self.change(now, Change::Deleted, item),
            WatchEvent::Bookmark { version, .. } => self.bookmark(now, version),
            WatchEvent::Unknown { kind, version } => {
                self.any_event(false);
                self.unknown_event(kind);
                if let Some(version) = version.filter(|version| !self.is_behind(version)) {
                    self.record(&version);
                }
            }
            WatchEvent::Error(failure) => self.break_off(now, failure),
            WatchEvent::Malformed(reason) => {
                self.tell(Trouble::Unreadable { reason });
                self.break_off(now, failure(FailureKind::Malformed, "an event could not be read"));
            }
        }
    }

    fn change(&mut self, now: Now, change: Change, item: ListItem<V>) {
        let identity = match &item {
            ListItem::Decoded(item) => Identity::of(&item.object),
            ListItem::Unchanged(object) => Identity::of(object),
            ListItem::Undecodable(identity, _) => identity.clone(),
            ListItem::Unreadable(reason) => {
                self.tell(Trouble::Unreadable { reason: Arc::clone(reason) });
                return self.lose_version(now, "a change of an unknown object");
            }
        };
        let in_order = !self.any_event(change == Change::Added);
        if in_order && self.went_back(Some(&identity.key), &identity.version) {
            return self.lose_version(now, "an event is older than the one before");
        }
        if let ListItem::Undecodable(identity, reason) = &item {
            let (identity, reason) = (identity.clone(), Arc::clone(reason));
            self.tell(Trouble::Undecodable { identity, reason });
        }
        let version = identity.version.clone();
        self.store_change(change, identity, item, in_order);
        if in_order {
            self.record(&version);
        }
        self.works();
    }

    fn store_change(&mut self, change: Change, identity: Identity, item: ListItem<V>, in_order: bool) {
        self.store(match (change, item) {
            (Change::Added, ListItem::Decoded(item)) => Delta::Added(item),
            (Change::Modified, ListItem::Decoded(item)) => Delta::Updated(item),
            (Change::Deleted, ListItem::Decoded(item)) => {
                Delta::Deleted(Deletion { identity, last_state: Some(item.object) })
            }
            (Change::Deleted, _) => Delta::Deleted(Deletion { identity, last_state: None }),
            (_, ListItem::Unchanged(_)) if !in_order || identity.version.is_empty() => return,
            (_, ListItem::Unchanged(_)) => Delta::Bookmark(identity.version),
            (_, _) => Delta::Undecodable(identity),
        });
    }

    fn bookmark(&mut self, now: Now, version: ResourceVersion) {
        self.any_event(false);
        if self.went_back(None, &version) {
            return self.lose_version(now, "a bookmark is older than the event before");
        }
        if !version.is_empty() {
            self.store(Delta::Bookmark(version.clone()));
            self.record(&version);
        }
        self.works();
    }

    /// Counts an event. Answers whether it is one of those that come in no order.
    fn any_event(&mut self, added: bool) -> bool {
        let State::Watching { watch, .. } = &mut self.state else {
            unreachable!("live events are taken in while watching");
        };
        watch.any_event = true;
        watch.synthetic &= added;
        watch.synthetic
    }

    fn is_behind(&self, version: &ResourceVersion) -> bool {
        self.versions.last.as_ref().is_some_and(|last| self.versions.is_older(version, last))
    }

    /// Leaves a stream that said what cannot be followed.
    fn break_off(&mut self, now: Now, failure: Failure) {
        self.abort();
        let State::Watching { flight, .. } = std::mem::replace(&mut self.state, State::Stopped) else {
            unreachable!("a live stream is left while watching");
        };
        self.watch_failed(now, flight, failure, true);
    }

    /// Leaves a stream after which nobody knows what has changed.
    fn lose_version(&mut self, now: Now, why: &str) {
        self.abort();
        self.back_off(now, RequestKind::Watch, failure(FailureKind::Malformed, why), Next::Sync);
    }

    /// What to do after a watch: go on where it ended, if that is known.
    fn next_after_watch(&self) -> Next<V> {
        if self.versions.last.is_some() { Next::Watch } else { Next::Sync }
    }

    pub(super) fn watch_ended(&mut self, now: Now) {
        let State::Watching { flight, watch } = std::mem::replace(&mut self.state, State::Stopped) else {
            unreachable!("a watch ends while watching");
        };
        let lived = now.mono.since(flight.sent_at);
        if lived >= SHORT_WATCH {
            self.strikes.short_watches = 0;
            self.strikes.brief_watches = 0;
            self.works();
            let next = self.next_after_watch();
            return match next {
                // Without a version each end costs a list: not more often than failures would.
                Next::Sync if lived < self.backoff.cap() => self.pause(now, next),
                Next::Sync => self.begin_sync(now),
                _ => self.begin_watch(now),
            };
        }
        if watch.any_event {
            self.strikes.brief_watches += 1;
            if watch.moved && self.strikes.brief_watches <= BRIEF_WATCHES {
                return self.begin_watch(now);
            }
            let next = self.next_after_watch();
            return self.short_watch(now, self.strikes.brief_watches, next);
        }
        self.strikes.short_watches += 1;
        let count = self.strikes.short_watches;
        let next = if count >= SHORT_WATCHES { Next::Sync } else { self.next_after_watch() };
        self.short_watch(now, count, next);
    }

    fn short_watch(&mut self, now: Now, count: u32, next: Next<V>) {
        self.failing = true;
        self.tell(Trouble::ShortWatches { count });
        self.pause(now, next);
    }

    fn pause(&mut self, now: Now, next: Next<V>) {
        let delay = self.backoff.next_delay(&mut self.rng);
        self.wait(now, delay, next);
    }

    /// A watch failed: answered with an error, broken off, or (`in_stream`) ended by what it said.
    pub(super) fn watch_failed(&mut self, now: Now, flight: Flight, failure: Failure, in_stream: bool) {
        use FailureKind as Kind;
        let rewatch = self.next_after_watch();
        let next = match failure.kind {
            // Silence after an answer: a connection that died without a word, or a quiet collection. Neither is an
            // error, and the deadline itself keeps these requests rare.
            Kind::Idle
                if flight.started_at.is_some()
                    && self.versions.last.is_some()
                    && now.mono.since(flight.sent_at) >= SHORT_WATCH =>
            {
                return self.begin_watch(now);
            }
            Kind::NotFound => return self.not_found(now, RequestKind::Watch, failure, rewatch),
            Kind::Expired | Kind::VersionTooLarge | Kind::Invalid => {
                self.strikes.lost = self.strikes.lost.saturating_add(1);
                // The list at the last version led straight back here: that version is good for nothing.
                self.versions.unavailable |= self.strikes.lost >= 2;
                Next::Sync
            }
            Kind::Malformed | Kind::LimitExceeded => self.after_stuck(rewatch),
            Kind::Internal | Kind::Status if in_stream => self.after_stuck(rewatch),
            Kind::Internal | Kind::Status => {
                self.strikes.rejected = self.strikes.rejected.saturating_add(1);
                if self.strikes.rejected >= REJECTED { Next::Sync } else { rewatch }
            }
            _ => rewatch,
        };
        self.back_off(now, RequestKind::Watch, failure, next);
    }

    fn after_stuck(&mut self, rewatch: Next<V>) -> Next<V> {
        self.strikes.stuck = self.strikes.stuck.saturating_add(1);
        if self.strikes.stuck >= STUCK { Next::Sync } else { rewatch }
    }
}
