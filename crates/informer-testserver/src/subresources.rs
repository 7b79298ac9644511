//! Subresources: status, scale, binding, eviction, and a namespace's finalize.

use http::StatusCode;
use serde_json::{Value, json};

use crate::body::Body;
use crate::handlers::{Call, get};
use crate::request::Verb;
use crate::service::Answer;
use crate::status::ApiError;
use crate::storage::State;
use crate::write::{Destination, Part, WriteOptions};
use crate::{delete, patch, write};

pub(crate) fn handle(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let resource = call.resource;
    let has_scale = resource.subresources.iter().any(|(name, ..)| *name == "scale")
        || resource.custom.as_ref().is_some_and(|custom| custom.scale);
    let is_pod = resource.builtin && resource.plural == "pods";
    match (call.path.subresource.as_str(), call.request.verb) {
        ("status", Verb::Get) if resource.has_status => get(call, state),
        ("status", Verb::Update) if resource.has_status => write::update(call, state, Part::Status),
        ("status", Verb::Patch) if resource.has_status => patch::patch(call, state, Part::Status),
        ("scale", Verb::Get | Verb::Update | Verb::Patch) if has_scale => scale(call, state),
        ("finalize", Verb::Update) if resource.plural == "namespaces" => get(call, state),
        ("binding", Verb::Create) if is_pod => bind(call, state),
        ("eviction", Verb::Create) if is_pod => evict(call, state),
        ("status" | "scale" | "finalize" | "binding" | "eviction", _)
            if resource.has_status || has_scale || is_pod =>
        {
            Err(ApiError::method_not_allowed())
        }
        _ => Err(ApiError::unknown_resource()),
    }
}

fn whole<'a>(call: &Call<'a>) -> Destination<'a> {
    Destination { options: WriteOptions { whole: true, dry_run: call.dry_run() }, ..call.destination() }
}

fn body(call: &Call<'_>) -> Result<Value, ApiError> {
    serde_json::from_slice(call.body).map_err(|error| {
        ApiError::bad_request(format!("unreadable body at line {} column {}", error.line(), error.column()))
    })
}

/// Reads or writes `spec.replicas` through the Scale kind.
fn scale(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let mut object = call.existing(state)?;
    if call.request.verb != Verb::Get {
        let mut value = object.encoded.parse();
        if !value["spec"].is_object() && !value["spec"].is_null() {
            return Err(ApiError::bad_request("spec is not an object"));
        }
        let mut wanted = json!({"spec": {"replicas": value["spec"]["replicas"]}});
        json_patch::merge(&mut wanted, &body(call)?);
        if !wanted["spec"].is_object() {
            return Err(ApiError::bad_request("spec is not an object"));
        }
        value["spec"]["replicas"] = wanted["spec"]["replicas"].clone();
        object = whole(call).update(state, &call.path.name, value, Part::Object)?;
    }
    let value = object.encoded.parse();
    let metadata = &value["metadata"];
    let labels = value["spec"]["selector"]["matchLabels"].as_object();
    let selector: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
        .collect();
    let scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {"replicas": value["spec"]["replicas"].as_u64().unwrap_or(0)},
        "status": {
            "replicas": value["status"]["replicas"].as_u64().unwrap_or(0),
            "selector": selector.join(","),
        },
    });
    Ok(Answer::json(StatusCode::OK, Body::whole(scale.to_string())))
}

fn success(code: StatusCode) -> Answer {
    let body = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}"#;
    Answer::json(code, Body::whole(body))
}

/// What a scheduler does: names the node.
fn bind(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let mut value = call.existing(state)?.encoded.parse();
    if value["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty()) {
        let why = format!("pod {} is already assigned to a node", call.path.name);
        return Err(ApiError::conflict("", "pods/binding", &call.path.name, &why));
    }
    value["spec"]["nodeName"] = body(call)?["target"]["name"].clone();
    whole(call).update(state, &call.path.name, value, Part::Object)?;
    Ok(success(StatusCode::CREATED))
}

fn evict(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let object = call.existing(state)?;
    delete::delete_object(call.inner, state, call.resource, &object);
    Ok(success(StatusCode::CREATED))
}
