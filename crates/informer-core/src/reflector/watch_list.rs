//! WatchList: reading the whole collection as the beginning of a watch (KEP-3157).

use std::time::Duration;

use super::initial_events::InitialEvents;
use super::io::{Failure, FailureKind, ListItem, Request, RequestKind, Trouble, WatchEvent, WatchRequest};
use super::machine::{Reflector, SHORT_WATCH, failure};
use super::state::{Age, Flight, Next, State, Watch, entry_of};
use crate::{Delta, Mono, Now, ResourceVersion};

/// How long a WatchList may go without a new key, or go on after its first live event.
///
/// Initial events come out of the server's memory as fast as the connection takes them; ten seconds without one is what
/// client-go warns about.
const STALLED: Duration = Duration::from_secs(10);

/// How many streams may end early before LIST is used.
const EARLY_ENDS: u32 = 3;

/// How many WatchLists may fail in a row before a LIST gets its chance.
const WATCH_LIST_ATTEMPTS: u32 = 3;

/// How long LIST is used once WatchList was given up: as long as a server's upgrade may take to pass.
const GIVEN_UP_FOR: Duration = Duration::from_secs(60 * 60);

impl<V> Reflector<V> {
    pub(super) fn begin_watch_list(&mut self, now: Now) {
        let version = self.versions.last.clone().filter(|_| !self.versions.unavailable);
        let timeout = self.options.draw_watch_timeout(&mut self.rng);
        let request = WatchRequest { version: version.clone(), timeout, initial_events: true };
        let flight = self.send(now, Request::Watch(request));
        // As random as the next draw, which it does not use up: what else is drawn stays the same.
        let hash_seed = self.rng.clone().next_u64();
        let initial = InitialEvents::new(version, now.mono, hash_seed);
        self.state = State::WatchListing { flight, initial };
    }

    /// When this WatchList counts as one that will never end its initial events.
    pub(super) fn give_up_at(&self, flight: &Flight, initial: &InitialEvents<V>) -> Option<Mono> {
        flight.started_at?;
        let from = initial.live_event_at.map_or(initial.new_key_at, |at| at.min(initial.new_key_at));
        Some(from.after(STALLED))
    }

    pub(super) fn watch_list_stalled(&mut self, now: Now) {
        let State::WatchListing { initial, .. } = &self.state else {
            unreachable!("only a WatchList stalls");
        };
        let reason = if initial.live_event_at.is_some() {
            "the initial events did not end within 10 s of the first other event"
        } else {
            "no new initial event came for 10 s, nor their end"
        };
        self.abort();
        self.give_up_watch_list(now, reason.to_owned());
    }

    /// Uses LIST from now on, at once.
    fn give_up_watch_list(&mut self, now: Now, reason: String) {
        self.watch_list_given_up = Some((now.mono.after(GIVEN_UP_FOR), reason.clone()));
        self.tell(Trouble::WatchListGivenUp { reason });
        self.begin_list(now);
    }

    pub(super) fn initial_event(&mut self, now: Now, event: WatchEvent<V>) {
        match event {
            WatchEvent::Added(item) => self.initial_object(now, item),
            WatchEvent::Modified(item) => {
                self.first_live_event(now);
                self.initial_object(now, item);
            }
            WatchEvent::Deleted(item) => {
                self.first_live_event(now);
                match entry_of(item) {
                    Ok(entry) => self.initial(|initial| initial.remove(entry.key())),
                    // One of the objects read is gone, and we cannot know which.
                    Err(reason) => self.initial_unreadable(now, reason),
                }
            }
            WatchEvent::Bookmark { version, initial_events_end: true } => {
                self.initial_events_end(now, version)
            }
            WatchEvent::Bookmark { .. } => self.first_live_event(now),
            WatchEvent::Error(failure) => {
                self.abort();
                self.fail(now, failure);
            }
            WatchEvent::Unknown { kind, .. } => self.unknown_event(kind),
            WatchEvent::Malformed(reason) => self.initial_unreadable(now, reason),
        }
    }

