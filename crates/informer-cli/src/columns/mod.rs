//! Columns of the usual kinds, cell for cell what the API server prints for kubectl.

use crate::{age, fields::*};
use jiff::Timestamp;
use kube::core::{ApiResource, DynamicObject};
use serde_json::Value;

mod pod;
mod selector;
mod service;
#[cfg(test)]
mod tests;

pub(crate) use pod::PodSummary;
use selector::{label_map, label_selector};

/// A kind we know how to print without asking the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pod,
    Service,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    Node,
    Namespace,
    ConfigMap,
    Secret,
    Event,
}

impl Kind {
    /// The kind behind a resource, if it is one of ours in the version whose fields we know.
    pub(crate) fn of(resource: &ApiResource) -> Option<Self> {
        Some(match (resource.group.as_str(), resource.version.as_str(), resource.plural.as_str()) {
            ("", "v1", "pods") => Self::Pod,
            ("", "v1", "services") => Self::Service,
            ("apps", "v1", "deployments") => Self::Deployment,
            ("apps", "v1", "replicasets") => Self::ReplicaSet,
            ("apps", "v1", "statefulsets") => Self::StatefulSet,
            ("apps", "v1", "daemonsets") => Self::DaemonSet,
            ("batch", "v1", "jobs") => Self::Job,
            ("", "v1", "nodes") => Self::Node,
            ("", "v1", "namespaces") => Self::Namespace,
            ("", "v1", "configmaps") => Self::ConfigMap,
            ("", "v1", "secrets") => Self::Secret,
            ("", "v1", "events") => Self::Event,
            _ => return None,
        })
    }

