//! PATCH: JSON, merge and strategic merge patches, and a plain form of server-side apply.

use http::StatusCode;
use serde_json::Value;

use crate::handlers::Call;
use crate::registry::Resource;
use crate::service::Answer;
use crate::status::{ApiError, Details};
use crate::storage::State;
use crate::write::{Part, check_kind};
use crate::{apply, conversion, strategic, validate};

/// A real server applies no JSON patch longer than this.
const JSON_PATCH_OPERATIONS: usize = 10_000;

pub(crate) fn patch(call: &Call<'_>, state: &mut State, part: Part) -> Result<Answer, ApiError> {
    if call.request.content_type == "application/apply-patch+yaml" {
        return apply::apply(call, state, part);
    }
    let how = How::of(call)?;
    let object = call.existing(state)?;
    let mut value = object.encoded.parse();
    if call.resource.converts_events() {
        value = conversion::event_to_events_k8s_io(value);
    }
    value["kind"] = call.resource.kind.as_str().into();
    value["apiVersion"] = call.resource.group_version().into();
    how.patch(call, &mut value)?;
    check_kind(call.resource, &value)?;
    validate::shape(call.resource, &value)?;
    if call.resource.converts_events() {
        value = conversion::event_from_events_k8s_io(value);
    }
    let stored = call.destination().update(state, &call.path.name, value, part)?;
    Ok(call.answer(StatusCode::OK, &stored))
}

#[derive(Clone, Copy)]
enum How {
    Json,
    Merge,
    Strategic,
}

impl How {
    fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        match call.request.content_type.as_str() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if call.resource.builtin => Ok(Self::Strategic),
            "application/strategic-merge-patch+json" => {
                let message = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
                Err(ApiError::new(415, "UnsupportedMediaType", message))
            }
            _ => Err(ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
                .details(Details::default())),
        }
    }

    fn patch(self, call: &Call<'_>, value: &mut Value) -> Result<(), ApiError> {
        match self {
            Self::Json => {
                let operations: json_patch::Patch = body(call.resource, call.body)?;
                if operations.0.len() > JSON_PATCH_OPERATIONS {
                    let message =
                        format!("The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS}");
                    return Err(ApiError::new(413, "RequestEntityTooLarge", message));
                }
                json_patch::patch(value, &operations).map_err(|_| {
                    let message = "the server rejected our request due to an error in our request";
                    ApiError::new(422, "Invalid", message).details(Details::default())
                })
            }
            Self::Merge => {
                json_patch::merge(value, &object_body(call)?);
                Ok(())
            }
            Self::Strategic => {
                strategic::merge(value, &object_body(call)?);
                Ok(())
            }
        }
    }
}

pub(crate) fn object_body(call: &Call<'_>) -> Result<Value, ApiError> {
    let value: Value = body(call.resource, call.body)?;
    if value.is_object() { Ok(value) } else { Err(ApiError::bad_request("a patch must be a JSON object")) }
}

fn body<T: serde::de::DeserializeOwned>(resource: &Resource, bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| {
        ApiError::bad_request(format!(
            "error decoding patch of {} at line {} column {}",
            resource.kind,
            error.line(),
            error.column()
        ))
    })
}
