//! One process that takes part: the real machine, a clock, a driver that does what it is told, and work that takes its time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use informer_core::leader_election::{ElectionOptions, LeaderElection, Output, Request, RequestId, Written};
use informer_core::{Mono, Now};

use super::checkers::Checker;
use super::clock::Clock;
use super::world::{Event, Fate, Mutant, World};
use crate::dice::Dice;

/// More requests than this in one retry period are a flood. An attempt is at most one look and three refused writes with
/// another look each; two attempts can meet in one period, and an end with its release.
const MAX_REQUESTS_A_PERIOD: usize = 16;

#[derive(Debug)]
pub(crate) struct Process {
    /// Its place; another process takes it when this one is dead.
    pub(crate) slot: usize,
    pub(crate) identity: Arc<str>,
    pub(crate) clock: Clock,
    wall_ms: u64,
    pub(crate) machine: LeaderElection,
    pub(crate) alive: bool,
    /// Takes part.
    pub(crate) running: bool,
    /// How many runs have begun.
    pub(crate) run: u64,
    pub(crate) paused: bool,
    /// What came while it was paused.
    pub(crate) held: Vec<Event>,
    /// Neither requests nor answers get through.
    pub(crate) cut: bool,
    pub(crate) resumed_at: Mono,
    /// The last time at which something was wrong with it, in real time.
    pub(crate) disturbed_at: Mono,
    /// Until when it believes to lead, in real time.
    pub(crate) believes_until: Option<Mono>,
    /// The number of the work that runs.
    pub(crate) work: Option<u64>,
    works: u64,
    timer: u64,
    reported: Option<Arc<str>>,
    sends: VecDeque<Mono>,
}

impl Process {
    pub(crate) fn new(world: &mut World, slot: usize) -> Self {
        let count = world.processes.len();
        let identity: Arc<str> = format!("p{slot}-{count}").into();
        let plan = &world.plan;
        let options = ElectionOptions::new(
            identity.clone(),
            plan.lease_duration,
            plan.renew_deadline,
            plan.retry_period,
        )
        .expect("valid durations")
        .release(plan.release)
        .stop_timeout(plan.stop_timeout);
        Self {
            slot,
            identity,
            clock: Clock { offset_ns: world.rng.below(1 << 50), rate: plan.rates[slot] },
            wall_ms: world.rng.below(1 << 41),
            machine: LeaderElection::new(options, world.rng.next_u64()),
            alive: true,
            running: false,
            run: 0,
            paused: false,
            held: Vec::new(),
            cut: false,
            resumed_at: world.now,
            disturbed_at: world.now,
            believes_until: None,
            work: None,
            works: 0,
            timer: 0,
            reported: None,
            sends: VecDeque::new(),
        }
    }

    fn is_well_since(&self, since: Mono, period: Duration) -> bool {
        let in_the_way = !self.alive || !self.running || self.paused || self.cut;
        // It must have looked once before, and have had the time to look again.
        !in_the_way && self.disturbed_at.after(period * 3) <= since && self.believes_until.is_none()
    }
}

impl World {
    /// Whether somebody could have taken the record, had it become free then.
    pub(crate) fn anybody_well(&self, since: Mono, but: usize) -> Option<usize> {
        let period = self.plan.retry_period;
        let well =
            |&position: &usize| position != but && self.processes[position].is_well_since(since, period);
        (0..self.processes.len()).find(well)
    }

    pub(crate) fn disturb(&mut self, process: usize, at: Mono) {
        let process = &mut self.processes[process];
        process.disturbed_at = process.disturbed_at.max(at);
    }

    pub(crate) fn local_now(&mut self, process: usize) -> Now {
        let process = &mut self.processes[process];
        // Wall clocks stand still, jump, and go back.
        process.wall_ms = match self.rng.below(10) {
            0..=5 => process.wall_ms,
            6..=8 => process.wall_ms + self.rng.below(3_000),
            _ => self.rng.below(1 << 41),
        };
        Now { mono: process.clock.local(self.now), wall_ms: process.wall_ms }
    }

    pub(crate) fn start_run(&mut self, process: usize) {
        self.disturb(process, self.now);
        let now = self.local_now(process);
        let it = &mut self.processes[process];
        it.running = true;
        it.run += 1;
        it.machine.start(now);
        self.drain(process);
    }

    pub(crate) fn stop_run(&mut self, process: usize) {
        let now = self.local_now(process);
        self.processes[process].machine.stop(now);
        self.drain(process);
    }

