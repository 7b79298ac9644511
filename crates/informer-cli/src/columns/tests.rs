//! Tests of `columns`.

use super::*;
use serde_json::json;

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

/// Ten minutes and a bit after everything in these tests was created.
fn now() -> Timestamp {
    "2026-01-01T00:11:05Z".parse().unwrap()
}

fn row(kind: Kind, value: Value, wide: bool) -> Vec<String> {
    let mut value = value;
    value["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    value["metadata"]["name"] = json!("x");
    let row = kind.row(&object(value), now(), wide);
    assert_eq!(row.len(), kind.headers(wide).len(), "{kind:?} {wide}");
    row
}

fn pod_row(spec: Value, status: Value) -> Vec<String> {
    row(Kind::Pod, json!({"metadata": {}, "spec": spec, "status": status}), false)
}

fn two() -> Value {
    json!({"containers": [{"name": "a"}, {"name": "b"}]})
}

fn status_of(spec: Value, status: Value) -> String {
    let row = pod_row(spec, status);
    format!("{} {} {}", row[1], row[2], row[3])
}

#[test]
fn every_kind_has_as_many_cells_as_headers_even_without_any_field() {
    for kind in [
        Kind::Pod,
        Kind::Service,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Job,
        Kind::Node,
        Kind::Namespace,
        Kind::ConfigMap,
        Kind::Secret,
        Kind::Event,
    ] {
        for wide in [false, true] {
            let empty = DynamicObject { types: None, metadata: Default::default(), data: Value::Null };
            assert_eq!(kind.row(&empty, now(), wide).len(), kind.headers(wide).len(), "{kind:?} {wide}");
            let odd = object(json!({"metadata": {}, "spec": [], "status": "x", "data": 3}));
            assert_eq!(kind.row(&odd, now(), wide).len(), kind.headers(wide).len(), "{kind:?} {wide}");
        }
    }
}

#[test]
fn pods_without_container_states_show_phase_or_reason() {
    assert_eq!(status_of(two(), json!({"phase": "Pending"})), "0/2 Pending 0");
    assert_eq!(status_of(two(), json!({"phase": "Failed", "reason": "Evicted"})), "0/2 Evicted 0");
    let gated =
        json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]});
    assert_eq!(status_of(two(), gated), "0/2 SchedulingGated 0");
}

#[test]
fn container_states_decide_the_status() {
    let with = |states: Value, conditions: Value| {
        status_of(two(), json!({"phase": "Running", "containerStatuses": states, "conditions": conditions}))
    };
    let running = json!({"ready": true, "restartCount": 0, "state": {"running": {}}});
    let none = json!([]);
    assert_eq!(with(json!([running, running]), none.clone()), "2/2 Running 0");
    let waiting =
        |reason: &str| json!({"ready": false, "restartCount": 3, "state": {"waiting": {"reason": reason}}});
    assert_eq!(with(json!([running, waiting("CrashLoopBackOff")]), none.clone()), "1/2 CrashLoopBackOff 3");
    assert_eq!(
        with(json!([waiting("ErrImagePull"), waiting("CrashLoopBackOff")]), none.clone()),
        "0/2 ErrImagePull 6"
    );
    let ended = |fields: Value| json!({"restartCount": 0, "state": {"terminated": fields}});
    assert_eq!(with(json!([ended(json!({"exitCode": 2, "reason": "Error"}))]), none.clone()), "0/2 Error 0");
    assert_eq!(with(json!([ended(json!({"exitCode": 137, "signal": 9}))]), none.clone()), "0/2 Signal:9 0");
    assert_eq!(with(json!([ended(json!({"exitCode": 3}))]), none.clone()), "0/2 ExitCode:3 0");
}

