//! Which columns a kind has.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cell, Column, age};
use crate::encode::human_age;
use crate::registry::Resource;

type Function = fn(&Value, Timestamp) -> Value;
/// Name, type, priority, cell.
type Row = (&'static str, &'static str, u32, Function);

const NAME_DESCRIPTION: &str = "The name, unique among the objects of its kind in a namespace.";
const AGE_DESCRIPTION: &str = "The time since the server created the object.";

/// The columns of a resource: its own, or name and age.
pub(super) fn columns(resource: &Resource) -> Vec<Column> {
    let mut columns = vec![Column {
        name: "Name".into(),
        kind: "string".into(),
        format: "name".into(),
        description: NAME_DESCRIPTION.into(),
        priority: 0,
        cell: Cell::Function(name),
    }];
    match &resource.custom {
        Some(custom) if !custom.columns.is_empty() => {
            columns.extend(custom.columns.iter().map(|column| Column {
                name: column.name.clone(),
                kind: column.kind.clone(),
                format: column.format.clone(),
                description: column.description.clone(),
                priority: column.priority,
                cell: Cell::Path(column.path.clone()),
            }));
        }
        _ => columns.extend(builtin(resource).iter().map(|(name, kind, priority, function)| Column {
            name: (*name).into(),
            kind: (*kind).into(),
            format: String::new(),
            description: if *name == "Age" { AGE_DESCRIPTION.into() } else { String::new() },
            priority: *priority,
            cell: Cell::Function(*function),
        })),
    }
    if resource.plural == "events" {
        // The name of an event says nothing: it comes last, and only when asked for.
        columns[0].priority = 1;
        columns.rotate_left(1);
    }
    columns
}

const AGE: Row = ("Age", "string", 0, created);

fn builtin(resource: &Resource) -> &'static [Row] {
    let plural = resource.plural.as_str();
    let own = if resource.builtin { workloads(plural).or_else(|| others(plural)) } else { None };
    own.unwrap_or(&[AGE])
}

/// Pods and what makes them.
fn workloads(plural: &str) -> Option<&'static [Row]> {
    match plural {
        "pods" => Some(&[
            ("Ready", "string", 0, |o, _| pod_ready(o)),
            ("Status", "string", 0, |o, _| pod_status(o).into()),
            ("Restarts", "string", 0, pod_restarts),
            AGE,
            ("IP", "string", 1, |o, _| or_none(&o["status"]["podIP"])),
            ("Node", "string", 1, |o, _| or_none(&o["spec"]["nodeName"])),
            ("Nominated Node", "string", 1, |o, _| or_none(&o["status"]["nominatedNodeName"])),
            ("Readiness Gates", "string", 1, |_, _| "<none>".into()),
        ]),
        "deployments" => Some(&[
            ("Ready", "string", 0, |o, _| ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])),
            ("Up-to-date", "integer", 0, |o, _| number(&o["status"]["updatedReplicas"])),
            ("Available", "integer", 0, |o, _| number(&o["status"]["availableReplicas"])),
            AGE,
            ("Containers", "string", 1, |o, _| containers(o, "name")),
            ("Images", "string", 1, |o, _| containers(o, "image")),
            ("Selector", "string", 1, |o, _| selector(&o["spec"]["selector"]["matchLabels"])),
        ]),
        "replicasets" | "replicationcontrollers" => Some(&[
            ("Desired", "integer", 0, |o, _| number(&o["spec"]["replicas"])),
            ("Current", "integer", 0, |o, _| number(&o["status"]["replicas"])),
            ("Ready", "integer", 0, |o, _| number(&o["status"]["readyReplicas"])),
            AGE,
            ("Containers", "string", 1, |o, _| containers(o, "name")),
            ("Images", "string", 1, |o, _| containers(o, "image")),
            ("Selector", "string", 1, |o, _| selector(&o["spec"]["selector"]["matchLabels"])),
        ]),
        "statefulsets" => Some(&[
            ("Ready", "string", 0, |o, _| ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])),
            AGE,
        ]),
        "daemonsets" => Some(&[
            ("Desired", "integer", 0, |o, _| number(&o["status"]["desiredNumberScheduled"])),
            ("Current", "integer", 0, |o, _| number(&o["status"]["currentNumberScheduled"])),
            ("Ready", "integer", 0, |o, _| number(&o["status"]["numberReady"])),
            ("Up-to-date", "integer", 0, |o, _| number(&o["status"]["updatedNumberScheduled"])),
            ("Available", "integer", 0, |o, _| number(&o["status"]["numberAvailable"])),
            ("Node Selector", "string", 0, |o, _| selector(&o["spec"]["template"]["spec"]["nodeSelector"])),
            AGE,
        ]),
        "jobs" => Some(&[
            ("Status", "string", 0, |o, _| job_status(o)),
            ("Completions", "string", 0, |o, _| ratio(&o["status"]["succeeded"], &completions(o))),
            ("Duration", "string", 0, job_duration),
            AGE,
        ]),
        "cronjobs" => Some(&[
            ("Schedule", "string", 0, |o, _| o["spec"]["schedule"].clone()),
            ("Timezone", "string", 0, |o, _| or_none(&o["spec"]["timeZone"])),
            ("Suspend", "string", 0, |o, _| {
                if o["spec"]["suspend"] == true { "True" } else { "False" }.into()
            }),
            ("Active", "integer", 0, |o, _| count(&o["status"]["active"])),
            ("Last Schedule", "string", 0, |o, now| match &o["status"]["lastScheduleTime"] {
                Value::Null => "<none>".into(),
                time => age(time, now),
            }),
            AGE,
        ]),
        _ => None,
    }
}

