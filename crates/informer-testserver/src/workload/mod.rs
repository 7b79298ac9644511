//! A moving workload: Pods that are created, scheduled, started, fail, change and go, so that there is something to watch.

mod deployments;
mod pod;
mod rollout;
mod world;

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

pub use deployments::make_deployments_available;

use rollout::Rollout;

use crate::names::Rng;
use crate::server::TestServer;
use crate::status::ApiError;

/// How a [`Workload`] looks and moves.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadOptions {
    /// Pods kept alive, about.
    pub objects: usize,
    /// Changes a second in [`Workload::run`].
    pub rate_per_second: f64,
    /// What happens follows from this number.
    pub seed: u64,
    /// Namespaces `team-0`, `team-1`, …; at least 1.
    pub namespaces: usize,
}

impl Default for WorkloadOptions {
    /// 200 Pods in 4 namespaces, 10 changes a second.
    fn default() -> Self {
        Self { objects: 200, rate_per_second: 10.0, seed: 0, namespaces: 4 }
    }
}

/// Moves Pods through their lives on a server.
///
/// ```
/// use informer_testserver::TestServer;
/// use informer_testserver::workload::{Workload, WorkloadOptions};
///
/// let server = TestServer::new();
/// let mut workload = Workload::new(server.clone(), WorkloadOptions { objects: 20, ..WorkloadOptions::default() })?;
/// for _ in 0..100 {
///     workload.step()?;
/// }
/// assert!(server.count("pods") > 15);
/// # Ok::<(), informer_testserver::ApiError>(())
/// ```
#[derive(Debug)]
pub struct Workload {
    server: TestServer,
    options: WorkloadOptions,
    rng: Rng,
    pods: Vec<PodState>,
    created: usize,
    rollout: Option<Rollout>,
}

/// What the workload remembers of a Pod.
#[derive(Debug, Clone, PartialEq)]
struct PodState {
    namespace: String,
    name: String,
    phase: Phase,
    restarts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Pending,
    Scheduled,
    Creating,
    PullBackOff,
    Running,
    /// Running, but its readiness probe fails.
    Unready,
    CrashLoop,
    Terminating,
}

impl Phase {
    /// Where Pods spend most of their lives.
    fn is_lasting(self) -> bool {
        matches!(self, Self::Running | Self::Unready | Self::CrashLoop | Self::PullBackOff)
    }
}

impl Workload {
    /// Creates the world (namespaces, nodes, services, deployments, config maps) and the Pods, most of them running.
    ///
    /// # Errors
    /// The server refuses an object: its names are taken.
    pub fn new(server: TestServer, options: WorkloadOptions) -> Result<Self, ApiError> {
        let options = WorkloadOptions { namespaces: options.namespaces.max(1), ..options };
        let mut workload = Self {
            rng: Rng::new(options.seed),
            server,
            options,
            pods: Vec::new(),
            created: 0,
            rollout: None,
        };
        let now = workload.server.inner.now();
        world::create(&workload.server, &workload.options, now)?;
        workload.pods.reserve(workload.options.objects);
        for _ in 0..workload.options.objects {
            workload.create_old()?;
        }
        Ok(workload)
    }

