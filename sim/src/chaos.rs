//! What happens to the server as a whole, and what people do to the informer.

use std::time::Duration;

use informer_core::reflector::Phase;
use informer_core::{IndexId, Mono};

use crate::checkers::Checker;
use crate::dice::Dice;
use crate::driver::{Sim, Timer};
use crate::value::values;

/// More would only cost time.
const MAX_HANDLERS: usize = 6;
const MAX_INDICES: usize = 3;

impl Sim {
    /// One random thing, from outside.
    pub(crate) fn chaos(&mut self) {
        match self.rng.below(100) {
            0..=5 if self.plan.restores => self.restore_server(),
            0..=17 => self.compact(),
            18..=24 => self.restart_server(),
            25..=34 => self.freeze(),
            35..=44 => self.begin_outage(),
            45..=48 => self.remove_resource(),
            49..=58 => self.stop(),
            59..=65 => self.panic(),
            66..=80 if self.handlers.len() < MAX_HANDLERS => {
                self.add_handler();
            }
            81..=87 if !self.handlers.is_empty() => {
                let position = self.rng.below(self.handlers.len() as u64) as usize;
                self.load.count("handlers removed");
                self.remove_handler(self.handlers[position].id);
            }
            88..=93 if self.indices.len() < MAX_INDICES => self.add_index(),
            _ => self.burst(),
        }
        if !self.is_held() {
            self.carry_out();
        }
    }

    fn later(&mut self, low_ms: u64, high_ms: u64, timer: Timer) {
        let at = self.now.after(self.rng.millis(low_ms, high_ms));
        self.timers.push((at, timer));
    }

    fn compact(&mut self) {
        self.load.count("compactions");
        self.server.compact();
        self.note(&[20], || "compacted".to_owned());
    }

    fn restart_server(&mut self) {
        self.load.count("server restarts");
        self.note(&[21], || "the server restarts".to_owned());
        self.server.restart();
        (0..self.connections.len()).for_each(|position| self.cut(position));
    }

    fn restore_server(&mut self) {
        self.load.count("server restores");
        self.server.restore(&mut self.rng);
        let version = self.server.version;
        self.note(&[30, version], || format!("the server is restored to {version}"));
        // From here on the past may come again, and some of what was shown never was.
        self.court.mute(&[Checker::Ordered, Checker::Snapshot, Checker::ReadYourWrites, Checker::Synced]);
        (0..self.connections.len()).for_each(|position| self.cut(position));
    }

    fn freeze(&mut self) {
        let replica = self.rng.below(2) as usize;
        self.load.count("frozen replicas");
        self.note(&[22], || format!("replica {replica} hears nothing"));
        self.server.replicas[replica].frozen = true;
        self.later(500, 60_000, Timer::Thaws(replica));
    }

    fn begin_outage(&mut self) {
        if self.outage || self.paused || !self.running {
            return;
        }
        self.load.count("outages");
        self.note(&[23], || "outage".to_owned());
        self.outage = true;
        self.request_check.outage_begins(self.now);
        (0..self.connections.len()).for_each(|position| self.cut(position));
        self.later(5_000, 600_000, Timer::OutageEnds);
    }

    fn remove_resource(&mut self) {
        if self.server.exists {
            self.load.count("resources removed");
            self.note(&[24], || "the resource is removed".to_owned());
            self.server.remove_resource(&mut self.rng);
            if self.rng.chance(50) {
                (0..self.connections.len()).for_each(|position| self.cut(position));
            }
            self.later(1_000, 200_000, Timer::ResourceReturns);
        }
    }

    fn stop(&mut self) {
        if self.running && !self.paused {
            self.load.count("stops");
            self.note(&[25], || "stopped".to_owned());
            self.informer.stop(self.clock());
            self.running = false;
            self.carry_out();
            self.later(0, 30_000, Timer::Starts);
        }
    }

    fn panic(&mut self) {
        if self.paused || !self.running {
            return;
        }
        if self.rng.chance(50) {
            // While outputs wait, the next time something is applied.
            self.panics = true;
            return;
        }
        self.reset();
        self.paused = true;
        self.later(1_000, 1_000, Timer::Resumes);
    }

