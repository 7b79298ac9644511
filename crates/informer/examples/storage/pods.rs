//! A source of generated Pods, sent as an API server sends a list.
//!
//! A Pod has what kubelet and scheduler write: of what is its own (uid, names, addresses, container id, times) each bit is
//! random; the rest is its Deployment's, of which there is one for each 50 Pods.

use std::fmt::Write as _;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use informer::{BoxError, ByteBody, ListWatch, Request, list_watch_fn};

const PODS_PER_DEPLOYMENT: u64 = 50;
const NAMESPACES: u64 = 100;
const NODES: u64 = 2_000;
/// Pods in each chunk of a body.
const CHUNK: u64 = 8;

/// How large a Pod is.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    env: u64,
    managed: u64,
}

impl Size {
    /// About 5 or 9 KB, two fifths of it managedFields.
    pub(crate) fn of(kilobytes: &str) -> Self {
        match kilobytes {
            "5" => Self { env: 9, managed: 16 },
            _ => Self { env: 34, managed: 42 },
        }
    }
}

/// Lists so many Pods, then watches in silence.
pub(crate) fn source(count: u64, size: Size) -> impl ListWatch {
    list_watch_fn("generated pods", move |request: Request| async move {
        let body: ByteBody = match request {
            Request::Watch(_) => StreamBody::new(stream::pending::<Result<_, BoxError>>()).boxed_unsync(),
            Request::List(_) => {
                let chunks = (0..count).step_by(CHUNK as usize).map(move |first| {
                    let mut chunk = String::with_capacity(CHUNK as usize * 10_000);
                    if first == 0 {
                        chunk.push_str(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9000000"},"items":["#);
                    }
                    let last = count.min(first + CHUNK);
                    for pod in first..last {
                        write_pod(&mut chunk, pod, size);
                        chunk.push_str(if pod + 1 == count { "]}" } else { "," });
                    }
                    Ok(http_body::Frame::data(Bytes::from(chunk)))
                });
                StreamBody::new(stream::iter(chunks).map(|chunk: Result<_, BoxError>| chunk)).boxed_unsync()
            }
        };
        Ok(http::Response::new(body))
    })
}

/// The same text for the same number.
pub(crate) fn write_pod(out: &mut String, pod: u64, size: Size) {
    let deployment = pod / PODS_PER_DEPLOYMENT;
    let own = &mut Random(pod.wrapping_mul(2) + 1);
    let shared = &mut Random(deployment.wrapping_mul(2));
    let (hash, app) = (shared.next() as u32, format!("app-{deployment}"));
    let namespace = format!("team-{}", deployment % NAMESPACES);
    // No two of a Deployment alike.
    let suffix = ((own.next() & 0x3FFF) << 6) | (pod % PODS_PER_DEPLOYMENT);
    let time = format!(
        "2026-11-{:02}T{:02}:{:02}:{:02}Z",
        own.next() % 28 + 1,
        own.next() % 24,
        own.next() % 60,
        own.next() % 60
    );
    let node = own.next() % NODES;
    let ip = format!("10.{}.{}.{}", own.next() % 256, own.next() % 256, own.next() % 256);
    let host_ip = format!("172.16.{}.{}", node / 250, node % 250);
    // `write!` to a string cannot fail.
    let _ = write!(
        out,
        r#"{{"metadata":{{"name":"{app}-{hash:08x}-{suffix:05x}","generateName":"{app}-{hash:08x}-","namespace":"{namespace}","uid":"{}","resourceVersion":"{}","generation":1,"creationTimestamp":"{time}","labels":{{"app.kubernetes.io/component":"server","app.kubernetes.io/instance":"{app}","app.kubernetes.io/name":"{app}","pod-template-hash":"{hash:08x}","team":"{namespace}"}},"annotations":{{"prometheus.io/port":"8080","prometheus.io/scrape":"true"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{app}-{hash:08x}","uid":"{}","controller":true,"blockOwnerDeletion":true}}],"managedFields":["#,
        uid(own),
        1_000_000 + pod * 7,
        uid(shared),
    );
    for (manager, share) in
        [("kube-controller-manager", size.managed / 2), ("kubelet", size.managed - size.managed / 2)]
    {
        let comma = if manager == "kubelet" { "," } else { "" };
        let _ = write!(
            out,
            r#"{comma}{{"manager":"{manager}","operation":"Update","apiVersion":"v1","time":"{time}","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{}}"#
        );
        for field in 0..share {
            let _ = write!(
                out,
                r#","k:{{\"name\":\"VARIABLE_{field}\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}}"#
            );
        }
        out.push_str("}}");
    }
    let _ = write!(
        out,
        r#"]}},"spec":{{"volumes":[{{"name":"kube-api-access-{:05x}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}],"defaultMode":420}}}}],"containers":[{{"name":"server","image":"registry.example/{namespace}/{app}:1.{}.{}","ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":["#,
        own.next() & 0xF_FFFF,
        shared.next() % 50,
        shared.next() % 50,
    );
    for variable in 0..size.env {
        let comma = if variable == 0 { "" } else { "," };
        let _ = match variable % 3 {
            0 => write!(out, r#"{comma}{{"name":"VARIABLE_{variable}","value":"{:x}"}}"#, shared.next()),
            1 => write!(
                out,
                r#"{comma}{{"name":"VARIABLE_{variable}","valueFrom":{{"configMapKeyRef":{{"name":"{app}-config","key":"variable-{variable}"}}}}}}"#
            ),
            _ => write!(
                out,
                r#"{comma}{{"name":"VARIABLE_{variable}","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.hostIP"}}}}}}"#
            ),
        };
    }
    let _ = write!(
        out,
        r#"],"resources":{{"limits":{{"cpu":"{}","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"{app}","serviceAccount":"{app}","nodeName":"node-{node}","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":["#,
        shared.next() % 8 + 1,
    );
    for (position, condition) in
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
            .iter()
            .enumerate()
    {
        let comma = if position == 0 { "" } else { "," };
        let _ = write!(
            out,
            r#"{comma}{{"type":"{condition}","status":"True","lastProbeTime":null,"lastTransitionTime":"{time}"}}"#
        );
    }
    let _ = write!(
        out,
        r#"],"hostIP":"{host_ip}","hostIPs":[{{"ip":"{host_ip}"}}],"podIP":"{ip}","podIPs":[{{"ip":"{ip}"}}],"startTime":"{time}","containerStatuses":[{{"name":"server","state":{{"running":{{"startedAt":"{time}"}}}},"lastState":{{}},"ready":true,"restartCount":{},"image":"registry.example/{namespace}/{app}","imageID":"registry.example/{namespace}/{app}@sha256:{}","containerID":"containerd://{}","started":true}}],"qosClass":"Burstable"}}}}"#,
        own.next() % 3,
        digest(shared),
        digest(own),
    );
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn uid(random: &mut Random) -> String {
    let (a, b) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFF,
        b >> 52,
        b & 0xFFFF_FFFF_FFFF
    )
}

fn digest(random: &mut Random) -> String {
    (0..4).map(|_| format!("{:016x}", random.next())).collect()
}