    fn initial<T>(&mut self, change: impl FnOnce(&mut InitialEvents<V>) -> T) -> T {
        let State::WatchListing { initial, .. } = &mut self.state else {
            unreachable!("initial events are taken in during a WatchList");
        };
        change(initial)
    }

    fn first_live_event(&mut self, now: Now) {
        self.initial(|initial| {
            initial.live_event_at.get_or_insert(now.mono);
        });
    }

    fn initial_object(&mut self, now: Now, item: ListItem<V>) {
        if let ListItem::Undecodable(identity, reason) = &item {
            self.tell(Trouble::Undecodable { identity: identity.clone(), reason: reason.clone() });
        }
        match entry_of(item) {
            Ok(entry) => self.initial(|initial| initial.put(entry, now.mono)),
            Err(reason) => {
                self.initial(|initial| initial.complete = false);
                self.tell(Trouble::Unreadable { reason });
            }
        }
    }

    fn initial_unreadable(&mut self, now: Now, reason: std::sync::Arc<str>) {
        self.tell(Trouble::Unreadable { reason });
        self.abort();
        self.fail(now, failure(FailureKind::Malformed, "an event could not be read"));
    }

    fn initial_events_end(&mut self, now: Now, version: ResourceVersion) {
        let version = Some(version).filter(|version| !version.is_empty());
        let asked = self.initial(|initial| initial.version.clone());
        if let Some(reason) = self.stale_answer(asked.as_ref(), version.as_ref()) {
            self.abort();
            return self.fail(now, reason);
        }
        // Whoever asked for it before it came to be is still counted as young: its life as a live watch begins now.
        let watch = Watch {
            synthetic: false,
            any_event: true,
            moved: true,
            age: Age::New(now.mono.after(SHORT_WATCH)),
        };
        let State::WatchListing { flight, initial } = std::mem::replace(&mut self.state, State::Stopped)
        else {
            unreachable!("initial events end during a WatchList");
        };
        self.state = State::Watching { flight, watch };
        let complete = initial.complete;
        let (entries, undecodable) = initial.finish();
        self.synced(version, entries, complete);
        for identity in undecodable {
            self.store(Delta::Undecodable(identity));
        }
    }

    pub(super) fn watch_list_failed(
        &mut self,
        now: Now,
        flight: Flight,
        version: Option<ResourceVersion>,
        failure: Failure,
    ) {
        use FailureKind as Kind;
        let request = RequestKind::WatchList;
        let refused = failure.kind == Kind::Invalid || is_refusal(&failure);
        match failure.kind {
            _ if refused => self.give_up_watch_list(now, format!("the server refuses it: {failure}")),
            Kind::Expired | Kind::VersionTooLarge => {
                self.sync_version_lost(now, request, version.is_some(), failure);
            }
            Kind::TooManyRequests | Kind::Refused => self.back_off(now, request, failure, Next::Sync),
            // A proxy that holds an answer back until it ends never lets a stream begin.
            _ if flight.started_at.is_some() || failure.kind == Kind::HeadersTimeout => {
                self.strikes.early_ends += 1;
                if self.strikes.early_ends >= EARLY_ENDS {
                    self.note_failure(request, failure, Duration::ZERO);
                    self.give_up_watch_list(now, "the streams end before their initial events do".to_owned());
                } else {
                    self.back_off(now, request, failure, Next::Sync);
                }
            }
            kind => {
                self.strikes.watch_lists = self.strikes.watch_lists.saturating_add(1);
                self.list_next = self.strikes.watch_lists >= WATCH_LIST_ATTEMPTS;
                if kind == Kind::NotFound {
                    self.not_found(now, request, failure, Next::Sync);
                } else {
                    self.back_off(now, request, failure, Next::Sync);
                }
            }
        }
    }
}

/// Whether the server says that it does not do this, rather than that it cannot just now or not for us.
fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.code, Some(400 | 405 | 406 | 415 | 422 | 501))
}