    /// Changes one thing.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn step(&mut self) -> Result<(), ApiError> {
        if self.pods.is_empty() || (self.pods.len() < self.options.objects && self.rng.chance(60)) {
            return if self.options.objects == 0 { Ok(()) } else { self.create_new() };
        }
        if self.rng.chance(8) {
            return self.roll_out();
        }
        // Pods on their way to running come first: they take few steps in a real cluster, too.
        let young = self.pods.iter().position(|pod| !pod.phase.is_lasting());
        let index = match young {
            Some(index) if self.rng.chance(70) => index,
            _ => self.rng.below(self.pods.len()),
        };
        let result = self.advance(index);
        match result {
            // Somebody else has deleted it: it is replaced later.
            Err(error) if error.code() == 404 => {
                self.pods.swap_remove(index);
                Ok(())
            }
            other => other,
        }
    }

    /// Steps at the configured rate until the future is dropped or the server refuses a change.
    pub async fn run(mut self) -> ApiError {
        let rate = self.options.rate_per_second.clamp(0.001, 1_000_000.0);
        // Timers are no finer than milliseconds: at high rates several steps share a tick.
        let steps = (rate / 1000.0).ceil().max(1.0);
        let mut ticks = interval_at(Instant::now(), Duration::from_secs_f64(steps / rate));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            ticks.tick().await;
            for _ in 0..steps as usize {
                if let Err(error) = self.step() {
                    return error;
                }
            }
        }
    }

    /// The number of Pods alive.
    pub fn pods(&self) -> usize {
        self.pods.len()
    }

    fn create_new(&mut self) -> Result<(), ApiError> {
        self.create(Phase::Pending, 0, SignedDuration::ZERO)
    }

    /// A Pod from before our time: almost all of them run, some after a few attempts.
    fn create_old(&mut self) -> Result<(), ApiError> {
        let (phase, restarts) = match self.rng.below(100) {
            0..3 => (Phase::CrashLoop, 1 + self.rng.below(40)),
            3..12 => (Phase::Running, 1 + self.rng.below(4)),
            _ => (Phase::Running, 0),
        };
        // From two minutes to twelve days old, as often between minutes as between hours or days.
        let digits = self.rng.below(4) as u32;
        let seconds = 120 + self.rng.below(1000) as i64 * 10_i64.pow(digits);
        self.create(phase, restarts as u32, SignedDuration::from_secs(seconds))
    }

    fn create(&mut self, phase: Phase, restarts: u32, age: SignedDuration) -> Result<(), ApiError> {
        let owner = pod::Owner::pick(&mut self.rng, self.options.namespaces);
        let state = PodState {
            namespace: owner.namespace(),
            name: format!("{}-{}", owner.replica_set(), self.rng.suffix(5)),
            phase,
            restarts,
        };
        let then = self.server.inner.now() - age;
        let node = (phase != Phase::Pending).then(|| world::node_name(self.rng.below(world::NODES)));
        let object = pod::object(&state, &owner, node.as_deref(), then, &mut self.rng, self.created);
        self.created += 1;
        match self.server.create("pods", object) {
            Ok(_) => self.pods.push(state),
            // A name drawn twice: the next step draws another.
            Err(error) if error.reason() == "AlreadyExists" => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn advance(&mut self, index: usize) -> Result<(), ApiError> {
        let state = self.pods[index].clone();
        let dice = self.rng.below(100);
        let next = match (state.phase, dice) {
            (Phase::Pending, _) => Phase::Scheduled,
            (Phase::Scheduled, _) => Phase::Creating,
            (Phase::Creating, 0..6) => Phase::PullBackOff,
            (Phase::Creating, 6..16) => Phase::CrashLoop,
            (Phase::PullBackOff | Phase::CrashLoop, 80..) => return self.terminate(index),
            (Phase::Unready, 85..) => Phase::CrashLoop,
            (Phase::Creating | Phase::PullBackOff | Phase::CrashLoop | Phase::Unready, _) => Phase::Running,
            (Phase::Running, 0..10) => Phase::CrashLoop,
            (Phase::Running, 10..35) => return self.relabel(&state, dice),
            (Phase::Running, 35..65) => Phase::Unready,
            (Phase::Running, _) => return self.terminate(index),
            (Phase::Terminating, _) => {
                self.server.delete("pods", &state.namespace, &state.name)?;
                self.pods.swap_remove(index);
                return Ok(());
            }
        };
        let node = world::node_name(self.rng.below(world::NODES));
        let now = self.server.inner.now();
        let restarts = state.restarts + u32::from(next == Phase::CrashLoop);
        let changed = PodState { phase: next, restarts, ..state };
        let change = |object: &mut Value| pod::advance(object, &changed, &node, now);
        self.server.modify("pods", &changed.namespace, &changed.name, change)?;
        self.pods[index] = changed;
        Ok(())
    }

    /// The first half of a deletion: the containers are told to stop.
    fn terminate(&mut self, index: usize) -> Result<(), ApiError> {
        const GRACE_SECONDS: i64 = 30;
        let state = &mut self.pods[index];
        self.server.terminate("pods", &state.namespace, &state.name, GRACE_SECONDS)?;
        state.phase = Phase::Terminating;
        Ok(())
    }

    fn relabel(&mut self, state: &PodState, dice: usize) -> Result<(), ApiError> {
        const TRACKS: [&str; 4] = ["stable", "canary", "blue", "green"];
        let stamp = self.rng.below(1000).to_string();
        let change = |object: &mut Value| {
            if dice.is_multiple_of(3) {
                object["metadata"]["annotations"]["example.dev/checked"] = stamp.into();
                return;
            }
            let before = object["metadata"]["labels"]["track"].as_str().unwrap_or_default();
            let track = TRACKS.into_iter().cycle().skip(dice % 4).find(|track| *track != before);
            object["metadata"]["labels"]["track"] = track.into();
        };
        self.server.modify("pods", &state.namespace, &state.name, change).map(|_| ())
    }

    fn roll_out(&mut self) -> Result<(), ApiError> {
        let moved = match self.rollout.take() {
            None => {
                let begun = Rollout::begin(&mut self.rng, self.options.namespaces, &self.server);
                begun.map(|rollout| self.rollout = Some(rollout))
            }
            Some(mut rollout) => rollout.advance(&self.server).map(|finished| {
                self.rollout = (!finished).then_some(rollout);
            }),
        };
        match moved {
            // Somebody has deleted the Deployment.
            Err(error) if error.code() == 404 => Ok(()),
            other => other,
        }
    }
}
