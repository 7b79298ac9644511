//! What is there besides Pods: namespaces, nodes, services, deployments, config maps.

use serde_json::json;

use super::WorkloadOptions;
use super::pod::APPS;
use crate::server::TestServer;
use crate::status::ApiError;

/// The number of nodes.
pub(super) const NODES: usize = 12;

pub(super) fn node_name(index: usize) -> String {
    format!("node-{index}")
}

pub(super) fn create(server: &TestServer, options: &WorkloadOptions) -> Result<(), ApiError> {
    for index in 0..NODES {
        server.put("nodes", node(index))?;
    }
    for index in 0..options.namespaces {
        let namespace = format!("team-{index}");
        match server.create("namespaces", json!({"metadata": {"name": namespace}})) {
            Err(error) if error.reason() != "AlreadyExists" => return Err(error),
            _ => {}
        }
        for app in APPS {
            let selector = json!({"app": app});
            server.put(
                "services",
                json!({
                    "metadata": {"name": app, "namespace": namespace, "labels": selector},
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
                    "metadata": {"name": app, "namespace": namespace, "labels": selector},
                    "spec": {
                        "replicas": 3,
                        "selector": {"matchLabels": selector},
                        "template": {
                            "metadata": {"labels": selector},
                            "spec": {"containers": [{"name": app, "image": format!("registry.example.dev/{app}:1.0")}]},
                        },
                    },
                    "status": {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3},
                }),
            )?;
        }
        let settings = json!({"log.level": "info", "region": "eu-1", "retries": "3"});
        server.put(
            "configmaps",
            json!({"metadata": {"name": "settings", "namespace": namespace}, "data": settings}),
        )?;
    }
    Ok(())
}

fn node(index: usize) -> serde_json::Value {
    let role =
        if index == 0 { "node-role.kubernetes.io/control-plane" } else { "node-role.kubernetes.io/worker" };
    json!({
        "metadata": {
            "name": node_name(index),
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
