//! A worker: takes a key, lets it be reconciled, says what becomes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_core::ObjectKey;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::handle::Shared;
use super::metrics::ReconcileCounters;
use super::outcome::{Action, TerminalError};
use super::writes::{Turn, Write, all_shown};
use crate::list_watch::BoxError;
use crate::work_queue::Processing;

/// The user's function, without its type.
pub(super) type Reconcile =
    Arc<dyn Fn(ObjectKey) -> BoxFuture<'static, Result<Action, BoxError>> + Send + Sync>;

/// An error's text is cut here.
const MAX_ERROR_BYTES: usize = 1024;

/// Works until `stop`; a reconcile that is under way then is brought to its end.
#[derive(Clone)]
pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) reconcile: Reconcile,
    pub(super) timeout: Duration,
    pub(super) stop: CancellationToken,
    /// Cancelled when the run is over, whatever ended it.
    pub(super) over: CancellationToken,
}

/// Where all that concerns a controller is logged.
const TARGET: &str = "informer::controller";

/// What came of one reconcile.
enum Outcome {
    Asked(Action),
    Failed { terminal: bool, error: String },
    Panicked,
    TimedOut,
}

impl Outcome {
    /// What went wrong, to be compared with what went wrong before. Empty: nothing.
    fn trouble(&self) -> String {
        match self {
            Self::Asked(_) => String::new(),
            Self::Failed { error, .. } => format!("error: {error}"),
            Self::Panicked => "panic".to_owned(),
            Self::TimedOut => "timeout".to_owned(),
        }
    }

    fn log(&self, failures: u32, is_news: bool, timeout: Duration) {
        match self {
            Self::Asked(_) => {}
            Self::Failed { terminal: true, error } if is_news => {
                tracing::error!(target: TARGET, error, "reconcile failed for good, it is not tried again before a change");
            }
            Self::Failed { terminal: true, error } => {
                tracing::debug!(target: TARGET, error, "reconcile failed for good, as before");
            }
            Self::Failed { error, .. } if is_news => {
                tracing::warn!(target: TARGET, error, failures, "reconcile failed");
            }
            Self::Failed { error, .. } => {
                tracing::debug!(target: TARGET, error, failures, "reconcile failed")
            }
            // Without the panic's message, which may quote an object; the panic hook has shown it.
            Self::Panicked if is_news => tracing::error!(target: TARGET, failures, "reconcile panicked"),
            Self::Panicked => tracing::debug!(target: TARGET, failures, "reconcile panicked"),
            Self::TimedOut if is_news => {
                tracing::warn!(target: TARGET, failures, "reconcile was not done in {timeout:?} and was dropped");
            }
            Self::TimedOut => {
                tracing::debug!(target: TARGET, failures, "reconcile was not done in {timeout:?} and was dropped");
            }
        }
    }
}

