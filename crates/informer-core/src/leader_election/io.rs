//! What an election says and hears.

use std::sync::Arc;

use super::record::{FencingToken, LeaderRecord, Stored};
use crate::Mono;

/// Names one request of one election; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// What to ask the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Read the record; the answer must not be older than the request.
    Get,
    /// Store a first record; to be refused if there is one.
    Create(LeaderRecord),
    /// Replace the record; to be refused unless this version is the present one.
    Update {
        /// The new record.
        record: LeaderRecord,
        /// The version that it replaces.
        version: Arc<str>,
    },
}

/// What came back for a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The record: as it was read, or as it was written.
    Stored(Stored),
    /// There is no record.
    NotFound,
    /// The write was refused, since there is a record already, or it has another version.
    Conflict,
    /// Anything else.
    Failed(Written),
}

/// Whether a request that failed may have changed the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// The server refused it.
    No,
    /// Nobody knows: no answer came, or one that does not say.
    Unknown,
}

/// What the shell is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send this request. At most one is under way. The machine aborts it in time.
    Send(RequestId, Request),
    /// Abandon this request.
    Abort(RequestId),
    /// Leadership begins: start the work, and have it know until when this holds, unless told otherwise.
    Lead {
        /// Greater than that of every term before.
        token: FencingToken,
        /// The belief to lead ends at this time by itself.
        until: Mono,
    },
    /// The belief to lead lasts until this time now.
    Extended {
        /// Later than before.
        until: Mono,
    },
    /// Tell the work to stop. It is asked to, and leads until it has; or leadership is lost, and it leads no more.
    StopWork {
        /// Why leadership is lost, if it is.
        lost: Option<LossReason>,
    },
    /// End the work, which was told to stop and did not.
    DropWork,
    /// Another identity holds the record, or none does (empty).
    NewLeader(Arc<str>),
    /// The run is over.
    Ended(Summary),
    /// Nothing to do until this time or the next input; `None`: until the next input.
    Timeout(Option<Mono>),
}

/// Why leadership was lost.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LossReason {
    /// No renewal succeeded in time.
    Deadline,
    /// The record has another holder (empty: somebody emptied it).
    Taken(Arc<str>),
    /// The record is gone: whoever comes first may create it.
    Deleted,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Why.
    pub end: ElectionEnd,
    /// Whether the record says that nobody leads, because it was given back.
    pub released: bool,
    /// Whether the work has ended. If not, it was told to stop, then to be dropped, and nothing helped.
    pub work_ended: bool,
}

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ElectionEnd {
    /// It was stopped before it led.
    NeverLed,
    /// The work had come to its end.
    Finished,
    /// It was stopped.
    Stopped,
    /// Leadership was lost.
    Lost(LossReason),
}

/// What happened how often.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ElectionCounters {
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed: no answer in time, or one that is neither a record, nor "not found", nor a conflict.
    pub failed_requests: u64,
    /// Writes that were refused because the record had changed.
    pub conflicts: u64,
    /// Terms of this elector.
    pub acquired: u64,
    /// Terms that it lost.
    pub lost: u64,
    /// Renewals that succeeded.
    pub renewed: u64,
    /// Renewals that failed or were refused.
    pub failed_renewals: u64,
    /// How often the record had to be read again in order to renew it.
    pub slow_paths: u64,
    /// Changes of the holder that were seen, to nobody included.
    pub leader_changes: u64,
    /// Terms that this elector gave back.
    pub released: u64,
}
