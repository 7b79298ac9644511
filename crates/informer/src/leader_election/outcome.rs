//! How a run ends, what can go wrong for its caller, and what can be seen meanwhile.

use std::time::Duration;

use informer_core::leader_election::{ElectionCounters, ElectionEnd, InvalidElection};

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome<T> {
    /// Why it ended.
    pub end: ElectionEnd,
    /// What the work returned; `None` if it never began, or was dropped because it did not stop in time.
    pub output: Option<T>,
    /// Whether the Lease says that nobody leads, because it was given back.
    pub released: bool,
}

/// An election cannot take place, or its work went wrong. What a server answers is never an error: it is tried again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaderElectionError {
    /// The durations or the identity break the election's rules.
    #[error(transparent)]
    Invalid(#[from] InvalidElection),
    /// The namespace or the name cannot be one of a Lease.
    #[error("not a {what} of a Lease: it must have 1 to 253 of the characters a-z, 0-9, '-' and '.'")]
    Name {
        /// Which of them.
        what: &'static str,
    },
    /// This elector runs already, or work of an earlier run has not ended yet.
    #[error("the elector of {lease} runs already")]
    Running {
        /// Namespace and name.
        lease: String,
    },
    /// The work panicked. The run was ended as if the work had returned, and the Lease given back if that was asked for.
    #[error("the work that the leader of {lease} does panicked: {message}")]
    WorkPanicked {
        /// Namespace and name.
        lease: String,
        /// What the panic said.
        message: String,
    },
    /// The work was told to stop, then dropped, and still runs: it holds its thread. The Lease was not given back.
    /// [`LeaderElector::check`](crate::LeaderElector::check) fails from the time on at which another may lead: end the process.
    #[error("the work that the leader of {lease} does cannot be stopped")]
    WorkNotEnded {
        /// Namespace and name.
        lease: String,
    },
}

/// Work goes on although its lease may be another's by now.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the work of the leader of {lease} goes on {since:?} after the last renewal")]
#[non_exhaustive]
pub struct NotRenewed {
    /// Namespace and name.
    pub lease: String,
    /// How long ago the last successful renewal was sent.
    pub since: Duration,
}

/// What an elector does and has done, for a metrics exporter.
///
/// client-go's `leader_election_master_status{name}` is `is_leader`, its `leader_election_slowpath_total{name}` is
/// `counters.slow_paths`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeaderElectionMetrics {
    /// Namespace and name of the Lease.
    pub lease: String,
    /// Who this is.
    pub identity: String,
    /// Whether this elector leads at this instant.
    pub is_leader: bool,
    /// Who holds the Lease, as it was seen last; empty: nobody, or it was never seen.
    pub holder: String,
    /// The Lease's transitions, as they were seen last.
    pub transitions: u32,
    /// What went wrong last, until something works again. Free of object contents.
    pub last_error: Option<String>,
    /// What happened how often.
    pub counters: ElectionCounters,
}
