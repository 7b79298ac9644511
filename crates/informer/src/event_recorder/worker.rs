//! The task of one sink: takes events from its queue, asks its machine, carries out the writes.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use informer_core::{EventWriteOutcome, Observed, Settled};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::SharedEvent;
use super::machine::Machine;
use super::metrics::{DropReason, SinkCounters, count};
use super::write::{Writer, Written};
use crate::clock::Clock;

/// So many writes at a time, as in client-go's events.k8s.io recorder.
const MAX_WRITES: usize = 8;
/// That the queue is full is said so often at most.
const FULL_QUEUE_LOG_PERIOD: Duration = Duration::from_secs(10);

pub(super) struct Worker {
    pub(super) sink: String,
    pub(super) queue: Receiver<SharedEvent>,
    pub(super) machine: Machine,
    pub(super) writer: Arc<Writer>,
    pub(super) counters: Arc<SinkCounters>,
    pub(super) clock: Clock,
    /// The recorder was shut down.
    pub(super) flushing: CancellationToken,
    /// The time to flush is over.
    pub(super) abort: CancellationToken,
    pub(super) log: Log,
}

/// What was said last, so that a trouble is said once.
#[derive(Default)]
pub(super) struct Log {
    trouble: Option<String>,
    full: u64,
    full_said: Option<Instant>,
}

impl Worker {
    /// Ends when the queue was closed and everything in it is settled, or when it is aborted.
    pub(super) async fn run(mut self) {
        let mut writes: FuturesUnordered<BoxFuture<'static, Written>> = FuturesUnordered::new();
        let (mut open, mut flushing) = (true, false);
        loop {
            let now = self.clock.now();
            while writes.len() < MAX_WRITES
                && let Some(write) = self.machine.poll_write(now)
            {
                writes.push(Box::pin(Arc::clone(&self.writer).deliver(write)));
            }
            if !open && writes.is_empty() {
                self.say_full(true);
                return;
            }
            let room = writes.len() < MAX_WRITES;
            let wake = self.machine.poll_timeout().map(|mono| self.clock.instant(mono));
            tokio::select! {
                biased;
                () = self.abort.cancelled() => return self.aborted(),
                Some(written) = writes.next(), if !writes.is_empty() => self.written(written),
                () = self.flushing.cancelled(), if !flushing => {
                    flushing = true;
                    self.queue.close();
                }
                () = until(wake) => self.machine.handle_timeout(self.clock.now()),
                event = self.queue.recv(), if open && room => match event {
                    Some(event) => self.observe(event),
                    None => {
                        open = false;
                        self.machine.flush();
                    }
                },
            }
        }
    }

    fn observe(&mut self, event: SharedEvent) {
        self.say_full(false);
        match self.machine.observe(self.clock.now(), event) {
            Observed::Due | Observed::Counted => {}
            Observed::Spam => self.counters.dropped.add(DropReason::Spam, 1),
            // Cannot be: it is asked only when nothing is due. But if so, it is counted.
            Observed::Full => self.counters.dropped.add(DropReason::GaveUp, 1),
        }
    }

    fn written(&mut self, written: Written) {
        let Written { id, occurrences, combined, namespace, outcome, why } = written;
        match self.machine.written(self.clock.now(), id, outcome) {
            Settled::Later => {}
            Settled::Reported => {
                count(&self.counters.written, occurrences);
                if combined {
                    count(&self.counters.combined, occurrences);
                }
            }
            Settled::Lost => {
                let reason = why.as_ref().map_or(DropReason::GaveUp, |(reason, _)| *reason);
                self.counters.dropped.add(reason, occurrences);
            }
        }
        match why {
            Some((reason @ (DropReason::NamespaceGone | DropReason::NamespaceTerminating), _)) => {
                tracing::debug!(target: "informer::event_recorder", sink = self.sink, namespace, %reason, "an event was dropped");
            }
            Some((reason, trouble)) => self.say_trouble(format!("{reason}: {trouble}")),
            None if outcome == EventWriteOutcome::Done => self.say_recovery(),
            None => {}
        }
    }

    /// What is left will not be written.
    fn aborted(mut self) {
        self.queue.close();
        let mut left = self.machine.pending();
        while self.queue.try_recv().is_ok() {
            left += 1;
        }
        self.counters.dropped.add(DropReason::Unflushed, left);
        self.say_full(true);
    }

    fn say_trouble(&mut self, trouble: String) {
        let sink = &self.sink;
        if self.log.trouble.as_ref() == Some(&trouble) {
            tracing::debug!(target: "informer::event_recorder", sink, %trouble, "an event was dropped");
        } else {
            tracing::warn!(target: "informer::event_recorder", sink, %trouble, "an event was dropped; the same again is logged at debug");
            self.log.trouble = Some(trouble);
        }
    }

    fn say_recovery(&mut self) {
        if let Some(trouble) = self.log.trouble.take() {
            let dropped = self.counters.dropped.snapshot();
            tracing::info!(target: "informer::event_recorder", sink = self.sink, last = trouble, ?dropped, "events are written again");
        }
    }

    /// Says how many events the queue had no room for since that was said last.
    fn say_full(&mut self, now: bool) {
        let full = self.counters.dropped.of(DropReason::QueueFull);
        let recently = self.log.full_said.is_some_and(|said| said.elapsed() < FULL_QUEUE_LOG_PERIOD);
        if full > self.log.full && (now || !recently) {
            let dropped = full - self.log.full;
            tracing::warn!(target: "informer::event_recorder", sink = self.sink, dropped, "events were dropped: the sink's queue was full");
            self.log.full = full;
            self.log.full_said = Some(Instant::now());
        }
    }
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(wake) => sleep_until(wake).await,
        None => pending().await,
    }
}
