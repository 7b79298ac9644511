//! The pure shell: does what the informer says, in simulated time that jumps to whatever is due next.

use std::sync::Arc;

use informer_core::reflector::{NotFoundPolicy, Phase, RequestKind, Trouble};
use informer_core::{HandlerId, IndexId, Indexer, Informer, InformerOutput, Mono, Now, ResourceVersion, Rng};

use crate::checkers::{Checker, Court, HandlerView, Hearing, RequestCheck, StoreCheck, Truth};
use crate::connection::{Connection, Stage};
use crate::dice::Dice;
use crate::faults::Fault;
use crate::handler::{Batch, Handler};
use crate::load::Load;
use crate::model_server::{ModelServer, Namespace};
use crate::mutant::Mutant;
use crate::plan::{HandlerPlan, Plan};
use crate::trace::Trace;
use crate::value::{Value, index_values};

/// What happens at a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    OutageEnds,
    ResourceReturns,
    /// The driver goes on after a panic.
    Resumes,
    FillsIndex(IndexId),
    Starts,
    Thaws(usize),
}

/// What a connection can be told to do at once.
const FULL_OUTAGE: [Fault; 6] = [
    Fault::Refused,
    Fault::ResetBeforeHeaders,
    Fault::NoHeaders,
    Fault::Status(informer_core::reflector::FailureKind::Internal, 500, "fault: 500"),
    Fault::Status(informer_core::reflector::FailureKind::Status, 503, "fault: 503"),
    Fault::Busy,
];

/// A machine that does not come to rest within so many outputs never will.
const MAX_OUTPUTS: usize = 20_000;

/// One run: the informer, its surroundings, and the checkers.
pub(crate) struct Sim {
    pub(crate) now: Mono,
    pub(crate) rng: Rng,
    pub(crate) plan: Plan,
    pub(crate) scopes: Vec<Namespace>,
    pub(crate) server: ModelServer,
    pub(crate) informer: Informer<Value>,
    pub(crate) store: Indexer<Value>,
    pub(crate) indices: Vec<IndexId>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) timers: Vec<(Mono, Timer)>,
    pub(crate) running: bool,
    /// Between a panic and the restart of the driver.
    pub(crate) paused: bool,
    /// The next panic comes while outputs wait.
    pub(crate) panics: bool,
    pub(crate) outage: bool,
    pub(crate) healed: bool,
    pub(crate) court: Court,
    pub(crate) store_check: StoreCheck,
    pub(crate) request_check: RequestCheck,
    pub(crate) load: Load,
    pub(crate) trace: Trace,
    pub(crate) wake: Option<Mono>,
    /// Scopes whose resource was said to be gone, and that have not been listed since.
    emptied: Vec<bool>,
    /// Connections that were told something that contradicts their own order.
    contradicted: Vec<informer_core::reflector::RequestId>,
    largest_batch: usize,
    pub(crate) mutant: Option<Mutant>,
}

