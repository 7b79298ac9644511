//! Where an election stands.

use std::sync::Arc;

use super::io::{ElectionEnd, LossReason, RequestId};
use super::record::{FencingToken, LeaderRecord};
use crate::Mono;

#[derive(Debug)]
pub(super) enum State {
    /// Not started, or over.
    Idle,
    Acquiring(Acquiring),
    Leading(Term),
    Releasing(Releasing),
}

#[derive(Debug)]
pub(super) struct Acquiring {
    pub(super) attempt: Attempt,
    /// A write of ours has had no answer: it may still succeed.
    pub(super) unresolved: bool,
    /// Asked to stop while a write was under way, whose outcome decides whether there is something to release.
    pub(super) stopping: bool,
}

/// One term of leadership, until its work has ended.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) token: FencingToken,
    pub(super) acquired_us: i64,
    /// When the last successful write was sent.
    pub(super) sent: Mono,
    /// The end of the belief; `None` once leadership is lost.
    pub(super) until: Option<Mono>,
    pub(super) lost: Option<LossReason>,
    pub(super) work: Work,
    pub(super) attempt: Attempt,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    Running,
    /// Told to stop; dropped at this time.
    Stopping {
        drop_at: Mono,
    },
    /// Dropped; given up at this time.
    Dropped {
        give_up_at: Mono,
    },
}

/// Giving the record back.
#[derive(Debug)]
pub(super) struct Releasing {
    pub(super) attempt: Attempt,
    pub(super) give_up_at: Mono,
    pub(super) end: ElectionEnd,
}

/// Several requests that belong together, and when the next ones are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Attempt {
    /// When this one began.
    pub(super) began: Mono,
    /// When the next one begins.
    pub(super) next: Mono,
    /// Whether the record has been read in it.
    pub(super) looked: bool,
    /// Conflicts in it.
    pub(super) conflicts: u32,
}

impl Attempt {
    /// One that begins at once.
    pub(super) fn at(now: Mono) -> Self {
        Self { began: now, next: now, looked: false, conflicts: 0 }
    }

    pub(super) fn begin(&mut self, now: Mono) {
        *self = Self { next: self.next, ..Self::at(now) };
    }
}

/// What is known of the record's present version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// Nothing: it has to be read.
    Unknown,
    /// There is no record.
    Absent,
    /// This version, as far as one knows.
    Version(Arc<str>),
}

/// The record as it was seen last.
#[derive(Debug)]
pub(super) struct Observation {
    pub(super) record: LeaderRecord,
    /// When it was seen first, on the local clock: the only time that decides.
    pub(super) at: Mono,
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) id: RequestId,
    pub(super) sent: Mono,
    pub(super) deadline: Mono,
    pub(super) is_write: bool,
}
