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

/// Brings a Pod into the phase of its state.
pub(super) fn advance(pod: &mut Value, state: &PodState, node: &str, now: Timestamp) {
    let time = rfc3339(now);
    if pod["spec"]["nodeName"].is_null() {
        pod["spec"]["nodeName"] = node.into();
    }
    let ready = state.phase == Phase::Running;
    let condition = |kind: &str, holds: bool| {
        json!({
            "type": kind,
            "status": if holds { "True" } else { "False" },
            "lastProbeTime": null,
            "lastTransitionTime": time,
        })
    };
    let mut conditions = vec![condition("PodScheduled", true)];
    if state.phase != Phase::Scheduled {
        conditions.insert(0, condition("Initialized", true));
        conditions.push(condition("ContainersReady", ready));
        conditions.push(condition("Ready", ready));
        let names: Vec<(Value, Value)> = pod["spec"]["containers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|container| (container["name"].clone(), container["image"].clone()))
            .collect();
        let statuses: Vec<Value> =
            names.into_iter().map(|(name, image)| container_status(&name, &image, state, &time)).collect();
        pod["status"]["containerStatuses"] = statuses.into();
        pod["status"]["startTime"] = time.as_str().into();
        pod["status"]["hostIP"] = "10.0.0.10".into();
    }
    if matches!(state.phase, Phase::Running | Phase::CrashLoop) {
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

fn container_status(name: &Value, image: &Value, state: &PodState, time: &str) -> Value {
    let image_id = format!("registry.example.dev/image@sha256:{}", "0123456789abcdef".repeat(4));
    let container_id = format!("containerd://{}", "fedcba9876543210".repeat(4));
    let last = if state.restarts > 0 {
        json!({"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": time, "containerID": container_id}})
    } else {
        json!({})
    };
    let now = match state.phase {
        Phase::Running => json!({"running": {"startedAt": time}}),
        Phase::CrashLoop => json!({"waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 20s restarting failed container",
        }}),
        _ => json!({"waiting": {"reason": "ContainerCreating"}}),
    };
    json!({
        "name": name,
        "image": image,
        "imageID": image_id,
        "containerID": container_id,
        "ready": state.phase == Phase::Running,
        "started": state.phase == Phase::Running,
        "restartCount": state.restarts,
        "state": now,
        "lastState": last,
    })
}
