//! One request and what comes back for it: split, delayed, and spoilt as its fate has it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use informer_core::reflector::{
    Failure, FailureKind, Input, ListEnd, ListItem, ListRequest, Request, RequestId, RequestKind, WatchEvent, WatchRequest,
};
use informer_core::{Identity, Indexer, Item, Mono, Object, ObjectKey, ResourceVersion, Rng, Uid};

use crate::dice::Dice;
use crate::faults::{Fault, failure};
use crate::load::Load;
use crate::model_server::{Event, EventKind, ModelServer, Namespace, Page, Refusal, Stored};
use crate::mutant::Mutant;
use crate::value::{Value, index_values, uid_text};

/// What a connection may look at while it goes on.
pub(crate) struct Stage<'a> {
    pub(crate) now: Mono,
    pub(crate) server: &'a ModelServer,
    pub(crate) store: &'a Indexer<Value>,
    /// How many index functions there are by now.
    pub(crate) indices: usize,
    pub(crate) rng: &'a mut Rng,
    pub(crate) load: &'a mut Load,
    pub(crate) mutant: Option<Mutant>,
}

/// Something that was read and is on its way to the machine.
pub(crate) struct Arrival {
    pub(crate) at: Mono,
    pub(crate) input: Input<Value>,
    /// Items of a list that could not be identified: nobody can know that they are there.
    pub(crate) unread: Vec<ObjectKey>,
    /// Whether this contradicts the server's own order, so that the machine must notice.
    pub(crate) goes_back: bool,
}

/// A request under way.
pub(crate) struct Connection {
    pub(crate) id: RequestId,
    pub(crate) scope: usize,
    pub(crate) kind: RequestKind,
    /// When it goes on by itself.
    pub(crate) at: Mono,
    /// Read, not yet delivered.
    pub(crate) arrivals: VecDeque<Arrival>,
    pub(crate) fate: Option<Fault>,
    namespace: Namespace,
    request: Request,
    replica: usize,
    /// After how many steps of the body the fate strikes.
    strikes_after: u64,
    body: Body,
    /// Its end was read.
    ended: bool,
    unread: Vec<ObjectKey>,
    goes_back: bool,
}

enum Body {
    Unanswered,
    List { page: Page, sent: usize },
    Watch(Stream),
    /// Ended, or half-open for ever.
    Silent,
}

struct Stream {
    initial: VecDeque<(ObjectKey, Stored)>,
    /// Whether the end bookmark is still to come.
    initial_events: bool,
    /// Whether the reader still compares with the store.
    may_be_known: bool,
    /// Everything visible up to here was sent.
    sent: u64,
    /// The last version that was named.
    named: u64,
    last: Option<Event>,
    ends_at: Mono,
    bookmark_at: Mono,
}

const NEVER: Mono = Mono(u64::MAX);

impl Connection {
    pub(crate) fn new(
        (id, scope, request): (RequestId, usize, Request),
        namespace: Namespace,
        fate: Option<Fault>,
        now: Mono,
        rng: &mut Rng,
    ) -> Self {
        Self {
            id,
            scope,
            kind: request.kind(),
            at: now.after(rng.millis(1, 200)),
            arrivals: VecDeque::new(),
            fate,
            namespace,
            request,
            replica: rng.below(2) as usize,
            strikes_after: rng.pick(&[0, 0, 1, 2, 4, 8]),
            body: Body::Unanswered,
            ended: false,
            unread: Vec::new(),
            goes_back: false,
        }
    }

    /// Gives a connection that fares well another fate.
    pub(crate) fn doom(&mut self, fate: Fault) {
        self.fate.get_or_insert(fate);
    }

    /// From here on all goes well, unless the connection is dead already.
    pub(crate) fn heal(&mut self) {
        self.fate = None;
    }

    /// The peer closes the connection; nobody hears that on a dead one.
    pub(crate) fn reset(&mut self, stage: &mut Stage<'_>) {
        if !matches!(self.body, Body::Silent) {
            self.end(stage, Input::Failed(failure(FailureKind::Transport, None)));
        }
    }

    /// Something was written: a watch goes on soon.
    pub(crate) fn wake(&mut self, now: Mono, rng: &mut Rng) {
        if matches!(self.body, Body::Watch(_)) {
            self.at = self.at.min(now.after(rng.millis(1, 60)));
        }
    }

