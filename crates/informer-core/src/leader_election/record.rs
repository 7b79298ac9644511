//! What a Lease says about who leads.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most transitions a Lease can count (`leaseTransitions` is an `int32`).
pub(super) const MAX_TRANSITIONS: u32 = i32::MAX as u32;

/// Numbers the terms of all leaders of one Lease: the Lease's `leaseTransitions`.
///
/// Each term has a greater one than every term before, as long as the Lease is not deleted: whatever the leader changes can
/// carry it, and refuse what carries a smaller one than was seen. That stops the leader that was asleep between its last check
/// and its write, which no clock can.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FencingToken(pub u32);

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The record as it is stored: the part of a Lease that electors read and write.
///
/// It is compared as a whole: any difference means that its holder was alive. The wall-clock times are the writer's and are
/// compared for equality only, never with a clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaderRecord {
    /// Who leads; empty: nobody.
    pub holder: Arc<str>,
    /// For how long the holder may lead after its last sign of life, counted by whoever wants to follow it. `None` if the
    /// record does not say, or says no positive number: then the reader's own duration counts.
    pub lease_duration: Option<Duration>,
    /// How often leadership has begun.
    pub transitions: u32,
    /// When the holder began to lead, in microseconds since the Unix epoch.
    pub acquired_us: Option<i64>,
    /// When the holder wrote it last, in microseconds since the Unix epoch.
    pub renewed_us: Option<i64>,
}

/// A record with the version that stands for it, as a server answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// What it says.
    pub record: LeaderRecord,
    /// The server's name for this state of it; never interpreted.
    pub version: Arc<str>,
}
