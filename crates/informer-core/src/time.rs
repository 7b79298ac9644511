//! Time as a value: passed in, printable, never read from the machine.

use std::fmt;
use std::time::Duration;

/// A point on a monotonic clock, in nanoseconds since an arbitrary start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mono(pub u64);

impl Mono {
    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// `self` moved by `delay`, at most to the end of time (584 years): a delay of `Duration::MAX` is "never".
    pub fn after(self, delay: Duration) -> Self {
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(delay_ns))
    }
}

impl fmt::Debug for Mono {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}

/// The present, as the caller knows it: every state machine gets it as its first argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Monotonic time: the only one that decides anything.
    pub mono: Mono,
    /// Wall-clock time in milliseconds since the Unix epoch: for people and for timestamps sent to servers.
    pub wall_ms: u64,
}