    /// The headers of `row`, in the same order.
    pub(crate) fn headers(self, wide: bool) -> Vec<&'static str> {
        const WORKLOAD: &[&str] = &["CONTAINERS", "IMAGES", "SELECTOR"];
        let (usual, more): (&[&str], &[&str]) = match self {
            Self::Pod => (
                &["NAME", "READY", "STATUS", "RESTARTS", "AGE"],
                &["IP", "NODE", "NOMINATED NODE", "READINESS GATES"],
            ),
            Self::Service => {
                (&["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"], &["SELECTOR"])
            }
            Self::Deployment => (&["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"], WORKLOAD),
            Self::ReplicaSet => (&["NAME", "DESIRED", "CURRENT", "READY", "AGE"], WORKLOAD),
            Self::StatefulSet => (&["NAME", "READY", "AGE"], &["CONTAINERS", "IMAGES"]),
            Self::DaemonSet => (
                &["NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"],
                WORKLOAD,
            ),
            Self::Job => (&["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"], WORKLOAD),
            Self::Node => (
                &["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
                &["INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"],
            ),
            Self::Namespace => (&["NAME", "STATUS", "AGE"], &[]),
            Self::ConfigMap => (&["NAME", "DATA", "AGE"], &[]),
            Self::Secret => (&["NAME", "TYPE", "DATA", "AGE"], &[]),
            // The wide form puts columns between the usual ones.
            Self::Event if wide => (
                &["LAST SEEN", "TYPE", "REASON", "OBJECT", "SUBOBJECT", "SOURCE", "MESSAGE"],
                &["FIRST SEEN", "COUNT", "NAME"],
            ),
            Self::Event => (&["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], &[]),
        };
        let more = if wide { more } else { &[] };
        usual.iter().chain(more).copied().collect()
    }

    /// Long cells that sooner or later come up in the life of any object, by header, the likeliest first: columns of
    /// something that is watched should not move when that happens.
    pub(crate) fn likely_cells(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Pod => &[("STATUS", "ContainerCreating"), ("AGE", "9m59s"), ("RESTARTS", "1 (10s ago)")],
            Self::Job => &[("STATUS", "Suspended"), ("DURATION", "9m59s"), ("AGE", "9m59s")],
            Self::Node => &[("STATUS", "NotReady"), ("AGE", "9m59s")],
            Self::Namespace => &[("STATUS", "Terminating"), ("AGE", "9m59s")],
            Self::Event => &[("REASON", "FailedScheduling")],
            _ => &[("AGE", "9m59s")],
        }
    }

    /// The cells of one object, as many as `headers`. Missing fields read as the server would default them.
    pub(crate) fn row(self, object: &DynamicObject, now: Timestamp, wide: bool) -> Vec<String> {
        let data = &object.data;
        let name = object.metadata.name.clone().unwrap_or_default();
        let age = age::since(created(object), now);
        let mut row = match self {
            Self::Pod => return pod::row(object, name, age, now, wide),
            Self::Service => return service::row(data, name, age, wide),
            Self::Event => return event_row(data, name, now, wide),
            Self::Deployment => vec![
                name,
                format!("{}/{}", int(data, "status.readyReplicas"), replicas(data)),
                int(data, "status.updatedReplicas").to_string(),
                int(data, "status.availableReplicas").to_string(),
                age,
            ],
            Self::ReplicaSet => vec![
                name,
                replicas(data).to_string(),
                int(data, "status.replicas").to_string(),
                int(data, "status.readyReplicas").to_string(),
                age,
            ],
            Self::StatefulSet => {
                vec![name, format!("{}/{}", int(data, "status.readyReplicas"), replicas(data)), age]
            }
            Self::DaemonSet => daemon_set_row(data, name, age),
            Self::Job => job_row(object, name, age, now),
            Self::Node => return node_row(object, name, age, wide),
            Self::Namespace => vec![name, text(data, "status.phase").to_owned(), age],
            Self::ConfigMap => {
                vec![name, (count(data, "data") + count(data, "binaryData")).to_string(), age]
            }
            Self::Secret => {
                vec![name, or(text(data, "type"), "Opaque"), count(data, "data").to_string(), age]
            }
        };
        if wide {
            row.extend(self.wide_workload(data));
        }
        row
    }

    fn wide_workload(self, data: &Value) -> Vec<String> {
        let containers = list(data, "spec.template.spec.containers");
        let join = |field| containers.iter().map(|c| text(c, field)).collect::<Vec<_>>().join(",");
        let selector = at(data, "spec.selector");
        match self {
            Self::StatefulSet => vec![join("name"), join("image")],
            // The only one that prints nothing for an empty selector.
            Self::Deployment => vec![join("name"), join("image"), label_selector(selector)],
            Self::ReplicaSet | Self::DaemonSet | Self::Job => {
                vec![join("name"), join("image"), or_none(&label_selector(selector))]
            }
            _ => vec![],
        }
    }
}

/// When the object was created.
pub(crate) fn created(object: &DynamicObject) -> Option<Timestamp> {
    object.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// `spec.replicas`, which the server defaults to 1.
fn replicas(data: &Value) -> i64 {
    at(data, "spec.replicas").as_i64().unwrap_or(1)
}

fn daemon_set_row(data: &Value, name: String, age: String) -> Vec<String> {
    let status = |field: &str| int(at(data, "status"), field).to_string();
    vec![
        name,
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        label_map(at(data, "spec.template.spec.nodeSelector")),
        age,
    ]
}

fn job_row(object: &DynamicObject, name: String, age: String, now: Timestamp) -> Vec<String> {
    let data = &object.data;
    let succeeded = int(data, "status.succeeded");
    let completions = match (at(data, "spec.completions").as_i64(), int(data, "spec.parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let duration = match (time(data, "status.startTime"), time(data, "status.completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => age::between(start, end.unwrap_or(now)),
    };
    let has = |kind| condition(data, "status.conditions", kind) == "True";
    let status = if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if object.metadata.deletion_timestamp.is_some() {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(|k| has(k)).unwrap_or("Running")
    };
    vec![name, status.to_owned(), completions, duration, age]
}

fn node_row(object: &DynamicObject, name: String, age: String, wide: bool) -> Vec<String> {
    const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
    const ROLE: &str = "kubernetes.io/role";
    let data = &object.data;
    // Of several Ready conditions the last counts.
    let ready = list(data, "status.conditions").iter().rfind(|c| text(c, "type") == "Ready");
    let mut status = match ready.map(|c| text(c, "status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if flag(data, "spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles: Vec<&str> = object
        .metadata
        .labels
        .iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None => (key == ROLE).then_some(value.as_str()),
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    let info = at(data, "status.nodeInfo");
    let mut row = vec![name, status, or_none(&roles.join(",")), age, text(info, "kubeletVersion").to_owned()];
    if wide {
        let address = |kind: &str| {
            let found = list(data, "status.addresses").iter().find(|a| text(a, "type") == kind);
            found.map_or("<none>".to_owned(), |a| text(a, "address").to_owned())
        };
        let mut kernel = or(text(info, "kernelVersion"), "<unknown>");
        match text(info, "architecture") {
            "" => {}
            architecture => kernel = format!("{kernel} ({architecture})"),
        }
        row.extend([
            address("InternalIP"),
            address("ExternalIP"),
            or(text(info, "osImage"), "<unknown>"),
            kernel,
            or(text(info, "containerRuntimeVersion"), "<unknown>"),
        ]);
    }
    row
}

fn event_row(data: &Value, name: String, now: Timestamp, wide: bool) -> Vec<String> {
    let first = time(data, "firstTimestamp").or_else(|| time(data, "eventTime"));
    let (last, count) = match at(data, "series") {
        Value::Null => (time(data, "lastTimestamp").or(first), int(data, "count").max(1)),
        series => (time(series, "lastObservedTime"), int(series, "count")),
    };
    let object = at(data, "involvedObject");
    let kind = text(object, "kind").to_lowercase();
    let target = match text(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let last = age::since(last, now);
    let kind = text(data, "type").to_owned();
    let reason = text(data, "reason").to_owned();
    let message = text(data, "message").trim().to_owned();
    if !wide {
        return vec![last, kind, reason, target, message];
    }
    let component = or(text(data, "source.component"), text(data, "reportingComponent"));
    let source = match or(text(data, "source.host"), text(data, "reportingInstance")).as_str() {
        "" => component,
        instance => format!("{component}, {instance}"),
    };
    let part = text(object, "fieldPath").to_owned();
    vec![last, kind, reason, target, part, source, message, age::since(first, now), count.to_string(), name]
}
