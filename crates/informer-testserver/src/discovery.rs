//! Discovery: versions, groups, resources, in the plain and the aggregated form; health and version.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::body::Body;
use crate::openapi;
use crate::registry::{Registry, Resource, group_version};
use crate::request::{Request, Target};
use crate::server::Inner;
use crate::service::Answer;
use crate::status::ApiError;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers everything that is not a resource.
pub(crate) fn handle(inner: &Inner, request: &Request) -> Result<Answer, ApiError> {
    if request.method != Method::GET && request.method != Method::HEAD {
        return Err(ApiError::method_not_allowed());
    }
    let state = inner.state();
    let registry = &state.registry;
    let aggregated = request.accept.aggregated_discovery();
    match &request.target {
        Target::CoreVersions if aggregated => Ok(aggregate(registry, true)),
        Target::Groups if aggregated => Ok(aggregate(registry, false)),
        Target::CoreVersions => Ok(json_answer(&json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
        }))),
        Target::Groups => {
            let groups: Vec<Value> =
                named_groups(registry).map(|(group, versions)| group_value(group, versions, false)).collect();
            Ok(json_answer(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})))
        }
        Target::Group(name) => {
            let group = named_groups(registry).find(|(group, _)| group == name);
            let (group, versions) = group.ok_or_else(ApiError::no_such_path)?;
            Ok(json_answer(&group_value(group, versions, true)))
        }
        Target::Version(group, version) if registry.serves(group, version) => {
            Ok(json_answer(&resource_list(registry, group, version)))
        }
        Target::ServerVersion => Ok(Answer::json(StatusCode::OK, Body::whole(VERSION))),
        Target::Health => Ok(Answer {
            content_type: "text/plain; charset=utf-8",
            ..Answer::json(StatusCode::OK, Body::whole("ok"))
        }),
        Target::Root => Ok(json_answer(&json!({"paths": paths(registry)}))),
        Target::Unknown => openapi::handle(registry, &request.path).ok_or_else(ApiError::no_such_path),
        _ => Err(ApiError::no_such_path()),
    }
}

const VERSION: &str = r#"{
  "major": "1",
  "minor": "37",
  "emulationMajor": "1",
  "emulationMinor": "37",
  "minCompatibilityMajor": "1",
  "minCompatibilityMinor": "36",
  "gitVersion": "v1.37.2",
  "gitCommit": "",
  "gitTreeState": "clean",
  "buildDate": "1970-01-01T00:00:00Z",
  "goVersion": "none",
  "compiler": "rustc",
  "platform": "linux/amd64"
}"#;

pub(crate) fn json_answer(value: &Value) -> Answer {
    Answer::json(StatusCode::OK, Body::whole(value.to_string()))
}

fn named_groups(registry: &Registry) -> impl Iterator<Item = &(String, Vec<String>)> {
    registry.groups().iter().filter(|(group, _)| !group.is_empty())
}

fn paths(registry: &Registry) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/api/v1".into(), "/apis".into()];
    for (group, versions) in named_groups(registry) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/readyz", "/version"].map(str::to_owned));
    paths
}

fn group_value(group: &str, versions: &[String], alone: bool) -> Value {
    let version =
        |version: &String| json!({"groupVersion": group_version(group, version), "version": version});
    let mut value = json!({
        "name": group,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    });
    if alone {
        value["kind"] = "APIGroup".into();
        value["apiVersion"] = "v1".into();
    }
    value
}

const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

fn resource_list(registry: &Registry, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for resource in registry.of_version(group, version) {
        let mut entry = json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs(),
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            entry["categories"] = json!(resource.categories);
        }
        resources.push(entry);
        for (name, kind, verbs) in subresources(resource) {
            let mut entry = json!({
                "name": format!("{}/{name}", resource.plural),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind,
                "verbs": verbs,
            });
            if let Some((group, version)) = foreign_kind(kind) {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            resources.push(entry);
        }
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, version),
        "resources": resources,
    })
}

/// Name, kind and verbs of each subresource, by name.
fn subresources(resource: &Resource) -> Vec<(&str, &str, &[&str])> {
    let mut all: Vec<(&str, &str, &[&str])> = resource.subresources.to_vec();
    if resource.has_status {
        all.push(("status", &resource.kind, &STATUS_VERBS));
    }
    if resource.custom.as_ref().is_some_and(|custom| custom.scale) {
        all.push(("scale", "Scale", &STATUS_VERBS));
    }
    all.sort_unstable();
    all
}

fn foreign_kind(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "Scale" => Some(("autoscaling", "v1")),
        "Eviction" => Some(("policy", "v1")),
        _ => None,
    }
}

fn aggregate(registry: &Registry, core: bool) -> Answer {
    let items: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> = registry.of_version(group, version).map(aggregated).collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if core { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    Answer { content_type: AGGREGATED, ..json_answer(&list) }
}

fn aggregated(resource: &Arc<Resource>) -> Value {
    let kind = |kind: &str| {
        let (group, version) = match foreign_kind(kind) {
            Some(foreign) => foreign,
            // The recorded server leaves both out for built-in kinds.
            None if resource.builtin => ("", ""),
            None => (resource.group.as_str(), resource.version.as_str()),
        };
        json!({"group": group, "version": version, "kind": kind})
    };
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let subresources: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|(name, of, verbs)| json!({"subresource": name, "responseKind": kind(of), "verbs": verbs}))
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}
