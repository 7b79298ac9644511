//! Drives one run: waits, feeds the machine, carries out what it says. It decides nothing.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_core::Mono;
use informer_core::leader_election::{Output, Request, RequestId, Summary};
use serde_json::Value;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::exchange::Exchanged;
use super::leadership::{Leadership, Term};
use super::outcome::{LeaderElectionError, Outcome};
use super::{ElectionClock, Shared};
use crate::driver::panic_message;

pub(super) struct Driver {
    shared: Arc<Shared>,
    flight: Option<Flight>,
    /// The Lease as it was answered last.
    lease: Option<Arc<Value>>,
    term: Option<Arc<Term>>,
    /// The run is over; otherwise its future was dropped.
    ended: bool,
    /// Work that nothing could end has the elector now.
    handed_over: bool,
}

/// A request under way.
struct Flight {
    id: RequestId,
    is_write: bool,
    exchange: BoxFuture<'static, Exchanged>,
}

/// The work, which ends with whoever waits for it.
struct Work<T>(JoinHandle<T>);

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What can be done next.
enum Next {
    Wait(Option<Mono>),
    Begin(Leadership),
    DropWork,
    Ended(Summary),
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, flight: None, lease: None, term: None, ended: false, handed_over: false }
    }

    pub(super) async fn run<F, Fut>(
        mut self,
        stop: CancellationToken,
        work: F,
    ) -> Result<Outcome<Fut::Output>, LeaderElectionError>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let (mut work, mut task) = (Some(work), None::<Work<Fut::Output>>);
        let (mut result, mut stopped) = (None, false);
        shared.machine().start(shared.clock.now());
        let summary = loop {
            let due = match self.carry_out() {
                Next::Wait(due) => due,
                Next::Begin(leadership) => {
                    if let Some(work) = work.take() {
                        // The call is made in there, so that its panic is the work's.
                        task = Some(Work(tokio::spawn(async move { work(leadership).await })));
                    }
                    continue;
                }
                Next::DropWork => {
                    if let Some(task) = &task {
                        task.0.abort();
                    }
                    continue;
                }
                Next::Ended(summary) => break summary,
            };
            // Once asked to stop no work begins; and what has arrived comes before timers, so that a machine that was asleep
            // learns of its answers.
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopped => {
                    stopped = true;
                    shared.machine().stop(shared.clock.now());
                }
                ended = join(&mut task) => {
                    task = None;
                    result = Some(ended);
                    self.end_term();
                    shared.machine().work_ended(shared.clock.now());
                }
                exchanged = answer(&mut self.flight) => self.take_in(exchanged),
                () = sleep_until(&shared.clock, due) => {}
            }
        };
        self.finish(summary, task, result)
    }

    /// Does what the machine says until it waits, or until the run itself is concerned.
    fn carry_out(&mut self) -> Next {
        loop {
            // Read anew each time: no request may be sent before the time that the machine knows as its sending.
            let output = {
                let mut machine = self.shared.machine();
                machine.poll_output(self.shared.clock.now())
            };
            match output {
                Output::Send(id, request) => self.send(id, request),
                Output::Abort(id) => {
                    if let Some(flight) = self.flight.take_if(|flight| flight.id == id) {
                        let late = "no answer in time".to_owned();
                        self.shared.told().error(&self.shared.lease, flight.is_write, late);
                    }
                }
                Output::Lead { token, until } => {
                    tracing::info!(target: "informer::leader_election", lease = self.shared.lease, token = token.0, "leads");
                    let (margin, clock) = (self.shared.margin(), self.shared.clock.clone());
                    let (leadership, term) = Leadership::new(token, until, margin, clock);
                    self.term = Some(term);
                    return Next::Begin(leadership);
                }
                Output::Extended { until } => {
                    if let Some(term) = &self.term {
                        term.extend(until);
                    }
                }
                Output::StopWork { lost } => {
                    if let Some(reason) = lost {
                        tracing::warn!(target: "informer::leader_election",
                            lease = self.shared.lease,
                            ?reason,
                            "leadership is lost, the work is to stop"
                        );
                        self.end_term();
                    }
                    if let Some(term) = &self.term {
                        term.cancel();
                    }
                }
                Output::DropWork => {
                    tracing::warn!(target: "informer::leader_election", lease = self.shared.lease, "the work did not stop in time and is dropped");
                    return Next::DropWork;
                }
                Output::NewLeader(holder) => {
                    self.shared.told().recovered(&self.shared.lease);
                    self.tell(&holder);
                }
                Output::Ended(summary) => return Next::Ended(summary),
                Output::Timeout(due) => return Next::Wait(due),
            }
        }
    }

    fn send(&mut self, id: RequestId, request: Request) {
        let (endpoint, base) = (Arc::clone(&self.shared.endpoint), self.lease.clone());
        let is_write = request != Request::Get;
        let exchange = async move { endpoint.exchange(&request, base.as_deref()).await };
        self.flight = Some(Flight { id, is_write, exchange: exchange.boxed() });
    }

    fn take_in(&mut self, exchanged: Exchanged) {
        let Some(Flight { id, is_write, .. }) = self.flight.take() else { return };
        let lease = &self.shared.lease;
        match exchanged.error {
            Some(error) => self.shared.told().error(lease, is_write, error),
            None => self.shared.told().success(lease, is_write),
        }
        if let Some(lease) = exchanged.lease {
            self.lease = Some(Arc::new(lease));
        }
        self.shared.machine().handle(self.shared.clock.now(), id, exchanged.answer);
    }

    fn tell(&self, holder: &str) {
        let Some(handler) = &self.shared.on_new_leader else { return };
        if catch_unwind(AssertUnwindSafe(|| handler(holder))).is_err() {
            tracing::error!(target: "informer::leader_election", lease = self.shared.lease, "the new-leader handler panicked");
        }
    }

    fn end_term(&self) {
        if let Some(term) = &self.term {
            term.end();
        }
    }

    fn finish<T: Send + 'static>(
        &mut self,
        summary: Summary,
        task: Option<Work<T>>,
        result: Option<Result<T, JoinError>>,
    ) -> Result<Outcome<T>, LeaderElectionError> {
        self.ended = true;
        self.end_term();
        let lease = self.shared.lease.clone();
        if let Some(task) = task.filter(|_| !summary.work_ended) {
            self.handed_over = true;
            tracing::error!(target: "informer::leader_election", lease, "the work cannot be stopped");
            watch_work(Arc::clone(&self.shared), task);
            return Err(LeaderElectionError::WorkNotEnded { lease });
        }
        let output = match result {
            None => None,
            Some(Ok(output)) => Some(output),
            Some(Err(error)) if error.is_panic() => {
                let message = panic_message(&*error.into_panic()).to_owned();
                return Err(LeaderElectionError::WorkPanicked { lease, message });
            }
            // It was dropped.
            Some(Err(_)) => None,
        };
        tracing::info!(target: "informer::leader_election", lease, end = ?summary.end, released = summary.released, "the run is over");
        Ok(Outcome { end: summary.end, output, released: summary.released })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.end_term();
        if let Some(term) = &self.term {
            term.cancel();
        }
        if !self.ended {
            self.shared.machine().abandon();
        }
        if !self.handed_over {
            self.shared.running.store(false, Ordering::Release);
        }
    }
}

/// Waits for work that cannot be stopped: until it has ended, the elector is not healthy and does not run again.
fn watch_work<T: Send + 'static>(shared: Arc<Shared>, mut task: Work<T>) {
    tokio::spawn(async move {
        let _ = (&mut task.0).await;
        shared.machine().work_ended(shared.clock.now());
        shared.running.store(false, Ordering::Release);
    });
}

async fn join<T>(task: &mut Option<Work<T>>) -> Result<T, JoinError> {
    match task {
        Some(task) => (&mut task.0).await,
        None => pending().await,
    }
}

async fn answer(flight: &mut Option<Flight>) -> Exchanged {
    match flight {
        Some(flight) => (&mut flight.exchange).await,
        None => pending().await,
    }
}

/// Sleeps by the runtime's timer until the clock should show this; if the clock is behind, the machine asks again.
async fn sleep_until(clock: &ElectionClock, due: Option<Mono>) {
    match due {
        Some(due) => tokio::time::sleep(due.since(clock.mono())).await,
        None => pending().await,
    }
}
