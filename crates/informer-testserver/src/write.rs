//! Creating and updating: what the server fills in, keeps, checks and refuses.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::encode::rfc3339;
use crate::handlers::Call;
use crate::registry::Resource;
use crate::server::Inner;
use crate::service::Answer;
use crate::status::{ApiError, Cause};
use crate::storage::{State, Stored, key_of, stored};
use crate::{conversion, crd, defaults, namespaces, schema, validate};

/// Which part of an object a write is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Object,
    Status,
}

/// How a write is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions {
    /// The status in a created object stays, and an update may change it: for tests' own calls.
    pub(crate) whole: bool,
    pub(crate) dry_run: bool,
}

/// Where a write goes.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    pub(crate) options: WriteOptions,
}

pub(crate) fn create(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let mut warnings = Vec::new();
    let object = decode(call, &mut warnings)?;
    let stored = call.destination().create(state, object)?;
    Ok(Answer { warnings, ..call.answer(StatusCode::CREATED, &stored) })
}

pub(crate) fn update(call: &Call<'_>, state: &mut State, part: Part) -> Result<Answer, ApiError> {
    let mut warnings = Vec::new();
    let object = decode(call, &mut warnings)?;
    if !call.resource.builtin && object["metadata"]["resourceVersion"].as_str().unwrap_or("").is_empty() {
        let message = "Invalid value: 0x0: must be specified for an update".to_owned();
        let causes = vec![Cause::invalid("metadata.resourceVersion", message)];
        return Err(ApiError::invalid(&call.resource.group, &call.resource.kind, &call.path.name, causes));
    }
    let destination = call.destination();
    let (code, stored) = match destination.update(state, &call.path.name, object.clone(), part) {
        Err(error) if error.code() == 404 && call.resource.create_on_update && part == Part::Object => {
            // Who names a uid means an object that was there, and gets none made anew; a resourceVersion alone does not count.
            let uid = object["metadata"]["uid"].as_str().unwrap_or("");
            if !uid.is_empty() {
                let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: ");
                return Err(ApiError::conflict(
                    &call.resource.group,
                    &call.resource.plural,
                    &call.path.name,
                    &why,
                ));
            }
            (StatusCode::CREATED, destination.create(state, object)?)
        }
        other => (StatusCode::OK, other?),
    };
    Ok(Answer { warnings, ..call.answer(code, &stored) })
}

/// Reads the body as an object of the call's kind.
fn decode(call: &Call<'_>, warnings: &mut Vec<String>) -> Result<Value, ApiError> {
    let resource = call.resource;
    if !matches!(call.request.content_type.as_str(), "" | "application/json") {
        let message = "the body of the request was in an unknown format - accepted media types include: application/json";
        return Err(ApiError::new(415, "UnsupportedMediaType", message));
    }
    // Positions only: the text of the body may be secret.
    let mut object: Value = serde_json::from_slice(call.body).map_err(|error| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error at line {} column {}",
            resource.kind,
            error.line(),
            error.column()
        ))
    })?;
    check_kind(resource, &object)?;
    validate::unknown_fields(resource, &mut object, call.request.query.text("fieldValidation"), warnings)?;
    if resource.converts_events() {
        object = conversion::event_from_events_k8s_io(object);
    }
    Ok(object)
}

/// Kind and version may be left out; if given, they must be the path's.
pub(crate) fn check_kind(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    if !object.is_object() {
        let message = format!("the object provided is unrecognized (must be of type {})", resource.kind);
        return Err(ApiError::bad_request(message));
    }
    let (kind, version) =
        (object["kind"].as_str().unwrap_or(""), object["apiVersion"].as_str().unwrap_or(""));
    let expected = resource.group_version();
    if (kind.is_empty() || kind == resource.kind) && (version.is_empty() || version == expected) {
        return Ok(());
    }
    let message = if kind == resource.kind {
        format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )
    } else {
        let short = version.rsplit('/').next().unwrap_or("");
        format!(
            "{kind} in version \"{short}\" cannot be handled as a {}: converting ({short}.{kind}) to (core.{}): unknown conversion",
            resource.kind, resource.kind
        )
    };
    Err(ApiError::bad_request(message))
}

