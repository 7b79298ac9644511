//! Reflectors, queue, store and handlers as one machine: what an informer decides, without its IO.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::held_list::HeldList;
use crate::reflector::{Input, Output, Phase, Reflector, ReflectorOptions, Request, RequestId, Trouble};
use crate::{
    ApplyOptions, Batch, Delta, DeltaFifo, Entry, Indexer, Item, Mono, Notification, Now, ResourceVersion,
    Retired, Rng,
};

/// Names one handler of one informer; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HandlerId(pub u64);

/// How an informer behaves, apart from its reflectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InformerOptions {
    /// How deltas become notifications.
    pub apply: ApplyOptions,
}

/// What the shell is to do for an informer.
#[derive(Debug)]
pub enum InformerOutput<V> {
    /// Send this request for the scope of this position (its namespace, if there are several).
    Send(usize, RequestId, Request),
    /// Abandon this request.
    Abort(RequestId),
    /// Changes wait: call [`Informer::prepare`], then [`Informer::apply`] with the store locked for writing.
    Apply,
    /// A handler's replay is due: call [`Informer::resync`] with the store locked for reading.
    Resync,
    /// Append the batch to the backlog of each of these handlers.
    Deliver(Batch<V>, Vec<HandlerId>),
    /// Tell people; the position is the scope's.
    Trouble(usize, Trouble),
    /// Nothing to do until this time or the next input.
    Timeout(Option<Mono>),
}

/// The whole machine: one reflector a scope (a namespace, or everything), one queue, and who listens.
///
/// The store stands outside, since readers share it: [`apply`](Self::apply) is given it when changes wait. The contract
/// is that of every machine here: one mutation (`start`, `stop`, `handle`, `apply`, a handler added or removed), then
/// [`poll_output`](Self::poll_output) until it answers `Timeout`.
pub struct Informer<V> {
    options: InformerOptions,
    reflector_options: ReflectorOptions,
    rng: Rng,
    scopes: Vec<Scope<V>>,
    /// Changes on their way into the store.
    fifo: DeltaFifo<V>,
    /// Taken from the queue by [`prepare`](Self::prepare), not yet applied.
    prepared: Vec<Delta<V>>,
    handlers: Vec<Handler>,
    next_handler: u64,
    outputs: VecDeque<InformerOutput<V>>,
    running: bool,
    /// Whether the store has had its first list.
    synced: bool,
}

struct Scope<V> {
    reflector: Reflector<V>,
    /// The namespace, or `None` for all of them.
    namespace: Option<Arc<str>>,
    /// What came before every scope had its first list; `None` once all have.
    held: Option<HeldList<V>>,
    /// The version up to which this scope's changes are in the queue.
    version: Option<ResourceVersion>,
}

struct Handler {
    id: HandlerId,
    /// How often the handler wants to be reminded of every object.
    resync: Option<Resync>,
}

struct Resync {
    period: Duration,
    due: Mono,
}

/// The shortest resync period: a shorter one would replay a large store without end (client-go has the same floor).
pub const MIN_RESYNC: Duration = Duration::from_secs(1);

/// Scopes share the numbers of their requests: the upper bits say which scope asked.
const SCOPE_SHIFT: u32 = 48;

impl<V> Informer<V> {
    /// An informer of these namespaces, or of everything if `namespaces` is empty.
    ///
    /// # Panics
    /// If there are 65,536 namespaces or more.
    pub fn new(
        options: InformerOptions,
        reflector: &ReflectorOptions,
        namespaces: &[Arc<str>],
        seed: u64,
    ) -> Self {
        assert!(namespaces.len() < 1 << (64 - SCOPE_SHIFT), "at most 65,535 namespaces an informer");
        let namespaces: Vec<_> = match namespaces {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        let mut informer = Self {
            options,
            reflector_options: reflector.clone(),
            rng: Rng::new(seed),
            scopes: Vec::new(),
            fifo: DeltaFifo::new(),
            prepared: Vec::new(),
            handlers: Vec::new(),
            next_handler: 0,
            outputs: VecDeque::new(),
            running: false,
            synced: false,
        };
        informer.scopes = informer.new_scopes(namespaces, reflector);
        informer
    }

    fn new_scopes(&mut self, namespaces: Vec<Option<Arc<str>>>, options: &ReflectorOptions) -> Vec<Scope<V>> {
        // Once the first list is there each scope goes on alone: none waits for another, and what one of them could not read
        // keeps nothing alive in the others.
        let together = namespaces.len() > 1 && !self.synced;
        let scope = |namespace: Option<Arc<str>>| {
            let options = match &namespace {
                None => options.clone(),
                Some(namespace) => options.clone().namespace(Arc::clone(namespace)),
            };
            let reflector = Reflector::new(options, self.rng.next_u64());
            Scope {
                reflector: if self.synced { reflector.listed_before() } else { reflector },
                namespace,
                held: together.then(HeldList::new),
                version: None,
            }
        };
        namespaces.into_iter().map(scope).collect()
    }

    /// Forgets everything that was under way and begins anew with a consistent list, after a fault of the program's own: the
    /// store may lack changes that were already taken from the stream. Handlers stay.
    pub fn reset(&mut self, now: Now) {
        let options = self.reflector_options.clone().consistent_first_list(true);
        let namespaces = self.scopes.drain(..).map(|scope| scope.namespace).collect();
        self.scopes = self.new_scopes(namespaces, &options);
        self.fifo = DeltaFifo::new();
        self.prepared.clear();
        // The outputs stay: deliveries of what the store has already, and what handlers would otherwise never hear of.
        if self.running {
            self.start(now);
        }
    }

    /// Begins, or begins again after [`stop`](Self::stop): the cache is kept, and handlers get the difference.
    pub fn start(&mut self, now: Now) {
        self.running = true;
        for scope in &mut self.scopes {
            scope.reflector.start(now);
        }
    }

    /// Abandons every request; the cache stays as it is.
    pub fn stop(&mut self, now: Now) {
        self.running = false;
        for scope in &mut self.scopes {
            scope.reflector.stop(now);
        }
    }

    /// Takes what came back for a request. Answers to requests that were abandoned are ignored.
    pub fn handle(&mut self, now: Now, id: RequestId, input: Input<V>) {
        let (scope, inner) = split(id);
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.reflector.handle(now, inner, input);
        }
    }