    /// An event inside a process that is not paused.
    pub(crate) fn inside(&mut self, process: usize, event: Event) {
        let now = self.local_now(process);
        let it = &mut self.processes[process];
        match event {
            Event::Answer { id, answer, .. } => {
                let failed = matches!(answer, informer_core::leader_election::Answer::Failed(_));
                it.machine.handle(now, id, answer);
                if failed && self.mutant == Some(Mutant::StartsOver) && it.machine.belief().is_none() {
                    it.machine = LeaderElection::new(it.machine.options().clone(), 0);
                    it.machine.start(now);
                }
            }
            Event::Wake { timer, .. } if timer != it.timer => return,
            Event::WorkEnds { work, .. } => {
                if it.work != Some(work) {
                    return;
                }
                it.work = None;
                it.machine.work_ended(now);
                self.note(process, || "its work has ended".into());
            }
            _ => {}
        }
        self.drain(process);
    }

    /// Does what the machine says, until it waits.
    fn drain(&mut self, process: usize) {
        let now = self.local_now(process);
        loop {
            self.settle_belief(process);
            let output = self.processes[process].machine.poll_output(now);
            self.settle_belief(process);
            match output {
                Output::Timeout(due) => return self.set_timer(process, due),
                output => self.carry_out(process, now, output),
            }
        }
    }

    /// Takes over the belief of the machine, as `is_leading()` would show it.
    fn settle_belief(&mut self, process: usize) {
        let longer = match self.mutant {
            Some(Mutant::BelievesLonger) => self.plan.renew_deadline / 3,
            _ => Duration::ZERO,
        };
        let it = &mut self.processes[process];
        let until = it.machine.belief().map(|(_, until)| it.clock.real(until.after(longer)));
        it.believes_until =
            until.or(it.believes_until.filter(|&until| longer > Duration::ZERO && until > self.now));
    }

    fn carry_out(&mut self, process: usize, now: Now, output: Output) {
        match output {
            Output::Send(id, request) => self.send(process, now.mono, id, request),
            Output::Lead { token, until } => {
                self.load.count("terms");
                self.note(process, || format!("leads, token {token}"));
                let before = self.token.replace(token.0);
                self.court.require(before < Some(token.0), Checker::TokensGrow, || {
                    format!("token {token} after {before:?}")
                });
                self.check_belief(process, until, true);
                self.start_work(process);
            }
            Output::Extended { until } => {
                self.load.count("renewals");
                self.check_belief(process, until, false);
            }
            Output::StopWork { lost } => {
                self.load.count(if lost.is_some() { "losses" } else { "stops of work" });
                self.note(process, || format!("its work is to stop, lost: {lost:?}"));
                let stopping = self.plan.stopping_ms;
                let delay = self.rng.millis(stopping.0, stopping.1);
                self.end_work_after(process, delay);
                if self.mutant == Some(Mutant::SaysWorkEnded) {
                    self.processes[process].machine.work_ended(now);
                }
            }
            Output::DropWork => {
                self.load.count("works dropped");
                // Some cannot be dropped: they hold their thread.
                if self.rng.chance(80) {
                    self.end_work_after(process, Duration::ZERO);
                }
            }
            Output::NewLeader(holder) => self.check_told(process, &holder),
            Output::Ended(summary) => {
                self.note(process, || format!("ended: {summary:?}"));
                self.load.count(if summary.released { "ends with release" } else { "ends without release" });
                self.processes[process].running = false;
                if summary.work_ended {
                    let lease_ms = self.plan.lease_duration.as_millis() as u64;
                    let delay = self.rng.millis(0, lease_ms / 2);
                    self.schedule_after(delay, Event::Restart { process });
                } else {
                    self.load.count("works that nothing ended");
                    self.kill(process);
                }
            }
            Output::Abort(_) | Output::Timeout(_) => {}
        }
    }

    fn set_timer(&mut self, process: usize, due: Option<Mono>) {
        let late = match self.mutant {
            Some(Mutant::LateTimers) => self.plan.retry_period * 2,
            Some(Mutant::LosesTimers) if self.rng.chance(20) => return,
            _ => Duration::ZERO,
        };
        let it = &mut self.processes[process];
        it.timer += 1;
        let timer = it.timer;
        if let Some(due) = due {
            let at = it.clock.real(due).after(late);
            self.schedule(at, Event::Wake { process, timer });
        }
    }

