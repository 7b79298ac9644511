//! What the guarded work is given.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_core::Mono;
use informer_core::leader_election::FencingToken;
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use super::clock::ElectionClock;

/// One term of leadership, in the hands of the work that it guards. A cheap handle: clone it into everything that acts.
///
/// Work has four means, from the weakest to the strongest:
///
/// 1. [`cancelled`](Self::cancelled) tells it to stop. That is a message, and messages come late: after a machine was suspended
///    the runtime's timers are late by as much as was left of them.
/// 2. [`is_leading`](Self::is_leading) reads the clock at this instant, and is right even if nothing was told: ask it right
///    before each action that only a leader may take. [`remaining`](Self::remaining) says how long that holds at least.
/// 3. [`client`](Self::client) asks that for each request at the last instant: when its bytes are handed to the system.
/// 4. [`fencing_token`](Self::fencing_token) goes along with the action, for whoever receives it to refuse it if it has seen a
///    greater token. An API server does not; there a write bound to a `resourceVersion` is refused once another has written.
#[derive(Clone)]
pub struct Leadership {
    token: FencingToken,
    term: Arc<Term>,
}

/// What the elector and the work share of one term.
pub(super) struct Term {
    /// The end of the belief on the clock, in nanoseconds; 0 once it is over.
    until: AtomicU64,
    /// How much later another may lead at the earliest.
    margin: Duration,
    clock: ElectionClock,
    cancel: CancellationToken,
}

impl Leadership {
    /// A new term, and the elector's hand on it.
    pub(super) fn new(
        token: FencingToken,
        until: Mono,
        margin: Duration,
        clock: ElectionClock,
    ) -> (Self, Arc<Term>) {
        let (until, cancel) = (AtomicU64::new(until.0), CancellationToken::new());
        let term = Arc::new(Term { until, margin, clock, cancel });
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

    /// A client like that of [`informer::client`](crate::client), whose requests leave only while this term lasts.
    ///
    /// Its connections ask [`is_leading`](Self::is_leading) each time they hand bytes to the system. So a process that was frozen
    /// for an hour between deciding and sending sends nothing when it goes on, and not the rest of what it had begun: the request
    /// fails because of [`TermOver`](crate::TermOver). What the system holds but could not deliver when the
    /// network failed is thrown away (on Linux) before another may lead, and when the connection is closed.
    ///
    /// What is left: a stop between the look and the system call that follows it, some hundred instructions; and a request that
    /// the API server has taken in and carries out only after another leads. Neither can be excluded by a client.
    ///
    /// Make one for each term and let all writes of the term go through it; informers' reads need none. Costs connections of its
    /// own, and some 50 ns a write to them.
    ///
    /// # Errors
    /// As [`informer::client`](crate::client); and if the configuration names a proxy, whose connections are not ours.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn client(&self, config: Config) -> Result<Client, kube::Error> {
        crate::client::build(config, None, Some(self.clone()))
    }

    /// The same, with every request counted and timed, as by [`client_with_metrics`](crate::client_with_metrics).
    ///
    /// # Errors
    /// As `client`.
    ///
    /// # Panics
    /// As `client`.
    #[cfg(feature = "metrics")]
    pub fn client_with_metrics(
        &self,
        config: Config,
        metrics: &crate::Metrics,
    ) -> Result<Client, kube::Error> {
        let rest = metrics.rest_layer(&config.cluster_url);
        crate::client::build(config, Some(rest), Some(self.clone()))
    }

    /// For how long the system may try to deliver what was handed to it at the last instant of the term: half of the time until
    /// another may lead, which leaves the other half to what is between here and the server.
    pub(crate) fn delivery_limit(&self) -> Duration {
        self.term.margin / 2
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
