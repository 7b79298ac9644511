//! What a reflector is doing right now, and what it knows only while it does that.

use std::time::Duration;

use super::initial_events::InitialEvents;
use super::io::{ListItem, RequestId};
use crate::{Entry, Mono, ResourceVersion};

/// What a reflector is doing.
pub(super) enum State<V> {
    Stopped,
    Waiting { until: Mono, next: Next<V> },
    Listing { flight: Flight, list: List<V> },
    WatchListing { flight: Flight, initial: InitialEvents<V> },
    Watching { flight: Flight, watch: Watch },
}

/// What follows a wait.
pub(super) enum Next<V> {
    /// Read the whole collection.
    Sync,
    /// Watch from the last version.
    Watch,
    /// Ask for the current page of a list again.
    Page(List<V>),
}

/// The request under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) id: RequestId,
    pub(super) sent_at: Mono,
    pub(super) started_at: Option<Mono>,
    last_byte_at: Mono,
    headers_timeout: Duration,
    idle: Duration,
}

impl Flight {
    pub(super) fn new(id: RequestId, now: Mono, headers_timeout: Duration, idle: Duration) -> Self {
        Self { id, sent_at: now, started_at: None, last_byte_at: now, headers_timeout, idle }
    }

    /// Something came. Answers whether it was the first.
    pub(super) fn alive(&mut self, now: Mono) -> bool {
        self.last_byte_at = now;
        let first = self.started_at.is_none();
        self.started_at.get_or_insert(now);
        first
    }

    /// When the server has been silent for too long.
    pub(super) fn deadline(&self) -> Mono {
        match self.started_at {
            None => self.sent_at.after(self.headers_timeout),
            Some(_) => self.last_byte_at.after(self.idle),
        }
    }
}

/// A LIST, all pages of it.
pub(super) struct List<V> {
    /// The version asked for with the first page.
    pub(super) version: Option<ResourceVersion>,
    pub(super) page_size: Option<u32>,
    /// The page being read; `None` for the first.
    pub(super) continue_token: Option<String>,
    /// The version of the first page: changes of later ones come again in the watch.
    pub(super) first_page: Option<Option<ResourceVersion>>,
    pub(super) entries: Vec<Entry<V>>,
    /// False once an item could not be identified.
    pub(super) complete: bool,
    /// How many entries there were, and whether all could be identified, when the current page began.
    pub(super) page_start: (usize, bool),
    pub(super) total: Option<u64>,
    /// How many times in a row the current page failed.
    pub(super) page_failures: u32,
    /// How many pages in a row had no items.
    pub(super) empty_pages: u32,
}

impl<V> List<V> {
    pub(super) fn new(version: Option<ResourceVersion>, page_size: Option<u32>) -> Self {
        Self {
            version,
            page_size,
            continue_token: None,
            first_page: None,
            entries: Vec::new(),
            complete: true,
            page_start: (0, true),
            total: None,
            page_failures: 0,
            empty_pages: 0,
        }
    }

    /// Forgets what was read of the current page.
    pub(super) fn rewind_page(&mut self) {
        self.entries.truncate(self.page_start.0);
        self.complete = self.page_start.1;
    }
}

/// A live watch.
pub(super) struct Watch {
    /// Started from no version or `"0"`: until the first event that is not ADDED, events are the collection as it
    /// stands, not in order of their versions.
    pub(super) synthetic: bool,
    /// Whether any event came.
    pub(super) any_event: bool,
    /// Whether the last version moved.
    pub(super) moved: bool,
    /// What is next to be noticed of its age.
    pub(super) age: Age,
}

/// How long a watch has lived, as far as that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// Not answered yet.
    Unborn,
    /// Until this time it may turn out to be a short one.
    New(Mono),
    /// Until this time it proves nothing of the server's health.
    Settled(Mono),
    /// It has lived.
    Proven,
}

impl Age {
    pub(super) fn deadline(self) -> Option<Mono> {
        match self {
            Self::New(until) | Self::Settled(until) => Some(until),
            Self::Unborn | Self::Proven => None,
        }
    }
}

/// An item as an entry of a list; `Err` is why it cannot be identified.
pub(super) fn entry_of<V>(item: ListItem<V>) -> Result<Entry<V>, std::sync::Arc<str>> {
    match item {
        ListItem::Decoded(item) => Ok(Entry::Object(item)),
        ListItem::Unchanged(object) => Ok(Entry::Unchanged(object)),
        ListItem::Undecodable(identity, _) => Ok(Entry::Undecodable(Box::new(identity))),
        ListItem::Unreadable(reason) => Err(reason),
    }
}
