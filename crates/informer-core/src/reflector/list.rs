//! LIST: reading the whole collection page by page.

use std::time::Duration;

use super::io::{Failure, FailureKind, ListEnd, ListItem, ListRequest, Request, RequestKind, Trouble};
use super::machine::{Reflector, failure};
use super::options::DEFAULT_PAGE_SIZE;
use super::state::{Flight, List, Next, State, entry_of};
use crate::{Now, ResourceVersion};

/// Below this, smaller pages no longer help: the trouble is elsewhere.
const MIN_PAGE_SIZE: u32 = 50;

/// How often one page is tried before the list starts anew.
const PAGE_ATTEMPTS: u32 = 3;

/// A server with filters may send a few empty pages; one that sends nothing else is broken, and would be asked for ever
/// without a pause.
const MAX_EMPTY_PAGES: u32 = 100;

impl<V> Reflector<V> {
    pub(super) fn begin_list(&mut self, now: Now) {
        let version = self.list_version();
        let page_size = self.page_size(version.as_ref());
        self.send_list(now, List::new(version, page_size));
    }

    /// The first list takes any version the server has at hand, a relist none older than the last, and if the server
    /// does not have that one, whatever is current.
    fn list_version(&self) -> Option<ResourceVersion> {
        if self.versions.unavailable {
            return None;
        }
        let first = !self.has_listed && !self.options.consistent_first_list;
        self.versions.last.clone().or_else(|| first.then(|| ResourceVersion::from(0)))
    }

    fn page_size(&self, version: Option<&ResourceVersion>) -> Option<u32> {
        if self.options.page_size.is_some() {
            return smaller(self.options.page_size, self.reduced_page);
        }
        // At a version of its own a list is answered whole from the server's watch cache; with a limit, older servers
        // would go to etcd for it.
        let from_cache = version.is_some_and(|version| *version != ResourceVersion::from(0));
        let usual = (!from_cache || self.always_paged).then_some(DEFAULT_PAGE_SIZE);
        smaller(usual, self.reduced_page)
    }

    /// Asks for the current page of `list`.
    pub(super) fn send_list(&mut self, now: Now, list: List<V>) {
        let request = ListRequest {
            // A continue token carries the version.
            version: list.version.clone().filter(|_| list.continue_token.is_none()),
            page_size: list.page_size,
            continue_token: list.continue_token.clone(),
        };
        let flight = self.send(now, Request::List(request));
        self.state = State::Listing { flight, list };
    }

    pub(super) fn list_items(&mut self, items: Vec<ListItem<V>>) {
        for item in items {
            let undecodable = match &item {
                ListItem::Undecodable(identity, reason) => Some((identity.clone(), reason.clone())),
                _ => None,
            };
            if let Some((identity, reason)) = undecodable {
                self.tell(Trouble::Undecodable { identity, reason });
            }
            let State::Listing { list, .. } = &mut self.state else {
                unreachable!("items are taken in while listing");
            };
            match entry_of(item) {
                Ok(entry) => list.entries.push(entry),
                Err(reason) => {
                    list.complete = false;
                    self.tell(Trouble::Unreadable { reason });
                }
            }
        }
    }

    pub(super) fn list_end(&mut self, now: Now, end: ListEnd) {
        let State::Listing { flight, mut list } = std::mem::replace(&mut self.state, State::Stopped) else {
            unreachable!("a list ends while listing");
        };
        let version = end.version.filter(|version| !version.is_empty());
        let page_items = list.entries.len() - list.page_start.0;
        let first_page = list.first_page.get_or_insert(version).clone();
        if let Some(reason) = self.stale_answer(list.version.as_ref(), first_page.as_ref()) {
            return self.list_failed(now, flight, list, reason);
        }
        let Some(token) = end.continue_token.filter(|token| !token.is_empty()) else {
            return self.listed(now, list, first_page);
        };
        list.empty_pages = if page_items == 0 { list.empty_pages + 1 } else { 0 };
        if list.continue_token.as_ref() == Some(&token) || list.empty_pages > MAX_EMPTY_PAGES {
            let reason = failure(FailureKind::Malformed, "the pages of the list never end");
            list.page_failures = PAGE_ATTEMPTS;
            return self.list_failed(now, flight, list, reason);
        }
        if list.version == Some(ResourceVersion::from(0)) {
            // Its watch cache would have answered whole: it is off.
            self.always_paged = true;
        }
        list.total = end.remaining.map(|remaining| (list.entries.len() as u64).saturating_add(remaining));
        list.page_start = (list.entries.len(), list.complete);
        list.page_failures = 0;
        list.continue_token = Some(token);
        self.send_list(now, list);
    }

