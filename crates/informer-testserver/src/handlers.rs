//! Finds the resource of a request and hands it to the verb's code.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::StatusCode;

use crate::accept::Shape;
use crate::body::Body;
use crate::faults::Fault;
use crate::registry::Resource;
use crate::representation::Representation;
use crate::request::{Path, Request, Verb};
use crate::server::Inner;
use crate::service::Answer;
use crate::status::{ApiError, Details};
use crate::storage::{State, Stored, key_of};
use crate::{delete, list, patch, subresources, watch, write};

/// One request to a resource.
pub(crate) struct Call<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) request: &'a Request,
    pub(crate) path: &'a Path,
    pub(crate) resource: &'a Resource,
    pub(crate) shape: Shape,
    pub(crate) body: &'a Bytes,
    pub(crate) faults: &'a [Fault],
}

/// Answers a request to a resource.
pub(crate) fn handle(
    inner: &Arc<Inner>,
    request: &Request,
    path: &Path,
    body: &Bytes,
    faults: &[Fault],
) -> Result<Answer, ApiError> {
    let mut state = inner.state();
    let Some(resource) = state.registry.find(&path.group, &path.version, &path.plural) else {
        // In a group that nobody serves there is not even a Status.
        return Err(if state.registry.serves(&path.group, &path.version) {
            ApiError::unknown_resource()
        } else {
            ApiError::no_such_path()
        });
    };
    let shape = request.accept.shape().ok_or_else(not_acceptable)?;
    if resource.namespaced && path.namespace.is_empty() && !matches!(request.verb, Verb::List | Verb::Watch) {
        return Err(ApiError::unknown_resource());
    }
    if !resource.namespaced && !path.namespace.is_empty() {
        return Err(ApiError::unknown_resource());
    }
    let call = Call { inner, request, path, resource: &resource, shape, body, faults };
    if !path.subresource.is_empty() {
        return subresources::handle(&call, &mut state);
    }
    match request.verb {
        Verb::Get => get(&call, &mut state),
        Verb::List => list::list(&call, &mut state),
        Verb::Watch => watch::watch(&call, &mut state),
        Verb::Create if path.name.is_empty() => write::create(&call, &mut state),
        Verb::Update if !path.name.is_empty() => write::update(&call, &mut state, write::Part::Object),
        Verb::Patch if !path.name.is_empty() => patch::patch(&call, &mut state, write::Part::Object),
        Verb::Delete => delete::delete(&call, &mut state),
        Verb::DeleteCollection if path.plural != "namespaces" => delete::delete_collection(&call, &mut state),
        _ => Err(ApiError::method_not_allowed()),
    }
}

pub(crate) fn not_acceptable() -> ApiError {
    let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    ApiError::new(406, "NotAcceptable", message).details(Details::default())
}

pub(crate) fn get(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let asked = call.request.query.text("resourceVersion");
    if !matches!(asked, "" | "0") {
        list::check_version(list::parse_version(asked)?, state.version)?;
    }
    let object = call.existing(state)?;
    Ok(call.answer(StatusCode::OK, &object))
}

impl Call<'_> {
    pub(crate) fn key(&self) -> String {
        key_of(&self.path.namespace, &self.path.name)
    }

    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, &self.path.name)
    }

    /// The object that the path names.
    pub(crate) fn existing(&self, state: &State) -> Result<Arc<Stored>, ApiError> {
        state.object(self.resource.table, &self.key()).ok_or_else(|| self.not_found())
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.request.query.text("dryRun") == "All"
    }

    pub(crate) fn representation(&self) -> Representation {
        let include = self.request.query.text("includeObject");
        Representation::new(self.resource, self.shape, include, self.inner.clock())
    }

    /// One object as the answer.
    pub(crate) fn answer(&self, code: StatusCode, object: &Stored) -> Answer {
        let mut out = BytesMut::new();
        self.representation().write_object(object, true, &mut out);
        Answer::json(code, Body::whole(out))
    }
}