    fn send(&mut self, process: usize, sent: Mono, id: RequestId, mut request: Request) {
        self.load.count("requests");
        let period = self.plan.retry_period;
        let it = &mut self.processes[process];
        while it.sends.front().is_some_and(|&first| sent.since(first) >= period) {
            it.sends.pop_front();
        }
        it.sends.push_back(sent);
        let sends = it.sends.len();
        self.court.require(sends <= MAX_REQUESTS_A_PERIOD, Checker::Quiet, || {
            format!("process {process} sent {sends} requests within {period:?}")
        });
        if let Request::Update { record, .. } = &mut request
            && self.mutant == Some(Mutant::HidesRenewals)
        {
            record.renewed_us = record.renewed_us.map(|time_us| time_us % 2);
        }
        if let Request::Update { record, .. } = &request
            && record.holder.is_empty()
        {
            let works = self.processes[process].work.is_some();
            self.court.require(!works, Checker::ReleasedAfterWork, || {
                format!("process {process} gives the record back while its work runs")
            });
        }
        self.note(process, || format!("sends {request:?}"));
        let Some((way, fate)) = self.draw_fate(process) else { return };
        self.schedule_after(way, Event::Arrive { process, id, sent, request, fate });
    }

    /// How long a request takes to the server and what comes of it, or that it never gets there.
    fn draw_fate(&mut self, process: usize) -> Option<(Duration, Fate)> {
        let way_ms = self.plan.way.as_millis() as u64;
        let (there, back) = (self.rng.millis(0, way_ms), self.rng.millis(0, way_ms));
        let wrong = !self.healed && self.rng.chance(self.plan.fault_percent);
        if !wrong && !self.processes[process].cut && !self.outage {
            return Some((there, Fate::Answered(back)));
        }
        // The machine waits for an answer as long as for half a renew deadline.
        self.disturb(process, self.now.after(self.plan.renew_deadline));
        let slow_ms = self.plan.renew_deadline.as_millis() as u64 * 3;
        let slow = self.rng.millis(0, slow_ms);
        if self.processes[process].cut || (self.outage && !self.outage_is_told) {
            self.load.count("fault: cut off");
            return None;
        }
        let (fault, answer) = match self.rng.below(if self.outage { 1 } else { 7 }) {
            0 => ("fault: broken off", Some((there, Fate::Failed(back, Written::Unknown)))),
            1 => ("fault: request lost", None),
            2 => ("fault: answer lost", Some((there, Fate::AnswerLost))),
            3 => ("fault: slow request", Some((slow, Fate::Answered(back)))),
            4 => ("fault: slow answer", Some((there, Fate::Answered(slow)))),
            5 => ("fault: refused", Some((there, Fate::Failed(back, Written::No)))),
            _ => ("fault: failed after the write", Some((there, Fate::FailedAfter(back)))),
        };
        self.load.count(fault);
        answer
    }

    fn start_work(&mut self, process: usize) {
        let it = &mut self.processes[process];
        it.works += 1;
        it.work = Some(it.works);
        if !self.healed && self.rng.chance(10) {
            self.load.count("works that come to their end");
            let lease_ms = self.plan.lease_duration.as_millis() as u64;
            let delay = self.rng.millis(0, lease_ms * 2);
            self.end_work_after(process, delay);
        }
    }

    fn end_work_after(&mut self, process: usize, delay: Duration) {
        if let Some(work) = self.processes[process].work {
            self.schedule_after(delay, Event::WorkEnds { process, work });
        }
    }

    /// A belief begins or goes on: nobody else has one, and it was earned by a write.
    fn check_belief(&mut self, process: usize, until: Mono, begins: bool) {
        let it = &self.processes[process];
        let mine = it.believes_until.unwrap_or(self.now);
        let earned = self
            .server
            .writes
            .iter()
            .rev()
            .any(|write| write.by == process && write.sent.after(self.plan.renew_deadline) == until);
        let longer = mine > it.machine.belief().map_or(mine, |(_, until)| it.clock.real(until));
        self.court.require(earned && !longer, Checker::Earned, || {
            format!("process {process} believes to lead until {until:?}, which no write of its says")
        });
        for (position, other) in self.processes.iter().enumerate() {
            let Some(theirs) =
                other.believes_until.filter(|&theirs| position != process && theirs > self.now)
            else {
                continue;
            };
            if begins {
                self.overlap += mine.min(theirs).since(self.now);
            }
            self.court.require(false, Checker::OneLeader, || {
                format!(
                    "{} believes to lead, and {} does until {theirs:?}",
                    self.processes[process].identity, other.identity
                )
            });
        }
    }

    fn check_told(&mut self, process: usize, holder: &Arc<str>) {
        self.load.count("new leaders told");
        let times = if self.mutant == Some(Mutant::TellsTwice) { 2 } else { 1 };
        for _ in 0..times {
            let before = self.processes[process].reported.replace(Arc::clone(holder));
            let held = self.server.writes.iter().any(|write| write.record.holder == *holder);
            self.court.require(held && before.as_ref() != Some(holder), Checker::Told, || {
                format!("process {process} is told of {holder:?} after {before:?}, held: {held}")
            });
        }
    }
}
