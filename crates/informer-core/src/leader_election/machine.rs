//! The election itself: its inputs, its outputs, its timers.

use std::collections::VecDeque;
use std::sync::Arc;

use super::io::{
    Answer, ElectionCounters, ElectionEnd, LossReason, Output, Request, RequestId, Summary, Written,
};
use super::options::ElectionOptions;
use super::record::{FencingToken, LeaderRecord, MAX_TRANSITIONS, Stored};
use super::state::{Acquiring, Attempt, Base, Flight, Observation, Releasing, State, Term, Work};
use crate::{Mono, Now, Rng};

/// So many refused writes in one attempt are answered with another look at once; the next one waits for the next attempt.
/// Each means that somebody else wrote in between, so that only somebody who writes without end gets there.
pub(super) const MAX_CONFLICTS: u32 = 3;

/// One elector: acquires the record, renews it while the work runs, has the work stop, gives the record back.
///
/// One mutation, then drain: after each call of [`start`](Self::start), [`stop`](Self::stop), [`handle`](Self::handle) or
/// [`work_ended`](Self::work_ended), and when the last timeout has come, call [`poll_output`](Self::poll_output) until it
/// answers [`Output::Timeout`], and do what it says on the way. Timers fire inside `poll_output`. At most one request is under
/// way; answers to others are dropped.
///
/// **Safety.** The belief to lead ends [`renew_deadline`](ElectionOptions::renew_deadline) after the last successful write was
/// *sent*. Others take the record no sooner than its `lease_duration` after they *saw* that write. So no two electors believe
/// to lead at once, as long as no clock runs faster than another by the factor lease duration / renew deadline or more, and
/// the record is not deleted or emptied by somebody else. Clocks need not agree on the time.
///
/// ```
/// use std::time::Duration;
/// use informer_core::Now;
/// use informer_core::leader_election::{ElectionOptions, LeaderElection, Output, Request};
///
/// let seconds = Duration::from_secs;
/// let options = ElectionOptions::new("a", seconds(15), seconds(10), seconds(2))?;
/// let mut election = LeaderElection::new(options, 1);
/// election.start(Now::default());
/// assert!(matches!(election.poll_output(Now::default()), Output::Send(_, Request::Get)));
/// assert!(!election.leads(Now::default()));
/// # Ok::<(), informer_core::leader_election::InvalidElection>(())
/// ```
#[derive(Debug)]
pub struct LeaderElection {
    pub(super) options: ElectionOptions,
    pub(super) rng: Rng,
    pub(super) state: State,
    pub(super) outputs: VecDeque<Output>,
    pub(super) flight: Option<Flight>,
    pub(super) base: Base,
    pub(super) observed: Option<Observation>,
    pub(super) counters: ElectionCounters,
    /// Whom the last [`Output::NewLeader`] named.
    reported: Arc<str>,
    /// The greatest number of transitions ever seen, so that tokens grow even if the record is deleted.
    highest: Option<u32>,
    /// When the last successful write of the term was sent whose work has not ended.
    pub(super) unended: Option<Mono>,
    next_id: u64,
    /// Records made.
    writes: i64,
}

impl LeaderElection {
    /// An elector that has not started; `seed` determines all its jitter.
    pub fn new(options: ElectionOptions, seed: u64) -> Self {
        Self {
            options,
            rng: Rng::new(seed),
            state: State::Idle,
            outputs: VecDeque::new(),
            flight: None,
            base: Base::Unknown,
            observed: None,
            counters: ElectionCounters::default(),
            reported: Arc::from(""),
            highest: None,
            unended: None,
            next_id: 0,
            writes: 0,
        }
    }

    /// Takes part, at once. Does nothing while a run is not over.
    pub fn start(&mut self, now: Now) {
        if matches!(self.state, State::Idle) {
            self.base = Base::Unknown;
            let attempt = Attempt::at(now.mono);
            self.state = State::Acquiring(Acquiring { attempt, unresolved: false, stopping: false });
        }
    }

    /// Takes part no longer. Work that runs is told to stop, and the record is renewed until it has.
    pub fn stop(&mut self, now: Now) {
        self.expire(now);
        let release = self.options.release;
        match &mut self.state {
            State::Idle | State::Releasing(_) => {}
            State::Acquiring(acquiring) => {
                if release && self.flight.as_ref().is_some_and(|flight| flight.is_write) {
                    acquiring.stopping = true;
                } else if release && acquiring.unresolved {
                    self.abort();
                    self.begin_release(now, ElectionEnd::NeverLed);
                } else {
                    self.finish(ElectionEnd::NeverLed, false, true);
                }
            }
            State::Leading(term) => {
                if term.work == Work::Running {
                    term.work = Work::Stopping { drop_at: now.mono.after(self.options.stop_timeout) };
                    self.outputs.push_back(Output::StopWork { lost: None });
                }
            }
        }
    }

