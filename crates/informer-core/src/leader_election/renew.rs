//! Renewing: the remembered version is replaced without a look; if that fails, the record is read once more.

use super::io::{Answer, LossReason, Output, Request};
use super::machine::{LeaderElection, MAX_CONFLICTS};
use super::record::{LeaderRecord, Stored};
use super::state::{Base, Flight, State, Term};
use crate::Now;

impl LeaderElection {
    /// The next request of an attempt to renew.
    pub(super) fn renew(&mut self, now: Now) {
        let State::Leading(term) = &self.state else { return };
        let (token, acquired_us) = (term.token, term.acquired_us);
        match self.base.clone() {
            Base::Version(version) => {
                let record = LeaderRecord {
                    holder: self.options.identity.clone(),
                    lease_duration: Some(self.options.lease_duration),
                    transitions: token.0,
                    acquired_us: Some(acquired_us),
                    renewed_us: Some(self.write_time(now)),
                };
                self.send(now, Request::Update { record, version });
            }
            Base::Unknown | Base::Absent => {
                self.counters.slow_paths += 1;
                self.send(now, Request::Get);
            }
        }
    }

    pub(super) fn renew_answer(&mut self, now: Now, flight: &Flight, answer: Answer) {
        let State::Leading(term) = &mut self.state else { return };
        let attempt = &mut term.attempt;
        attempt.looked |= !flight.is_write;
        match answer {
            Answer::Stored(stored) => self.renew_stored(now, flight, stored),
            Answer::NotFound => self.lose(now, LossReason::Deleted),
            Answer::Conflict => {
                attempt.conflicts += 1;
                let again = attempt.conflicts < MAX_CONFLICTS;
                self.counters.conflicts += 1;
                self.renew_failed(now, again);
            }
            Answer::Failed(_) => {
                let again = !attempt.looked;
                self.renew_failed(now, again);
            }
        }
    }

    fn renew_stored(&mut self, now: Now, flight: &Flight, stored: Stored) {
        let holder = stored.record.holder.clone();
        let mine = self.holds(&stored.record);
        let transitions = stored.record.transitions;
        self.observe(now, stored);
        let State::Leading(term) = &mut self.state else { return };
        // The same identity in another term: somebody else uses it, too.
        if !mine || transitions != term.token.0 {
            return self.lose(now, LossReason::Taken(holder));
        }
        if !flight.is_write {
            return self.renew(now);
        }
        let until = flight.sent.after(self.options.renew_deadline);
        term.sent = flight.sent;
        term.until = Some(until);
        self.unended = Some(flight.sent);
        self.counters.renewed += 1;
        self.outputs.push_back(Output::Extended { until });
        self.renew_later(now);
    }

    fn renew_failed(&mut self, now: Now, again: bool) {
        self.counters.failed_renewals += 1;
        self.base = Base::Unknown;
        if again { self.renew(now) } else { self.renew_later(now) }
    }

    /// Ends the attempt; the next one begins a retry period after this one began.
    fn renew_later(&mut self, now: Now) {
        let period = self.options.retry_period;
        if let State::Leading(Term { attempt, .. }) = &mut self.state {
            attempt.next = attempt.began.after(period).max(now.mono);
        }
    }
}