    /// Shows every item that waits to `complete`, which may add index values that it lacks; before the store is locked, since
    /// index functions are users' code.
    pub fn prepare(&mut self, mut complete: impl FnMut(&mut Item<V>)) {
        self.prepared = self.fifo.drain();
        for delta in &mut self.prepared {
            match delta {
                Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => complete(item),
                Delta::ReplacedAll(replacement) => {
                    for entry in &mut replacement.entries {
                        if let Entry::Object(item) = entry {
                            complete(item);
                        }
                    }
                }
                Delta::Deleted(_)
                | Delta::Sync(_)
                | Delta::SyncAll
                | Delta::Bookmark(_)
                | Delta::Undecodable(_) => {}
            }
        }
    }

    /// Puts what was [prepared](Self::prepare) into the store, under the caller's one write lock, and prepares the deliveries.
    /// What comes back is to be dropped once that lock is released.
    pub fn apply(&mut self, store: &mut Indexer<V>) -> Retired<V> {
        let (notifications, retired) = store.apply_and_retire(self.prepared.drain(..), self.options.apply);
        self.synced = store.has_synced();
        if !notifications.is_empty() {
            let everybody = self.handlers.iter().map(|handler| handler.id).collect();
            self.outputs.push_back(InformerOutput::Deliver(Arc::new(notifications), everybody));
        }
        retired
    }

    /// Registers a handler. Its first batch, returned, is what the store holds now; later changes are delivered.
    ///
    /// The caller must put the batch into the handler's backlog before it polls again. It is empty if the store has not
    /// synced yet: then the first list will be delivered like everything after it.
    pub fn add_handler(
        &mut self,
        now: Now,
        store: &Indexer<V>,
        resync: Option<Duration>,
    ) -> (HandlerId, Batch<V>) {
        let id = HandlerId(self.next_handler);
        self.next_handler += 1;
        let resync = resync.filter(|period| !period.is_zero()).map(|period| {
            let period = period.max(MIN_RESYNC);
            Resync { period, due: now.mono.after(period) }
        });
        self.handlers.push(Handler { id, resync });
        (id, initial_batch(store))
    }

    /// Forgets a handler: nothing more is delivered to it. Forgetting it twice does nothing.
    pub fn remove_handler(&mut self, id: HandlerId) {
        self.handlers.retain(|handler| handler.id != id);
    }

    /// The number of handlers.
    pub fn handlers(&self) -> usize {
        self.handlers.len()
    }

    /// What is to be done next; to be asked again until it answers `Timeout`.
    pub fn poll_output(&mut self, now: Now) -> InformerOutput<V> {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        let mut wake = self.next_resync();
        if wake.is_some_and(|due| due <= now.mono) {
            return InformerOutput::Resync;
        }
        for position in 0..self.scopes.len() {
            loop {
                match self.scopes[position].reflector.poll_output(now) {
                    Output::Send(id, request) => {
                        return InformerOutput::Send(position, join(position, id), request);
                    }
                    Output::Abort(id) => return InformerOutput::Abort(join(position, id)),
                    Output::Trouble(trouble) => return InformerOutput::Trouble(position, trouble),
                    Output::Store(delta) => self.store(position, delta),
                    Output::Timeout(due) => {
                        wake = earliest(wake, due);
                        break;
                    }
                }
            }
        }
        if !self.fifo.is_empty() {
            return InformerOutput::Apply;
        }
        InformerOutput::Timeout(wake)
    }

