//! One task an informer: waits, feeds the machine, carries out what it says. It decides nothing.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use informer_core::reflector::{Input, Phase, RequestId};
use informer_core::{HandlerId, Informer, InformerOutput, Mono, ResourceVersion};
use informer_wire::Limits;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::crew::Crew;
use crate::decoder::Decoder;
use crate::exchange::exchange;
use crate::figures::Figures;
use crate::index::IndexRegistry;
use crate::list_watch::ListWatch;
use crate::listener::Listener;
use crate::store::StoreShared;
use crate::trouble::Reporter;

/// Inputs that are there already are applied together, up to this many batches: readers and handlers then see one change
/// instead of many, and nobody waits long.
const MAX_INPUTS_AT_ONCE: usize = 32;
/// And for no longer than this, unless one of them takes longer.
const MAX_COLLECTING: Duration = Duration::from_millis(2);
/// After a panic of our own the driver starts over, not sooner than this.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// What the driver, the readers and the informer's handles share.
pub(crate) struct Shared<V> {
    /// What is watched, for messages.
    pub(crate) name: Arc<str>,
    /// One source a scope, in the machine's order.
    pub(crate) sources: Vec<Arc<dyn ListWatch>>,
    pub(crate) decoder: Arc<Decoder<V>>,
    pub(crate) store: Arc<StoreShared<V>>,
    pub(crate) indexes: Arc<IndexRegistry<V>>,
    pub(crate) machine: Mutex<Machine<V>>,
    /// Calls the handlers.
    pub(crate) crew: Arc<Crew<V>>,
    /// Wakes the driver: a handler came, or made room.
    pub(crate) poke: Arc<Notify>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) reporter: Reporter,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) hash_seed: u64,
}

pub(crate) struct Machine<V> {
    pub(crate) informer: Informer<V>,
    pub(crate) listeners: BTreeMap<HandlerId, Arc<Listener<V>>>,
    pub(crate) health: Health,
    pub(crate) figures: Figures,
}

/// What is told of an informer's life and not needed for it.
#[derive(Default)]
pub(crate) struct Health {
    pub(crate) last_input: Option<Mono>,
    pub(crate) requests: u64,
    pub(crate) last_error: Option<String>,
    /// What a panic of our own said, until things work again.
    pub(crate) failed: Option<String>,
}

/// What waiters wait for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) synced: bool,
    pub(crate) version: Option<ResourceVersion>,
    /// If there are several namespaces: each one's own.
    pub(crate) by_namespace: Vec<(Arc<str>, Option<ResourceVersion>)>,
}

impl Progress {
    /// The version up to which the changes of this namespace are in the store.
    pub(crate) fn version_in(&self, namespace: &str) -> Option<&ResourceVersion> {
        let own = self.by_namespace.iter().find(|(name, _)| **name == *namespace);
        own.map_or(self.version.as_ref(), |(_, version)| version.as_ref())
    }
}

impl<V> Shared<V> {
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine<V>> {
        // Only a fault of ours poisons it, and `supervise` starts the machine over.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drives until stopped, and starts over if a fault of ours ends the driver: never silence.
pub(crate) async fn supervise<V: Send + Sync + 'static>(shared: Arc<Shared<V>>, stop: CancellationToken) {
    loop {
        let driver = Driver { shared: Arc::clone(&shared), exchanges: Vec::new(), turn: 0 };
        let Err(panic) = AssertUnwindSafe(driver.run(&stop)).catch_unwind().await else { return };
        let message = panic_message(&*panic).to_owned();
        tracing::error!(
            target: "informer::driver",
            informer = &*shared.name,
            panic = message,
            "informer failed, it starts over with a relist"
        );
        {
            let mut machine = shared.machine();
            machine.health.failed = Some(message);
            machine.informer.reset(shared.clock.now());
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RESTART_DELAY) => {}
        }
    }
}

