//! One seed from its beginning to its end.

use std::time::Duration;

use informer_core::Mono;

use crate::checkers::{Checker, Truth, Violation, has_converged};
use crate::driver::{Sim, Timer};
use crate::load::Load;
use crate::mutant::Mutant;
use crate::trace::Trace;

/// Within this time after the faults stop everything is as it should be.
///
/// A stream that died without a word is noticed within 90 s of silence; its list then may be too late for the version
/// (one more back-off of up to 60 s), or the wait of up to 60 s a failure of before had begun comes first. Ten seconds a
/// page or batch for a slow network and slow handlers.
pub const CONVERGENCE: Duration = Duration::from_secs(240);

/// Steps after which a healed run is not coming to an end.
const MAX_STEPS: u64 = 30_000;

/// What to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Decides everything.
    pub seed: u64,
    /// A deliberate fault, or none.
    pub mutant: Option<Mutant>,
    /// Whether to keep the story in words.
    pub verbose: bool,
    /// Whether to print it as it goes on, too: it is then not lost if the run panics.
    pub echo: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The first violation of each checker; a run without a mutant ends at the first.
    pub violations: Vec<Violation>,
    /// What happened how often.
    pub load: Load,
    /// Steps of the simulation.
    pub steps: u64,
    /// Simulated time.
    pub simulated: Duration,
    /// How long it took to converge.
    pub converged_after: Duration,
    /// The same for the same seed.
    pub hash: u64,
    /// The story, if it was asked for.
    pub trace: Vec<String>,
}

/// Runs one seed.
///
/// # Panics
/// If an invariant inside the informer itself is broken.
pub fn run(config: Config) -> Outcome {
    let Config { seed, mutant, .. } = config;
    let mut run = Run {
        sim: Sim::new(seed, mutant, Trace::new(config.verbose, config.echo)),
        writes_at: Mono(0),
        chaos_at: Mono(0),
        steps: 0,
    };
    let converged_after = run.whole();
    let Run { mut sim, steps, .. } = run;
    sim.load.add("steps", steps);
    Outcome {
        violations: sim.court.violations,
        load: sim.load,
        steps,
        simulated: sim.now.since(Mono(0)),
        converged_after,
        hash: sim.trace.hash,
        trace: sim.trace.lines,
    }
}

struct Run {
    sim: Sim,
    writes_at: Mono,
    chaos_at: Mono,
    steps: u64,
}

/// What is due next.
#[derive(Clone, Copy, Debug)]
enum Job {
    Write,
    Chaos,
    Timer(usize),
    GoOn(usize),
    Arrive(usize),
    Wake,
    Read(usize),
}

impl Run {
    fn whole(&mut self) -> Duration {
        self.sim.start();
        self.sim.carry_out();
        self.writes_at = self.sim.now;
        self.chaos_at = self.sim.gap(self.sim.plan.chaos);
        while self.steps < self.sim.plan.steps && !self.is_over() {
            self.step();
        }
        if self.is_over() {
            return Duration::ZERO;
        }
        self.sim.heal();
        let first = self.converge();
        if !self.is_over() {
            // Once more, with nothing left over from the faults but connections that died in silence.
            (0..5).for_each(|_| self.sim.write());
            self.converge();
        }
        self.sim.store_check.check_snapshot(&mut self.sim.court);
        first
    }

    /// A run with a mutant goes on, so that every checker gets its chance.
    fn is_over(&self) -> bool {
        self.sim.mutant.is_none() && !self.sim.court.violations.is_empty()
    }

    fn converge(&mut self) -> Duration {
        let begun = self.sim.now;
        let started = self.steps;
        while let Err(difference) = self.has_converged() {
            let late = self.sim.now.since(begun) > CONVERGENCE || self.steps - started > MAX_STEPS;
            self.sim.court.require(!late, Checker::Converged, || difference);
            if late || self.is_over() || !self.step() {
                break;
            }
        }
        self.sim.now.since(begun)
    }

    fn has_converged(&self) -> Result<(), String> {
        let sim = &self.sim;
        has_converged(&sim.store, sim.truth())?;
        let truth: Truth<'_> = sim.truth();
        for handler in &sim.handlers {
            let held = &handler.view.held;
            if !handler.backlog.is_empty() || !handler.view.synced || *held != truth.present() {
                return Err(format!(
                    "handler {} holds {held:?}, {} wait, synced {}",
                    handler.id.0,
                    handler.backlog.len(),
                    handler.view.synced
                ));
            }
        }
        Ok(())
    }

    /// Jumps to whatever is due next and does it; false if nothing ever will be.
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.sim.court.step = self.steps;
        let Some((at, job)) = self.next() else {
            self.sim.court.require(false, Checker::Converged, || "nothing is ever due again".to_owned());
            return false;
        };
        let sim = &mut self.sim;
        sim.now = sim.now.max(at);
        match job {
            Job::Write => {
                sim.write();
                self.writes_at = sim.gap(sim.plan.writes);
            }
            Job::Chaos => {
                sim.chaos();
                self.chaos_at = sim.gap(sim.plan.chaos);
            }
            Job::Timer(position) => {
                let (_, timer): (Mono, Timer) = sim.timers.swap_remove(position);
                sim.timer(timer);
            }
            Job::GoOn(position) => sim.go_on(position),
            Job::Arrive(position) => sim.arrive(position),
            Job::Wake => sim.carry_out(),
            Job::Read(position) => sim.read(position),
        }
        if sim.healed {
            sim.restart_stopped();
        }
        true
    }

    fn next(&mut self) -> Option<(Mono, Job)> {
        let sim = &mut self.sim;
        let held = sim.is_held();
        let mut jobs: Vec<(Mono, u64, Job)> = Vec::with_capacity(16);
        let rng = &mut sim.rng;
        let mut add = |at: Mono, job| jobs.push((at.max(sim.now), rng.below(1 << 32), job));
        if !sim.healed {
            add(self.writes_at, Job::Write);
            add(self.chaos_at, Job::Chaos);
        }
        for (position, &(at, _)) in sim.timers.iter().enumerate() {
            add(at, Job::Timer(position));
        }
        for (position, connection) in sim.connections.iter().enumerate() {
            if connection.at != Mono(u64::MAX) {
                add(connection.at, Job::GoOn(position));
            }
            if let Some(first) = connection.arrivals.front().filter(|_| !held) {
                add(first.at, Job::Arrive(position));
            }
        }
        for (position, handler) in sim.handlers.iter().enumerate() {
            if !handler.backlog.is_empty() {
                add(handler.reads_at, Job::Read(position));
            }
        }
        if let Some(wake) = sim.wake.filter(|_| !held) {
            // What has arrived comes before timers, as in the shell.
            jobs.push((wake.max(sim.now), u64::MAX, Job::Wake));
        }
        let (at, _, job) = jobs.into_iter().min_by_key(|&(at, tie, _)| (at, tie))?;
        Some((at, job))
    }
}
