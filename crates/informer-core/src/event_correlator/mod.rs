//! Repeated events counted, similar ones combined, too many dropped: what is to be written about what happened.
//!
//! Two machines for the two forms of an Event: [`EventCorrelator`] for core/v1 and [`EventSeries`] for events.k8s.io/v1. Both
//! are told of each event (`observe`) and of the end of each write (`written`), and say what to write next (`poll_write`). For
//! each event there is at most one write at a time: what happens meanwhile is counted and told by the next one.
//!
//! To both an event is an opaque value `P`, of which the first and the latest of each kind are kept.

mod aggregator;
mod correlator;
mod ledger;
mod lru;
mod series;
mod spam_filter;

pub use correlator::{EventCorrelator, EventCorrelatorOptions, EventFacts};
pub use ledger::{EventWrite, EventWriteId, EventWriteKind, EventWriteOutcome, Settled};
pub use series::{EventSeries, EventSeriesOptions};

/// Whether an event is good or bad news: the API has these two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum EventType {
    /// Information.
    Normal,
    /// Something that may need somebody's attention.
    Warning,
}

impl EventType {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What becomes of an event that was observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// It is to be written: `poll_write` yields it, or the write that tells of it as well.
    Due,
    /// It is counted, and told of by a later write: one is under way, or the series' next report.
    Counted,
    /// There were too many of its kind. It is counted, but causes no write.
    Spam,
    /// As many different events as are remembered wait to be written. It is not counted.
    Full,
}
