//! A scripted server, in simulated time, and what it sees of a reflector.

mod backing_off;
mod list;
mod random;
mod relist;
mod resource_gone;
mod server;
mod versions;
mod watch;
mod watch_list;
mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    Failure, FailureKind, Input, ListEnd, Output, Phase, Reflector, ReflectorOptions, Request, RequestId,
    WatchEvent,
};
use crate::{Delta, Entry, Mono, Now};
use words::{items, say_delta, say_request, say_trouble};

/// One answer of the scripted server.
#[derive(Debug)]
enum Answer {
    /// A whole list, or one page of it.
    List { version: &'static str, items: &'static str, token: &'static str },
    /// Part of a list's body, then a failure.
    BrokenList { items: &'static str, kind: FailureKind },
    /// An error instead of an answer.
    Fail(Failure),
    /// Events; the stream stays open.
    Open(Vec<WatchEvent<u64>>),
    /// Events, then after a while the end of the stream.
    Closed(Vec<WatchEvent<u64>>, Duration),
    /// Events, then the connection breaks.
    Broken(Vec<WatchEvent<u64>>, FailureKind),
}

fn list(version: &'static str, items: &'static str) -> Answer {
    Answer::List { version, items, token: "" }
}

fn page(version: &'static str, items: &'static str, token: &'static str) -> Answer {
    Answer::List { version, items, token }
}

fn fail(kind: FailureKind) -> Answer {
    Answer::Fail(failure(kind))
}

/// A stream that the server ends in order after a normal life.
fn closed(events: Vec<WatchEvent<u64>>) -> Answer {
    Answer::Closed(events, Duration::from_secs(2))
}

/// A stream that the server ends at once.
fn short(events: Vec<WatchEvent<u64>>) -> Answer {
    Answer::Closed(events, Duration::from_millis(10))
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, code: None, message: format!("{kind:?}"), retry_after: None }
}

fn failure_after(kind: FailureKind, retry_after: u64) -> Failure {
    Failure { retry_after: Some(Duration::from_secs(retry_after)), ..failure(kind) }
}

/// A reflector, its simulated time, and everything it said.
struct Bench {
    reflector: Reflector<u64>,
    now: Now,
    /// What was said, in order; each test looks at the lists it is about.
    requests: Vec<String>,
    sent_at: Vec<Mono>,
    deltas: Vec<String>,
    troubles: Vec<String>,
    in_flight: Option<(RequestId, Request)>,
    timeout: Option<Mono>,
    /// What a store would hold: name → version, `~` before a stale one.
    store: BTreeMap<String, String>,
}

impl Bench {
    fn new(options: ReflectorOptions) -> Self {
        Self::seeded(options, 1)
    }

    fn seeded(options: ReflectorOptions, seed: u64) -> Self {
        let mut bench = Self {
            reflector: Reflector::new(options, seed),
            now: Now { mono: Mono(1_000_000_000), wall_ms: 0 },
            requests: Vec::new(),
            sent_at: Vec::new(),
            deltas: Vec::new(),
            troubles: Vec::new(),
            in_flight: None,
            timeout: None,
            store: BTreeMap::new(),
        };
        bench.reflector.start(bench.now);
        bench.drain();
        bench
    }

    /// A reflector without WatchList that has listed `items` at `version` and watches.
    fn listed(version: &'static str, items: &'static str) -> Self {
        let mut bench = Self::new(ReflectorOptions::new().watch_list(false));
        bench.answer(list(version, items));
        bench.forget();
        bench
    }

    /// Forgets what was said so far.
    fn forget(&mut self) {
        self.requests.clear();
        self.sent_at.clear();
        self.deltas.clear();
        self.troubles.clear();
    }

    fn drain(&mut self) {
        loop {
            match self.reflector.poll_output(self.now) {
                Output::Send(id, request) => {
                    assert!(self.in_flight.is_none(), "a second request while one is under way");
                    self.requests.push(say_request(&request));
                    self.sent_at.push(self.now.mono);
                    self.in_flight = Some((id, request));
                }
                Output::Abort(id) => {
                    let (under_way, _) = self.in_flight.take().expect("only a request under way is aborted");
                    assert_eq!(id, under_way);
                }
                Output::Store(delta) => self.apply(delta),
                Output::Trouble(trouble) => self.troubles.push(say_trouble(&trouble)),
                Output::Timeout(timeout) => {
                    let stopped = self.reflector.phase() == Phase::Stopped;
                    assert_eq!(timeout.is_none(), stopped, "a running reflector always has a timer");
                    assert!(timeout.is_none_or(|at| at > self.now.mono), "a due timer has fired");
                    self.timeout = timeout;
                    return;
                }
            }
        }
    }