impl<'a> Call<'a> {
    pub(crate) fn destination(&self) -> Destination<'a> {
        Destination {
            inner: self.inner,
            resource: self.resource,
            namespace: &self.path.namespace,
            options: WriteOptions { whole: false, dry_run: self.dry_run() },
        }
    }
}

impl Destination<'_> {
    /// Stores a new object.
    pub(crate) fn create(&self, state: &mut State, mut object: Value) -> Result<Arc<Stored>, ApiError> {
        let resource = self.resource;
        validate::shape(resource, &object)?;
        let metadata = metadata_of(&mut object);
        check_namespace(metadata, self.namespace)?;
        let name = match (
            metadata.get("name").and_then(Value::as_str),
            metadata.get("generateName").and_then(Value::as_str),
        ) {
            (Some(name), _) if !name.is_empty() => name.to_owned(),
            (_, Some(prefix)) if !prefix.is_empty() => {
                // A real server cuts the prefix so that the name stays within its limit.
                let prefix: String = prefix.chars().take(58).collect();
                format!("{prefix}{}", state.rng.suffix(5))
            }
            _ => String::new(),
        };
        if !self.options.whole {
            validate::name(resource, &name)?;
        }
        self.namespace_open(state, &name)?;
        let key = key_of(self.namespace, &name);
        if state.object(resource.table, &key).is_some() {
            return Err(ApiError::already_exists(&resource.group, &resource.plural, &name));
        }
        let metadata = metadata_of(&mut object);
        metadata.insert("name".into(), name.clone().into());
        if self.namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            metadata.insert("namespace".into(), self.namespace.into());
        }
        if !self.options.whole || !metadata.contains_key("uid") {
            metadata.insert("uid".into(), state.rng.uid().into());
        }
        if !self.options.whole || !metadata.contains_key("creationTimestamp") {
            metadata.insert("creationTimestamp".into(), rfc3339(self.inner.now()).into());
        }
        metadata.remove("resourceVersion");
        if resource.has_generation {
            metadata.insert("generation".into(), 1.into());
        } else {
            metadata.remove("generation");
        }
        if !self.options.whole {
            metadata.remove("deletionTimestamp");
            metadata.remove("deletionGracePeriodSeconds");
            if resource.has_status {
                remove(&mut object, "status");
            }
        }
        defaults::fill(resource, &mut object);
        schema::admit(resource, &mut object, &name)?;
        if self.options.dry_run {
            return Ok(Arc::new(stored(resource, &key, &object, 0)));
        }
        if resource.plural == "customresourcedefinitions" {
            return crd::create(state, resource, &key, object, self.inner.now());
        }
        Ok(state.store(resource, &key, &object))
    }

    /// The namespace must exist and must not be going away.
    fn namespace_open(&self, state: &mut State, name: &str) -> Result<(), ApiError> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        match namespaces::phase(state, self.namespace) {
            namespaces::Phase::Active => Ok(()),
            namespaces::Phase::Missing if self.inner.creates_namespaces() => {
                self.inner.create_namespace(state, self.namespace);
                Ok(())
            }
            namespaces::Phase::Missing => Err(ApiError::not_found("", "namespaces", self.namespace)),
            namespaces::Phase::Terminating => {
                let namespace = self.namespace;
                let why = format!(
                    "unable to create new content in namespace {namespace} because it is being terminated"
                );
                let error = ApiError::forbidden(&self.resource.group, &self.resource.plural, name, &why);
                Err(error.push_cause(Cause {
                    reason: "NamespaceTerminating",
                    message: format!("namespace {namespace} is being terminated"),
                    field: "metadata.namespace".into(),
                }))
            }
        }
    }

    /// Replaces an object, or its status.
    pub(crate) fn update(
        &self,
        state: &mut State,
        name: &str,
        mut object: Value,
        part: Part,
    ) -> Result<Arc<Stored>, ApiError> {
        let resource = self.resource;
        validate::shape(resource, &object)?;
        let key = key_of(self.namespace, name);
        let metadata = metadata_of(&mut object);
        let given = metadata.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
        if given != name && !(given.is_empty() && self.options.whole) {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        check_namespace(metadata, self.namespace)?;
        let Some(old) = state.object(resource.table, &key) else {
            return Err(ApiError::not_found(&resource.group, &resource.plural, name));
        };
        let old_object = old.encoded.parse();
        self.check_preconditions(&object, &old)?;
        if part == Part::Status {
            let mut with_status = old_object.clone();
            set_or_remove(&mut with_status, "status", object.get("status"));
            object = with_status;
        } else {
            keep_metadata(&mut object, &old_object);
            if resource.has_status && !self.options.whole {
                set_or_remove(&mut object, "status", old_object.get("status"));
            }
        }
        defaults::fill(resource, &mut object);
        schema::admit(resource, &mut object, name)?;
        self.replace(state, &old, &old_object, object)
    }

    /// Stores the new state of an object unless it is the old one; an object whose last finalizer went is removed.
    pub(crate) fn replace(
        &self,
        state: &mut State,
        old: &Arc<Stored>,
        old_object: &Value,
        mut object: Value,
    ) -> Result<Arc<Stored>, ApiError> {
        let resource = self.resource;
        if same(&object, old_object) {
            return Ok(Arc::clone(old));
        }
        if resource.has_generation && desired(&object) != desired(old_object) {
            let generation = old_object["metadata"]["generation"].as_u64().unwrap_or(0) + 1;
            metadata_of(&mut object).insert("generation".into(), generation.into());
        }
        if self.options.dry_run {
            return Ok(Arc::new(stored(resource, &old.key, &object, old.version)));
        }
        let finalizers = object["metadata"]["finalizers"].as_array().map_or(0, Vec::len);
        if object["metadata"]["deletionTimestamp"].is_string() && finalizers == 0 {
            // The last state is what the deletion shows, so that it has to be stored first.
            let last = Arc::new(stored(resource, &old.key, &object, state.version + 1));
            state.table(resource.table).objects.insert(Arc::clone(&last.key), last);
            let gone = state.remove(resource.table, &old.key);
            namespaces::after_removal(state, old.namespace());
            return Ok(gone.unwrap_or_else(|| Arc::clone(old)));
        }
        if resource.plural == "customresourcedefinitions" {
            return crd::update(state, resource, &old.key, object, self.inner.now());
        }
        Ok(state.store(resource, &old.key, &object))
    }

    fn check_preconditions(&self, object: &Value, old: &Stored) -> Result<(), ApiError> {
        let conflict =
            |why: &str| Err(ApiError::conflict(&self.resource.group, &self.resource.plural, old.name(), why));
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or("");
        if !version.is_empty() && version != "0" && version != old.version.to_string() {
            return conflict(
                "the object has been modified; please apply your changes to the latest version and try again",
            );
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or("");
        if !uid.is_empty() && *uid != *old.uid {
            return conflict(&format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                old.uid
            ));
        }
        Ok(())
    }
}

