//! The reflector itself: its inputs, its outputs, its timers.

use std::collections::VecDeque;
use std::time::Duration;

use super::health::Strikes;
use super::io::{Failure, FailureKind, Input, Output, Phase, Request, RequestId, Trouble, WatchEvent};
use super::options::ReflectorOptions;
use super::state::{Age, Flight, Next, State};
use super::versions::Versions;
use crate::{Backoff, Delta, Mono, Now, ResourceVersion, Rng};

/// A stream that ends in order earlier than this after it was asked for, and without an event, is suspect.
pub(super) const SHORT_WATCH: Duration = Duration::from_secs(1);

/// Keeps a store equal to a collection on the server: reads all of it, then follows its changes.
///
/// One mutation, then drain: after each call of [`start`](Self::start), [`stop`](Self::stop) or
/// [`handle`](Self::handle), and when the last timeout has come, call [`poll_output`](Self::poll_output) until it
/// answers [`Output::Timeout`], and do what it says on the way. Timers fire inside `poll_output`. At most one request
/// is under way; inputs that name another one are dropped.
///
/// ```
/// use informer_core::reflector::{Output, Phase, Reflector, ReflectorOptions, Request};
/// use informer_core::Now;
///
/// let mut reflector = Reflector::<()>::new(ReflectorOptions::new().watch_list(false), 1);
/// reflector.start(Now::default());
/// let Output::Send(_, Request::List(list)) = reflector.poll_output(Now::default()) else { panic!() };
/// assert_eq!(list.version.unwrap().to_string(), "0");
/// assert!(matches!(reflector.poll_output(Now::default()), Output::Timeout(Some(_))));
/// assert_eq!(reflector.phase(), Phase::Listing { items: 0, total: None });
/// ```
pub struct Reflector<V> {
    pub(super) options: ReflectorOptions,
    pub(super) rng: Rng,
    pub(super) backoff: Backoff,
    pub(super) state: State<V>,
    pub(super) outputs: VecDeque<Output<V>>,
    next_id: u64,
    pub(super) versions: Versions,
    pub(super) strikes: Strikes,
    pub(super) last_failure: Option<Failure>,
    /// Whether something failed since it last worked.
    pub(super) failing: bool,
    /// The resource does not exist.
    pub(super) gone: bool,
    /// Whether the whole collection was ever stored, and whether that is still what is stored.
    pub(super) has_listed: bool,
    pub(super) emptied: bool,
    /// The server answers lists in pages even where its watch cache could answer whole.
    pub(super) always_paged: bool,
    /// The page size to which failures have driven us.
    pub(super) reduced_page: Option<u32>,
    /// WatchList is not used until then, and why.
    pub(super) watch_list_given_up: Option<(Mono, String)>,
    /// The next attempt to read the collection is a LIST, whatever the options say.
    pub(super) list_next: bool,
    /// Types of unknown events that were reported.
    pub(super) unknown_kinds: Vec<String>,
}

