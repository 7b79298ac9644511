//! Pods as a real cluster has them, some 4 to 6 KB each: owners, conditions, container statuses, managedFields.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Phase, PodState};
use crate::encode::rfc3339;
use crate::names::Rng;

/// The applications that Pods belong to.
pub(super) const APPS: [&str; 6] = ["web", "api", "cache", "worker", "scheduler", "gateway"];

/// The ReplicaSet that a Pod seems to come from.
#[derive(Debug)]
pub(super) struct Owner {
    app: &'static str,
    namespace: usize,
    revision: usize,
}

impl Owner {
    pub(super) fn pick(rng: &mut Rng, namespaces: usize) -> Self {
        Self { app: APPS[rng.below(APPS.len())], namespace: rng.below(namespaces), revision: rng.below(3) }
    }

    pub(super) fn namespace(&self) -> String {
        format!("team-{}", self.namespace)
    }

    /// The hash follows from application and revision, as a template's hash does.
    fn hash(&self) -> String {
        Rng::new(((self.revision * 97 + self.app.len()) * 97 + self.app.as_bytes()[0] as usize) as u64)
            .suffix(9)
    }

    pub(super) fn replica_set(&self) -> String {
        format!("{}-{}", self.app, self.hash())
    }

    fn uid(&self) -> String {
        Rng::new((self.namespace * 1_000_003 + self.revision * 101 + self.app.len()) as u64).uid()
    }
}

pub(super) fn object(
    state: &PodState,
    owner: &Owner,
    node: Option<&str>,
    now: Timestamp,
    rng: &mut Rng,
    number: usize,
) -> Value {
    let app = owner.app;
    let mut containers = vec![container(app, number)];
    if rng.chance(15) {
        containers.push(container("proxy", number));
    }
    let mut pod = json!({
        "metadata": {
            "name": state.name,
            "generateName": format!("{}-", owner.replica_set()),
            "namespace": state.namespace,
            "creationTimestamp": rfc3339(now),
            "labels": {
                "app": app,
                "pod-template-hash": owner.hash(),
                "tier": if matches!(app, "web" | "gateway") { "front" } else { "back" },
                "track": "stable",
            },
            "annotations": {"example.dev/config-hash": format!("{:016x}", rng.next()), "prometheus.io/scrape": "true"},
            "ownerReferences": [{
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": owner.replica_set(),
                "uid": owner.uid(),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": containers,
            "serviceAccountName": "default",
            "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "tolerations": [
                {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
                {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300},
            ],
            "volumes": [
                {"name": "config", "configMap": {"name": "settings", "defaultMode": 420}},
                {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                ]}},
            ],
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    });
    pod["metadata"]["managedFields"] = managed_fields(&pod, now);
    if let Some(node) = node {
        advance(&mut pod, state, node, now);
    }
    pod
}

fn container(name: &str, number: usize) -> Value {
    json!({
        "name": name,
        "image": format!("registry.example.dev/{name}:1.{}", number % 7),
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "LOG_LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "log.level"}}},
            {"name": "REPLICA", "value": number.to_string()},
        ],
        "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "failureThreshold": 3},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http", "scheme": "HTTP"}, "periodSeconds": 5, "failureThreshold": 3},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config", "readOnly": true},
            {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
        ],
    })
}

