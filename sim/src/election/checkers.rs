//! What must be true of every run, whatever went wrong in it.

use std::fmt;

/// The invariants, by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Checker {
    /// At no instant do two electors believe to lead, each judged on its own clock.
    OneLeader,
    /// A belief ends exactly one renew deadline after a write was sent that took place.
    Earned,
    /// Each term has a greater token than every term before.
    TokensGrow,
    /// The record is given back only after the work has ended.
    ReleasedAfterWork,
    /// A leader that died is replaced within the lease duration, 2.2 retry periods and one request, if anybody is well.
    Replaced,
    /// A record that was given back has a new holder within 2.2 retry periods, if anybody is well.
    HandedOver,
    /// Whoever is told to stop comes to an end, whatever the work and the server do.
    Ends,
    /// A new leader is told once, and only if it held the record.
    Told,
    /// Requests come no faster than attempts allow.
    Quiet,
    /// Some time after the faults stop somebody leads.
    Converged,
}

/// One broken invariant.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub checker: Checker,
    /// How.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.checker, self.message)
    }
}

/// Where the checkers bring their charges: the first of each.
#[derive(Debug, Default)]
pub(crate) struct Court {
    pub(crate) violations: Vec<Violation>,
}

impl Court {
    /// Charges, unless it is as it should be.
    pub(crate) fn require(&mut self, holds: bool, checker: Checker, message: impl FnOnce() -> String) {
        if !holds && self.violations.iter().all(|violation| violation.checker != checker) {
            self.violations.push(Violation { checker, message: message() });
        }
    }
}
