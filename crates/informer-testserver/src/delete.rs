//! DELETE: preconditions, finalizers, what is answered; and deletion of collections.

use std::sync::Arc;

use bytes::BytesMut;
use http::StatusCode;
use serde_json::Value;

use crate::body::Body;
use crate::encode::rfc3339;
use crate::handlers::Call;
use crate::list::selector;
use crate::registry::{Resource, TableId};
use crate::representation::ListMetadata;
use crate::server::Inner;
use crate::service::Answer;
use crate::status::{ApiError, deleted, qualified};
use crate::storage::{State, Stored};
use crate::write::metadata_of;
use crate::{crd, namespaces};

/// What became of an object that was to be deleted.
pub(crate) enum Outcome {
    Gone(Arc<Stored>),
    /// Held by finalizers.
    Marked(Arc<Stored>),
}

pub(crate) fn delete(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let options = options(call)?;
    let object = call.existing(state)?;
    check_preconditions(call.resource, &options["preconditions"], &object)?;
    let dry = call.dry_run() || options["dryRun"].as_array().is_some_and(|dry| !dry.is_empty());
    let success = |object: &Stored| {
        let resource = call.resource;
        let body = deleted(&resource.group, &resource.plural, object.name(), &object.uid);
        Answer::json(StatusCode::OK, Body::whole(body))
    };
    if dry {
        return Ok(if call.resource.returns_deleted {
            call.answer(StatusCode::OK, &object)
        } else {
            success(&object)
        });
    }
    Ok(match delete_object(call.inner, state, call.resource, &object) {
        Outcome::Marked(marked) => call.answer(StatusCode::OK, &marked),
        Outcome::Gone(gone) if call.resource.returns_deleted => call.answer(StatusCode::OK, &gone),
        Outcome::Gone(gone) => success(&gone),
    })
}

/// Deletes an object, whatever its kind asks for.
pub(crate) fn delete_object(
    inner: &Inner,
    state: &mut State,
    resource: &Resource,
    object: &Arc<Stored>,
) -> Outcome {
    if resource.builtin && resource.plural == "namespaces" {
        return Outcome::Marked(namespaces::delete(inner, state, object));
    }
    if resource.plural == "customresourcedefinitions" {
        crd::before_delete(state, object);
    }
    let outcome = remove_or_mark(inner, state, resource.table, object);
    if let Outcome::Gone(_) = outcome {
        namespaces::after_removal(state, object.namespace());
    }
    outcome
}

/// Removes an object, or marks it as being deleted when finalizers hold it.
pub(crate) fn remove_or_mark(
    inner: &Inner,
    state: &mut State,
    table: TableId,
    object: &Arc<Stored>,
) -> Outcome {
    let value = object.encoded.parse();
    let held = value["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    if !held {
        let gone = state.remove(table, &object.key);
        return Outcome::Gone(gone.unwrap_or_else(|| Arc::clone(object)));
    }
    Outcome::Marked(mark(inner, state, table, object, 0))
}

/// Marks an object as being deleted, as a kubelet finds its Pods, unless it is already.
pub(crate) fn mark(
    inner: &Inner,
    state: &mut State,
    table: TableId,
    object: &Arc<Stored>,
    grace_seconds: i64,
) -> Arc<Stored> {
    let mut value = object.encoded.parse();
    if value["metadata"]["deletionTimestamp"].is_string() {
        return Arc::clone(object);
    }
    let resource = state.registry.all().find(|resource| resource.table == table).cloned();
    let Some(resource) = resource else { return Arc::clone(object) };
    let end = inner.now() + jiff::SignedDuration::from_secs(grace_seconds);
    let metadata = metadata_of(&mut value);
    metadata.insert("deletionTimestamp".into(), rfc3339(end).into());
    metadata.insert("deletionGracePeriodSeconds".into(), grace_seconds.into());
    if let Some(generation) = metadata.get("generation").and_then(Value::as_u64) {
        metadata.insert("generation".into(), (generation + 1).into());
    }
    state.store(&resource, &object.key, &value)
}

fn options(call: &Call<'_>) -> Result<Value, ApiError> {
    if call.body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(call.body).map_err(|error| {
        ApiError::bad_request(format!(
            "invalid DeleteOptions at line {} column {}",
            error.line(),
            error.column()
        ))
    })
}

fn check_preconditions(resource: &Resource, wanted: &Value, object: &Stored) -> Result<(), ApiError> {
    let conflict = |what: &str, given: &str, known: &str| {
        let why = format!(
            "the {what} in the precondition ({given}) does not match the {what} in record ({known}). The object might have been deleted and then recreated"
        );
        // Here the recorded server names the kind, not the resource.
        Err(ApiError::conflict(&resource.group, &resource.kind, object.name(), &why))
    };
    let version = object.version.to_string();
    match (wanted["uid"].as_str(), wanted["resourceVersion"].as_str()) {
        (Some(uid), _) if *uid != *object.uid => conflict("UID", uid, &object.uid),
        (_, Some(asked)) if asked != version => {
            let why = format!(
                "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            );
            Err(ApiError::conflict(&resource.group, &resource.kind, object.name(), &why))
        }
        _ => Ok(()),
    }
}

pub(crate) fn delete_collection(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let selector = selector(call)?;
    options(call)?;
    let table = state.table(call.resource.table);
    let chosen: Vec<Arc<Stored>> =
        table.range(&call.path.namespace, "").filter(|object| selector.matches(object)).cloned().collect();
    let mut last = Vec::with_capacity(chosen.len());
    for object in chosen {
        if call.dry_run() {
            last.push(object);
            continue;
        }
        match delete_object(call.inner, state, call.resource, &object) {
            Outcome::Gone(object) | Outcome::Marked(object) => last.push(object),
        }
    }
    let representation = call.representation();
    let metadata = ListMetadata { version: state.version.to_string(), ..ListMetadata::default() };
    let (head, tail) = representation.list_frame(call.resource, &metadata);
    let mut out = BytesMut::from(head.as_bytes());
    for (index, object) in last.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b",");
        }
        representation.write_item(object, &mut out);
    }
    out.extend_from_slice(tail.as_bytes());
    tracing::debug!(
        resource = qualified(&call.resource.plural, &call.resource.group),
        count = last.len(),
        "deleted"
    );
    Ok(Answer::json(StatusCode::OK, Body::whole(out)))
}