    fn add_index(&mut self) {
        self.load.count("late indices");
        let index = self.store.add_index();
        self.indices.push(index);
        self.note(&[26], || format!("{index:?} added"));
        self.later(0, 3_000, Timer::FillsIndex(index));
    }

    fn burst(&mut self) {
        for _ in 0..self.rng.range(1, 30) {
            self.write();
        }
    }

    /// Something is written.
    pub(crate) fn write(&mut self) {
        if !self.server.exists {
            return;
        }
        let undecodable = if self.healed { 0 } else { self.plan.undecodable_percent };
        let before = self.server.log.len();
        self.server.write(&mut self.rng, undecodable);
        self.load.count("writes");
        let changes = &self.server.log[before..];
        self.trace.note(self.now, &[27], || format!("written: {changes:?}"));
        self.wake_watches();
    }

    pub(crate) fn wake_watches(&mut self) {
        for connection in &mut self.connections {
            connection.wake(self.now, &mut self.rng);
        }
    }

    /// A timer has come.
    pub(crate) fn timer(&mut self, timer: Timer) {
        self.note(&[28], || format!("{timer:?}"));
        match timer {
            Timer::OutageEnds => {
                self.outage = false;
                self.request_check.outage_ends(self.now, &mut self.court);
            }
            Timer::ResourceReturns => self.server.exists = true,
            Timer::Resumes => self.paused = false,
            Timer::FillsIndex(index) => self.fill_index(index),
            Timer::Starts => self.start(),
            Timer::Thaws(replica) => {
                self.server.replicas[replica].frozen = false;
                self.server.catch_up(replica);
                self.wake_watches();
            }
        }
        if !self.is_held() {
            self.carry_out();
        }
    }

    /// Starts the informer, or starts it again.
    pub(crate) fn start(&mut self) {
        self.running = true;
        self.request_check.restarted();
        self.informer.start(self.clock());
    }

    fn fill_index(&mut self, index: IndexId) {
        for object in self.store.unindexed(index) {
            let values = values(&object.value, index.0);
            let set = self.store.set_index_values(index, &object.key, &object, &values);
            assert!(set, "the object is stored");
        }
        assert!(self.store.unindexed(index).is_empty(), "the index is complete");
    }

    /// The faults stop, and whatever they left behind is repaired: what cannot be decoded is written anew, and what
    /// could not be identified is listed again.
    pub(crate) fn heal(&mut self) {
        self.note(&[29], || "all is well from here on".to_owned());
        self.healed = true;
        self.panics = false;
        self.connections.iter_mut().for_each(crate::connection::Connection::heal);
        if self.outage {
            self.outage = false;
            self.request_check.outage_ends(self.now, &mut self.court);
        }
        self.timers.retain(|(_, timer)| matches!(timer, Timer::Resumes | Timer::FillsIndex(_)));
        self.server.exists = true;
        self.server.repair(&mut self.rng);
        for replica in 0..2 {
            self.server.replicas[replica].frozen = false;
            self.server.catch_up(replica);
        }
        let arriving = self.connections.iter().any(|connection| !connection.unread().is_empty());
        if arriving || !self.store_check.unread.is_empty() {
            // The lists have to be read again: after a write that none of them can have.
            self.write();
            self.restart_server();
        }
        if !self.running {
            self.start();
        }
        self.restart_stopped();
        self.wake_watches();
        for handler in &mut self.handlers {
            handler.plan.pace = (handler.plan.pace.0.min(10), handler.plan.pace.1.min(50));
            handler.reads_at = handler.reads_at.min(self.now.after(Duration::from_secs(5)));
        }
        if !self.is_held() {
            self.carry_out();
        }
    }

    /// With the policy to stop when the resource is gone, somebody has to start it again.
    pub(crate) fn restart_stopped(&mut self) {
        let stopped = (0..self.scopes.len()).any(|scope| self.informer.phase(scope) == Phase::Stopped);
        if stopped && !self.is_held() {
            self.start();
            self.carry_out();
        }
    }

    /// The next time at which a person or the world does something.
    pub(crate) fn gap(&mut self, gap: crate::plan::Gap) -> Mono {
        // Nobody sees each of a thousand writes in an outage.
        let slower = if self.outage || !self.running { 20 } else { 1 };
        self.now.after(self.rng.millis(gap.0 * slower, gap.1 * slower))
    }
}