struct Driver<V> {
    shared: Arc<Shared<V>>,
    /// What is under way, one for each scope at most.
    exchanges: Vec<(RequestId, BoxStream<'static, Input<V>>)>,
    /// Which exchange is asked first, so that none starves.
    turn: usize,
}

impl<V: Send + Sync + 'static> Driver<V> {
    async fn run(mut self, stop: &CancellationToken) {
        self.shared.machine().informer.start(self.shared.clock.now());
        let poke = Arc::clone(&self.shared.poke);
        let mut wake = self.carry_out();
        while !stop.is_cancelled() {
            if self.is_blocked() {
                // A handler asked to be waited for: the socket is not read, and no deadline of a reader counts.
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    () = poke.notified() => continue,
                }
            }
            // What has arrived comes before timers: after a pause, silence is ours and not the server's.
            let first = self.next_input().now_or_never();
            let first = match first {
                Some(first) => Some(first),
                None => {
                    let clock = self.shared.clock;
                    let timer = async move {
                        match wake {
                            Some(at) => tokio::time::sleep_until(clock.instant(at)).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => break,
                        input = self.next_input() => Some(input),
                        () = poke.notified() => None,
                        () = timer => None,
                    }
                }
            };
            if let Some(first) = first {
                self.feed_all(first).await;
            }
            wake = self.carry_out();
        }
        self.shared.machine().informer.stop(self.shared.clock.now());
        self.carry_out();
    }

    fn is_blocked(&self) -> bool {
        self.shared.machine().listeners.values().any(|listener| listener.is_full())
    }