    /// The work has ended, by itself, because it was told to, or because it was dropped: only now may the record be given back.
    pub fn work_ended(&mut self, now: Now) {
        self.expire(now);
        self.unended = None;
        let State::Leading(term) = &mut self.state else { return };
        let end = match (term.lost.take(), term.work) {
            (Some(reason), _) => ElectionEnd::Lost(reason),
            (None, Work::Running) => ElectionEnd::Finished,
            (None, _) => ElectionEnd::Stopped,
        };
        if self.options.release && !matches!(end, ElectionEnd::Lost(_)) {
            self.begin_release(now, end);
        } else {
            self.finish(end, false, true);
        }
    }

    /// Takes in what came back for request `id`; dropped unless that is the one under way.
    pub fn handle(&mut self, now: Now, id: RequestId, answer: Answer) {
        self.expire(now);
        let Some(flight) = self.flight.take_if(|flight| flight.id == id) else { return };
        if matches!(answer, Answer::Failed(_)) {
            self.counters.failed_requests += 1;
        }
        self.take_in(now, &flight, answer);
    }

    /// Forgets the run at once, when its shell is dropped: nothing is told or sent any more, and nothing is given back.
    pub fn abandon(&mut self) {
        self.state = State::Idle;
        self.flight = None;
        self.unended = None;
        self.outputs.clear();
    }

    /// What is to be done next; to be asked again until it answers [`Output::Timeout`].
    pub fn poll_output(&mut self, now: Now) -> Output {
        loop {
            self.expire(now);
            if let Some(output) = self.outputs.pop_front() {
                return output;
            }
            if !self.fire(now) {
                return Output::Timeout(self.next_due());
            }
        }
    }

    /// Whether this elector may act as the leader: its present term, if [`belief`](Self::belief) has not ended.
    pub fn leads(&self, now: Now) -> bool {
        self.belief().is_some_and(|(_, until)| now.mono < until)
    }

    /// The present term and when the belief in it ends by itself.
    pub fn belief(&self) -> Option<(FencingToken, Mono)> {
        match &self.state {
            State::Leading(term) => Some((term.token, term.until?)),
            _ => None,
        }
    }

    /// When the last successful write of the term was sent whose work has not ended: if that is longer ago than the lease
    /// duration, another may lead beside this work.
    pub fn unended_work_renewed_at(&self) -> Option<Mono> {
        self.unended
    }

    /// The record as it was seen last.
    pub fn observed(&self) -> Option<&LeaderRecord> {
        self.observed.as_ref().map(|observation| &observation.record)
    }

    /// What happened how often, over all runs.
    pub fn counters(&self) -> ElectionCounters {
        self.counters
    }

    /// By what this elector goes.
    pub fn options(&self) -> &ElectionOptions {
        &self.options
    }

    fn take_in(&mut self, now: Now, flight: &Flight, answer: Answer) {
        match self.state {
            State::Idle => {}
            State::Acquiring(_) => self.acquire_answer(now, flight, answer),
            State::Leading(_) => self.renew_answer(now, flight, answer),
            State::Releasing(_) => self.release_answer(now, flight, answer),
        }
    }

    /// The end of the belief to lead comes by itself, whatever else happens at the same time.
    fn expire(&mut self, now: Now) {
        if let State::Leading(term) = &self.state
            && term.until.is_some_and(|until| until <= now.mono)
        {
            self.lose(now, LossReason::Deadline);
        }
    }

    /// Does one thing that is due; false if nothing is.
    fn fire(&mut self, now: Now) -> bool {
        if let Some(flight) = self.flight.take_if(|flight| flight.deadline <= now.mono) {
            self.outputs.push_back(Output::Abort(flight.id));
            self.counters.failed_requests += 1;
            self.take_in(now, &flight, Answer::Failed(Written::Unknown));
            return true;
        }
        if let State::Leading(term) = &mut self.state {
            match term.work {
                Work::Stopping { drop_at } if drop_at <= now.mono => {
                    // If nothing helps, the record is renewed no longer than one belief more.
                    term.work = Work::Dropped { give_up_at: now.mono.after(self.options.renew_deadline) };
                    self.outputs.push_back(Output::DropWork);
                    return true;
                }
                Work::Dropped { give_up_at } if give_up_at <= now.mono => {
                    let end = term.lost.take().map_or(ElectionEnd::Stopped, ElectionEnd::Lost);
                    self.finish(end, false, false);
                    return true;
                }
                _ => {}
            }
        }
        if let State::Releasing(releasing) = &self.state
            && releasing.give_up_at <= now.mono
        {
            self.end_release(false);
            return true;
        }
        if self.flight.is_none()
            && let Some(attempt) = self.attempt()
            && attempt.next <= now.mono
        {
            attempt.begin(now.mono);
            self.go_on(now);
            return true;
        }
        false
    }

