//! The clock that decides: tokio's, which tests can pause.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use informer_core::{Mono, Now};
use tokio::time::Instant;

/// Turns tokio's time, which tests can pause, into the core's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mono = self.start.elapsed().as_nanos();
        Now {
            mono: Mono(u64::try_from(mono).unwrap_or(u64::MAX)),
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn instant(&self, mono: Mono) -> Instant {
        // A timer beyond what the clock can say is one that never fires.
        self.start
            .checked_add(Duration::from_nanos(mono.0))
            .unwrap_or_else(|| self.start + Duration::from_secs(60 * 60 * 24 * 365))
    }
}