#[test]
fn a_completed_container_beside_others_does_not_hide_them() {
    let completed =
        json!({"restartCount": 0, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    let failed = json!({"restartCount": 0, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
    let running = json!({"ready": true, "restartCount": 0, "state": {"running": {}}});
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let with = |states: Value, conditions: Value| {
        status_of(two(), json!({"phase": "Running", "containerStatuses": states, "conditions": conditions}))
    };
    assert_eq!(with(json!([completed, running]), ready), "1/2 Running 0");
    assert_eq!(with(json!([completed, running]), json!([])), "1/2 NotReady 0");
    assert_eq!(with(json!([completed, failed]), json!([])), "0/2 Error 0");
    assert_eq!(with(json!([completed, completed]), json!([])), "0/2 Completed 0");
}

#[test]
fn init_containers_show_how_far_they_are() {
    let spec = json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]});
    let with =
        |states: Value| status_of(spec.clone(), json!({"phase": "Pending", "initContainerStatuses": states}));
    let done = json!({"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 0}}});
    let at_j = |state: Value| json!([done, {"name": "j", "restartCount": 2, "state": state}]);
    assert_eq!(with(at_j(json!({"running": {}}))), "0/1 Init:1/2 3");
    assert_eq!(with(at_j(json!({"waiting": {"reason": "PodInitializing"}}))), "0/1 Init:1/2 3");
    assert_eq!(with(at_j(json!({"waiting": {"reason": "CrashLoopBackOff"}}))), "0/1 Init:CrashLoopBackOff 3");
    assert_eq!(with(at_j(json!({"terminated": {"exitCode": 1, "reason": "Error"}}))), "0/1 Init:Error 3");
    assert_eq!(with(at_j(json!({"terminated": {"exitCode": 1, "signal": 9}}))), "0/1 Init:Signal:9 3");
    assert_eq!(with(at_j(json!({"terminated": {"exitCode": 4}}))), "0/1 Init:ExitCode:4 3");
    // Once initialized, restarts of ordinary init containers no longer count.
    let initialized = json!({"phase": "Running", "initContainerStatuses": [done],
        "containerStatuses": [{"ready": true, "restartCount": 5, "state": {"running": {}}}]});
    assert_eq!(status_of(spec.clone(), initialized), "1/1 Running 5");
}

#[test]
fn sidecars_count_as_containers() {
    let spec = json!({"containers": [{"name": "a"}],
        "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]});
    let sidecar =
        json!({"name": "s", "ready": true, "started": true, "restartCount": 4, "state": {"running": {}}});
    let initializing = json!({"phase": "Pending", "initContainerStatuses": [sidecar,
        {"name": "i", "restartCount": 0, "state": {"running": {}}}]});
    assert_eq!(status_of(spec.clone(), initializing), "1/2 Init:1/2 4");
    let running = json!({"phase": "Running", "initContainerStatuses": [sidecar,
        {"name": "i", "restartCount": 7, "state": {"terminated": {"exitCode": 0}}}],
        "containerStatuses": [{"ready": true, "restartCount": 1, "state": {"running": {}}}]});
    assert_eq!(status_of(spec, running), "2/2 Running 5");
}

#[test]
fn deletion_shows_unless_the_pod_is_over_or_its_node_lost() {
    let with = |status: Value| {
        let value = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": two(), "status": status});
        row(Kind::Pod, value, false)[2].clone()
    };
    assert_eq!(with(json!({"phase": "Running"})), "Terminating");
    assert_eq!(with(json!({"phase": "Succeeded"})), "Succeeded");
    assert_eq!(with(json!({"phase": "Running", "reason": "NodeLost"})), "Unknown");
}

#[test]
fn restarts_say_when_the_last_one_was() {
    let last = |at: &str| json!({"terminated": {"finishedAt": at}});
    let status = json!({"phase": "Running", "containerStatuses": [
        {"ready": true, "restartCount": 1, "state": {"running": {}}, "lastState": last("2026-01-01T00:01:05Z")},
        {"ready": true, "restartCount": 2, "state": {"running": {}}, "lastState": last("2026-01-01T00:06:05Z")}]});
    assert_eq!(pod_row(two(), status), ["x", "2/2", "Running", "3 (5m ago)", "11m"]);
}

#[test]
fn wide_pods_show_where_they_run() {
    let value = json!({"metadata": {}, "spec": {"containers": [], "nodeName": "node-3",
            "readinessGates": [{"conditionType": "g"}, {"conditionType": "h"}]},
        "status": {"phase": "Running", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.8"}],
            "conditions": [{"type": "g", "status": "True"}]}});
    assert_eq!(row(Kind::Pod, value, true)[5..], ["10.0.0.8", "node-3", "<none>", "1/2"]);
    let value = json!({"metadata": {}, "status": {"podIP": "10.0.0.9", "nominatedNodeName": "n"}});
    assert_eq!(row(Kind::Pod, value, true)[5..], ["10.0.0.9", "<none>", "n", "<none>"]);
}

#[test]
fn services_show_their_addresses_and_ports() {
    let value = json!({"metadata": {}, "spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1", "fd00::1"],
            "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
            "selector": {"b": "2", "a": "1"}},
        "status": {"loadBalancer": {"ingress": [{"hostname": "b.example.org"}, {"ip": "1.2.3.4"}]}}});
    assert_eq!(
        row(Kind::Service, value.clone(), false),
        ["x", "LoadBalancer", "10.0.0.1", "1.2.3.4,b.example.org", "80:30080/TCP,53/UDP", "11m"]
    );
    assert_eq!(row(Kind::Service, value, true)[3], "1.2.3.4,b.example.org");
    let external =
        |spec: Value| row(Kind::Service, json!({"metadata": {}, "spec": spec}), true)[1..].join(" ");
    assert_eq!(external(json!({"clusterIP": "None"})), "ClusterIP None <none> <none> 11m <none>");
    assert_eq!(external(json!({"type": "LoadBalancer"})), "LoadBalancer <none> <pending> <none> 11m <none>");
    assert_eq!(
        external(json!({"type": "ExternalName", "externalName": "e.org"})),
        "ExternalName <none> e.org <none> 11m <none>"
    );
    assert_eq!(
        external(json!({"type": "NodePort", "externalIPs": ["9.9.9.9"], "ports": [{"port": 1}]})),
        "NodePort <none> 9.9.9.9 1/TCP 11m <none>"
    );
}

#[test]
fn workloads_show_wanted_and_ready() {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}],
                                   "nodeSelector": {"disk": "ssd"}}});
    let value = json!({"metadata": {}, "spec": {"replicas": 3, "template": template,
            "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 4, "readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1,
            "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
            "updatedNumberScheduled": 2, "numberAvailable": 1}});
    let wide = ["a,b", "i:1,j:2", "app=web"];
    let check = |kind: Kind, cells: &[&str], wide: &[&str]| {
        assert_eq!(row(kind, value.clone(), false), cells);
        assert_eq!(row(kind, value.clone(), true), [cells, wide].concat());
    };
    check(Kind::Deployment, &["x", "2/3", "3", "1", "11m"], &wide);
    check(Kind::ReplicaSet, &["x", "3", "4", "2", "11m"], &wide);
    check(Kind::StatefulSet, &["x", "2/3", "11m"], &wide[..2]);
    check(Kind::DaemonSet, &["x", "5", "4", "3", "2", "1", "disk=ssd", "11m"], &wide);
    assert_eq!(
        row(Kind::Deployment, json!({"metadata": {}}), true),
        ["x", "0/1", "0", "0", "11m", "", "", ""]
    );
    assert_eq!(row(Kind::ReplicaSet, json!({"metadata": {}}), true)[7], "<none>");
}

