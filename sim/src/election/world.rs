//! Everything that is simulated, and the events that move it.

use std::collections::BTreeMap;
use std::time::Duration;

use informer_core::leader_election::{Answer, Request, RequestId, Written};
use informer_core::{Mono, Rng};

use super::checkers::Court;
use super::elector::Process;
use super::plan::Plan;
use super::server::Server;
use crate::load::Load;
use crate::trace::Trace;

/// Deliberate faults of what is around the machine: they prove that each checker can fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// The shell believes a third of a renew deadline longer than it was told.
    BelievesLonger,
    /// The server takes any version.
    IgnoresVersions,
    /// The shell says that the work has ended when it was told to stop.
    SaysWorkEnded,
    /// The shell's timers come two retry periods late.
    LateTimers,
    /// The shell's timers often never come.
    LosesTimers,
    /// The shell tells of a new leader twice.
    TellsTwice,
    /// Every second renewal writes the record of the one before the last, as a wall clock that goes back and forth would.
    HidesRenewals,
    /// The shell starts over when a request fails.
    StartsOver,
}

/// What comes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It is carried out, and answered after this time.
    Answered(Duration),
    /// It is carried out, and no answer ever comes.
    AnswerLost,
    /// It is carried out, and the answer says that something failed.
    FailedAfter(Duration),
    /// It is not carried out, and the answer says that something failed.
    Failed(Duration, Written),
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A request reaches the server.
    Arrive {
        process: usize,
        id: RequestId,
        sent: Mono,
        request: Request,
        fate: Fate,
    },
    /// An answer reaches its process.
    Answer {
        process: usize,
        id: RequestId,
        answer: Answer,
    },
    /// A timer of a process; an older one has no effect.
    Wake {
        process: usize,
        timer: u64,
    },
    WorkEnds {
        process: usize,
        work: u64,
    },
    Resume {
        process: usize,
    },
    Reconnect {
        process: usize,
    },
    ServerBack,
    /// The next run of a living process, or the next process in the place of a dead one.
    Restart {
        process: usize,
    },
    Chaos,
    Heal,
    CheckReplaced {
        process: usize,
        since: Mono,
    },
    CheckHandedOver {
        process: usize,
        since: Mono,
    },
    CheckEnds {
        process: usize,
        run: u64,
        since: Mono,
    },
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Mono,
    pub(crate) rng: Rng,
    pub(crate) plan: Plan,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) server: Server,
    /// Nobody can reach the server.
    pub(crate) outage: bool,
    /// Nobody listens: told at once, instead of never.
    pub(crate) outage_is_told: bool,
    /// The dead ones stay.
    pub(crate) processes: Vec<Process>,
    events: BTreeMap<(Mono, u64, u64), Event>,
    next_event: u64,
    pub(crate) healed: bool,
    pub(crate) court: Court,
    pub(crate) load: Load,
    pub(crate) trace: Trace,
    /// The greatest token so far.
    pub(crate) token: Option<u32>,
    /// The time in which two believed to lead.
    pub(crate) overlap: Duration,
}

impl World {
    pub(crate) fn new(plan: Plan, rng: Rng, mutant: Option<Mutant>, trace: Trace) -> Self {
        Self {
            now: Mono(0),
            rng,
            plan,
            mutant,
            server: Server::new(mutant == Some(Mutant::IgnoresVersions)),
            outage: false,
            outage_is_told: false,
            processes: Vec::new(),
            events: BTreeMap::new(),
            next_event: 0,
            healed: false,
            court: Court::default(),
            load: Load::default(),
            trace,
            token: None,
            overlap: Duration::ZERO,
        }
    }

    pub(crate) fn schedule(&mut self, at: Mono, event: Event) {
        // What happens at the same time happens in any order.
        let tie = self.rng.below(1 << 32);
        self.events.insert((at.max(self.now), tie, self.next_event), event);
        self.next_event += 1;
    }

    pub(crate) fn schedule_after(&mut self, delay: Duration, event: Event) {
        self.schedule(self.now.after(delay), event);
    }

    /// Jumps to the next event.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let ((at, ..), event) = self.events.pop_first()?;
        self.now = at;
        Some(event)
    }

    pub(crate) fn note(&mut self, process: usize, line: impl FnOnce() -> String) {
        let identity = &self.processes[process].identity;
        self.trace.note(self.now, &[process as u64], || format!("{identity}: {}", line()));
    }
}
