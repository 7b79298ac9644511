//! What happens to processes and to the server.

use std::time::Duration;

use informer_core::Mono;

use super::elector::Process;
use super::world::{Event, World};
use crate::dice::Dice;

impl World {
    /// One random thing.
    pub(crate) fn chaos(&mut self) {
        let gap = self.plan.chaos;
        let delay = self.rng.millis(gap.0, gap.1);
        self.schedule_after(delay, Event::Chaos);
        let Some(process) = self.victim().filter(|_| !self.plan.sharp) else { return };
        let lease_ms = self.plan.lease_duration.as_millis() as u64;
        let while_ms = self.rng.millis(lease_ms / 20, lease_ms * 2);
        match self.rng.below(100) {
            0..=19 => {
                self.load.count("pauses");
                self.note(process, || format!("is paused for {while_ms:?}"));
                self.processes[process].paused = true;
                self.schedule_after(while_ms, Event::Resume { process });
            }
            20..=39 => {
                self.load.count("partitions");
                self.note(process, || format!("is cut off for {while_ms:?}"));
                self.processes[process].cut = true;
                self.schedule_after(while_ms, Event::Reconnect { process });
            }
            40..=64 => {
                self.load.count("kills");
                self.kill(process);
            }
            65..=84 => {
                self.tell_to_stop(process);
            }
            85..=91 => {
                self.load.count("outages");
                self.note(process, || format!("and everybody is without a server for {while_ms:?}"));
                self.outage = true;
                self.outage_is_told = self.rng.chance(50);
                self.schedule_after(while_ms, Event::ServerBack);
            }
            _ => {
                self.load.count("labels");
                self.server.touch();
                // It costs a conflict and another look, once.
                (0..self.processes.len()).for_each(|position| self.disturb(position, self.now));
            }
        }
    }

    /// Whom it strikes: often the leader.
    fn victim(&mut self) -> Option<usize> {
        let fit = |world: &Self, position: usize| {
            let it: &Process = &world.processes[position];
            it.alive && it.running && !it.paused && !it.cut
        };
        let fit: Vec<usize> = (0..self.processes.len()).filter(|&position| fit(self, position)).collect();
        if fit.is_empty() {
            return None;
        }
        let leader = fit.iter().copied().find(|&position| self.processes[position].believes_until.is_some());
        leader.filter(|_| self.rng.chance(60)).or_else(|| Some(self.rng.pick(&fit)))
    }

    fn tell_to_stop(&mut self, process: usize) {
        self.load.count("stops");
        self.note(process, || "is told to stop".into());
        let run = self.processes[process].run;
        let since = self.now;
        self.schedule_after(self.end_bound(), Event::CheckEnds { process, run, since });
        self.stop_run(process);
    }

    /// The leader has just written, so that others will wait for it the longest.
    pub(crate) fn worst_moment(&mut self, process: usize) {
        if !self.plan.sharp || self.healed || !self.rng.chance(8) || !self.processes[process].alive {
            return;
        }
        if self.rng.chance(60) {
            self.load.count("kills");
            self.kill(process);
        } else {
            self.tell_to_stop(process);
        }
    }

    pub(crate) fn kill(&mut self, process: usize) {
        self.note(process, || "dies".into());
        let it = &mut self.processes[process];
        it.alive = false;
        it.running = false;
        it.believes_until = None;
        it.work = None;
        let holds = self.server.holder() == &*it.identity;
        let lease_ms = self.plan.lease_duration.as_millis() as u64;
        let delay = self.rng.millis(0, lease_ms * 2);
        self.schedule_after(delay, Event::Restart { process });
        if holds {
            let since = self.now;
            self.schedule_after(self.replace_bound(), Event::CheckReplaced { process, since });
        }
    }

    /// What was wrong ends: from here on everything should go well.
    pub(crate) fn heal(&mut self) {
        self.healed = true;
        self.outage = false;
        for process in 0..self.processes.len() {
            if self.processes[process].cut {
                self.reconnect(process);
            }
            if self.processes[process].paused {
                self.resume(process);
            }
        }
    }

    pub(crate) fn reconnect(&mut self, process: usize) {
        self.processes[process].cut = false;
        // What was under way is lost and is waited for.
        self.disturb(process, self.now.after(self.plan.renew_deadline));
        self.note(process, || "is reached again".into());
    }

    pub(crate) fn resume(&mut self, process: usize) {
        let it = &mut self.processes[process];
        it.paused = false;
        it.resumed_at = self.now;
        let held = std::mem::take(&mut it.held);
        self.disturb(process, self.now.after(self.plan.renew_deadline));
        self.note(process, || "goes on".into());
        // All of it is there at once, in any order.
        held.into_iter().for_each(|event| self.schedule(self.now, event));
    }

    /// What a death may cost: see [`Checker::Replaced`](super::checkers::Checker::Replaced).
    pub(crate) fn replace_bound(&self) -> Duration {
        self.plan.lease_duration + self.hand_over_bound() + self.plan.request()
    }

    pub(crate) fn hand_over_bound(&self) -> Duration {
        self.plan.retry_period * 22 / 10
    }

    /// Work is told to stop, dropped, and given up; then the record is given back.
    fn end_bound(&self) -> Duration {
        self.plan.stop_timeout + self.plan.renew_deadline * 2 + Duration::from_millis(1)
    }

    pub(crate) fn check_ends_later(&mut self, process: usize, run: u64, since: Mono) {
        let at = since.after(self.end_bound());
        self.schedule(at, Event::CheckEnds { process, run, since });
    }
}
