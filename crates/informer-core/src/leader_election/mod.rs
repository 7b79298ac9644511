//! Leader election over one record that is written with optimistic concurrency: who may lead, and until when.

mod acquire;
mod io;
mod machine;
mod options;
mod record;
mod release;
mod renew;
mod state;

#[cfg(test)]
mod tests;

pub use io::{
    Answer, ElectionCounters, ElectionEnd, LossReason, Output, Request, RequestId, Summary, Written,
};
pub use machine::LeaderElection;
pub use options::{ElectionOptions, InvalidElection};
pub use record::{FencingToken, LeaderRecord, Stored};
