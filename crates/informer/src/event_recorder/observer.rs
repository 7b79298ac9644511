//! The task of a sink that is a function.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::SharedEvent;
use super::event::RecordedEvent;
use super::metrics::{DropReason, SinkCounters, count};

pub(super) struct Observer {
    pub(super) sink: String,
    pub(super) queue: Receiver<SharedEvent>,
    pub(super) observe: Arc<dyn Fn(&RecordedEvent) + Send + Sync>,
    pub(super) counters: Arc<SinkCounters>,
    pub(super) flushing: CancellationToken,
    pub(super) abort: CancellationToken,
}

impl Observer {
    pub(super) async fn run(mut self) {
        let mut flushing = false;
        loop {
            tokio::select! {
                biased;
                () = self.abort.cancelled() => break,
                () = self.flushing.cancelled(), if !flushing => {
                    flushing = true;
                    self.queue.close();
                }
                event = self.queue.recv() => match event {
                    Some(event) => self.call(&event),
                    None => return,
                },
            }
        }
        self.queue.close();
        while self.queue.try_recv().is_ok() {
            self.counters.dropped.add(DropReason::Unflushed, 1);
        }
    }

    fn call(&self, event: &RecordedEvent) {
        match catch_unwind(AssertUnwindSafe(|| (self.observe)(event))) {
            Ok(()) => count(&self.counters.written, 1),
            Err(_) => {
                self.counters.dropped.add(DropReason::Panicked, 1);
                tracing::error!(target: "informer::event_recorder", sink = self.sink, "an observer of events panicked");
            }
        }
    }
}