    /// Delivers a replay of the whole store to the handlers whose time has come; nothing if the store has not synced.
    ///
    /// Costs one clone of an `Arc` an object.
    pub fn resync(&mut self, now: Now, store: &Indexer<V>) {
        let mut due = Vec::new();
        for handler in &mut self.handlers {
            if let Some(resync) = handler.resync.as_mut().filter(|resync| resync.due <= now.mono) {
                resync.due = now.mono.after(resync.period);
                due.push(handler.id);
            }
        }
        if !due.is_empty() && store.has_synced() {
            let batch =
                store.iter().map(|object| Notification::Resync { object: Arc::clone(object) }).collect();
            self.outputs.push_back(InformerOutput::Deliver(Arc::new(batch), due));
        }
    }

    /// Where the scope at this position stands.
    pub fn phase(&self, scope: usize) -> Phase {
        self.scopes[scope].reflector.phase()
    }

    /// The reflectors, one a scope.
    pub fn reflectors(&self) -> impl Iterator<Item = &Reflector<V>> {
        self.scopes.iter().map(|scope| &scope.reflector)
    }

    /// The version up to which every scope's changes have been handed to the store: `None` before the first lists, or if
    /// versions cannot be compared.
    ///
    /// With one scope this is the store's own version; with several it is the lowest of theirs.
    pub fn version(&self) -> Option<ResourceVersion> {
        let mut lowest: Option<&ResourceVersion> = None;
        for scope in &self.scopes {
            let version =
                scope.version.as_ref().filter(|version| version.is_ordered() && scope.held.is_none())?;
            if lowest.is_none_or(|lowest| version < lowest) {
                lowest = Some(version);
            }
        }
        lowest.cloned()
    }

    /// The same for each scope by itself, with its namespace.
    pub fn versions(&self) -> impl Iterator<Item = (Option<&Arc<str>>, Option<&ResourceVersion>)> {
        self.scopes.iter().map(|scope| {
            let version =
                scope.version.as_ref().filter(|version| version.is_ordered() && scope.held.is_none());
            (scope.namespace.as_ref(), version)
        })
    }

    fn store(&mut self, position: usize, mut delta: Delta<V>) {
        let scope = &mut self.scopes[position];
        note_version(&mut scope.version, &delta);
        if let Delta::ReplacedAll(replacement) = &mut delta {
            replacement.namespace.clone_from(&scope.namespace);
        }
        match &mut scope.held {
            None => self.fifo.push(delta),
            Some(held) => {
                held.fold(delta);
                self.release_held();
            }
        }
    }

    /// Once every scope has its first list, makes one list of them: the handlers' initial list is complete or not there.
    fn release_held(&mut self) {
        if !self.scopes.iter().all(|scope| scope.held.as_ref().is_none_or(HeldList::is_listed)) {
            return;
        }
        let (mut all, mut stale) = (None, Vec::new());
        for held in self.scopes.iter_mut().filter_map(|scope| scope.held.take()) {
            held.append_to(&mut all, &mut stale);
        }
        self.fifo.push(Delta::ReplacedAll(all.expect("every scope has a list")));
        stale.into_iter().for_each(|delta| self.fifo.push(delta));
    }

    fn next_resync(&self) -> Option<Mono> {
        if !self.running {
            return None;
        }
        self.handlers.iter().filter_map(|handler| Some(handler.resync.as_ref()?.due)).min()
    }
}

/// Everything stored, as the first batch of a handler that comes late.
fn initial_batch<V>(store: &Indexer<V>) -> Batch<V> {
    if !store.has_synced() {
        return Batch::default();
    }
    let mut objects: Vec<_> = store.iter().cloned().collect();
    objects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let mut batch = Vec::with_capacity(objects.len() + 1);
    batch.extend(objects.into_iter().map(|object| Notification::Added { object, in_initial_list: true }));
    batch.push(Notification::Synced { version: store.version().clone() });
    Arc::new(batch)
}

fn note_version<V>(version: &mut Option<ResourceVersion>, delta: &Delta<V>) {
    let new = match delta {
        Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => &item.object.version,
        Delta::Deleted(deletion) => &deletion.identity.version,
        Delta::Undecodable(identity) => &identity.version,
        Delta::Bookmark(version) => version,
        // A list is the server's word on what the present is, even if that lies in the past.
        Delta::ReplacedAll(replacement) => {
            *version = Some(replacement.version.clone());
            return;
        }
        Delta::Sync(_) | Delta::SyncAll => return,
    };
    if version.as_ref().is_none_or(|old| old < new) {
        *version = Some(new.clone());
    }
}

fn earliest(a: Option<Mono>, b: Option<Mono>) -> Option<Mono> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn join(scope: usize, id: RequestId) -> RequestId {
    debug_assert!(id.0 < 1 << SCOPE_SHIFT, "2^48 requests are never sent");
    RequestId(((scope as u64) << SCOPE_SHIFT) | id.0)
}

fn split(id: RequestId) -> (usize, RequestId) {
    ((id.0 >> SCOPE_SHIFT) as usize, RequestId(id.0 & ((1 << SCOPE_SHIFT) - 1)))
}
