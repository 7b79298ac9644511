//! Who calls the handlers of one informer: a thread for all that are quick, one each for those that are slow.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use informer_core::{Batch, Notification};

use crate::event_handler::EventHandler;
use crate::listener::{Listener, Next};
use crate::trouble::is_news;
use crate::watchdog::{self, Watched};

/// A thread goes on for this long before it is given back: a burst should not cost a hand-over for each batch, and a flood
/// should not keep a thread for ever.
const SHIFT: Duration = Duration::from_millis(50);
/// A handler goes on for this long before it is another one's turn.
const TURN: Duration = Duration::from_millis(1);
/// A handler that others had to wait for gets a thread of its own, until it has dealt with some batches within this time.
const QUICK: Duration = Duration::from_millis(1);

/// The handlers of one informer that have something to be told, and the threads that tell them.
///
/// A handler is *claimed* while it stands in the queue or is being called (see `Listener`): so it is called by one thread at
/// a time. Threads are of tokio's blocking pool, and are taken only while there is something to tell: normally one, which
/// goes from handler to handler. A handler that has waited for longer than a tick of the watchdog gets another thread;
/// so one that blocks holds the others up for two ticks, once.
pub(crate) struct Crew<V> {
    /// The informer's name, for messages.
    informer: Arc<str>,
    state: Mutex<State<V>>,
}

struct State<V> {
    /// Claimed, in the order in which they were told of, each with the tick of that time.
    ready: VecDeque<(Arc<Listener<V>>, u64)>,
    /// The threads that take from `ready`, each with the tick at which it took the handler that it is at.
    workers: Vec<(WorkerId, u64)>,
    next_worker: WorkerId,
    watched: bool,
    /// Whether anybody became ready since the watchdog looked last.
    lively: bool,
}

type WorkerId = u64;

impl<V> Crew<V> {
    pub(crate) fn new(informer: Arc<str>) -> Self {
        let state = State {
            ready: VecDeque::new(),
            workers: Vec::new(),
            next_worker: 0,
            watched: false,
            lively: false,
        };
        Self { informer, state: Mutex::new(state) }
    }

    /// No call begins after this; the handler is dropped now, or after the call that is under way.
    pub(crate) fn dismiss(&self, listener: &Arc<Listener<V>>) {
        listener.close();
        let mut state = self.state();
        let position = state.ready.iter().position(|(ready, _)| Arc::ptr_eq(ready, listener));
        let own = position.and_then(|position| state.ready.remove(position)).is_some();
        drop(state);
        if own || listener.claim() {
            listener.finish();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<V>> {
        // No user code runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V: Send + Sync + 'static> Crew<V> {
    /// Calls these handlers soon: a push has claimed them.
    pub(crate) fn call(self: &Arc<Self>, claimed: impl IntoIterator<Item = Arc<Listener<V>>>) {
        let mut state = self.state();
        let tick = watchdog::tick();
        let mut slow = Vec::new();
        for listener in claimed {
            if listener.is_slow() {
                slow.push(listener);
            } else {
                state.ready.push_back((listener, tick));
            }
        }
        let worker = self.hire_the_first(&mut state);
        state.lively = true;
        // A new worker has the first already; for all others, somebody has to look whether they wait too long.
        let watch = !state.ready.is_empty() && !std::mem::replace(&mut state.watched, true);
        drop(state);
        if watch && !watchdog::watch(Arc::clone(self) as Arc<dyn Watched>) {
            // Nobody would notice: each gets a thread of its own.
            let mut state = self.state();
            state.watched = false;
            slow.extend(state.ready.drain(..).map(|(listener, _)| listener));
        }
        worker.into_iter().for_each(Worker::start);
        slow.into_iter().for_each(|listener| self.call_alone(listener));
    }

    fn call_alone(self: &Arc<Self>, listener: Arc<Listener<V>>) {
        Worker { crew: Arc::clone(self), role: Role::Alone, at: Some(listener) }.start();
    }

    /// A worker, if somebody waits and there is none.
    fn hire_the_first(self: &Arc<Self>, state: &mut State<V>) -> Option<Worker<V>> {
        if state.workers.is_empty() { self.hire(state) } else { None }
    }

    /// One worker more, at the first of those who wait. It must be started once the lock is released.
    fn hire(self: &Arc<Self>, state: &mut State<V>) -> Option<Worker<V>> {
        let (first, _) = state.ready.pop_front()?;
        let id = state.next_worker;
        state.next_worker += 1;
        state.workers.push((id, watchdog::tick()));
        Some(Worker { crew: Arc::clone(self), role: Role::Shared(id), at: Some(first) })
    }

    /// The next one to be called by this worker, once it has been at `before`, which may not be done.
    fn next(
        self: &Arc<Self>,
        id: WorkerId,
        before: Arc<Listener<V>>,
        done: bool,
    ) -> Option<Arc<Listener<V>>> {
        let mut state = self.state();
        let Some(worker) = state.workers.iter().position(|&(worker, _)| worker == id) else {
            drop(state);
            // It took so long that another one has this worker's place.
            before.note_slow();
            if !done {
                self.call_alone(before);
            }
            return None;
        };
        let tick = watchdog::tick();
        if !done {
            state.ready.push_back((before, tick));
        }
        let Some((next, _)) = state.ready.pop_front() else {
            state.workers.swap_remove(worker);
            return None;
        };
        state.workers[worker].1 = tick;
        Some(next)
    }
}

impl<V: Send + Sync + 'static> Watched for Crew<V> {
    fn look(self: Arc<Self>, tick: u64) -> bool {
        let mut state = self.state();
        // Became ready in the tick before last or earlier: at least one whole tick ago.
        let is_late = |since: u64| since + 1 < tick;
        let mut worker = None;
        if state.ready.front().is_some_and(|&(_, since)| is_late(since)) {
            // Those that are stuck will go when they can; they are not to be counted on.
            state.workers.retain(|&(_, since)| !is_late(since));
            worker = self.hire(&mut state);
        }
        let lively = std::mem::take(&mut state.lively) || !state.ready.is_empty() || worker.is_some();
        state.watched = lively;
        drop(state);
        worker.into_iter().for_each(Worker::start);
        lively
    }
}

/// A thread of the blocking pool, or the wish for one.
struct Worker<V: Send + Sync + 'static> {
    crew: Arc<Crew<V>>,
    role: Role,
    /// Whom it calls; claimed.
    at: Option<Arc<Listener<V>>>,
}

enum Role {
    /// Goes from one handler to the next.
    Shared(WorkerId),
    /// Stays with one.
    Alone,
}

impl<V: Send + Sync + 'static> Worker<V> {
    fn start(self) {
        let Some(runtime) = self.at.as_ref().and_then(|listener| listener.runtime()).cloned() else { return };
        // Callbacks may block, so they must not do it on the runtime's own threads. If the runtime is shutting down this drops
        // the worker.
        drop(runtime.spawn_blocking(move || self.run()));
    }