    fn apply(&mut self, delta: Delta<u64>) {
        self.deltas.push(say_delta(&delta));
        match delta {
            Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => {
                self.store.insert(item.object.key.to_string(), item.object.version.to_string());
            }
            Delta::Deleted(deletion) => {
                self.store.remove(&deletion.identity.key.to_string());
            }
            Delta::Undecodable(identity) => self.mark_stale(&identity.key.to_string()),
            Delta::ReplacedAll(all) => {
                if all.complete {
                    let listed: Vec<_> = all.entries.iter().map(|entry| entry.key().to_string()).collect();
                    self.store.retain(|key, _| listed.contains(key));
                }
                for entry in all.entries {
                    let key = entry.key().to_string();
                    match entry {
                        Entry::Object(item) => {
                            self.store.insert(key, item.object.version.to_string());
                        }
                        Entry::Undecodable(_) => self.mark_stale(&key),
                        Entry::Unchanged(object) => {
                            let stored = self.store.get(&key).map(|version| version.replace('~', ""));
                            assert_eq!(
                                stored,
                                Some(object.version.to_string()),
                                "unchanged is what is stored"
                            );
                        }
                    }
                }
            }
            Delta::Sync(_) | Delta::SyncAll | Delta::Bookmark(_) => {}
        }
    }

    fn mark_stale(&mut self, key: &str) {
        if let Some(version) = self.store.get_mut(key).filter(|version| !version.starts_with('~')) {
            version.insert(0, '~');
        }
    }

    /// What a store would hold, as `a@5 b@6`.
    fn stored(&self) -> String {
        let objects: Vec<_> = self.store.iter().map(|(key, version)| format!("{key}@{version}")).collect();
        objects.join(" ")
    }

    fn give(&mut self, input: Input<u64>) {
        let (id, _) = self.in_flight.as_ref().expect("something is under way");
        let id = *id;
        if matches!(input, Input::Ended | Input::Failed(_) | Input::ListEnd(_)) {
            self.in_flight = None;
        }
        self.reflector.handle(self.now, id, input);
        self.drain();
    }

    fn event(&mut self, event: WatchEvent<u64>) {
        self.give(Input::Events(vec![event]));
    }

    /// Lets time pass without a word from the server; timers fire on time.
    fn pass(&mut self, duration: Duration) {
        let end = self.now.mono.after(duration);
        while let Some(at) = self.timeout.filter(|&at| at <= end) {
            self.now.mono = at;
            self.drain();
        }
        self.now.mono = end;
        self.drain();
    }

    /// Lets time pass until a request is under way; how long that took.
    fn wait(&mut self) -> Duration {
        let start = self.now.mono;
        while self.in_flight.is_none() {
            self.now.mono = self.timeout.expect("a running reflector has a timer");
            self.drain();
        }
        self.now.mono.since(start)
    }

    /// Waits for the next request, if none is under way, and answers it.
    fn answer(&mut self, answer: Answer) {
        self.wait();
        match answer {
            Answer::List { version, items: text, token } => {
                self.give(Input::Started);
                self.give(Input::Items(items(text)));
                let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
                self.give(Input::ListEnd(ListEnd {
                    version: some(version).map(|text| crate::ResourceVersion::new(&text)),
                    continue_token: some(token),
                    remaining: None,
                }));
            }
            Answer::BrokenList { items: text, kind } => {
                self.give(Input::Started);
                self.give(Input::Items(items(text)));
                self.give(Input::Failed(failure(kind)));
            }
            Answer::Fail(failure) => self.give(Input::Failed(failure)),
            Answer::Open(events) => self.stream(events),
            Answer::Closed(events, life) => {
                self.stream(events);
                self.pass(life);
                if self.in_flight.is_some() {
                    self.give(Input::Ended);
                }
            }
            Answer::Broken(events, kind) => {
                self.stream(events);
                if self.in_flight.is_some() {
                    self.give(Input::Failed(failure(kind)));
                }
            }
        }
    }

    fn stream(&mut self, events: Vec<WatchEvent<u64>>) {
        self.give(Input::Started);
        if !events.is_empty() {
            self.give(Input::Events(events));
        }
    }

    fn answers(&mut self, answers: impl IntoIterator<Item = Answer>) {
        for answer in answers {
            self.answer(answer);
        }
    }

    /// How many requests of this kind were sent.
    fn count(&self, kind: &str) -> usize {
        self.requests.iter().filter(|request| request.split(' ').next() == Some(kind)).count()
    }

    fn troubled_by(&self, trouble: &str) -> usize {
        self.troubles.iter().filter(|said| said.starts_with(trouble)).count()
    }
}