impl Sim {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>, trace: Trace) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
        let plan = Plan::draw(&mut rng);
        let mut server = ModelServer::new(&mut rng);
        server.mutant = mutant;
        let informer = Informer::new(plan.informer, &plan.reflector, &plan.namespaces, rng.next_u64());
        let scopes = plan.scopes();
        let mut sim = Self {
            now: Mono(1_000_000_000),
            server,
            informer,
            store: Indexer::new(rng.next_u64()),
            indices: Vec::new(),
            handlers: Vec::new(),
            connections: Vec::new(),
            timers: Vec::new(),
            running: false,
            paused: false,
            panics: false,
            outage: false,
            healed: false,
            court: Court::default(),
            store_check: StoreCheck::default(),
            request_check: RequestCheck::new(scopes.len()),
            load: Load::default(),
            trace,
            wake: None,
            emptied: vec![false; scopes.len()],
            contradicted: Vec::new(),
            largest_batch: 0,
            mutant,
            scopes,
            plan,
            rng,
        };
        if sim.server.sloppy_pages {
            // A list is then of no one version, until the watch has brought what its first page lacks; and what it brings on
            // the way may be older than what a later page had.
            sim.court.mute(&[Checker::Snapshot, Checker::Ordered]);
        }
        let server = (sim.server.selector, sim.server.cached_lists, sim.server.sloppy_pages);
        let plan = format!("{:?}, selector, cached lists, sloppy pages {server:?}", sim.plan);
        sim.note(&[], || plan);
        sim.indices = (0..sim.plan.indices).map(|_| sim.store.add_index()).collect();
        (0..sim.plan.handlers).for_each(|_| sim.add_handler());
        for _ in 0..sim.rng.below(20) {
            sim.server.write(&mut sim.rng, sim.plan.undecodable_percent);
        }
        sim
    }

    pub(crate) fn clock(&self) -> Now {
        Now { mono: self.now, wall_ms: 0 }
    }

    pub(crate) fn note(&mut self, numbers: &[u64], line: impl FnOnce() -> String) {
        self.trace.note(self.now, numbers, line);
    }

    pub(crate) fn truth(&self) -> Truth<'_> {
        Truth { server: &self.server, scopes: &self.scopes }
    }

    /// Whether the shell reads nothing and asks nothing just now.
    pub(crate) fn is_held(&self) -> bool {
        self.paused || self.handlers.iter().any(Handler::is_full)
    }

    pub(crate) fn add_handler(&mut self) {
        let plan = HandlerPlan::draw(&mut self.rng);
        let view_store = &self.store;
        let resync = plan.resync_s.map(std::time::Duration::from_secs);
        let (id, first) = self.informer.add_handler(Now { mono: self.now, wall_ms: 0 }, view_store, resync);
        let view = HandlerView::new(id.0, resync.is_some(), view_store);
        let mut handler = Handler::new(id, plan, view, self.mutant);
        self.largest_batch = self.largest_batch.max(first.len());
        if !first.is_empty() {
            self.load.count("late handlers");
            handler.push(self.now, &mut self.rng, first);
        }
        self.note(&[1, id.0], || format!("handler {} joins: {plan:?}", id.0));
        self.handlers.push(handler);
    }

    pub(crate) fn remove_handler(&mut self, id: HandlerId) {
        self.informer.remove_handler(id);
        self.handlers.retain(|handler| handler.id != id);
        self.note(&[2, id.0], || format!("handler {} leaves", id.0));
    }

    /// As after a panic of the shell's: every connection is lost, and the driver pauses.
    pub(crate) fn reset(&mut self) {
        self.load.count("resets");
        self.note(&[3], || "the driver panics".to_owned());
        self.informer.reset(self.clock());
        self.connections.clear();
        self.contradicted.clear();
        self.request_check.restarted();
    }

    /// Delivers what has arrived on this connection, and perhaps more that is there already.
    pub(crate) fn arrive(&mut self, position: usize) {
        self.feed(position);
        for _ in 0..self.rng.below(6) {
            let due = |connection: &Connection| {
                connection.arrivals.front().is_some_and(|first| first.at <= self.now)
            };
            let Some(position) = self.connections.iter().position(due) else { break };
            self.feed(position);
        }
        self.carry_out();
    }

    fn feed(&mut self, position: usize) {
        let connection = &mut self.connections[position];
        let arrival = connection.arrivals.pop_front().expect("something has arrived");
        let (id, scope) = (connection.id, connection.scope);
        if connection.is_over() {
            self.connections.remove(position);
        }
        self.store_check.unread.extend(arrival.unread);
        if arrival.goes_back {
            self.contradicted.push(id);
            if self.mutant == Some(Mutant::SwallowsWentBack) {
                return;
            }
        }
        self.trace.note(self.now, &[4, id.0], || format!("<- {scope}/{} {:?}", id.0, arrival.input));
        self.informer.handle(Now { mono: self.now, wall_ms: 0 }, id, arrival.input);
    }

    /// Does what the machine says until it has nothing more to say.
    pub(crate) fn carry_out(&mut self) {
        self.handlers.iter_mut().for_each(Handler::begin_burst);
        for _ in 0..MAX_OUTPUTS {
            match self.informer.poll_output(self.clock()) {
                InformerOutput::Send(scope, id, request) => {
                    self.load.count("requests");
                    self.note(&[5, id.0], || format!("-> {scope}/{} {request:?}", id.0));
                    let idle = self.connections.iter().all(|other| other.scope != scope);
                    self.court.require(idle && self.running, Checker::Quiet, || {
                        format!("scope {scope} sends {request:?}, idle {idle}, running {}", self.running)
                    });
                    self.request_check.sent(self.now, scope, &request, &mut self.court);
                    let fate = self.fate();
                    let namespace = self.scopes[scope].clone();
                    let request = (id, scope, request);
                    self.connections.push(Connection::new(request, namespace, fate, self.now, &mut self.rng));
                }
                InformerOutput::Abort(id) => {
                    self.note(&[6, id.0], || format!("-> abort {}", id.0));
                    self.connections.retain(|connection| connection.id != id);
                }
                InformerOutput::Apply => {
                    self.apply();
                    if self.panics {
                        self.panics = false;
                        self.paused = true;
                        self.timers.push((self.now.after(std::time::Duration::from_secs(1)), Timer::Resumes));
                        return self.reset();
                    }
                }
                InformerOutput::Resync => {
                    self.load.count("resyncs");
                    self.informer.resync(self.clock(), &self.store);
                }
                InformerOutput::Deliver(batch, handlers) => self.deliver(&batch, &handlers),
                InformerOutput::Trouble(scope, trouble) => self.trouble(scope, &trouble),
                InformerOutput::Timeout(wake) => {
                    self.wake = wake;
                    return self.rest();
                }
            }
        }
        self.court.require(false, Checker::Quiet, || "the machine does not come to rest".to_owned());
    }

    /// The machine has said all.
    fn rest(&mut self) {
        for id in std::mem::take(&mut self.contradicted) {
            let left = self.connections.iter().all(|connection| connection.id != id);
            self.court.require(left, Checker::Detected, || format!("{} went back, and goes on", id.0));
        }
        if self.plan.not_found != NotFoundPolicy::Keep {
            self.check_gone();
        }
        for handler in self.handlers.extract_if(.., |handler| handler.backlog.is_disconnected()) {
            self.load.count("handlers disconnected");
            self.informer.remove_handler(handler.id);
        }
    }

    fn check_gone(&mut self) {
        for (scope, namespace) in self.scopes.iter().enumerate() {
            let gone = self.informer.phase(scope) == Phase::ResourceGone;
            let left = match namespace {
                _ if !gone => 0,
                Some(namespace) => self.store.list_namespace(namespace).len(),
                None => self.store.len(),
            };
            self.court.require(left == 0, Checker::Gone, || {
                format!("scope {scope} is gone, {left} objects are not")
            });
        }
    }

    fn fate(&mut self) -> Option<Fault> {
        if self.outage {
            return Some(self.rng.pick(&FULL_OUTAGE));
        }
        let faulty = !self.healed && !self.plan.faults.is_empty() && self.rng.chance(self.plan.fault_percent);
        faulty.then(|| self.rng.pick(&self.plan.faults))
    }

    fn apply(&mut self) {
        let (indices, mutant) = (self.indices.len(), self.mutant);
        self.informer.prepare(|item| {
            let has = item.index_values.len();
            if has < indices {
                item.index_values.append(index_values(&item.object.value, has..indices, mutant));
            }
        });
        let gone = (0..self.scopes.len()).any(|scope| self.informer.phase(scope) == Phase::ResourceGone);
        if gone && mutant == Some(Mutant::KeepsGone) {
            return;
        }
        self.informer.apply(&mut self.store);
        self.load.count("applies");
        let version = self.version();
        self.note(&[7, self.store.len() as u64], || format!("applied, at {version:?}"));
        let truth = Truth { server: &self.server, scopes: &self.scopes };
        self.store_check.applied(&self.store, version, truth, &self.indices, &mut self.court);
    }

    /// The version up to which the store has everything; nobody can say while a resource is said to be gone.
    fn version(&mut self) -> Option<u64> {
        for (scope, emptied) in self.emptied.iter_mut().enumerate() {
            *emptied &= self.informer.phase(scope) != Phase::Watching;
        }
        if self.emptied.contains(&true) {
            return None;
        }
        let whole: Option<ResourceVersion> = match self.scopes.len() {
            1 => Some(self.store.version().clone()),
            _ => self.informer.version(),
        };
        whole.as_ref().and_then(StoreCheck::version_of)
    }

    fn deliver(&mut self, batch: &Batch, handlers: &[HandlerId]) {
        self.note(&[8, batch.len() as u64, handlers.len() as u64], || {
            format!("deliver to {handlers:?}: {batch:?}")
        });
        self.largest_batch = self.largest_batch.max(batch.len());
        for handler in self.handlers.iter_mut().filter(|handler| handlers.contains(&handler.id)) {
            let conflated = handler.backlog.is_conflated();
            handler.push(self.now, &mut self.rng, Arc::clone(batch));
            handler.check_length(self.store.len(), self.largest_batch, &mut self.court);
            if handler.backlog.is_conflated() && !conflated {
                self.load.count("conflations");
            }
            if handler.is_full() {
                self.load.count("blocked");
            }
        }
    }

    fn trouble(&mut self, scope: usize, trouble: &Trouble) {
        self.note(&[9, scope as u64], || format!("trouble {scope}: {trouble:?}"));
        self.load.count(match trouble {
            Trouble::RequestFailed { .. } => "trouble: request failed",
            Trouble::ShortWatches { .. } => "trouble: short watches",
            Trouble::WatchListGivenUp { .. } => "trouble: watch-list given up",
            Trouble::ResourceGone => "trouble: resource gone",
            Trouble::VersionWentBack { .. } => "trouble: version went back",
            Trouble::BookmarkWentBack { .. } => "trouble: bookmark went back",
            Trouble::OlderList { .. } => "trouble: older list",
            Trouble::Recovered => "trouble: recovered",
            _ => "trouble: other",
        });
        if *trouble == Trouble::ResourceGone {
            self.emptied[scope] = true;
            self.handlers.iter_mut().for_each(|handler| handler.view.emptied = true);
        }
        if self.mutant == Some(Mutant::NoBackOff) && matches!(trouble, Trouble::RequestFailed { .. }) {
            self.informer.reset(self.clock());
            self.connections.clear();
        }
    }

    /// What one handler does next.
    pub(crate) fn read(&mut self, position: usize) {
        let mut hearing = Hearing {
            truth: Truth { server: &self.server, scopes: &self.scopes },
            store: &self.store,
            unread: &self.store_check.unread,
            emptied: self.load.of("trouble: resource gone") > 0,
            split: self.plan.informer.apply.split_recreated,
            court: &mut self.court,
        };
        let handler = &mut self.handlers[position];
        let was_full = handler.is_full();
        handler.read(self.now, &mut self.rng, &mut self.load, &mut hearing);
        let (id, held) = (handler.id.0, handler.view.held.len() as u64);
        self.note(&[10, id, held], || format!("handler {id} reads, holds {held}"));
        if was_full && !self.is_held() {
            // The shell is poked, and looks for inputs before it looks at the clock.
            self.wake = Some(self.now);
        }
    }

    /// A connection goes on by itself.
    pub(crate) fn go_on(&mut self, position: usize) {
        for replica in 0..2 {
            if self.healed || self.rng.chance(40) {
                self.server.catch_up(replica);
            }
        }
        if !self.healed && !self.plan.faults.is_empty() && self.rng.chance(self.plan.fault_percent / 10) {
            let fate = self.rng.pick(&self.plan.faults);
            self.connections[position].doom(fate);
        }
        if !self.healed && self.connections[position].kind == RequestKind::List && self.rng.chance(5) {
            // Between two pages.
            self.server.compact();
        }
        let (connection, mut stage) = self.stage(position);
        connection.step(&mut stage);
    }

    /// A connection is reset by the peer.
    pub(crate) fn cut(&mut self, position: usize) {
        let (connection, mut stage) = self.stage(position);
        connection.reset(&mut stage);
    }

    fn stage(&mut self, position: usize) -> (&mut Connection, Stage<'_>) {
        let stage = Stage {
            now: self.now,
            server: &self.server,
            store: &self.store,
            indices: self.indices.len(),
            rng: &mut self.rng,
            load: &mut self.load,
            mutant: self.mutant,
        };
        (&mut self.connections[position], stage)
    }
}
