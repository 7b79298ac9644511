//! What the guarded work is given.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_core::Mono;
use informer_core::leader_election::FencingToken;
use tokio_util::sync::CancellationToken;

use super::clock::ElectionClock;

/// One term of leadership, in the hands of the work that it guards. A cheap handle: clone it into everything that acts.
///
/// Work has three means, from the weakest to the strongest:
///
/// 1. [`cancelled`](Self::cancelled) tells it to stop. That is a message, and messages come late: after a machine was suspended
///    the runtime's timers are late by as much as was left of them.
/// 2. [`is_leading`](Self::is_leading) reads the clock at this instant, and is right even if nothing was told: ask it right
///    before each action that only a leader may take. [`remaining`](Self::remaining) says how long that holds at least.
/// 3. [`fencing_token`](Self::fencing_token) goes along with the action. A process can be stopped *between* asking and acting,
///    for any length of time; only whoever receives the action can refuse it then, because it has seen a greater token.
#[derive(Clone)]
pub struct Leadership {
    token: FencingToken,
    term: Arc<Term>,
}

/// What the elector and the work share of one term.
pub(super) struct Term {
    /// The end of the belief on the clock, in nanoseconds; 0 once it is over.
    until: AtomicU64,
    clock: ElectionClock,
    cancel: CancellationToken,
}

impl Leadership {
    /// A new term, and the elector's hand on it.
    pub(super) fn new(token: FencingToken, until: Mono, clock: ElectionClock) -> (Self, Arc<Term>) {
        let term = Arc::new(Term { until: AtomicU64::new(until.0), clock, cancel: CancellationToken::new() });
        (Self { token, term: Arc::clone(&term) }, term)
    }

    /// The number of this term: greater than that of every term before, of any elector of this Lease, unless the Lease was deleted
    /// in between and no elector alive remembers.
    pub fn fencing_token(&self) -> FencingToken {
        self.token
    }

    /// Whether this term lasts at this instant. Reads the clock; costs some 50 ns.
    ///
    /// It stays true while work that was asked to stop winds down. Once false, it stays so.
    pub fn is_leading(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// How long this term lasts at least, on this machine's clock: until the end of the belief, which each renewal moves. Zero
    /// once it is over. Another may lead after that plus lease duration minus renew deadline (5 s with the defaults).
    pub fn remaining(&self) -> Duration {
        let until = Mono(self.term.until.load(Ordering::Acquire));
        until.since(self.term.clock.mono())
    }

    /// Waits until the work is to stop: the run was asked to stop, or leadership is lost.
    pub async fn cancelled(&self) {
        self.term.cancel.cancelled().await;
    }

    /// The same as a token, for whatever takes one. Cancelling it oneself changes nothing but that.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.term.cancel.child_token()
    }
}

impl Term {
    pub(super) fn extend(&self, until: Mono) {
        self.until.store(until.0, Ordering::Release);
    }

    pub(super) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("token", &self.token.0)
            .field("remaining", &self.remaining())
            .finish()
    }
}