impl Worker {
    pub(super) async fn work(self) {
        loop {
            let processing = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                taken = self.shared.queue().get() => taken,
            };
            let Some(processing) = processing else { return };
            let controller = &*self.shared.name;
            match self.shared.writes.turn(controller, processing.key(), processing.priority()) {
                Turn::Go { stale } => {
                    if stale > 0 {
                        self.shared.stats.lock().stale_reads += stale;
                    }
                    self.reconcile(processing).await;
                }
                Turn::Wait(writes) => self.wait_for(processing, writes),
                Turn::Waiting => processing.done(),
            }
        }
    }

    /// Puts the key aside until the cache shows these writes. No worker is held by that.
    fn wait_for(&self, processing: Processing<ObjectKey>, writes: Vec<Write>) {
        self.shared.stats.lock().waits_for_cache += 1;
        // From here on the key comes back, also if the task never runs.
        let back = PutBack { shared: Arc::clone(&self.shared), key: processing.key().clone() };
        processing.done();
        let over = self.over.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = all_shown(&writes) => {}
            }
            drop(back);
        });
    }

    async fn reconcile(&self, processing: Processing<ObjectKey>) {
        let key = processing.key().clone();
        let running = Running::begin(&self.shared, processing);
        let (controller, reconcile_id) = (&*self.shared.name, running.id);
        let span =
            tracing::info_span!(target: "informer::controller", "reconcile", controller, %key, reconcile_id);
        let outcome = self.call(key).instrument(span.clone()).await;
        let _entered = span.entered();
        running.end(outcome, self.timeout);
    }

    /// Runs the user's function; nothing of it is left afterwards, and nothing that it does harms the worker.
    async fn call(&self, key: ObjectKey) -> Outcome {
        let future = AssertUnwindSafe(async { (self.reconcile)(key).await }).catch_unwind();
        let mut future = Box::pin(future);
        let result = tokio::time::timeout(self.timeout, future.as_mut()).await;
        // Values of the user's are dropped here, and their destructors and texts are code of his as well.
        let judged = catch_unwind(AssertUnwindSafe(move || {
            drop(future);
            match result {
                Ok(Ok(Ok(action))) => Outcome::Asked(action),
                Ok(Ok(Err(error))) => Outcome::Failed {
                    terminal: TerminalError::is_in(&*error),
                    error: bounded(&with_sources(&*error)),
                },
                // There is nothing in it that may be told.
                Ok(Err(_panic)) => Outcome::Panicked,
                Err(_elapsed) => Outcome::TimedOut,
            }
        }));
        judged.unwrap_or_else(|panic| {
            // It came from a destructor or a text: who knows what its own destructor does.
            std::mem::forget(panic);
            Outcome::Panicked
        })
    }
}

/// A reconcile under way. Dropped before its end, the key is tried again.
struct Running<'w> {
    shared: &'w Shared,
    id: u64,
    begun: Instant,
    processing: Option<Processing<ObjectKey>>,
}

impl<'w> Running<'w> {
    fn begin(shared: &'w Shared, processing: Processing<ObjectKey>) -> Self {
        let id = shared.stats.begin(processing.key());
        Self { shared, id, begun: Instant::now(), processing: Some(processing) }
    }

    fn end(mut self, outcome: Outcome, timeout: Duration) {
        let Some(processing) = self.processing.take() else { return };
        let failures = processing.num_requeues() + 1;
        // The same again is told quietly.
        let is_news = self.shared.stats.is_news(processing.key(), &outcome.trouble());
        outcome.log(failures, is_news, timeout);
        self.count(|counters| match &outcome {
            Outcome::Asked(Action::Done) => &mut counters.success,
            Outcome::Asked(Action::RequeueAfter(_)) => &mut counters.requeue_after,
            Outcome::Failed { terminal: true, .. } => &mut counters.terminal,
            Outcome::Failed { .. } => &mut counters.error,
            Outcome::Panicked => &mut counters.panic,
            Outcome::TimedOut => &mut counters.timeout,
        });
        let again = match outcome {
            Outcome::Asked(Action::Done) => None,
            Outcome::Asked(Action::RequeueAfter(delay)) => Some(delay),
            Outcome::Failed { terminal: true, .. } => None,
            _ => return processing.retry(),
        };
        // What is expected and never seen makes no event: somebody has to look after it.
        let expiry = self.shared.expectations.remaining(processing.key());
        match again.into_iter().chain(expiry).min() {
            None => processing.succeeded(),
            Some(delay) => processing.requeue_after(delay),
        }
    }

    fn count(&self, count: impl FnOnce(&mut ReconcileCounters) -> &mut u64) {
        self.shared.stats.end(self.id, self.begun.elapsed(), count);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(processing) = self.processing.take() {
            self.count(|counters| &mut counters.cancelled);
            processing.retry();
        }
    }
}

/// A key that was put aside; dropped, it waits for a worker again.
struct PutBack {
    shared: Arc<Shared>,
    key: ObjectKey,
}

impl Drop for PutBack {
    fn drop(&mut self) {
        if let Some(priority) = self.shared.writes.waited(&self.key) {
            self.shared.queue().add_with(self.key.clone(), priority);
        }
    }
}

/// What an error says, and what its sources say if it does not say that itself.
fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next.filter(|_| text.len() < MAX_ERROR_BYTES) {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text
}

/// A line of a log: not endless, and one line.
fn bounded(text: &str) -> String {
    let end =
        (0..=MAX_ERROR_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