    /// Whether its end was delivered; a half-open one has none.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.arrivals.is_empty()
    }

    /// Goes on: reads what comes next.
    pub(crate) fn step(&mut self, stage: &mut Stage<'_>) {
        let pause = if stage.rng.chance(5) { stage.rng.millis(100, 8_000) } else { stage.rng.millis(1, 60) };
        self.at = stage.now.after(pause);
        if matches!(self.body, Body::Unanswered) {
            return self.answer(stage);
        }
        if self.strikes_after > 0 {
            self.strikes_after -= 1;
        } else if self.strike(stage) {
            return;
        }
        match std::mem::replace(&mut self.body, Body::Silent) {
            Body::List { page, sent } => self.list(stage, page, sent),
            Body::Watch(stream) => self.watch(stage, stream),
            Body::Unanswered => unreachable!("handled before"),
            Body::Silent => self.at = NEVER,
        }
    }

    fn answer(&mut self, stage: &mut Stage<'_>) {
        if self.fate == Some(Fault::NoHeaders) {
            stage.load.count(Fault::NoHeaders.name());
            return self.fall_silent();
        }
        let watch_list = self.kind == RequestKind::WatchList;
        if let Some(fate) = self.fate
            && let Some(failure) = fate.at_once(watch_list, stage.rng)
        {
            stage.load.count(fate.name());
            return self.end(stage, Input::Failed(failure));
        }
        match self.request.clone() {
            Request::List(list) => self.answer_list(stage, &list),
            Request::Watch(watch) => self.answer_watch(stage, &watch),
        }
    }

    fn answer_list(&mut self, stage: &mut Stage<'_>, list: &ListRequest) {
        let (version, token) = (list.version.as_ref().map(number), list.continue_token.as_deref());
        match stage.server.list(self.replica, self.namespace.as_deref(), version, list.page_size, token) {
            Err(refusal) => {
                if token.is_some() {
                    stage.load.count("server: continue token expired");
                }
                self.refuse(stage, refusal);
            }
            Ok(page) => {
                stage.load.count("server: pages");
                self.push(stage, Input::Started);
                self.body = Body::List { page, sent: 0 };
            }
        }
    }

    fn answer_watch(&mut self, stage: &mut Stage<'_>, watch: &WatchRequest) {
        let version = watch.version.as_ref().map(number);
        match stage.server.watch(self.replica, self.namespace.as_deref(), version, watch.initial_events) {
            Err(Refusal::Expired) if stage.rng.chance(50) => {
                stage.load.count("server: expired as event");
                self.push(stage, Input::Started);
                let error = WatchEvent::Error(failure(FailureKind::Expired, Some(410)));
                self.push(stage, Input::Events(vec![error]));
                self.end(stage, Input::Ended);
            }
            Err(refusal) => self.refuse(stage, refusal),
            Ok((initial, sent)) => {
                stage.load.count("server: watches");
                self.push(stage, Input::Started);
                self.body = Body::Watch(Stream {
                    initial: initial.into(),
                    initial_events: watch.initial_events,
                    may_be_known: watch.initial_events,
                    sent,
                    named: version.unwrap_or(0),
                    last: None,
                    ends_at: stage.now.after(watch.timeout),
                    bookmark_at: stage.now.after(stage.rng.millis(1_000, 60_000)),
                });
            }
        }
    }

    fn refuse(&mut self, stage: &mut Stage<'_>, refusal: Refusal) {
        let failure = match refusal {
            Refusal::Expired => failure(FailureKind::Expired, Some(410)),
            Refusal::TooLarge => Failure {
                retry_after: stage.rng.chance(50).then_some(Duration::from_secs(1)),
                ..failure(FailureKind::VersionTooLarge, Some(504))
            },
            Refusal::NotFound => failure(FailureKind::NotFound, Some(404)),
        };
        stage.load.count(match refusal {
            Refusal::Expired => "server: expired as status",
            Refusal::TooLarge => "server: version too large",
            Refusal::NotFound => "server: not found",
        });
        self.end(stage, Input::Failed(failure));
    }

    /// Does what the connection's fate has for its body; answers whether that is all for now.
    fn strike(&mut self, stage: &mut Stage<'_>) -> bool {
        let Some(fate) = self.fate else { return false };
        if !fate.is_in_body() {
            self.fate = None;
            return false;
        }
        let listing = matches!(self.body, Body::List { .. });
        let struck = match (&mut self.body, fate) {
            (_, Fault::Cut) => {
                self.end(stage, Input::Failed(failure(FailureKind::Transport, None)));
                true
            }
            (_, Fault::Stalled) => {
                self.fall_silent();
                true
            }
            (_, Fault::Malformed) if listing => {
                self.end(stage, Input::Failed(failure(FailureKind::Malformed, None)));
                true
            }
            (Body::List { page, sent }, Fault::Unreadable) if *sent < page.items.len() => {
                self.unread.push(page.items[*sent].0.clone());
                *sent += 1;
                self.push(stage, Input::Items(vec![ListItem::Unreadable("no name".into())]));
                true
            }
            (Body::Watch(_), Fault::ShortWatch) => {
                self.end(stage, Input::Ended);
                true
            }
            (Body::Watch(stream), _) => match spoil(stream, fate, stage) {
                Some((event, unread, goes_back)) => {
                    self.unread.extend(unread);
                    self.goes_back = goes_back;
                    let last = matches!(event, WatchEvent::Error(_));
                    self.push(stage, Input::Events(vec![event]));
                    if last {
                        self.end(stage, Input::Ended);
                    }
                    true
                }
                None => false,
            },
            _ => false,
        };
        if struck {
            stage.load.count(fate.name());
            self.fate = None;
        }
        struck
    }

    fn list(&mut self, stage: &mut Stage<'_>, page: Page, sent: usize) {
        if sent < page.items.len() {
            let count = (stage.rng.range(1, 6) as usize).min(page.items.len() - sent);
            let items = page.items[sent..sent + count].iter();
            let items = items.map(|(key, object)| read(stage, key, object, true)).collect();
            self.push(stage, Input::Items(items));
            self.body = Body::List { page, sent: sent + count };
            return;
        }
        let version = Some(ResourceVersion::from(page.version));
        self.end(stage, Input::ListEnd(ListEnd { version, continue_token: page.token, remaining: page.remaining }));
    }

    fn watch(&mut self, stage: &mut Stage<'_>, mut stream: Stream) {
        let events = stream.next(stage, self.replica, self.namespace.as_deref(), self.fate);
        if !events.is_empty() {
            stage.load.add("events", events.len() as u64);
            self.push(stage, Input::Events(events));
        } else if stream.ends_at <= stage.now {
            return self.end(stage, Input::Ended);
        } else if stage.rng.chance(3) {
            self.push(stage, Input::Alive);
        } else if stream.is_quiet() {
            // What is written wakes it.
            self.at = stream.bookmark_at.min(stream.ends_at).max(self.at);
        }
        self.body = Body::Watch(stream);
    }

    fn push(&mut self, stage: &mut Stage<'_>, input: Input<Value>) {
        let at = stage.now.after(stage.rng.millis(0, 20));
        let at = self.arrivals.back().map_or(at, |last| at.max(last.at));
        let (unread, goes_back) = (std::mem::take(&mut self.unread), std::mem::take(&mut self.goes_back));
        self.arrivals.push_back(Arrival { at, input, unread, goes_back });
    }

    fn end(&mut self, stage: &mut Stage<'_>, input: Input<Value>) {
        self.push(stage, input);
        self.ended = true;
        self.fall_silent();
    }

    fn fall_silent(&mut self) {
        self.body = Body::Silent;
        self.at = NEVER;
    }
}