    /// Sends the next request of the attempt, or ends the attempt.
    fn go_on(&mut self, now: Now) {
        match self.state {
            State::Idle => {}
            State::Acquiring(_) => self.acquire(now),
            State::Leading(_) => self.renew(now),
            State::Releasing(_) => self.give_back(now),
        }
    }

    /// The attempts of the present state, if it makes any.
    pub(super) fn attempt(&mut self) -> Option<&mut Attempt> {
        match &mut self.state {
            State::Idle => None,
            State::Acquiring(acquiring) => Some(&mut acquiring.attempt),
            State::Leading(term) => term.until.is_some().then_some(&mut term.attempt),
            State::Releasing(releasing) => Some(&mut releasing.attempt),
        }
    }

    fn next_due(&mut self) -> Option<Mono> {
        let request = match &self.flight {
            Some(flight) => Some(flight.deadline),
            None => self.attempt().map(|attempt| attempt.next),
        };
        let [belief, work] = match &self.state {
            State::Leading(term) => {
                let work = match term.work {
                    Work::Stopping { drop_at: at } | Work::Dropped { give_up_at: at } => Some(at),
                    Work::Running => None,
                };
                [term.until, work]
            }
            State::Releasing(releasing) => [Some(releasing.give_up_at), None],
            _ => [None, None],
        };
        [request, belief, work].into_iter().flatten().min()
    }

    pub(super) fn send(&mut self, now: Now, request: Request) {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.counters.requests += 1;
        let timeout = now.mono.after(self.options.request_timeout());
        let limit = match &self.state {
            State::Leading(Term { until: Some(until), .. }) => *until,
            State::Releasing(releasing) => releasing.give_up_at,
            _ => timeout,
        };
        let is_write = request != Request::Get;
        self.flight = Some(Flight { id, sent: now.mono, deadline: timeout.min(limit), is_write });
        self.outputs.push_back(Output::Send(id, request));
    }

    /// Remembers the record, and when it was first seen as it is.
    pub(super) fn observe(&mut self, now: Now, stored: Stored) {
        let Stored { record, version } = stored;
        self.base = Base::Version(version);
        self.highest = self.highest.max(Some(record.transitions));
        if record.holder != self.reported {
            self.reported = Arc::clone(&record.holder);
            self.counters.leader_changes += 1;
            self.outputs.push_back(Output::NewLeader(Arc::clone(&record.holder)));
        }
        if self.observed.as_ref().is_none_or(|observation| observation.record != record) {
            self.observed = Some(Observation { record, at: now.mono });
        }
    }

    /// The number of the next term.
    pub(super) fn next_transitions(&self) -> u32 {
        self.highest.map_or(0, |highest| (highest + 1).min(MAX_TRANSITIONS))
    }

    /// The time for a new record, in microseconds.
    ///
    /// Others see that the holder lives by a record that differs from each one before, and a wall clock may stand still or go
    /// back: what lies below its milliseconds counts the writes.
    pub(super) fn write_time(&mut self, now: Now) -> i64 {
        self.writes += 1;
        let time_ms = i64::try_from(now.wall_ms).unwrap_or(i64::MAX);
        time_ms.saturating_mul(1_000).saturating_add(self.writes % 1_000)
    }

    pub(super) fn holds(&self, record: &LeaderRecord) -> bool {
        record.holder == self.options.identity
    }

    pub(super) fn abort(&mut self) {
        if let Some(flight) = self.flight.take() {
            self.outputs.push_back(Output::Abort(flight.id));
            if flight.is_write {
                self.base = Base::Unknown;
            }
        }
    }

    /// Gives the record back, once what is under way has been answered.
    pub(super) fn begin_release(&mut self, now: Now, end: ElectionEnd) {
        let give_up_at = now.mono.after(self.options.renew_deadline);
        let attempt = Attempt::at(now.mono);
        self.state = State::Releasing(Releasing { attempt, give_up_at, end });
    }

    pub(super) fn finish(&mut self, end: ElectionEnd, released: bool, work_ended: bool) {
        self.abort();
        self.state = State::Idle;
        self.outputs.push_back(Output::Ended(Summary { end, released, work_ended }));
    }
}
