//! What is there besides Pods: namespaces, nodes, services, deployments, config maps.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::WorkloadOptions;
use super::pod::APPS;
use super::rollout::{REPLICAS, settled};
use crate::encode::rfc3339;
use crate::server::TestServer;
use crate::status::ApiError;

/// The number of nodes.
pub(super) const NODES: usize = 12;

pub(super) fn node_name(index: usize) -> String {
    format!("node-{index}")
}

pub(super) fn create(server: &TestServer, options: &WorkloadOptions, now: Timestamp) -> Result<(), ApiError> {
    // A cluster that has been there for a while.
    let hours_ago = |hours: i64| rfc3339(now - SignedDuration::from_hours(hours));
    let (installed, rolled_out) = (hours_ago(41 * 24), hours_ago(12 * 24 + 5));
    for index in 0..NODES {
        server.put("nodes", node(index, &installed))?;
    }
    for index in 0..options.namespaces {
        let namespace = format!("team-{index}");
        match server
            .create("namespaces", json!({"metadata": {"name": namespace, "creationTimestamp": installed}}))
        {
            Err(error) if error.reason() != "AlreadyExists" => return Err(error),
            _ => {}
        }
        for app in APPS {
            let selector = json!({"app": app});
            server.put(
                "services",
                json!({
                    "metadata": {"name": app, "namespace": namespace, "labels": selector, "creationTimestamp": rolled_out},
                    "spec": {
                        "clusterIP": format!("10.96.{index}.{}", app.len()),
                        "selector": selector,
                        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
                    },
                }),
            )?;
            server.put(
                "deployments.apps",
                json!({
                    "metadata": {"name": app, "namespace": namespace, "labels": selector, "creationTimestamp": rolled_out},
                    "spec": {
                        "replicas": REPLICAS,
                        "selector": {"matchLabels": selector},
                        "template": {
                            "metadata": {"labels": selector},
                            "spec": {"containers": [{"name": app, "image": format!("registry.example.dev/{app}:1.0")}]},
                        },
                    },
                    "status": settled(),
                }),
            )?;
        }
        let settings = json!({"log.level": "info", "region": "eu-1", "retries": "3"});
        server.put(
            "configmaps",
            json!({"metadata": {"name": "settings", "namespace": namespace, "creationTimestamp": rolled_out}, "data": settings}),
        )?;
    }
    Ok(())
}

fn node(index: usize, created: &str) -> serde_json::Value {
    let role =
        if index == 0 { "node-role.kubernetes.io/control-plane" } else { "node-role.kubernetes.io/worker" };
    json!({
        "metadata": {
            "name": node_name(index),
            "creationTimestamp": created,
            "labels": {
                "kubernetes.io/hostname": node_name(index),
                "topology.kubernetes.io/zone": format!("zone-{}", index % 3),
                role: "",
            },
        },
        "spec": {"podCIDR": format!("10.244.{index}.0/24")},
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "addresses": [{"type": "InternalIP", "address": format!("10.0.0.{}", index + 10)}],
            "nodeInfo": {"kubeletVersion": "v1.37.2", "osImage": "Linux", "architecture": "amd64"},
        },
    })
}
