//! The clock by which an election decides: one that goes on while the machine sleeps.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use informer_core::{Mono, Now};

/// The clock by which an elector judges who leads.
///
/// It must never go back, and it must count the time in which the machine was suspended: a leader that wakes up after an hour
/// would otherwise believe that its lease still holds. That is [`boottime`](Self::boottime), the default. Only *durations* are
/// compared, each on one machine; nobody's wall clock decides anything.
#[derive(Clone)]
pub struct ElectionClock(Inner);

#[derive(Clone)]
enum Inner {
    #[cfg(target_os = "linux")]
    Boottime,
    Tokio(tokio::time::Instant),
    Function(Arc<dyn Fn() -> Duration + Send + Sync>),
}

impl ElectionClock {
    /// `CLOCK_BOOTTIME` on Linux. Elsewhere the runtime's monotonic clock, which may stand still while the machine sleeps.
    pub fn boottime() -> Self {
        #[cfg(target_os = "linux")]
        return Self(Inner::Boottime);
        #[cfg(not(target_os = "linux"))]
        return Self::tokio();
    }

    /// The runtime's clock, which tests can pause.
    pub fn tokio() -> Self {
        Self(Inner::Tokio(tokio::time::Instant::now()))
    }

    /// Any clock: the time since some fixed point. It must never go back; it is called often and must not block.
    pub fn from_fn(since_start: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Inner::Function(Arc::new(since_start)))
    }

    pub(super) fn mono(&self) -> Mono {
        Mono(0).after(match &self.0 {
            #[cfg(target_os = "linux")]
            Inner::Boottime => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
                Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
            }
            Inner::Tokio(start) => start.elapsed(),
            Inner::Function(since_start) => since_start(),
        })
    }

    pub(super) fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { mono: self.mono(), wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl Default for ElectionClock {
    fn default() -> Self {
        Self::boottime()
    }
}

impl fmt::Debug for ElectionClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ElectionClock({:?})", self.mono())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boottime_goes_on() {
        let clock = ElectionClock::default();
        let first = clock.mono();
        assert!(first > Mono(0), "the machine was started some time ago");
        while clock.mono() == first {}
        assert!(clock.mono() > first);
    }
}
