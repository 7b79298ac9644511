//! What was recorded, for tests.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::SharedEvent;
use super::event::RecordedEvent;

/// What a recorder made by [`EventRecorder::for_tests`](super::EventRecorder::for_tests) recorded, in order, each event by
/// itself. Bounded like a queue: beyond 1000 the newest are dropped, and counted in the recorder's metrics.
#[doc(alias = "FakeRecorder")]
#[derive(Clone)]
pub struct RecordedEvents {
    pub(super) buffer: Arc<Buffer>,
}

pub(super) struct Buffer {
    events: Mutex<VecDeque<SharedEvent>>,
    added: Notify,
    capacity: usize,
}

impl RecordedEvents {
    /// All of them since the last time, oldest first. Does not wait.
    pub fn take(&self) -> Vec<RecordedEvent> {
        let events = std::mem::take(&mut *self.buffer.events());
        events.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// The oldest; waits until there is one. Can be dropped without losing any.
    pub async fn next(&self) -> RecordedEvent {
        loop {
            let added = self.buffer.added.notified();
            if let Some(event) = self.buffer.events().pop_front() {
                return Arc::unwrap_or_clone(event);
            }
            added.await;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.buffer.events().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Buffer {
    pub(super) fn new(capacity: usize) -> Self {
        Self { events: Mutex::default(), added: Notify::new(), capacity }
    }

    /// Says whether there was room.
    pub(super) fn push(&self, event: SharedEvent) -> bool {
        let mut events = self.events();
        let room = events.len() < self.capacity;
        if room {
            events.push_back(event);
            drop(events);
            self.added.notify_one();
        }
        room
    }

    fn events(&self) -> MutexGuard<'_, VecDeque<SharedEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RecordedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedEvents").field("len", &self.len()).finish_non_exhaustive()
    }
}
