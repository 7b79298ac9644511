//! What can go wrong for the caller of this crate, as values.

use std::time::Duration;

use crate::status::Phase;

/// An informer could not be made as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No source was given, or several with a namespace twice.
    #[error("{0}")]
    Sources(String),
    /// The factory has an informer of this resource already, with other options.
    #[error(
        "{resource} has an informer in this factory already, with another {what}: use one factory for each"
    )]
    Conflict {
        /// Which resource.
        resource: String,
        /// What differs.
        what: &'static str,
    },
    /// A controller was asked for something that cannot be.
    #[error("controller {name}: {problem}")]
    Controller {
        /// The controller's name.
        name: String,
        /// What cannot be.
        problem: &'static str,
    },
    /// The factory, or the informer, was stopped for good.
    #[error("{0} was shut down")]
    ShutDown(String),
}

/// Waiting for a sync ended without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncError {
    waited: Duration,
    missing: Vec<NotSynced>,
}

/// One informer that has not synced, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NotSynced {
    /// What it watches: `pods in team-a`.
    pub informer: String,
    /// Where it stands.
    pub phase: Phase,
    /// The last trouble, if any: usually the reason.
    pub last_error: Option<String>,
}

impl SyncError {
    pub(crate) fn new(waited: Duration, missing: Vec<NotSynced>) -> Self {
        Self { waited, missing }
    }

    /// Who has not synced, in the order of the factory.
    pub fn missing(&self) -> &[NotSynced] {
        &self.missing
    }
}

impl std::fmt::Display for SyncError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not synced after {:.1} s: ", self.waited.as_secs_f64())?;
        for (position, one) in self.missing.iter().enumerate() {
            let separator = if position > 0 { "; " } else { "" };
            write!(f, "{separator}{one}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for NotSynced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { informer, phase, last_error } = self;
        write!(f, "{informer} ({phase})")?;
        match last_error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyncError {}

/// Waiting for a version ended without it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// Time is up.
    #[error("{informer} is at version {at} after {waited:?}, not at {wanted}")]
    Timeout {
        /// What is watched.
        informer: String,
        /// The version waited for.
        wanted: String,
        /// The version of the cache; empty before the first list.
        at: String,
        /// How long it was waited.
        waited: Duration,
    },
    /// The version is not a number, or the server's are not: they cannot be compared.
    #[error("versions of {informer} cannot be compared")]
    Opaque {
        /// What is watched.
        informer: String,
    },
}