#[test]
fn jobs_show_completions_duration_and_their_condition() {
    let with = |spec: Value, status: Value| {
        row(Kind::Job, json!({"metadata": {}, "spec": spec, "status": status}), false)[1..4].join("|")
    };
    let start = "2026-01-01T00:01:05Z";
    assert_eq!(
        with(json!({"completions": 3}), json!({"succeeded": 1, "startTime": start})),
        "Running|1/3|10m"
    );
    let complete = json!({"succeeded": 3, "startTime": start, "completionTime": "2026-01-01T00:01:35Z",
                          "conditions": [{"type": "Complete", "status": "True"}]});
    assert_eq!(with(json!({"completions": 3}), complete), "Complete|3/3|30s");
    assert_eq!(with(json!({"parallelism": 4}), json!({})), "Running|0/1 of 4|");
    assert_eq!(
        with(json!({"parallelism": 1}), json!({"conditions": [{"type": "Failed", "status": "True"}]})),
        "Failed|0/1|"
    );
    assert_eq!(
        with(json!({}), json!({"conditions": [{"type": "Suspended", "status": "True"}]})),
        "Suspended|0/1|"
    );
}

#[test]
fn nodes_show_readiness_roles_and_versions() {
    let value = json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "etcd",
            "node-role.kubernetes.io/": "", "other": "x"}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
            "nodeInfo": {"kubeletVersion": "v1.37.2", "osImage": "Linux", "kernelVersion": "6.1", "architecture": "amd64"}}});
    assert_eq!(
        row(Kind::Node, value, true),
        [
            "x",
            "Ready,SchedulingDisabled",
            "control-plane,etcd",
            "11m",
            "v1.37.2",
            "10.1.1.1",
            "<none>",
            "Linux",
            "6.1 (amd64)",
            "<unknown>"
        ]
    );
    let status = |status: &str| {
        let conditions = json!([{"type": "Ready", "status": status}]);
        row(Kind::Node, json!({"metadata": {}, "status": {"conditions": conditions}}), false)[1].clone()
    };
    assert_eq!(status("False"), "NotReady");
    assert_eq!(status("Unknown"), "NotReady");
    assert_eq!(row(Kind::Node, json!({"metadata": {}}), false)[1..3], ["Unknown", "<none>"]);
}