    fn run(mut self) {
        let begun = Instant::now();
        let mut now = begun;
        while let Some(listener) = &self.at {
            let done = take_turn(listener, &mut now, &self.crew.informer);
            let listener = self.at.take().expect("it was at this one");
            self.at = match self.role {
                Role::Alone => (!done).then_some(listener),
                Role::Shared(id) => self.crew.next(id, listener, done),
            };
            if now - begun > SHIFT && self.at.is_some() {
                return self.start();
            }
        }
    }
}

impl<V: Send + Sync + 'static> Drop for Worker<V> {
    /// Whoever it was at is not served any more: it never ran, since its runtime shuts down, or a fault of ours ends it.
    fn drop(&mut self) {
        if let Some(listener) = self.at.take() {
            listener.finish();
            if let Role::Shared(id) = self.role {
                let mut state = self.crew.state();
                state.workers.retain(|&(worker, _)| worker != id);
                let worker = self.crew.hire_the_first(&mut state);
                drop(state);
                worker.into_iter().for_each(Worker::start);
            }
        }
    }
}

/// Calls the handler for what waits, for a while; says whether that was all.
fn take_turn<V>(listener: &Listener<V>, now: &mut Instant, informer: &str) -> bool {
    let begun = *now;
    let mut handler = listener.handler();
    loop {
        let batch = match listener.next_or_release() {
            Next::Batch(batch) => batch,
            Next::Nothing => return true,
            Next::Closed => break,
        };
        if let Some(handler) = &mut *handler {
            tell(listener, handler, &batch, informer);
        }
        // Before the clock is read: it may be the last one to hold the objects.
        drop(batch);
        let before = std::mem::replace(now, Instant::now());
        if *now - before < QUICK {
            listener.note_quick();
        }
        if *now - begun > TURN {
            return false;
        }
    }
    drop(handler);
    listener.finish();
    true
}

fn tell<V>(listener: &Listener<V>, handler: &mut EventHandler<V>, batch: &Batch<V>, informer: &str) {
    for notification in batch.iter() {
        // A removed handler hears nothing more, not even the rest of a batch.
        if listener.is_closed() {
            return;
        }
        if catch_unwind(AssertUnwindSafe(|| handler.call(notification))).is_err() {
            report_panic(listener, notification, informer);
        }
    }
    listener.acknowledge(batch);
}

fn report_panic<V>(listener: &Listener<V>, notification: &Notification<V>, informer: &str) {
    let panics = listener.count_panic();
    let key = notification.key().map(ToString::to_string);
    // Without the panic's message, which may quote the object; the panic hook has shown it.
    if is_news(panics) {
        tracing::error!(target: "informer::handler", informer, key, panics, "event handler panicked");
    } else {
        tracing::debug!(target: "informer::handler", informer, key, panics, "event handler panicked");
    }
}

#[cfg(test)]
mod tests;