    /// Whether the collection that came is older than the one asked for: that server is behind.
    pub(super) fn stale_answer(
        &self,
        asked: Option<&ResourceVersion>,
        got: Option<&ResourceVersion>,
    ) -> Option<Failure> {
        let older = self.versions.is_older(got?, asked?);
        older.then(|| failure(FailureKind::VersionTooLarge, "the list is older than the version asked for"))
    }

    fn listed(&mut self, now: Now, list: List<V>, version: Option<ResourceVersion>) {
        self.reduced_page = self
            .reduced_page
            .map(|size| size.saturating_mul(2))
            .filter(|&size| size < self.options.page_size.unwrap_or(DEFAULT_PAGE_SIZE));
        self.synced(version, list.entries, list.complete);
        self.begin_watch(now);
    }

    pub(super) fn list_failed(&mut self, now: Now, flight: Flight, mut list: List<V>, failure: Failure) {
        use FailureKind as Kind;
        let on_later_page = list.continue_token.is_some();
        match failure.kind {
            Kind::Expired | Kind::Invalid if on_later_page => {
                // The token is lost. Everything at once cannot lose it again.
                self.note_failure(RequestKind::List, failure, Duration::ZERO);
                return self.send_list(now, List::new(list.version, None));
            }
            Kind::Expired | Kind::VersionTooLarge | Kind::Invalid => {
                return self.sync_version_lost(now, RequestKind::List, list.version.is_some(), failure);
            }
            Kind::NotFound => return self.not_found(now, RequestKind::List, failure, Next::Sync),
            Kind::Transport | Kind::HeadersTimeout | Kind::Idle | Kind::Malformed | Kind::LimitExceeded
                if flight.started_at.is_some() || failure.kind == Kind::HeadersTimeout =>
            {
                let size = list.page_size.unwrap_or(DEFAULT_PAGE_SIZE);
                self.reduced_page = Some((size / 2).max(MIN_PAGE_SIZE));
            }
            _ => {}
        }
        if failure.kind != Kind::TooManyRequests {
            list.page_failures += 1;
        }
        let next = if on_later_page && list.page_failures < PAGE_ATTEMPTS {
            list.rewind_page();
            list.page_size = smaller(list.page_size, self.reduced_page);
            Next::Page(list)
        } else {
            Next::Sync
        };
        self.back_off(now, RequestKind::List, failure, next);
    }

    /// The server does not have the version we asked to read the collection at, neither as a LIST nor as a WatchList.
    pub(super) fn sync_version_lost(
        &mut self,
        now: Now,
        request: RequestKind,
        had_version: bool,
        failure: Failure,
    ) {
        self.versions.unavailable = true;
        // Only once: until something succeeds, no version is sent again.
        if had_version {
            self.note_failure(request, failure, Duration::ZERO);
            // The way that just answered, not the one that is due.
            if request == RequestKind::List { self.begin_list(now) } else { self.begin_sync(now) }
        } else {
            self.back_off(now, request, failure, Next::Sync);
        }
    }
}

fn smaller(size: Option<u32>, limit: Option<u32>) -> Option<u32> {
    match (size, limit) {
        (Some(size), Some(limit)) => Some(size.min(limit)),
        (size, limit) => size.or(limit),
    }
}