#[test]
fn small_kinds_show_their_few_columns() {
    let value = json!({"metadata": {}, "status": {"phase": "Terminating"}});
    assert_eq!(row(Kind::Namespace, value, false), ["x", "Terminating", "11m"]);
    let value =
        json!({"metadata": {}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}, "type": "Opaque"});
    assert_eq!(row(Kind::ConfigMap, value.clone(), true), ["x", "3", "11m"]);
    assert_eq!(row(Kind::Secret, value, true), ["x", "Opaque", "2", "11m"]);
}

#[test]
fn events_show_what_happened_to_what() {
    let value = json!({"metadata": {}, "type": "Warning", "reason": "BackOff", "message": " Back-off \n",
        "involvedObject": {"kind": "Pod", "name": "web-0", "fieldPath": "spec.containers{c}"},
        "source": {"component": "kubelet", "host": "node-3"}, "count": 7,
        "firstTimestamp": "2026-01-01T00:01:05Z", "lastTimestamp": "2026-01-01T00:10:05Z"});
    assert_eq!(
        row(Kind::Event, value.clone(), false),
        ["60s", "Warning", "BackOff", "pod/web-0", "Back-off"]
    );
    assert_eq!(
        row(Kind::Event, value, true),
        [
            "60s",
            "Warning",
            "BackOff",
            "pod/web-0",
            "spec.containers{c}",
            "kubelet, node-3",
            "Back-off",
            "10m",
            "7",
            "x"
        ]
    );
    let series = json!({"metadata": {}, "eventTime": "2026-01-01T00:01:05.000000Z", "reportingComponent": "c",
        "series": {"count": 4, "lastObservedTime": "2026-01-01T00:11:00.000000Z"}});
    let wide = row(Kind::Event, series, true);
    assert_eq!([&wide[0], &wide[5], &wide[7], &wide[8]], ["5s", "c", "10m", "4"]);
    let single = json!({"metadata": {}, "eventTime": "2026-01-01T00:01:05.000000Z"});
    assert_eq!(row(Kind::Event, single, true)[8], "1");
    assert_eq!(row(Kind::Event, json!({"metadata": {}}), false)[0], "<unknown>");
}

#[test]
fn kinds_are_known_by_group_version_and_plural() {
    let of = |group: &str, version: &str, kind: &str, plural: &str| {
        let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
        Kind::of(&ApiResource::from_gvk_with_plural(&gvk, plural))
    };
    assert_eq!(of("", "v1", "Pod", "pods"), Some(Kind::Pod));
    assert_eq!(of("apps", "v1", "Deployment", "deployments"), Some(Kind::Deployment));
    assert_eq!(of("metrics.k8s.io", "v1beta1", "PodMetrics", "pods"), None);
    assert_eq!(of("events.k8s.io", "v1", "Event", "events"), None);
}
