//! A model of a server: honest about its objects, unreliable in every other way.

use std::collections::BTreeMap;

use super::super::{FailureKind, Input, ListEnd, ListItem, Phase, Request, WatchEvent};
use super::words::{added, bookmark, deleted, end_bookmark, item, modified, unknown};
use super::{Bench, failure};
use crate::{ResourceVersion, Rng};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

pub(super) const KINDS: [FailureKind; 15] = [
    FailureKind::Refused,
    FailureKind::Transport,
    FailureKind::HeadersTimeout,
    FailureKind::Idle,
    FailureKind::Expired,
    FailureKind::VersionTooLarge,
    FailureKind::TooManyRequests,
    FailureKind::Invalid,
    FailureKind::Unauthorized,
    FailureKind::Forbidden,
    FailureKind::NotFound,
    FailureKind::Internal,
    FailureKind::Status,
    FailureKind::Malformed,
    FailureKind::LimitExceeded,
];

#[derive(Clone, Copy)]
enum Change {
    Added,
    Modified,
    Deleted,
}

/// The state of the request being answered.
#[derive(Default)]
struct Session {
    request: Option<u64>,
    /// Initial objects still to be sent; `None` when the stream is live.
    initial: Option<Vec<String>>,
    initial_events: bool,
    /// Everything up to here was sent.
    sent: u64,
}

