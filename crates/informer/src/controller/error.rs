//! Why a controller ended other than by being asked to.

use std::time::Duration;

use informer_core::ObjectKey;

use crate::error::SyncError;

/// A controller ended other than by being asked to, or not as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A cache had no first list in time; nothing was reconciled.
    #[error("controller {controller}: {source}")]
    NotSynced {
        /// The controller.
        controller: String,
        /// Which informers, in which phase, and each one's last trouble.
        source: SyncError,
    },
    /// Reconciles were still running when the time to finish them was over, and were dropped. Their keys wait, and come
    /// up when the controller runs again.
    #[error("controller {controller}: not done {waited:?} after it was stopped: {}", list(keys))]
    Unfinished {
        /// The controller.
        controller: String,
        /// The keys, sorted.
        keys: Vec<ObjectKey>,
        /// How long was waited.
        waited: Duration,
    },
    /// It runs already.
    #[error("controller {controller} runs already")]
    AlreadyRunning {
        /// The controller.
        controller: String,
    },
}

/// So many keys are named in a message.
const NAMED_KEYS: usize = 10;

fn list(keys: &[ObjectKey]) -> String {
    let names: Vec<_> = keys.iter().take(NAMED_KEYS).map(ToString::to_string).collect();
    let rest = keys.len().saturating_sub(NAMED_KEYS);
    if rest > 0 { format!("{} and {rest} more", names.join(", ")) } else { names.join(", ") }
}
