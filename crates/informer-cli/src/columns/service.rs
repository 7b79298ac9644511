//! Columns of a Service.

use super::selector::label_map;
use crate::fields::*;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn row(data: &Value, name: String, age: String, wide: bool) -> Vec<String> {
    let kind = or(text(data, "spec.type"), "ClusterIP");
    let first = list(data, "spec.clusterIPs").first().and_then(Value::as_str);
    let cluster_ip = first.unwrap_or_else(|| text(data, "spec.clusterIP"));
    let mut row =
        vec![name, kind.clone(), or_none(cluster_ip), external_ip(data, &kind), or_none(&ports(data)), age];
    if wide {
        row.push(label_map(at(data, "spec.selector")));
    }
    row
}

fn external_ip(data: &Value, kind: &str) -> String {
    let external: Vec<&str> = list(data, "spec.externalIPs").iter().filter_map(Value::as_str).collect();
    match kind {
        "ClusterIP" | "NodePort" => or_none(&external.join(",")),
        "LoadBalancer" => {
            let balancer = load_balancer(data);
            let all: Vec<&str> =
                (!balancer.is_empty()).then_some(&*balancer).into_iter().chain(external).collect();
            or(&all.join(","), "<pending>")
        }
        "ExternalName" => text(data, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn load_balancer(data: &Value) -> String {
    let addresses: BTreeSet<&str> = list(data, "status.loadBalancer.ingress")
        .iter()
        .map(|ingress| match text(ingress, "ip") {
            "" => text(ingress, "hostname"),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn ports(data: &Value) -> String {
    let port = |port: &Value| {
        let protocol = or(text(port, "protocol"), "TCP");
        match int(port, "nodePort") {
            node @ 1.. => format!("{}:{node}/{protocol}", int(port, "port")),
            _ => format!("{}/{protocol}", int(port, "port")),
        }
    };
    list(data, "spec.ports").iter().map(port).collect::<Vec<_>>().join(",")
}
