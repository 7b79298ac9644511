//! One write, from its first try to its last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_core::{EventWrite, EventWriteId, EventWriteKind, EventWriteOutcome, Rng};
use kube::Client;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::SharedEvent;
use super::answer::{Answer, Trouble, read};
use super::metrics::{DropReason, SinkCounters, count};
use super::sink::Form;
use super::wire;

/// As in client-go: an event is tried so often, with this pause.
const MAX_TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_secs(10);
/// Controllers that started together should not try together: up to a quarter is added, as in client-go.
const PAUSE_JITTER: Duration = Duration::from_millis(2500);
/// While flushing there is no time for the long pause.
const FLUSH_PAUSE: Duration = Duration::from_millis(500);
/// A server that has not answered by then is not going to.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// No try begins later. Twelve tries that fail at once take about two minutes; this bounds those that time out.
const MAX_DURATION: Duration = Duration::from_secs(300);

/// What the writes of a sink share.
pub(super) struct Writer {
    pub(super) client: Client,
    pub(super) form: Form,
    pub(super) counters: Arc<SinkCounters>,
    /// Cancelled when the recorder is shut down: pauses become short.
    pub(super) flushing: CancellationToken,
    /// Each write has a jitter of its own.
    pub(super) seeds: AtomicU64,
}

/// How a write ended.
pub(super) struct Written {
    pub(super) id: EventWriteId,
    pub(super) occurrences: u64,
    pub(super) combined: bool,
    pub(super) namespace: String,
    pub(super) outcome: EventWriteOutcome,
    /// Why it failed, if it did.
    pub(super) why: Option<(DropReason, Trouble)>,
}

impl Writer {
    pub(super) async fn deliver(self: Arc<Self>, write: EventWrite<SharedEvent>) -> Written {
        let (outcome, why) = self.tries(&write).await;
        if outcome == EventWriteOutcome::Done {
            let counters = &self.counters;
            match write.kind {
                EventWriteKind::Create => count(&counters.creates, 1),
                EventWriteKind::Patch => count(&counters.patches, 1),
            }
        }
        Written {
            id: write.id,
            occurrences: write.occurrences,
            combined: write.combined,
            namespace: write.first.namespace.clone(),
            outcome,
            why,
        }
    }

    async fn tries(
        &self,
        write: &EventWrite<SharedEvent>,
    ) -> (EventWriteOutcome, Option<(DropReason, Trouble)>) {
        let mut random = Rng::new(self.seeds.fetch_add(1, Ordering::Relaxed));
        let begun = Instant::now();
        let mut tries = 0;
        loop {
            let (retry_after, trouble) = match self.try_once(write).await {
                Answer::Done => return (EventWriteOutcome::Done, None),
                Answer::Exists => return (EventWriteOutcome::Exists, None),
                Answer::Missing => return (EventWriteOutcome::Missing, None),
                Answer::Refused(reason, trouble) => {
                    return (EventWriteOutcome::Failed, Some((reason, trouble)));
                }
                Answer::Retry(retry_after, trouble) => (retry_after, trouble),
            };
            tries += 1;
            let pause = pause(&mut random, tries).max(retry_after.unwrap_or_default());
            if tries == MAX_TRIES || begun.elapsed() + pause > MAX_DURATION {
                return (EventWriteOutcome::Failed, Some((DropReason::GaveUp, trouble)));
            }
            tracing::debug!(target: "informer::event_recorder", tries, %trouble, "an event was not written, trying again");
            self.wait(pause).await;
        }
    }

    async fn try_once(&self, write: &EventWrite<SharedEvent>) -> Answer {
        let request = match wire::request(self.form, write) {
            Ok(request) => request,
            Err(_) => {
                return Answer::Refused(DropReason::Rejected, Trouble::new("no request can be made of it"));
            }
        };
        count(&self.counters.requests, 1);
        let exchange = async {
            match self.client.send(request.map(Into::into)).await {
                Ok(response) => read(write.kind, response).await,
                Err(_) => Answer::Retry(None, Trouble::new("no answer: the connection failed")),
            }
        };
        let late = |_| Answer::Retry(None, Trouble::new("no answer in time"));
        timeout(REQUEST_TIMEOUT, exchange).await.unwrap_or_else(late)
    }

    async fn wait(&self, pause: Duration) {
        if self.flushing.is_cancelled() {
            return sleep(pause.min(FLUSH_PAUSE)).await;
        }
        tokio::select! {
            () = self.flushing.cancelled() => {}
            () = sleep(pause) => {}
        }
    }
}

/// The first pause is anything up to the usual one, so that events that failed together are not tried together.
fn pause(random: &mut Rng, tries: u32) -> Duration {
    if tries == 1 {
        random.duration(Duration::ZERO, PAUSE)
    } else {
        random.duration(PAUSE, PAUSE + PAUSE_JITTER)
    }
}
