//! One seed from its beginning to its end.

use std::time::Duration;

use informer_core::leader_election::{Answer, Request, RequestId, Written};
use informer_core::{Mono, Rng};

use super::checkers::{Checker, Violation};
use super::elector::Process;
use super::plan::{Plan, Skew};
use super::world::{Event, Fate, Mutant, World};
use crate::load::Load;
use crate::trace::Trace;

/// What to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Decides everything.
    pub seed: u64,
    /// How far the clocks' rates lie apart.
    pub skew: Skew,
    /// A deliberate fault, or none.
    pub mutant: Option<Mutant>,
    /// Whether to keep the story in words.
    pub verbose: bool,
    /// Whether to print it as it goes on, too.
    pub echo: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The first violation of each checker.
    pub violations: Vec<Violation>,
    /// The time in which two electors believed to lead.
    pub overlap: Duration,
    /// What happened how often.
    pub load: Load,
    /// Simulated time.
    pub simulated: Duration,
    /// The same for the same seed.
    pub hash: u64,
    /// The story, if it was asked for.
    pub trace: Vec<String>,
}

/// Runs one seed.
///
/// # Panics
/// If an invariant inside the election itself is broken.
pub fn run(config: Config) -> Outcome {
    let Config { seed, skew, mutant, .. } = config;
    let mut rng = Rng::new(seed);
    let plan = Plan::draw(&mut rng, skew);
    let (chaos_ends, gap) = (plan.chaos_ends, plan.chaos);
    // Whoever was told to stop comes back; then somebody dies in the last moment and is followed.
    let calm = plan.stop_timeout + plan.renew_deadline * 2 + plan.lease_duration * 6 + plan.retry_period * 5;
    let end = Mono(0).after(chaos_ends + calm);
    let mut world = World::new(plan, rng, mutant, Trace::new(config.verbose, config.echo));
    for slot in 0..world.plan.processes {
        world.begin_process(slot);
    }
    world.schedule(Mono(0).after(Duration::from_millis(gap.1)), Event::Chaos);
    world.schedule(Mono(0).after(chaos_ends), Event::Heal);
    while let Some(event) = world.next_event().filter(|_| world.now < end) {
        world.step(event);
    }
    let leaders =
        world.processes.iter().filter(|it| it.believes_until.is_some_and(|until| until > end)).count();
    world.court.require(leaders == 1, Checker::Converged, || format!("{leaders} lead in the end"));
    Outcome {
        violations: world.court.violations,
        overlap: world.overlap,
        load: world.load,
        simulated: world.now.since(Mono(0)),
        hash: world.trace.hash,
        trace: world.trace.lines,
    }
}

impl World {
    fn begin_process(&mut self, slot: usize) {
        let process = Process::new(self, slot);
        self.processes.push(process);
        self.start_run(self.processes.len() - 1);
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Chaos if self.healed => {}
            Event::Chaos => self.chaos(),
            Event::Heal => self.heal(),
            Event::ServerBack => self.outage = false,
            Event::Arrive { process, id, sent, request, fate } => {
                self.arrive(process, id, sent, &request, fate)
            }
            Event::Resume { process } if self.processes[process].paused => self.resume(process),
            Event::Reconnect { process } if self.processes[process].cut => self.reconnect(process),
            Event::Resume { .. } | Event::Reconnect { .. } => {}
            Event::Restart { process } => self.restart(process),
            Event::CheckReplaced { process, since } => self.check_replaced(process, since),
            Event::CheckHandedOver { process, since } => self.check_handed_over(process, since),
            Event::CheckEnds { process, run, since } => self.check_ends(process, run, since),
            Event::Answer { process, .. } | Event::Wake { process, .. } | Event::WorkEnds { process, .. } => {
                let it = &mut self.processes[process];
                if it.alive && it.paused {
                    it.held.push(event);
                } else if it.alive {
                    self.inside(process, event);
                }
            }
        }
    }

    fn restart(&mut self, process: usize) {
        let it = &self.processes[process];
        let (alive, slot) = (it.alive, it.slot);
        if !alive {
            self.begin_process(slot);
        } else if self.processes[process].paused {
            self.processes[process].held.push(Event::Restart { process });
        } else {
            self.start_run(process);
        }
    }

    fn arrive(&mut self, process: usize, id: RequestId, sent: Mono, request: &Request, fate: Fate) {
        let carried_out = !matches!(fate, Fate::Failed(..));
        let answer = carried_out.then(|| self.server.answer(self.now, process, sent, request));
        if let Some(Answer::Stored(stored)) = &answer
            && *request != Request::Get
        {
            self.load.count(if self.processes[process].alive { "writes" } else { "writes of the dead" });
            if stored.record.holder.is_empty() {
                self.load.count("releases");
                let since = self.now;
                self.schedule_after(self.hand_over_bound(), Event::CheckHandedOver { process, since });
            } else {
                self.worst_moment(process);
            }
        }
        if answer == Some(Answer::Conflict) {
            self.load.count("conflicts");
        }
        let (delay, answer) = match (fate, answer) {
            (Fate::Answered(delay), Some(answer)) => (delay, answer),
            (Fate::FailedAfter(delay), _) => (delay, Answer::Failed(Written::Unknown)),
            (Fate::Failed(delay, written), _) => (delay, Answer::Failed(written)),
            (Fate::AnswerLost | Fate::Answered(_), _) => return,
        };
        if !self.processes[process].cut {
            self.schedule_after(delay, Event::Answer { process, id, answer });
        }
    }

    /// The leader died then, or wrote for the last time: somebody else must have written since.
    fn check_replaced(&mut self, process: usize, since: Mono) {
        let last = self.server.writes.iter().rev().find(|write| write.by == process).map(|write| write.at);
        if let Some(last) = last.filter(|&last| last > since) {
            let at = last.after(self.replace_bound());
            return self.schedule(at, Event::CheckReplaced { process, since: last });
        }
        self.check_taken(process, since, Checker::Replaced);
    }

    fn check_handed_over(&mut self, process: usize, since: Mono) {
        self.check_taken(process, since, Checker::HandedOver);
    }

    fn check_taken(&mut self, process: usize, since: Mono, checker: Checker) {
        let taken = self.server.writes.last().is_some_and(|write| write.at > since);
        let Some(well) = self.anybody_well(since, process).filter(|_| !taken) else {
            // The new leader is no longer one of those who could take it.
            self.load.count(if taken { "changes in time" } else { "changes that nobody was well for" });
            return;
        };
        self.court.require(false, checker, || {
            format!(
                "{} was well since {since:?} and had not taken it at {:?}",
                self.processes[well].identity, self.now
            )
        });
    }

    fn check_ends(&mut self, process: usize, run: u64, since: Mono) {
        let it = &self.processes[process];
        if !it.alive || it.run != run || !it.running {
            return;
        }
        if it.paused {
            return self.check_ends_later(process, run, self.now);
        }
        if it.resumed_at > since {
            return self.check_ends_later(process, run, it.resumed_at);
        }
        self.court
            .require(false, Checker::Ends, || format!("process {process} was told to stop at {since:?}"));
    }
}