pub(super) struct Server {
    pub(super) rng: Rng,
    version: u64,
    pub(super) objects: BTreeMap<&'static str, u64>,
    log: Vec<(u64, Change, &'static str)>,
    compacted: u64,
    snapshots: BTreeMap<String, (u64, Vec<String>)>,
    session: Session,
    /// Whether it sends items that cannot be decoded or identified.
    pub(super) garbles: bool,
}

impl Server {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            version: 10,
            objects: BTreeMap::new(),
            log: Vec::new(),
            compacted: 0,
            snapshots: BTreeMap::new(),
            session: Session::default(),
            garbles: false,
        }
    }

    pub(super) fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }

    pub(super) fn change(&mut self) {
        let name = NAMES[self.rng.below(NAMES.len() as u64) as usize];
        // Other resources share the counter.
        self.version += 1 + self.rng.below(2);
        let change = if self.objects.contains_key(name) {
            if self.chance(3) { Change::Deleted } else { Change::Modified }
        } else {
            Change::Added
        };
        match change {
            Change::Deleted => self.objects.remove(name),
            Change::Added | Change::Modified => self.objects.insert(name, self.version),
        };
        self.log.push((self.version, change, name));
    }

    pub(super) fn compact(&mut self) {
        self.compacted = self.version;
        self.snapshots.clear();
    }

    pub(super) fn state(&self) -> String {
        self.words().join(" ")
    }

    fn words(&self) -> Vec<String> {
        self.objects.iter().map(|(name, version)| format!("{name}@{version}")).collect()
    }

    /// One step of an honest answer to what is under way.
    pub(super) fn serve(&mut self, bench: &mut Bench) {
        let (id, request) = bench.in_flight.clone().expect("something is under way");
        match request {
            Request::List(list) => {
                let (version, words) = match &list.continue_token {
                    Some(token) => match self.snapshots.get(token) {
                        Some(snapshot) => snapshot.clone(),
                        None => return bench.give(Input::Failed(failure(FailureKind::Expired))),
                    },
                    None => match self.number(list.version.as_ref()) {
                        Err(kind) => return bench.give(Input::Failed(failure(kind))),
                        Ok(_) => (self.version, self.words()),
                    },
                };
                let size = list.page_size.map_or(usize::MAX, |size| size as usize).min(words.len());
                let (page, rest) = words.split_at(size);
                let continue_token = (!rest.is_empty()).then(|| format!("{version}+{}", rest.len()));
                if let Some(token) = &continue_token {
                    self.snapshots.insert(token.clone(), (version, rest.to_vec()));
                }
                bench.give(Input::Started);
                let items = page.iter().map(|word| self.item(bench, word)).collect();
                bench.give(Input::Items(items));
                bench.give(Input::ListEnd(ListEnd {
                    version: Some(version.into()),
                    continue_token,
                    remaining: None,
                }));
            }
            Request::Watch(watch) => {
                if self.session.request != Some(id.0) {
                    let from = match self.number(watch.version.as_ref()) {
                        Ok(from) => from,
                        Err(kind) => return bench.give(Input::Failed(failure(kind))),
                    };
                    if from != 0 && from < self.compacted && !watch.initial_events {
                        return bench.give(Input::Failed(failure(FailureKind::Expired)));
                    }
                    let initial = (watch.initial_events || from == 0).then(|| self.words());
                    let sent = if initial.is_some() { self.version } else { from };
                    self.session =
                        Session { request: Some(id.0), initial, initial_events: watch.initial_events, sent };
                    return bench.give(Input::Started);
                }
                let events = self.events(bench);
                bench.give(Input::Events(events));
            }
        }
    }

    fn number(&self, version: Option<&ResourceVersion>) -> Result<u64, FailureKind> {
        let number = version.map_or(0, |version| version.to_string().parse().expect("a version we sent"));
        if number > self.version { Err(FailureKind::VersionTooLarge) } else { Ok(number) }
    }

    fn events(&mut self, bench: &Bench) -> Vec<WatchEvent<u64>> {
        let mut events = Vec::new();
        if let Some(initial) = &mut self.session.initial {
            let count = initial.len().min(self.rng.below(4) as usize);
            let words: Vec<_> = initial.drain(..count).collect();
            let done = initial.is_empty();
            for word in words {
                let item = self.item(bench, &word);
                events.push(WatchEvent::Added(item));
            }
            if done {
                self.session.initial = None;
                if self.session.initial_events {
                    events.push(end_bookmark(&self.session.sent.to_string()));
                }
            }
            return events;
        }
        let due: Vec<_> =
            self.log.iter().filter(|(version, ..)| *version > self.session.sent).take(3).copied().collect();
        for (version, change, name) in due {
            self.session.sent = version;
            let word = self.garbled(format!("{name}@{version}"));
            events.push(match change {
                Change::Added => added(&word),
                Change::Modified => modified(&word),
                Change::Deleted => deleted(&word),
            });
        }
        if events.is_empty() && self.chance(2) {
            self.session.sent = self.session.sent.max(self.version);
            events.push(bookmark(&self.session.sent.to_string()));
        } else if self.chance(20) {
            events.push(unknown("FOO", &self.session.sent.to_string()));
        }
        events
    }

    fn garbled(&mut self, word: String) -> String {
        match self.rng.below(30) {
            0 if self.garbles => "!".to_owned(),
            1 | 2 if self.garbles => format!("~{word}"),
            _ => word,
        }
    }

    fn item(&mut self, bench: &Bench, word: &str) -> ListItem<u64> {
        let (name, version) = word.split_once('@').expect("a word is name@version");
        let stored = bench.store.get(name).is_some_and(|stored| stored == version);
        if stored && self.chance(2) {
            return item(&format!("={word}"));
        }
        item(&self.garbled(word.to_owned()))
    }

    /// One thing that goes wrong.
    pub(super) fn fault(&mut self, bench: &mut Bench) {
        let kind = KINDS[self.rng.below(KINDS.len() as u64) as usize];
        let mut reason = failure(kind);
        if self.chance(4) {
            reason.retry_after = Some(std::time::Duration::from_secs(self.rng.below(400)));
        }
        reason.code = [None, Some(400), Some(500), Some(405)][self.rng.below(4) as usize];
        match self.rng.below(12) {
            0..=3 => bench.give(Input::Failed(reason)),
            4 => bench.give(Input::Ended),
            5 => bench.give(Input::Started),
            6 => bench.give(Input::Alive),
            7 => bench.event(WatchEvent::Error(reason)),
            8 => bench.event(WatchEvent::Malformed("not json".into())),
            // Old news in a live stream: broken, and noticed (among initial events it could not be).
            9 if bench.reflector.phase() == Phase::Watching => {
                let old = self.log.first().copied();
                if let Some((version, _, name)) = old.filter(|(version, ..)| *version < self.session.sent) {
                    bench.event(modified(&format!("{name}@{version}")));
                }
            }
            10 if self.garbles => bench.give(Input::Items(vec![item("!")])),
            _ => {
                bench.give(Input::Started);
                if bench.in_flight.is_some() {
                    bench.give(Input::Failed(reason));
                }
            }
        }
    }
}
