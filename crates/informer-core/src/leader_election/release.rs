//! Releasing: the work has ended, and the record is made nobody's, if it is still ours.

use std::sync::Arc;
use std::time::Duration;

use super::io::{Answer, Request};
use super::machine::{LeaderElection, MAX_CONFLICTS};
use super::record::LeaderRecord;
use super::state::{Base, Flight, State};
use crate::Now;

/// What a record without a holder says as its duration, since a server refuses 0: as in client-go.
const RELEASED_LEASE_DURATION: Duration = Duration::from_secs(1);

impl LeaderElection {
    /// The next request of an attempt to give the record back.
    pub(super) fn give_back(&mut self, now: Now) {
        let held = self.observed().filter(|record| self.holds(record)).map(|record| record.transitions);
        match (self.base.clone(), held) {
            (Base::Unknown, _) => self.send(now, Request::Get),
            (Base::Version(version), Some(transitions)) => {
                let time_us = self.write_time(now);
                let record = LeaderRecord {
                    holder: Arc::from(""),
                    lease_duration: Some(RELEASED_LEASE_DURATION),
                    transitions,
                    acquired_us: Some(time_us),
                    renewed_us: Some(time_us),
                };
                self.send(now, Request::Update { record, version });
            }
            // Another has it, or nobody: there is nothing to give back.
            (Base::Version(_), None) | (Base::Absent, _) => self.end_release(false),
        }
    }

    /// What is answered may also be a renewal that was under way.
    pub(super) fn release_answer(&mut self, now: Now, flight: &Flight, answer: Answer) {
        let State::Releasing(releasing) = &mut self.state else { return };
        let attempt = &mut releasing.attempt;
        match answer {
            Answer::Stored(stored) => {
                let released = flight.is_write && stored.record.holder.is_empty();
                self.observe(now, stored);
                if released { self.end_release(true) } else { self.give_back(now) }
            }
            Answer::NotFound => self.end_release(false),
            Answer::Conflict => {
                attempt.conflicts += 1;
                let again = attempt.conflicts < MAX_CONFLICTS;
                self.counters.conflicts += 1;
                self.base = Base::Unknown;
                if again { self.give_back(now) } else { self.give_back_later(now) }
            }
            Answer::Failed(_) => {
                self.base = Base::Unknown;
                self.give_back_later(now);
            }
        }
    }

    pub(super) fn end_release(&mut self, released: bool) {
        let State::Releasing(releasing) = &self.state else { return };
        let end = releasing.end.clone();
        self.counters.released += u64::from(released);
        self.finish(end, released, true);
    }

    fn give_back_later(&mut self, now: Now) {
        let period = self.options.retry_period;
        if let Some(attempt) = self.attempt() {
            attempt.next = attempt.began.after(period).max(now.mono);
        }
    }
}
