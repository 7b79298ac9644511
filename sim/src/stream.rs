//! The body of a watch: which events come next, and how they may be spoilt.

use std::collections::VecDeque;
use std::sync::Arc;

use informer_core::reflector::{ListItem, WatchEvent};
use informer_core::{Identity, Item, Mono, Object, ObjectKey, ResourceVersion, Uid};

use crate::connection::Stage;
use crate::dice::Dice;
use crate::faults::{Fault, failure};
use crate::model_server::{Event, EventKind, Stored};
use crate::mutant::Mutant;
use crate::value::{Value, index_values, uid_text};

/// A watch that was answered.
pub(crate) struct Stream {
    pub(crate) initial: VecDeque<(ObjectKey, Stored)>,
    /// Whether the end bookmark is still to come.
    pub(crate) initial_events: bool,
    /// Whether the reader still compares with the store.
    pub(crate) may_be_known: bool,
    /// Everything visible up to here was sent.
    pub(crate) sent: u64,
    /// The last version that was named.
    pub(crate) named: u64,
    pub(crate) last: Option<Event>,
    /// What the next event is to look like instead of itself.
    pub(crate) mask: Option<Fault>,
    pub(crate) ends_at: Mono,
    pub(crate) bookmark_at: Mono,
}

impl Stream {
    /// Whether the initial events are over.
    pub(crate) fn is_quiet(&self) -> bool {
        self.initial.is_empty() && !self.initial_events
    }

    /// What the server sends next; nothing if it has nothing to say.
    pub(crate) fn next(
        &mut self,
        stage: &mut Stage<'_>,
        replica: usize,
        namespace: Option<&str>,
        fate: Option<Fault>,
    ) -> Vec<WatchEvent<Value>> {
        let mut events = Vec::new();
        let count = stage.rng.range(1, 5) as usize;
        while events.len() < count
            && let Some((key, object)) = self.initial.pop_front()
        {
            events.push(WatchEvent::Added(read(stage, &key, &object, self.may_be_known)));
        }
        if !self.initial.is_empty() {
            return events;
        }
        // Changes may come before the end bookmark, which then speaks of them as well.
        if !self.initial_events || stage.rng.chance(30) {
            let room = count.saturating_sub(events.len());
            let (changes, sent) = stage.server.events(replica, namespace, self.sent, room);
            self.sent = sent;
            for change in changes {
                events.push(self.change(stage, change));
            }
        }
        let known = stage.server.replicas[replica].version;
        if self.initial_events && fate != Some(Fault::NoEndBookmark) {
            (self.initial_events, self.may_be_known) = (false, false);
            self.named = self.sent;
            events.push(WatchEvent::Bookmark { version: self.sent.into(), initial_events_end: true });
        } else if self.initial_events {
            stage.load.count(Fault::NoEndBookmark.name());
        } else if self.bookmark_at <= stage.now && self.sent >= known {
            self.bookmark_at = stage.now.after(stage.rng.millis(5_000, 60_000));
            let ahead = if stage.mutant == Some(Mutant::EarlyBookmark) { 4 } else { 0 };
            self.named = self.sent + ahead;
            events.push(WatchEvent::Bookmark { version: self.named.into(), initial_events_end: false });
        }
        events
    }

    fn change(&mut self, stage: &mut Stage<'_>, event: Event) -> WatchEvent<Value> {
        let known = self.may_be_known && event.kind != EventKind::Deleted;
        let item = read(stage, &event.key, &event.object, known);
        self.named = event.object.version;
        let event = self.last.insert(event);
        match self.mask.take() {
            Some(Fault::Malformed) => WatchEvent::Malformed("not JSON".into()),
            Some(_) => wire_event(event.kind, ListItem::Unreadable("no name".into())),
            None => wire_event(event.kind, item),
        }
    }
}

fn wire_event(kind: EventKind, item: ListItem<Value>) -> WatchEvent<Value> {
    match kind {
        EventKind::Added => WatchEvent::Added(item),
        EventKind::Modified => WatchEvent::Modified(item),
        EventKind::Deleted => WatchEvent::Deleted(item),
    }
}

/// The event, the items it hides, and whether it goes back.
pub(crate) type Spoilt = (WatchEvent<Value>, Vec<ObjectKey>, bool);

/// One wrong event, if the fate has one for a stream in this state.
pub(crate) fn spoil(stream: &mut Stream, fate: Fault, stage: &mut Stage<'_>) -> Option<Spoilt> {
    let live = stream.is_quiet();
    let fine = |event| Some((event, Vec::new(), false));
    match fate {
        Fault::ErrorEvent(kind, code, _) => fine(WatchEvent::Error(failure(kind, Some(code)))),
        Fault::Malformed | Fault::Unreadable if live && stage.rng.chance(80) => {
            stream.mask = Some(fate);
            None
        }
        Fault::Malformed => fine(WatchEvent::Malformed("not JSON".into())),
        Fault::UnknownEvent => fine(WatchEvent::Unknown { kind: "MOVED".to_owned(), version: None }),
        Fault::Unreadable if live => fine(WatchEvent::Modified(ListItem::Unreadable("no name".into()))),
        Fault::Unreadable => {
            let (key, _) = stream.initial.pop_front()?;
            Some((WatchEvent::Added(ListItem::Unreadable("no name".into())), vec![key], false))
        }
        Fault::PlainBookmark if stream.initial_events => {
            stream.may_be_known = false;
            fine(WatchEvent::Bookmark { version: stream.sent.into(), initial_events_end: false })
        }
        Fault::Duplicate if live => {
            let last = stream.last.clone()?;
            fine(wire_event(last.kind, read(stage, &last.key, &last.object, false)))
        }
        Fault::EventWentBack if live => {
            let log = &stage.server.log;
            let change =
                log.iter().rev().find(|change| change.version < stream.named && change.after.is_some())?;
            let (key, object) = (change.key.clone(), change.after?);
            Some((WatchEvent::Modified(read(stage, &key, &object, false)), Vec::new(), true))
        }
        Fault::BookmarkWentBack if live && stream.named > 1 => {
            let version = (stream.named - 1).into();
            Some((WatchEvent::Bookmark { version, initial_events_end: false }, Vec::new(), true))
        }
        _ => None,
    }
}

/// The stage that identifies, compares with the store, and decodes.
pub(crate) fn read(
    stage: &mut Stage<'_>,
    key: &ObjectKey,
    stored: &Stored,
    may_be_known: bool,
) -> ListItem<Value> {
    let (uid, version) = (Uid::new(&uid_text(stored.uid)), ResourceVersion::from(stored.version));
    let known = stage.store.known(key.namespace(), key.name()).filter(|_| may_be_known);
    if let Some(known) = known.filter(|known| known.uid == uid && known.version == version) {
        stage.load.count("unchanged items");
        return ListItem::Unchanged(Arc::clone(known));
    }
    if !stored.decodable {
        stage.load.count("undecodable items");
        return ListItem::Undecodable(Identity { key: key.clone(), uid, version }, "no such type".into());
    }
    let value = Value { uid: stored.uid, version: stored.version, content: stored.content };
    let index_values = index_values(&value, 0..stage.indices, stage.mutant);
    let object = Arc::new(Object { key: key.clone(), uid, version, value: Arc::new(value) });
    ListItem::Decoded(Item { object, index_values })
}
