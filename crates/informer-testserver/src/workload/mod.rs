//! A moving workload: Pods that are created, scheduled, started, fail, change and go, so that there is something to watch.

mod pod;
mod world;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

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
    Running,
    CrashLoop,
}

impl Workload {
    /// Creates the world (namespaces, nodes, services, deployments, config maps) and the Pods, most of them running.
    ///
    /// # Errors
    /// The server refuses an object: its names are taken.
    pub fn new(server: TestServer, options: WorkloadOptions) -> Result<Self, ApiError> {
        let options = WorkloadOptions { namespaces: options.namespaces.max(1), ..options };
        let mut workload =
            Self { rng: Rng::new(options.seed), server, options, pods: Vec::new(), created: 0 };
        world::create(&workload.server, &workload.options)?;
        workload.pods.reserve(workload.options.objects);
        for _ in 0..workload.options.objects {
            workload.create(Phase::Running)?;
        }
        Ok(workload)
    }

    /// Changes one thing.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn step(&mut self) -> Result<(), ApiError> {
        if self.pods.is_empty() || (self.pods.len() < self.options.objects && self.rng.chance(60)) {
            return if self.options.objects == 0 { Ok(()) } else { self.create(Phase::Pending) };
        }
        // Pods on their way to running come first: they take few steps in a real cluster, too.
        let young = self.pods.iter().position(|pod| !matches!(pod.phase, Phase::Running | Phase::CrashLoop));
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

    fn create(&mut self, phase: Phase) -> Result<(), ApiError> {
        let owner = pod::Owner::pick(&mut self.rng, self.options.namespaces);
        let state = PodState {
            namespace: owner.namespace(),
            name: format!("{}-{}", owner.replica_set(), self.rng.suffix(5)),
            phase,
            restarts: 0,
        };
        let now = self.server.inner.now();
        let node = (phase == Phase::Running).then(|| world::node_name(self.rng.below(world::NODES)));
        let object = pod::object(&state, &owner, node.as_deref(), now, &mut self.rng, self.created);
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
            (Phase::Creating | Phase::CrashLoop, 0..85) => Phase::Running,
            (Phase::Creating, _) => Phase::CrashLoop,
            (Phase::Running, 0..5) => Phase::CrashLoop,
            (Phase::Running, 5..30) => return self.relabel(&state, dice),
            (Phase::Running, 60..) | (Phase::CrashLoop, _) => {
                self.server.delete("pods", &state.namespace, &state.name)?;
                self.pods.swap_remove(index);
                return Ok(());
            }
            // A heartbeat: only a condition's time changes.
            (Phase::Running, _) => Phase::Running,
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

    fn relabel(&mut self, state: &PodState, dice: usize) -> Result<(), ApiError> {
        let track = ["stable", "canary", "blue", "green"][dice % 4];
        let stamp = self.rng.below(1000);
        let change = |object: &mut Value| {
            object["metadata"]["labels"]["track"] = track.into();
            object["metadata"]["annotations"]["example.dev/checked"] = json!(stamp.to_string());
        };
        self.server.modify("pods", &state.namespace, &state.name, change).map(|_| ())
    }
}