    async fn next_input(&mut self) -> (RequestId, Input<V>) {
        poll_fn(|cx| {
            let mut asked = 0;
            while asked < self.exchanges.len() {
                let position = (self.turn + asked) % self.exchanges.len();
                let (id, stream) = &mut self.exchanges[position];
                match stream.poll_next_unpin(cx) {
                    Poll::Pending => asked += 1,
                    Poll::Ready(Some(input)) => {
                        self.turn = position + 1;
                        return Poll::Ready((*id, input));
                    }
                    Poll::Ready(None) => {
                        drop(self.exchanges.remove(position));
                        self.turn = 0;
                        asked = 0;
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Feeds this input and what else has arrived.
    async fn feed_all(&mut self, first: (RequestId, Input<V>)) {
        let begun = self.feed(first);
        let mut yielded = false;
        for _ in 1..MAX_INPUTS_AT_ONCE {
            if let Some(next) = self.next_input().now_or_never() {
                yielded = false;
                if self.feed(next).since(begun) > MAX_COLLECTING {
                    break;
                }
            } else if yielded {
                break;
            } else {
                // A connection's task hands over one piece of what it has read at a time: it is given the chance to hand over
                // the next. Else each piece would cost a store of its own, and a wake-up of the handlers' thread.
                tokio::task::yield_now().await;
                yielded = true;
            }
        }
        tokio::task::consume_budget().await;
    }

    fn feed(&self, (id, input): (RequestId, Input<V>)) -> Mono {
        let now = self.shared.clock.now();
        let mut machine = self.shared.machine();
        if !matches!(input, Input::Failed(_)) {
            machine.health.last_input = Some(now.mono);
        }
        let note = machine.figures.received(now.mono, id, &input);
        machine.informer.handle(now, id, input);
        drop(machine);
        if let Some(note) = note {
            note.log(&self.shared.name);
        }
        now.mono
    }

    /// Does what the machine says until it has nothing more to say; answers when it wants to be asked again.
    fn carry_out(&mut self) -> Option<Mono> {
        let shared = Arc::clone(&self.shared);
        let mut troubles = Vec::new();
        let mut notes = Vec::new();
        let mut fell_behind = 0;
        // Dropped at the very end: that takes time for each object in it.
        let mut retired = Vec::new();
        // Before the machine is locked, since it is dropped after that is unlocked, whatever happens.
        let mut calls = Calls { crew: &shared.crew, claimed: Vec::new() };
        let mut guard = shared.machine();
        let machine = &mut *guard;
        let wake = loop {
            let now = shared.clock.now();
            match machine.informer.poll_output(now) {
                InformerOutput::Send(scope, id, request) => {
                    machine.health.requests += 1;
                    notes.extend(machine.figures.sent(now.mono, scope, id, &request));
                    let source = Arc::clone(&shared.sources[scope]);
                    let stream =
                        exchange(source, request, Arc::clone(&shared.decoder), shared.limits.clone());
                    self.exchanges.push((id, stream.boxed()));
                }
                InformerOutput::Abort(id) => {
                    notes.extend(machine.figures.aborted(now.mono, id));
                    self.exchanges.retain(|(other, _)| *other != id);
                }
                InformerOutput::Apply => {
                    machine.informer.prepare(|item| shared.indexes.complete(item));
                    retired.push(machine.informer.apply(&mut shared.store.write()));
                    machine.figures.applied(shared.clock.now().mono.since(now.mono));
                }
                InformerOutput::Resync => machine.informer.resync(now, &shared.store.read()),
                InformerOutput::Deliver(batch, handlers) => {
                    for id in handlers {
                        if let Some(listener) = machine.listeners.get(&id) {
                            let pushed = listener.push(Arc::clone(&batch));
                            fell_behind += usize::from(pushed.conflated);
                            calls.claimed.extend(pushed.claimed.then(|| Arc::clone(listener)));
                        }
                    }
                }
                InformerOutput::Trouble(scope, trouble) => troubles.push((scope, trouble)),
                InformerOutput::Timeout(wake) => break wake,
            }
        };
        self.drop_disconnected(machine);
        if machine.informer.reflectors().all(|one| !one.is_failing() && one.phase() == Phase::Watching) {
            machine.health.last_error = None;
            machine.health.failed = None;
        }
        let progress = self.progress(machine);
        for (_, trouble) in &troubles {
            shared.reporter.note(&mut machine.health, trouble);
            machine.figures.troubled(trouble);
        }
        drop(guard);
        drop(calls);
        notes.iter().for_each(|note| note.log(&shared.name));
        if fell_behind > 0 {
            // Once for each time: a handler that has caught up may fall behind again.
            let informer = &*shared.name;
            tracing::warn!(
                target: "informer::handler",
                informer,
                handlers = fell_behind,
                "slow handlers: from now on they get net changes only"
            );
        }
        shared.progress.send_if_modified(|old| {
            let changed = *old != progress;
            *old = progress;
            changed
        });
        for (scope, trouble) in troubles {
            // The user's function runs here, outside every lock.
            shared.reporter.report(&shared.sources[scope].describe(), scope, trouble);
        }
        wake
    }

    fn drop_disconnected(&self, machine: &mut Machine<V>) {
        let (informer, figures) = (&mut machine.informer, &mut machine.figures);
        machine.listeners.retain(|&id, listener| {
            let keep = !listener.is_disconnected();
            if !keep {
                informer.remove_handler(id);
                figures.retired(&listener.stats());
                tracing::error!(
                    target: "informer::handler",
                    informer = &*self.shared.name,
                    "a handler fell behind and was disconnected, as it asked"
                );
            }
            keep
        });
    }

    fn progress(&self, machine: &Machine<V>) -> Progress {
        let store = self.shared.store.read();
        let version = if self.shared.sources.len() == 1 {
            Some(store.version().clone()).filter(|version| version.is_ordered())
        } else {
            machine.informer.version()
        };
        let by_namespace = if self.shared.sources.len() == 1 {
            Vec::new()
        } else {
            machine
                .informer
                .versions()
                .filter_map(|(scope, at)| Some((Arc::clone(scope?), at.cloned())))
                .collect()
        };
        Progress { synced: store.has_synced(), version, by_namespace }
    }
}

/// Handlers that have been told of something: they are called, even if a fault of ours comes in between.
struct Calls<'a, V: Send + Sync + 'static> {
    crew: &'a Arc<Crew<V>>,
    claimed: Vec<Arc<Listener<V>>>,
}

impl<V: Send + Sync + 'static> Drop for Calls<'_, V> {
    fn drop(&mut self) {
        if !self.claimed.is_empty() {
            self.crew.call(self.claimed.drain(..));
        }
    }
}

/// What a panic said, if it said it in words.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