/// Everything else.
fn others(plural: &str) -> Option<&'static [Row]> {
    match plural {
        "services" => Some(&[
            ("Type", "string", 0, |o, _| or_none(&o["spec"]["type"])),
            ("Cluster-IP", "string", 0, |o, _| or_none(&o["spec"]["clusterIP"])),
            ("External-IP", "string", 0, |o, _| or_none(&o["status"]["loadBalancer"]["ingress"][0]["ip"])),
            ("Port(s)", "string", 0, |o, _| service_ports(o)),
            AGE,
            ("Selector", "string", 1, |o, _| selector(&o["spec"]["selector"])),
        ]),
        "nodes" => Some(&[
            ("Status", "string", 0, |o, _| node_status(o)),
            ("Roles", "string", 0, |o, _| node_roles(o)),
            AGE,
            ("Version", "string", 0, |o, _| text(&o["status"]["nodeInfo"]["kubeletVersion"])),
            ("Internal-IP", "string", 1, |o, _| or_none(&o["status"]["addresses"][0]["address"])),
            ("OS-Image", "string", 1, |o, _| text(&o["status"]["nodeInfo"]["osImage"])),
        ]),
        "namespaces" => Some(&[("Status", "string", 0, |o, _| text(&o["status"]["phase"])), AGE]),
        "configmaps" => {
            Some(&[("Data", "string", 0, |o, _| json!(size(&o["data"]) + size(&o["binaryData"]))), AGE])
        }
        "secrets" => Some(&[
            ("Type", "string", 0, |o, _| text(&o["type"])),
            ("Data", "string", 0, |o, _| json!(size(&o["data"]))),
            AGE,
        ]),
        "serviceaccounts" => Some(&[("Secrets", "string", 0, |o, _| count(&o["secrets"])), AGE]),
        "events" => Some(&[
            ("Last Seen", "string", 0, event_seen),
            ("Type", "string", 0, |o, _| text(&o["type"])),
            ("Reason", "string", 0, |o, _| text(&o["reason"])),
            ("Object", "string", 0, |o, _| event_object(o)),
            ("Message", "string", 0, |o, _| text(&o["message"]).as_str().unwrap_or("").trim().into()),
        ]),
        "endpoints" => Some(&[("Endpoints", "string", 0, |o, _| endpoints(o)), AGE]),
        "ingresses" => Some(&[
            ("Class", "string", 0, |o, _| or_none(&o["spec"]["ingressClassName"])),
            ("Hosts", "string", 0, |o, _| match &o["spec"]["rules"][0]["host"] {
                Value::Null => "*".into(),
                host => host.clone(),
            }),
            ("Address", "string", 0, |o, _| text(&o["status"]["loadBalancer"]["ingress"][0]["ip"])),
            ("Ports", "string", 0, |o, _| if o["spec"]["tls"].is_array() { "80, 443" } else { "80" }.into()),
            AGE,
        ]),
        "leases" => Some(&[("Holder", "string", 0, |o, _| text(&o["spec"]["holderIdentity"])), AGE]),
        "persistentvolumeclaims" => Some(&[
            ("Status", "string", 0, |o, _| text(&o["status"]["phase"])),
            ("Volume", "string", 0, |o, _| text(&o["spec"]["volumeName"])),
            ("Capacity", "string", 0, |o, _| text(&o["status"]["capacity"]["storage"])),
            ("Access Modes", "string", 0, |o, _| text(&o["spec"]["accessModes"][0])),
            ("StorageClass", "string", 0, |o, _| text(&o["spec"]["storageClassName"])),
            AGE,
        ]),
        "poddisruptionbudgets" => Some(&[
            ("Min Available", "string", 0, |o, _| or_na(&o["spec"]["minAvailable"])),
            ("Max Unavailable", "string", 0, |o, _| or_na(&o["spec"]["maxUnavailable"])),
            ("Allowed Disruptions", "integer", 0, |o, _| number(&o["status"]["disruptionsAllowed"])),
            AGE,
        ]),
        "customresourcedefinitions" | "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings" => {
            Some(&[("Created At", "date", 0, |o, _| o["metadata"]["creationTimestamp"].clone())])
        }
        _ => None,
    }
}

fn name(object: &Value, _: Timestamp) -> Value {
    object["metadata"]["name"].clone()
}

fn created(object: &Value, now: Timestamp) -> Value {
    age(&object["metadata"]["creationTimestamp"], now)
}

