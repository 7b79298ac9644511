//! One request and what comes back for it: split, delayed, and spoilt as its fate has it.

use std::collections::VecDeque;
use std::time::Duration;

use informer_core::reflector::{
    Failure, FailureKind, Input, ListEnd, ListItem, ListRequest, Request, RequestId, RequestKind, WatchEvent,
    WatchRequest,
};
use informer_core::{Indexer, Mono, ObjectKey, ResourceVersion, Rng};

use crate::dice::Dice;
use crate::faults::{Fault, failure};
use crate::load::Load;
use crate::model_server::{ModelServer, Namespace, Page, Refusal};
use crate::mutant::Mutant;
use crate::stream::{Stream, read, spoil};
use crate::value::Value;

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
    List {
        page: Page,
        sent: usize,
    },
    Watch(Stream),
    /// Ended, or half-open for ever.
    Silent,
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
        // The initial events are soon over.
        let at_once = fate == Some(Fault::PlainBookmark);
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
            strikes_after: if at_once { 0 } else { rng.pick(&[0, 0, 1, 2, 4, 8]) },
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

    /// The items on their way that could not be identified.
    pub(crate) fn unread(&self) -> Vec<ObjectKey> {
        self.arrivals.iter().flat_map(|arrival| arrival.unread.iter().cloned()).collect()
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
                    mask: None,
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
                // Its next event is spoilt.
                None if stream.mask.is_some() => {
                    stage.load.count(fate.name());
                    self.fate = None;
                    false
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
        self.end(
            stage,
            Input::ListEnd(ListEnd { version, continue_token: page.token, remaining: page.remaining }),
        );
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

/// A version that the model server once named.
pub(crate) fn number(version: &ResourceVersion) -> u64 {
    version.to_string().parse().expect("versions here are numbers")
}