impl Stream {
    fn is_quiet(&self) -> bool {
        self.initial.is_empty() && !self.initial_events
    }

    /// What the server sends next; nothing if it has nothing to say.
    fn next(
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
        wire_event(event.kind, item)
    }
}

fn wire_event(kind: EventKind, item: ListItem<Value>) -> WatchEvent<Value> {
    match kind {
        EventKind::Added => WatchEvent::Added(item),
        EventKind::Modified => WatchEvent::Modified(item),
        EventKind::Deleted => WatchEvent::Deleted(item),
    }
}

type Spoilt = (WatchEvent<Value>, Vec<ObjectKey>, bool);

/// One wrong event, if the fate has one for a stream in this state.
fn spoil(stream: &mut Stream, fate: Fault, stage: &mut Stage<'_>) -> Option<Spoilt> {
    let live = stream.is_quiet();
    let fine = |event| Some((event, Vec::new(), false));
    match fate {
        Fault::ErrorEvent(kind, code, _) => fine(WatchEvent::Error(failure(kind, Some(code)))),
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
            let change = log.iter().rev().find(|change| change.version < stream.named && change.after.is_some())?;
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
fn read(stage: &mut Stage<'_>, key: &ObjectKey, stored: &Stored, may_be_known: bool) -> ListItem<Value> {
    let (uid, version) = (Uid::new(&uid_text(stored.uid)), ResourceVersion::from(stored.version));
    let known = stage.store.known(key.namespace(), key.name()).filter(|_| may_be_known);
    if known == Some((&uid, &version)) {
        stage.load.count("unchanged items");
        return ListItem::Unchanged(Identity { key: key.clone(), uid, version });
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

/// A version that the model server once named.
pub(crate) fn number(version: &ResourceVersion) -> u64 {
    version.to_string().parse().expect("versions here are numbers")
}