/// What only the server may set stays as it was.
fn keep_metadata(object: &mut Value, old: &Value) {
    const KEPT: [&str; 7] = [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    let metadata = metadata_of(object);
    for field in KEPT {
        match old["metadata"].get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
    if !metadata.contains_key("managedFields")
        && let Some(managed) = old["metadata"].get("managedFields")
    {
        metadata.insert("managedFields".into(), managed.clone());
    }
    // An empty map or list is as good as none: both come back as nothing from a real server.
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "managedFields"] {
        let empty = match metadata.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

pub(crate) fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    match metadata {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

fn check_namespace(metadata: &Map<String, Value>, namespace: &str) -> Result<(), ApiError> {
    let given = metadata.get("namespace").and_then(Value::as_str).unwrap_or("");
    if given.is_empty() || given == namespace {
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(ApiError::bad_request(message))
}

pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}

fn set_or_remove(object: &mut Value, field: &str, value: Option<&Value>) {
    match value {
        Some(value) => object[field] = value.clone(),
        None => remove(object, field),
    }
}

/// Everything but what changes with each write.
fn same(a: &Value, b: &Value) -> bool {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        for field in ["apiVersion", "kind"] {
            remove(&mut object, field);
        }
        metadata_of(&mut object).remove("resourceVersion");
        object
    };
    stripped(a) == stripped(b)
}

/// What counts for the generation.
fn desired(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["apiVersion", "kind", "metadata", "status"] {
        remove(&mut object, field);
    }
    object
}
