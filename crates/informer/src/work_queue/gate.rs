//! The lock around a work queue, and who waits at it. Without tokio and without time, so that a model checker can run it.

use std::collections::VecDeque;
use std::hash::Hash;
use std::task::{Context, Poll, Waker};

use informer_core::{KeyHasher, Mono, RateLimiter, Taken, WorkKey, WorkQueue};

use super::sync::{Mutex, MutexGuard, lock};

/// A work queue that many take from.
///
/// Nobody sleeps while there is something for him. After each change a waiting getter is woken if one could go on;
/// and also after a getter has left, with a key or because it was dropped. So one wake-up at a time is enough
/// whatever there is to take, and none is lost with a getter that is dropped before it got to run.
///
/// No thread and no task runs the delays: one of the waiting getters, the *keeper*, sleeps no longer than until the
/// queue is to be looked at again. When it leaves, another one becomes the keeper.
#[repr(C)]
pub(crate) struct Gate<K> {
    state: Mutex<State<K>>,
    hasher: KeyHasher,
}

#[repr(C)] // What each call looks at lies together, beside the lock.
struct State<K> {
    /// Who waits for a key.
    getters: Waiters,
    /// Who waits for the end of all work.
    drainers: Waiters,
    /// Which getter sleeps until when.
    keeper: Option<(Ticket, Mono)>,
    queue: WorkQueue<K>,
}

/// A waiter's name; it has one from its first wait on.
pub(crate) type Ticket = u64;

/// What a getter is told.
pub(crate) enum Turn<K> {
    Key(Taken, K),
    /// There will never be another key.
    Over,
    /// To ask again when woken, and at this time at the latest.
    Wait(Option<Mono>),
}

impl<K> Gate<K> {
    pub(crate) fn new(queue: WorkQueue<K>) -> Self {
        let hasher = queue.hasher().clone();
        let state = State { getters: Waiters::new(), drainers: Waiters::new(), keeper: None, queue };
        Self { state: Mutex::new(state), hasher }
    }

    /// Does something to a key, which is hashed before the lock is taken.
    #[inline]
    pub(crate) fn with_key<R>(
        &self,
        key: K,
        clock: impl FnOnce() -> Mono,
        act: impl FnOnce(&mut WorkKey<'_, K, Box<dyn RateLimiter>>) -> R,
    ) -> R
    where
        K: Hash + Eq,
    {
        let hash = self.hasher.hash(&key);
        self.with(clock, |queue| act(&mut queue.key_hashed(key, hash)))
    }

    /// Does something to the queue and wakes who can go on. The clock is read only if the queue wants the time.
    #[inline]
    pub(crate) fn with<R>(
        &self,
        clock: impl FnOnce() -> Mono,
        act: impl FnOnce(&mut WorkQueue<K>) -> R,
    ) -> R {
        let mut state = self.state();
        if state.queue.wants_time() {
            state.queue.advance(clock());
        }
        let result = act(&mut state.queue);
        wake(state);
        result
    }

    /// A getter's turn. It is to come again with the same ticket until it gets something, or to [leave](Self::leave).
    pub(crate) fn turn(
        &self,
        cx: &mut Context<'_>,
        ticket: &mut Option<Ticket>,
        clock: impl FnOnce() -> Mono,
    ) -> Turn<K>
    where
        K: Hash + Eq + Clone,
    {
        let mut state = self.state();
        state.retire(*ticket);
        if state.queue.wants_time() {
            state.queue.advance(clock());
        }
        if let Some(taken) = state.queue.pop() {
            *ticket = None;
            let key = state.queue.name(taken.id).expect("a key that was handed out is known").clone();
            wake(state);
            return Turn::Key(taken, key);
        }
        if state.queue.is_exhausted() {
            *ticket = None;
            wake(state);
            return Turn::Over;
        }
        let own = state.getters.wait(cx.waker(), *ticket);
        *ticket = Some(own);
        let wake = state.queue.next_wake().filter(|&wake| state.keeper.is_none_or(|(_, until)| until > wake));
        if let Some(wake) = wake {
            state.keeper = Some((own, wake));
        }
        Turn::Wait(wake)
    }

    /// A getter was dropped while it waited.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let mut state = self.state();
        state.retire(Some(ticket));
        wake(state);
    }

    /// Waits for the end of all work.
    pub(crate) fn drained(&self, cx: &mut Context<'_>, ticket: &mut Option<Ticket>) -> Poll<()> {
        let mut state = self.state();
        if let Some(ticket) = *ticket {
            state.drainers.remove(ticket);
        }
        if state.queue.is_drained() {
            *ticket = None;
            return Poll::Ready(());
        }
        *ticket = Some(state.drainers.wait(cx.waker(), *ticket));
        Poll::Pending
    }

    /// Who waited for the end of all work was dropped.
    pub(crate) fn stop_draining(&self, ticket: Ticket) {
        self.state().drainers.remove(ticket);
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // The queue runs under this lock, and with it small functions of keys and limiters. Should one of them panic, the
        // queue is still whole.
        lock(&self.state)
    }
}

/// Lets go of the lock, and wakes who can go on.
#[inline]
fn wake<K>(mut state: MutexGuard<'_, State<K>>) {
    if state.getters.is_empty() && state.drainers.is_empty() {
        return;
    }
    let getter = if state.news() { state.getters.first() } else { None };
    let drainers = if state.queue.is_drained() { state.drainers.all() } else { VecDeque::new() };
    drop(state);
    getter.into_iter().chain(drainers.into_iter().map(|(_, waker)| waker)).for_each(Waker::wake);
}

impl<K> State<K> {
    /// A getter waits no longer.
    fn retire(&mut self, ticket: Option<Ticket>) {
        let Some(ticket) = ticket else { return };
        self.getters.remove(ticket);
        self.keeper = self.keeper.filter(|&(keeper, _)| keeper != ticket);
    }

    /// Whether a waiting getter could go on, or has to sleep less long than any does.
    fn news(&self) -> bool {
        !self.queue.is_empty()
            || self.queue.is_exhausted()
            || self.queue.next_wake().is_some_and(|wake| self.keeper.is_none_or(|(_, until)| until > wake))
    }
}

/// Who waits, the first to come first.
struct Waiters {
    waiting: VecDeque<(Ticket, Waker)>,
    tickets: Ticket,
}

impl Waiters {
    fn new() -> Self {
        Self { waiting: VecDeque::new(), tickets: 0 }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Appends a waiter, under the ticket it has or a new one.
    fn wait(&mut self, waker: &Waker, ticket: Option<Ticket>) -> Ticket {
        let ticket = ticket.unwrap_or_else(|| {
            self.tickets += 1;
            self.tickets
        });
        self.waiting.push_back((ticket, waker.clone()));
        ticket
    }

    fn remove(&mut self, ticket: Ticket) {
        if let Some(position) = self.waiting.iter().position(|&(own, _)| own == ticket) {
            self.waiting.remove(position);
        }
    }

    fn first(&mut self) -> Option<Waker> {
        self.waiting.pop_front().map(|(_, waker)| waker)
    }

    fn all(&mut self) -> VecDeque<(Ticket, Waker)> {
        std::mem::take(&mut self.waiting)
    }
}
