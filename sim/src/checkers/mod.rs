//! What must be true of every run, whatever went wrong in it.

mod handler;
mod requests;
mod store;

use std::fmt;

pub(crate) use handler::{HandlerView, Hearing};
pub(crate) use requests::RequestCheck;
pub(crate) use store::{StoreCheck, Truth, has_converged};

/// The invariants, by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Checker {
    /// Some time after the faults stop, the store is what the server has, and so is what each handler was told.
    Converged,
    /// Of one key a handler never hears of an older version after a newer one, and the store's version never goes back.
    Ordered,
    /// Nothing is told twice: no addition of what the handler holds, no update to the same version, no reminder that
    /// nobody asked for.
    Unique,
    /// What a handler was told of and is gone is told as deleted, incarnation by incarnation, with its true last state;
    /// and nothing else is.
    NoLostDelete,
    /// The old object of an update is what that handler was told last, and a reminder shows it.
    PrevObj,
    /// Each index is what its function says of the objects stored; the store's own structures agree with each other.
    Index,
    /// The marker of the first list comes once, after everything in that list and before everything else.
    Synced,
    /// The store has every change up to its version.
    ReadYourWrites,
    /// After each step the store is exactly what the server had at the store's version, and a snapshot stays what it was.
    Snapshot,
    /// Nothing outside the namespaces and the selector comes in, and nothing that the server never had.
    Filter,
    /// A backlog stays within its limit, and a conflated one within what the handler knows and the store has.
    Bounded,
    /// Requests come no faster than the back-off allows, one at a time for each scope, and none when stopped.
    Quiet,
    /// A server that contradicts its own order is noticed.
    Detected,
    /// Of a resource that is gone nothing is stored, unless it was asked to be kept.
    Gone,
}

/// One broken invariant.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub checker: Checker,
    /// At which step of the run.
    pub step: u64,
    /// How.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at step {}: {}", self.checker, self.step, self.message)
    }
}

/// Where the checkers bring their charges.
#[derive(Debug, Default)]
pub(crate) struct Court {
    pub(crate) step: u64,
    /// The first one of each checker.
    pub(crate) violations: Vec<Violation>,
    /// Checkers that have no say any more.
    muted: Vec<Checker>,
}

impl Court {
    /// From here on these cannot say what is right.
    pub(crate) fn mute(&mut self, checkers: &[Checker]) {
        self.muted.extend(checkers);
    }

    /// Whether this checker has no say any more.
    pub(crate) fn is_muted(&self, checker: Checker) -> bool {
        self.muted.contains(&checker)
    }

    /// Charges, unless it is as it should be.
    pub(crate) fn require(&mut self, holds: bool, checker: Checker, message: impl FnOnce() -> String) {
        if holds || self.is_muted(checker) {
            return;
        }
        if self.violations.iter().all(|violation| violation.checker != checker) {
            self.violations.push(Violation { checker, step: self.step, message: message() });
        }
    }
}
