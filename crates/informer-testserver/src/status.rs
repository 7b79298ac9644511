//! The API's error: a `Status` object with its HTTP code, in the shapes a real API server answers with.

use std::fmt;

use serde::Serialize;

/// An answer that says no: HTTP code, reason and message of a `Status` object.
///
/// The text never holds an object's values but where the recorded server puts them there (a rejected field's value).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    code: u16,
    body: Box<Status>,
    plain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Status {
    kind: &'static str,
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    metadata: Metadata,
    status: &'static str,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Metadata {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continue_token: Option<String>,
}

/// The `details` of a `Status`, in the order the recorded server writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u32>,
}

/// One reason among several, naming a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) field: String,
}

impl ApiError {
    /// An answer with this code, reason and message; no details.
    ///
    /// ```
    /// let error = informer_testserver::ApiError::new(410, "Expired", "too old resource version: 1 (5)");
    /// assert_eq!((error.code(), error.reason()), (410, "Expired"));
    /// ```
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            body: Box::new(Status {
                kind: "Status",
                api_version: "v1",
                metadata: Metadata::default(),
                status: "Failure",
                message: message.into(),
                reason: reason.into(),
                details: None,
                code,
            }),
            plain: false,
        }
    }

    /// The HTTP code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The machine-readable reason, such as `NotFound`; empty when the server gives none.
    pub fn reason(&self) -> &str {
        &self.body.reason
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        &self.body.message
    }

    /// The body as JSON, as it goes over the wire.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.body).unwrap_or_default()
    }

    pub(crate) fn to_pretty_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&self.body).unwrap_or_default()
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    pub(crate) fn retry_after_seconds(&self) -> Option<u32> {
        self.body.details.as_ref().and_then(|details| details.retry_after_seconds)
    }

    pub(crate) fn details(mut self, details: Details) -> Self {
        self.body.details = Some(details);
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.body.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }

    pub(crate) fn continue_token(mut self, token: String) -> Self {
        self.body.metadata.continue_token = Some(token);
        self
    }

    /// `404 page not found` as plain text: the answer of a path that no API group serves.
    pub(crate) fn no_such_path() -> Self {
        Self { plain: true, ..Self::new(404, "NotFound", "404 page not found") }
    }

    pub(crate) fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .details(Details::default())
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .details(Details::default())
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn not_found(group: &str, plural: &str, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", qualified(plural, group))).details(
            Details { name: name.into(), group: group.into(), kind: plural.into(), ..Details::default() },
        )
    }

    pub(crate) fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", qualified(plural, group)))
            .details(Details {
                name: name.into(),
                group: group.into(),
                kind: plural.into(),
                ..Details::default()
            })
    }

    pub(crate) fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} \"{name}\": {why}", qualified(plural, group));
        Self::new(409, "Conflict", message).details(Details {
            name: name.into(),
            group: group.into(),
            kind: plural.into(),
            ..Details::default()
        })
    }

    pub(crate) fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let of = if name.is_empty() {
            qualified(plural, group)
        } else {
            format!("{} \"{name}\"", qualified(plural, group))
        };
        Self::new(403, "Forbidden", format!("{of} is forbidden: {why}")).details(Details {
            name: name.into(),
            group: group.into(),
            kind: plural.into(),
            ..Details::default()
        })
    }

    /// A 422 about one or more fields of an object.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let each: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let all = if each.len() == 1 { each.concat() } else { format!("[{}]", each.join(", ")) };
        Self::new(422, "Invalid", format!("{} \"{name}\" is invalid: {all}", qualified(kind, group))).details(
            Details {
                name: name.into(),
                group: group.into(),
                kind: kind.into(),
                causes,
                ..Details::default()
            },
        )
    }

    pub(crate) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(504, "Timeout", message).details(Details {
            causes: vec![Cause {
                reason: "ResourceVersionTooLarge",
                message: "Too large resource version".into(),
                field: String::new(),
            }],
            retry_after_seconds: Some(1),
            ..Details::default()
        })
    }

    pub(crate) fn push_cause(mut self, cause: Cause) -> Self {
        self.body.details.get_or_insert_default().causes.push(cause);
        self
    }
}

impl Cause {
    pub(crate) fn forbidden(field: &str, what: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {what}"), field: field.into() }
    }

    pub(crate) fn invalid(field: impl Into<String>, message: String) -> Self {
        Self { reason: "FieldValueInvalid", message, field: field.into() }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}: {}", self.code, self.body.reason, self.body.message)
    }
}

impl std::error::Error for ApiError {}

/// `deployments.apps`, or `pods` in the core group.
pub(crate) fn qualified(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// The body of a successful delete.
pub(crate) fn deleted(group: &str, plural: &str, name: &str, uid: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Success {
        kind: &'static str,
        #[serde(rename = "apiVersion")]
        api_version: &'static str,
        metadata: Metadata,
        status: &'static str,
        details: Details,
    }
    serde_json::to_vec(&Success {
        kind: "Status",
        api_version: "v1",
        metadata: Metadata::default(),
        status: "Success",
        details: Details {
            name: name.into(),
            group: group.into(),
            kind: plural.into(),
            uid: uid.into(),
            ..Details::default()
        },
    })
    .unwrap_or_default()
}
