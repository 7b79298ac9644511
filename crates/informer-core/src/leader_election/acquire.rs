//! Acquiring: look, and take the record when it is free or its holder has shown no life for its duration.

use super::io::{Answer, ElectionEnd, LossReason, Output, Request, Written};
use super::machine::{LeaderElection, MAX_CONFLICTS};
use super::record::{FencingToken, LeaderRecord};
use super::state::{Attempt, Base, Flight, Observation, State, Term, Work};
use crate::{Mono, Now};

impl LeaderElection {
    /// The next request of an attempt to acquire.
    pub(super) fn acquire(&mut self, now: Now) {
        let looked = self.attempt().is_some_and(|attempt| attempt.looked);
        match self.base.clone() {
            Base::Absent => {
                let record = self.own_record(now);
                self.send(now, Request::Create(record));
            }
            Base::Version(version) if self.may_take(now) => {
                // Without another look: if the holder has renewed since the last one, the version tells the server.
                let record = self.own_record(now);
                self.send(now, Request::Update { record, version });
            }
            Base::Version(_) if looked => self.acquire_later(now),
            Base::Version(_) | Base::Unknown => self.send(now, Request::Get),
        }
    }

    pub(super) fn acquire_answer(&mut self, now: Now, flight: &Flight, answer: Answer) {
        let State::Acquiring(acquiring) = &mut self.state else { return };
        let attempt = &mut acquiring.attempt;
        attempt.looked |= !flight.is_write;
        acquiring.unresolved |= flight.is_write && answer == Answer::Failed(Written::Unknown);
        if flight.is_write && matches!(answer, Answer::Conflict | Answer::NotFound) {
            attempt.conflicts += 1;
            self.counters.conflicts += 1;
        }
        let (looked, again) = (attempt.looked, attempt.conflicts < MAX_CONFLICTS);
        let (stopping, unresolved) = (acquiring.stopping, acquiring.unresolved);
        match answer {
            Answer::Stored(stored) => {
                let won = flight.is_write && self.holds(&stored.record);
                self.observe(now, stored);
                match flight.is_write {
                    true if stopping => self.stopped_while_writing(now, won),
                    true if won => self.won(now, flight.sent),
                    // Somebody on the way changed what was written: it was no victory.
                    true => self.acquire_later(now),
                    false => self.acquire(now),
                }
            }
            _ if stopping => self.stopped_while_writing(now, unresolved),
            Answer::NotFound => {
                self.base = Base::Absent;
                if again { self.acquire(now) } else { self.acquire_later(now) }
            }
            Answer::Conflict => {
                self.base = Base::Unknown;
                if again && !looked { self.acquire(now) } else { self.acquire_later(now) }
            }
            Answer::Failed(_) => {
                self.base = Base::Unknown;
                self.acquire_later(now);
            }
        }
    }

    /// Asked to stop while a write was under way: its outcome is known now, as far as it ever will be.
    fn stopped_while_writing(&mut self, now: Now, may_be_ours: bool) {
        if may_be_ours {
            self.begin_release(now, ElectionEnd::NeverLed);
        } else {
            self.finish(ElectionEnd::NeverLed, false, true);
        }
    }

    /// Leadership begins, unless the answer came so late that its belief is over.
    fn won(&mut self, now: Now, sent: Mono) {
        let until = sent.after(self.options.renew_deadline);
        let record = &self.observed.as_ref().expect("what was written has just been observed").record;
        let token = FencingToken(record.transitions);
        let acquired_us = record.acquired_us.unwrap_or_default();
        if until <= now.mono {
            if let Some(attempt) = self.attempt() {
                attempt.next = now.mono;
            }
            return;
        }
        let attempt = Attempt { next: sent.after(self.options.retry_period), ..Attempt::at(now.mono) };
        self.state = State::Leading(Term {
            token,
            acquired_us,
            sent,
            until: Some(until),
            lost: None,
            work: Work::Running,
            attempt,
        });
        self.unended = Some(sent);
        self.counters.acquired += 1;
        self.outputs.push_back(Output::Lead { token, until });
    }

    /// Whether the record, as it was seen last, is nobody's (any more).
    fn may_take(&self, now: Now) -> bool {
        let Some(Observation { record, .. }) = &self.observed else { return false };
        record.holder.is_empty()
            || self.holds(record)
            || self.expiry().is_some_and(|expiry| expiry <= now.mono)
    }

    /// When the record's holder counts as gone, unless it shows life before.
    fn expiry(&self) -> Option<Mono> {
        let Observation { record, at } = self.observed.as_ref()?;
        Some(at.after(record.lease_duration.unwrap_or(self.options.lease_duration)))
    }

    /// Ends the attempt. The next one begins after a jittered period, or as soon as the holder counts as gone.
    ///
    /// The period is drawn from `[1, 2)` retry periods since this attempt *began*. client-go draws from `[1, 2.2)` since it
    /// ended; the fifth of a period less leaves room for the requests, so that with them a release is seen and taken within 2.2
    /// periods.
    fn acquire_later(&mut self, now: Now) {
        let period = self.options.retry_period;
        let wait = self.rng.duration(period, period.saturating_mul(2));
        let expiry = self.expiry().filter(|&expiry| expiry > now.mono);
        if let Some(attempt) = self.attempt() {
            let next = attempt.began.after(wait);
            attempt.next = expiry.map_or(next, |expiry| expiry.min(next)).max(now.mono);
        }
    }

    /// The record that makes this elector the leader of a new term.
    fn own_record(&mut self, now: Now) -> LeaderRecord {
        let time_us = self.write_time(now);
        LeaderRecord {
            holder: self.options.identity.clone(),
            lease_duration: Some(self.options.lease_duration),
            transitions: self.next_transitions(),
            acquired_us: Some(time_us),
            renewed_us: Some(time_us),
        }
    }

    /// Leadership is lost: the belief ends now, and the work has until another may lead.
    pub(super) fn lose(&mut self, now: Now, reason: LossReason) {
        self.abort();
        self.base = Base::Unknown;
        let State::Leading(term) = &mut self.state else { return };
        let others_may_lead = term.sent.after(self.options.lease_duration);
        let limit = now.mono.after(self.options.stop_timeout).min(others_may_lead).max(now.mono);
        term.work = match term.work {
            Work::Running => Work::Stopping { drop_at: limit },
            Work::Stopping { drop_at } => Work::Stopping { drop_at: drop_at.min(limit) },
            dropped @ Work::Dropped { .. } => dropped,
        };
        term.until = None;
        term.lost = Some(reason.clone());
        self.counters.lost += 1;
        self.outputs.push_back(Output::StopWork { lost: Some(reason) });
    }
}
