//! Just enough OpenAPI for kubectl to see that the server validates fields itself.

use serde_json::{Map, Value, json};

use crate::discovery::json_answer;
use crate::registry::Registry;
use crate::service::Answer;

/// Answers `/openapi/v3` and the documents of its groups; `None` for other paths.
pub(crate) fn handle(registry: &Registry, path: &str) -> Option<Answer> {
    let rest = path.strip_prefix("/openapi/v3")?.trim_matches('/');
    if rest.is_empty() {
        let mut paths = Map::new();
        for (group, versions) in registry.groups() {
            for version in versions {
                let path = root(group, version);
                paths.insert(path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}")}));
            }
        }
        return Some(json_answer(&json!({"paths": paths})));
    }
    let (group, versions) = registry
        .groups()
        .iter()
        .find(|(group, versions)| versions.iter().any(|version| root(group, version) == rest))?;
    let version = versions.iter().find(|version| root(group, version) == rest)?;
    Some(json_answer(&document(registry, group, version)))
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Paths with the parameters that kubectl looks for; no schemas.
fn document(registry: &Registry, group: &str, version: &str) -> Value {
    let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"]
        .into_iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    let mut paths = Map::new();
    for resource in registry.of_version(group, version) {
        let scope = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
        let kind = json!({"group": group, "version": version, "kind": resource.kind});
        let operation = json!({"parameters": parameters, "x-kubernetes-group-version-kind": kind});
        paths.insert(
            format!("/{}/{scope}{}", root(group, version), resource.plural),
            json!({"post": operation}),
        );
        paths.insert(
            format!("/{}/{scope}{}/{{name}}", root(group, version), resource.plural),
            json!({"patch": operation, "put": operation}),
        );
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.2"},
        "paths": paths,
        "components": {"schemas": {}},
    })
}