impl<V> Reflector<V> {
    /// A stopped reflector; `seed` determines all its jitter.
    pub fn new(options: ReflectorOptions, seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            backoff: Backoff::new(options.backoff),
            state: State::Stopped,
            outputs: VecDeque::new(),
            next_id: 0,
            versions: Versions::new(options.opaque_versions),
            strikes: Strikes::default(),
            last_failure: None,
            failing: false,
            gone: false,
            has_listed: false,
            emptied: false,
            always_paged: false,
            reduced_page: None,
            watch_list_given_up: None,
            list_next: false,
            unknown_kinds: Vec::new(),
            options,
        }
    }

    /// Says that the store holds a list of the collection already, read by an earlier reflector: the first one is then no
    /// older than the present, and nothing stays if the resource is gone.
    pub(crate) fn listed_before(mut self) -> Self {
        self.has_listed = true;
        self
    }

    /// Starts reading, at once. Does nothing if it runs already.
    ///
    /// After [`stop`](Self::stop) the collection is read again, no older than what was seen before, and the store gets
    /// it as one [`Delta::ReplacedAll`].
    pub fn start(&mut self, now: Now) {
        if matches!(self.state, State::Stopped) {
            self.backoff.reset();
            self.strikes = Strikes::default();
            self.gone = false;
            self.begin_sync(now);
        }
    }

    /// Stops and aborts what runs. What was decided before is still to be drained.
    pub fn stop(&mut self, _now: Now) {
        self.abort();
        self.state = State::Stopped;
    }

    /// Takes in what came back for request `id`; dropped unless that is the one under way.
    pub fn handle(&mut self, now: Now, id: RequestId, input: Input<V>) {
        if self.flight().is_none_or(|flight| flight.id != id) {
            return;
        }
        if !matches!(input, Input::Ended | Input::Failed(_)) {
            self.alive(now);
        }
        match (input, &self.state) {
            (Input::Started | Input::Alive, _) => {}
            (Input::Items(items), State::Listing { .. }) => self.list_items(items),
            (Input::ListEnd(end), State::Listing { .. }) => self.list_end(now, end),
            (Input::Events(events), State::WatchListing { .. } | State::Watching { .. }) => {
                self.events(now, id, events);
            }
            (Input::Ended, State::WatchListing { .. }) => {
                self.fail(
                    now,
                    failure(FailureKind::Transport, "the stream ended before the initial events did"),
                );
            }
            (Input::Ended, State::Watching { .. }) => self.watch_ended(now),
            (Input::Ended, _) => self.fail(now, failure(FailureKind::Transport, "the list ended early")),
            (Input::Failed(failure), _) => self.fail(now, failure),
            (Input::Items(_) | Input::ListEnd(_), _) => {
                self.abort();
                self.fail(now, failure(FailureKind::Malformed, "the answer to a watch is a list"));
            }
            (Input::Events(_), _) => {
                self.abort();
                self.fail(now, failure(FailureKind::Malformed, "the answer to a list is a watch"));
            }
        }
    }

    /// What to do next. Call until it answers [`Output::Timeout`], and again at that time.
    ///
    /// `Timeout(None)` means: stopped.
    pub fn poll_output(&mut self, now: Now) -> Output<V> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return output;
            }
            match self.deadline() {
                Some(deadline) if deadline <= now.mono => self.timer_fired(now),
                deadline => return Output::Timeout(deadline),
            }
        }
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        match &self.state {
            State::Stopped => Phase::Stopped,
            _ if self.gone => Phase::ResourceGone,
            State::Waiting { until, .. } => Phase::BackingOff { until: *until },
            State::Listing { list, .. } => Phase::Listing { items: list.entries.len(), total: list.total },
            State::WatchListing { initial, .. } => Phase::WatchListing { items: initial.len() },
            State::Watching { .. } => Phase::Watching,
        }
    }

    /// The last version seen, of a list, an event or a bookmark. The store may not have it yet.
    #[doc(alias = "LastSyncResourceVersion")]
    pub fn last_version(&self) -> Option<&ResourceVersion> {
        self.versions.last.as_ref()
    }

    /// The last thing that went wrong, also if it works again: [`is_failing`](Self::is_failing) says that.
    pub fn last_failure(&self) -> Option<&Failure> {
        self.last_failure.as_ref()
    }

    /// Whether something went wrong since it last worked.
    pub fn is_failing(&self) -> bool {
        self.failing
    }

    /// Whether the whole collection has ever been read.
    pub fn has_listed(&self) -> bool {
        self.has_listed
    }

    /// Why WatchList is not used, if it was found not to work; the reflector itself tries it again after an hour.
    pub fn watch_list_given_up(&self) -> Option<&str> {
        self.watch_list_given_up.as_ref().map(|(_, reason)| reason.as_str())
    }

    pub(super) fn flight(&self) -> Option<&Flight> {
        match &self.state {
            State::Stopped | State::Waiting { .. } => None,
            State::Listing { flight, .. }
            | State::WatchListing { flight, .. }
            | State::Watching { flight, .. } => Some(flight),
        }
    }

    /// Notes a sign of life from the server.
    fn alive(&mut self, now: Now) {
        let first = match &mut self.state {
            State::Stopped | State::Waiting { .. } => false,
            State::Listing { flight, .. } => flight.alive(now.mono),
            State::WatchListing { flight, initial } => {
                let first = flight.alive(now.mono);
                if first {
                    initial.new_key_at = now.mono;
                }
                first
            }
            State::Watching { flight, watch } => {
                let first = flight.alive(now.mono);
                if first {
                    watch.age = Age::New(now.mono.after(SHORT_WATCH));
                }
                first
            }
        };
        if first {
            self.resource_exists();
        }
    }

    fn events(&mut self, now: Now, id: RequestId, events: Vec<WatchEvent<V>>) {
        for event in events {
            // An event may end the stream, or turn initial ones into live ones.
            if self.flight().is_none_or(|flight| flight.id != id) {
                return;
            }
            match self.state {
                State::WatchListing { .. } => self.initial_event(now, event),
                _ => self.live_event(now, event),
            }
        }
    }

    /// The request under way has failed, and is no longer under way.
    pub(super) fn fail(&mut self, now: Now, failure: Failure) {
        match std::mem::replace(&mut self.state, State::Stopped) {
            State::Listing { flight, list } => self.list_failed(now, flight, list, failure),
            State::WatchListing { flight, initial } => {
                self.watch_list_failed(now, flight, initial.version, failure);
            }
            State::Watching { flight, .. } => self.watch_failed(now, flight, failure, false),
            State::Stopped | State::Waiting { .. } => unreachable!("only a request under way can fail"),
        }
    }

    fn deadline(&self) -> Option<Mono> {
        match &self.state {
            State::Stopped => None,
            State::Waiting { until, .. } => Some(*until),
            State::Listing { flight, .. } => Some(flight.deadline()),
            State::WatchListing { flight, initial } => Some(
                self.give_up_at(flight, initial).map_or(flight.deadline(), |at| at.min(flight.deadline())),
            ),
            State::Watching { flight, watch } => {
                let aged = watch.age.deadline();
                Some(aged.map_or(flight.deadline(), |at| at.min(flight.deadline())))
            }
        }
    }

    fn timer_fired(&mut self, now: Now) {
        match &self.state {
            State::Stopped => {}
            State::Waiting { .. } => self.wait_is_over(now),
            State::WatchListing { flight, initial }
                if self.give_up_at(flight, initial).is_some_and(|at| at <= now.mono) =>
            {
                self.watch_list_stalled(now);
            }
            State::Watching { watch, .. } if watch.age.deadline().is_some_and(|at| at <= now.mono) => {
                self.watch_aged();
            }
            State::Listing { flight, .. }
            | State::WatchListing { flight, .. }
            | State::Watching { flight, .. } => {
                let silent = if flight.started_at.is_none() {
                    failure(FailureKind::HeadersTimeout, "no answer came in time")
                } else {
                    failure(FailureKind::Idle, "no byte came for too long")
                };
                self.abort();
                self.fail(now, silent);
            }
        }
    }

    fn wait_is_over(&mut self, now: Now) {
        let State::Waiting { next, .. } = std::mem::replace(&mut self.state, State::Stopped) else {
            unreachable!("a wait ends only while waiting");
        };
        match next {
            Next::Sync => self.begin_sync(now),
            Next::Watch => self.begin_watch(now),
            Next::Page(list) => self.send_list(now, list),
        }
    }

    /// Reads the whole collection, by the better of two ways.
    pub(super) fn begin_sync(&mut self, now: Now) {
        if self.watch_list_given_up.as_ref().is_some_and(|(until, _)| *until <= now.mono) {
            self.watch_list_given_up = None;
        }
        let list = std::mem::take(&mut self.list_next)
            || !self.options.watch_list
            || self.watch_list_given_up.is_some();
        if list { self.begin_list(now) } else { self.begin_watch_list(now) }
    }

    pub(super) fn send(&mut self, now: Now, request: Request) -> Flight {
        self.next_id += 1;
        let id = RequestId(self.next_id);
        self.outputs.push_back(Output::Send(id, request));
        let idle = self.options.draw_idle(&mut self.rng);
        Flight::new(id, now.mono, self.options.headers_timeout, idle)
    }

    pub(super) fn abort(&mut self) {
        if let Some(id) = self.flight().map(|flight| flight.id) {
            self.outputs.push_back(Output::Abort(id));
        }
    }

    pub(super) fn store(&mut self, delta: Delta<V>) {
        self.outputs.push_back(Output::Store(delta));
    }

    pub(super) fn tell(&mut self, trouble: Trouble) {
        self.outputs.push_back(Output::Trouble(trouble));
    }

    /// An event of a type unknown here; each type is reported once, as long as there are not too many.
    pub(super) fn unknown_event(&mut self, kind: String) {
        /// A server that invents types must not fill memory.
        const REMEMBERED_KINDS: usize = 16;
        if self.unknown_kinds.len() < REMEMBERED_KINDS && !self.unknown_kinds.contains(&kind) {
            self.unknown_kinds.push(kind.clone());
            self.tell(Trouble::UnknownEvent { kind });
        }
    }
}

/// A failure that was not the server's word.
pub(super) fn failure(kind: FailureKind, message: &str) -> Failure {
    Failure { kind, code: None, message: message.to_owned(), retry_after: None }
}
