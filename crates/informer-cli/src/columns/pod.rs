//! Columns of a Pod, above all its STATUS: one word drawn from the phase, conditions and every container's state.

use crate::{age, fields::*};
use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::Value;

/// What the containers of a Pod add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodSummary {
    /// Containers that are ready.
    pub(crate) ready: usize,
    /// Containers that should be: the ordinary ones and init containers that keep running (sidecars).
    pub(crate) total: usize,
    /// The STATUS column.
    pub(crate) status: String,
    /// Restarts of the containers that count now.
    pub(crate) restarts: i64,
    /// When the latest of those restarts happened, if the server still knows.
    pub(crate) last_restart: Option<Timestamp>,
}

/// Restarts of a group of containers and when the latest one was.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(int(container, "restartCount"));
        self.last = self.last.max(time(container, "lastState.terminated.finishedAt"));
    }
}

impl PodSummary {
    /// Computes the summary of one Pod.
    pub(crate) fn of(pod: &DynamicObject) -> Self {
        let data = &pod.data;
        let mut init = InitContainers::of(data);
        let mut status = first_reason(data);
        if let Some(reason) = init.reason.take() {
            status = reason;
        }
        let initialized = condition(data, "status.conditions", "Initialized") == "True";
        let mut summary = Self {
            ready: init.ready,
            total: list(data, "spec.containers").len() + init.sidecars,
            status,
            restarts: init.all.count,
            last_restart: init.all.last,
        };
        if !init.initializing || initialized {
            summary.add_containers(data, init.sidecar_restarts);
        }
        if pod.metadata.deletion_timestamp.is_some() {
            if text(data, "status.reason") == "NodeLost" {
                summary.status = "Unknown".to_owned();
            } else if !matches!(text(data, "status.phase"), "Succeeded" | "Failed") {
                summary.status = "Terminating".to_owned();
            }
        }
        summary
    }

    fn add_containers(&mut self, data: &Value, mut restarts: Restarts) {
        let mut running = false;
        let mut error = None;
        // From the last to the first: the first container with something to say has the last word.
        for container in list(data, "status.containerStatuses").iter().rev() {
            restarts.add(container);
            let terminated = at(container, "state.terminated");
            let waiting = text(container, "state.waiting.reason");
            if !waiting.is_empty() {
                self.status = waiting.to_owned();
            } else if !terminated.is_null() {
                self.status = end_reason(terminated);
                if int(terminated, "exitCode") != 0 {
                    error = Some(self.status.clone());
                }
            } else if flag(container, "ready") && !at(container, "state.running").is_null() {
                running = true;
                self.ready += 1;
            }
        }
        self.restarts = restarts.count;
        self.last_restart = restarts.last;
        // One container has completed, but others may still run or have failed.
        if self.status == "Completed" {
            if running && condition(data, "status.conditions", "Ready") == "True" {
                self.status = "Running".to_owned();
            } else if let Some(error) = error {
                self.status = error;
            } else if running {
                self.status = "NotReady".to_owned();
            }
        }
    }

    /// The RESTARTS column: `3 (5m ago)`.
    pub(crate) fn restarts_cell(&self, now: Timestamp) -> String {
        match self.last_restart {
            Some(last) if self.restarts != 0 => {
                format!("{} ({} ago)", self.restarts, age::between(last, now))
            }
            _ => self.restarts.to_string(),
        }
    }
}

/// What the init containers say: how far they are, which of them keep running.
#[derive(Default)]
struct InitContainers {
    initializing: bool,
    reason: Option<String>,
    ready: usize,
    sidecars: usize,
    all: Restarts,
    sidecar_restarts: Restarts,
}

impl InitContainers {
    fn of(data: &Value) -> Self {
        let specs = list(data, "spec.initContainers");
        let is_sidecar = |spec: &Value| text(spec, "restartPolicy") == "Always";
        let mut init =
            Self { sidecars: specs.iter().filter(|spec| is_sidecar(spec)).count(), ..Self::default() };
        for (position, container) in list(data, "status.initContainerStatuses").iter().enumerate() {
            let name = text(container, "name");
            let sidecar = specs.iter().rfind(|spec| text(spec, "name") == name).is_some_and(is_sidecar);
            init.all.add(container);
            if sidecar {
                init.sidecar_restarts.add(container);
            }
            let terminated = at(container, "state.terminated");
            if !terminated.is_null() && int(terminated, "exitCode") == 0 {
                continue;
            }
            if sidecar && flag(container, "started") {
                init.ready += usize::from(flag(container, "ready"));
                continue;
            }
            let waiting = text(container, "state.waiting.reason");
            init.initializing = true;
            init.reason = Some(if !terminated.is_null() {
                format!("Init:{}", end_reason(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{position}/{}", specs.len())
            });
            break;
        }
        init
    }
}

/// The status before any container is looked at.
fn first_reason(data: &Value) -> String {
    let gated = list(data, "status.conditions")
        .iter()
        .any(|c| text(c, "type") == "PodScheduled" && text(c, "reason") == "SchedulingGated");
    if gated {
        "SchedulingGated".to_owned()
    } else {
        or(text(data, "status.reason"), text(data, "status.phase"))
    }
}

/// Why a container ended: its reason, else the signal, else the exit code.
fn end_reason(terminated: &Value) -> String {
    match (text(terminated, "reason"), int(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

pub(super) fn row(pod: &DynamicObject, name: String, age: String, now: Timestamp, wide: bool) -> Vec<String> {
    let summary = PodSummary::of(pod);
    let restarts = summary.restarts_cell(now);
    let mut row = vec![name, format!("{}/{}", summary.ready, summary.total), summary.status, restarts, age];
    if wide {
        let data = &pod.data;
        let ip = list(data, "status.podIPs").first().map_or("", |ip| text(ip, "ip"));
        row.extend([
            or(ip, &or_none(text(data, "status.podIP"))),
            or_none(text(data, "spec.nodeName")),
            or_none(text(data, "status.nominatedNodeName")),
            readiness_gates(data),
        ]);
    }
    row
}

fn readiness_gates(data: &Value) -> String {
    let gates = list(data, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = |gate: &&Value| condition(data, "status.conditions", text(gate, "conditionType")) == "True";
    format!("{}/{}", gates.iter().filter(open).count(), gates.len())
}