fn text(value: &Value) -> Value {
    value.as_str().unwrap_or("").into()
}

fn or_none(value: &Value) -> Value {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or("<none>").into()
}

fn or_na(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

fn number(value: &Value) -> Value {
    value.as_i64().unwrap_or(0).into()
}

fn count(value: &Value) -> Value {
    value.as_array().map_or(0, Vec::len).into()
}

fn size(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

fn ratio(ready: &Value, wanted: &Value) -> Value {
    format!("{}/{}", number(ready), number(wanted)).into()
}

fn selector(labels: &Value) -> Value {
    let pairs: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
        .collect();
    if pairs.is_empty() { "<none>".into() } else { pairs.join(",").into() }
}

fn containers(object: &Value, field: &str) -> Value {
    let list = object["spec"]["template"]["spec"]["containers"].as_array();
    let names: Vec<&str> =
        list.into_iter().flatten().filter_map(|container| container[field].as_str()).collect();
    names.join(",").into()
}

fn pod_ready(object: &Value) -> Value {
    let statuses = object["status"]["containerStatuses"].as_array();
    let ready = statuses.into_iter().flatten().filter(|status| status["ready"] == true).count();
    format!("{ready}/{}", count(&object["spec"]["containers"])).into()
}

/// The phase, or what a container says that is more telling.
fn pod_status(object: &Value) -> String {
    let status = &object["status"];
    if object["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating".into();
    }
    let mut text = status["reason"].as_str().or(status["phase"].as_str()).unwrap_or("Unknown").to_owned();
    for container in status["containerStatuses"].as_array().into_iter().flatten() {
        let state = &container["state"];
        if let Some(reason) = state["waiting"]["reason"].as_str() {
            text = reason.into();
        } else if let Some(reason) = state["terminated"]["reason"].as_str() {
            text = reason.into();
        }
    }
    text
}

fn pod_restarts(object: &Value, now: Timestamp) -> Value {
    let mut restarts = 0;
    let mut last: Option<&str> = None;
    for status in object["status"]["containerStatuses"].as_array().into_iter().flatten() {
        restarts += status["restartCount"].as_i64().unwrap_or(0);
        last = last.max(status["lastState"]["terminated"]["finishedAt"].as_str());
    }
    match last.and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(time) if restarts > 0 => {
            format!("{restarts} ({} ago)", human_age(now.as_second() - time.as_second())).into()
        }
        _ => restarts.to_string().into(),
    }
}

fn service_ports(object: &Value) -> Value {
    let ports: Vec<String> = object["spec"]["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|port| {
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            match port["nodePort"].as_u64() {
                Some(node) => format!("{}:{node}/{protocol}", port["port"]),
                None => format!("{}/{protocol}", port["port"]),
            }
        })
        .collect();
    if ports.is_empty() { "<none>".into() } else { ports.join(",").into() }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

fn job_status(object: &Value) -> Value {
    for kind in ["Complete", "Failed", "Suspended"] {
        if condition(object, kind).is_some_and(|condition| condition["status"] == "True") {
            return kind.into();
        }
    }
    "Running".into()
}

fn completions(object: &Value) -> Value {
    object["spec"]["completions"].as_u64().unwrap_or(1).into()
}

fn job_duration(object: &Value, now: Timestamp) -> Value {
    let time = |field: &str| object["status"][field].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    match time("startTime") {
        None => "".into(),
        Some(start) => {
            human_age(time("completionTime").unwrap_or(now).as_second() - start.as_second()).into()
        }
    }
}

fn node_status(object: &Value) -> Value {
    let ready = condition(object, "Ready").map(|condition| condition["status"] == "True");
    let status = match ready {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    let cordoned = if object["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
    format!("{status}{cordoned}").into()
}

fn node_roles(object: &Value) -> Value {
    let labels = object["metadata"]["labels"].as_object();
    let roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
        .collect();
    if roles.is_empty() { "<none>".into() } else { roles.join(",").into() }
}

fn event_seen(object: &Value, now: Timestamp) -> Value {
    let times = [&object["lastTimestamp"], &object["series"]["lastObservedTime"], &object["eventTime"]];
    times.into_iter().find(|time| time.is_string()).map_or_else(|| "<unknown>".into(), |time| age(time, now))
}

fn event_object(object: &Value) -> Value {
    let about = &object["involvedObject"];
    let kind = about["kind"].as_str().unwrap_or("").to_lowercase();
    format!("{kind}/{}", about["name"].as_str().unwrap_or("")).into()
}

fn endpoints(object: &Value) -> Value {
    let subset = &object["subsets"][0];
    let port = subset["ports"][0]["port"].as_u64();
    let addresses: Vec<String> = subset["addresses"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|address| address["ip"].as_str())
        .map(|ip| port.map_or_else(|| ip.to_owned(), |port| format!("{ip}:{port}")))
        .collect();
    if addresses.is_empty() { "<none>".into() } else { addresses.join(",").into() }
}