/// Who owns which field, as the controller manager's and the kubelet's writes leave it.
fn managed_fields(pod: &Value, now: Timestamp) -> Value {
    let spec = owned(&pod["spec"]);
    let entry = |manager: &str, fields: Value| {
        json!({
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": rfc3339(now),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        })
    };
    let conditions: Value = ["Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers"]
        .into_iter()
        .map(|kind| {
            let fields = json!({".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}});
            (format!("k:{{\"type\":\"{kind}\"}}"), fields)
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut kubelet = entry(
        "kubelet",
        json!({"f:status": {"f:conditions": conditions, "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:startTime": {}}}),
    );
    kubelet["subresource"] = "status".into();
    let labels = owned(&pod["metadata"]["labels"]);
    json!([
        entry("kube-controller-manager", json!({"f:metadata": {"f:labels": labels}, "f:spec": spec})),
        kubelet
    ])
}

fn owned(value: &Value) -> Value {
    let prefixed = |name: &str, value: &Value| match value["name"].as_str() {
        Some(key) => (format!("k:{{\"{name}\":\"{key}\"}}"), owned(value)),
        None => (format!("v:{value}"), json!({})),
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (format!("f:{name}"), owned(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(list) => {
            list.iter().map(|value| prefixed("name", value)).collect::<serde_json::Map<_, _>>().into()
        }
        _ => json!({}),
    }
}

/// Brings a Pod into the phase of its state. Times of what stays as it is stay as they are.
pub(super) fn advance(pod: &mut Value, state: &PodState, node: &str, now: Timestamp) {
    let time = rfc3339(now);
    if pod["spec"]["nodeName"].is_null() {
        pod["spec"]["nodeName"] = node.into();
    }
    let ready = state.phase == Phase::Running;
    let mut conditions = vec![condition(pod, "PodScheduled", true, &time)];
    if state.phase != Phase::Scheduled {
        conditions.insert(0, condition(pod, "Initialized", true, &time));
        conditions.push(condition(pod, "ContainersReady", ready, &time));
        conditions.push(condition(pod, "Ready", ready, &time));
        let containers = pod["spec"]["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let statuses: Vec<Value> = containers
            .iter()
            .enumerate()
            .map(|(at, spec)| container_status(spec, &pod["status"]["containerStatuses"][at], state, &time))
            .collect();
        pod["status"]["containerStatuses"] = statuses.into();
        if pod["status"]["startTime"].is_null() {
            pod["status"]["startTime"] = time.as_str().into();
        }
        pod["status"]["hostIP"] = "10.0.0.10".into();
    }
    if matches!(state.phase, Phase::Running | Phase::Unready | Phase::CrashLoop) {
        pod["status"]["phase"] = "Running".into();
        if pod["status"]["podIP"].is_null() {
            let octet = state.name.bytes().fold(7u32, |sum, byte| (sum * 31 + u32::from(byte)) % 60_000);
            let ip = format!("10.244.{}.{}", octet / 250, octet % 250 + 2);
            pod["status"]["podIPs"] = json!([{"ip": ip}]);
            pod["status"]["podIP"] = ip.into();
        }
    }
    pod["status"]["conditions"] = conditions.into();
}

fn condition(pod: &Value, kind: &str, holds: bool, time: &str) -> Value {
    let status = if holds { "True" } else { "False" };
    let known = pod["status"]["conditions"].as_array().into_iter().flatten();
    match known.into_iter().find(|known| known["type"] == kind && known["status"] == status) {
        Some(same) => same.clone(),
        None => {
            json!({"type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": time})
        }
    }
}

fn container_status(spec: &Value, before: &Value, state: &PodState, time: &str) -> Value {
    let image_id = format!("registry.example.dev/image@sha256:{}", "0123456789abcdef".repeat(4));
    let container_id = format!("containerd://{}", "fedcba9876543210".repeat(4));
    let (reason, code) =
        if state.name.ends_with(['2', '4', '6', '8', 'b', 'd']) { ("OOMKilled", 137) } else { ("Error", 1) };
    let last = if before["restartCount"] == state.restarts {
        before["lastState"].clone()
    } else if state.restarts > 0 {
        json!({"terminated": {"exitCode": code, "reason": reason, "finishedAt": time, "containerID": container_id}})
    } else {
        json!({})
    };
    let now = match state.phase {
        Phase::Running | Phase::Unready if before["state"]["running"].is_object() => before["state"].clone(),
        Phase::Running | Phase::Unready => json!({"running": {"startedAt": time}}),
        Phase::CrashLoop => json!({"waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 20s restarting failed container",
        }}),
        Phase::PullBackOff => json!({"waiting": {
            "reason": "ImagePullBackOff",
            "message": "Back-off pulling image",
        }}),
        _ => json!({"waiting": {"reason": "ContainerCreating"}}),
    };
    json!({
        "name": spec["name"],
        "image": spec["image"],
        "imageID": image_id,
        "containerID": container_id,
        "ready": state.phase == Phase::Running,
        "started": matches!(state.phase, Phase::Running | Phase::Unready),
        "restartCount": state.restarts,
        "state": now,
        "lastState": last,
    })
}
