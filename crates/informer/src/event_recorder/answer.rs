//! What a server's answer to a write means.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use informer_core::EventWriteKind;
use kube::client::Body;
use serde::Deserialize;

use super::metrics::DropReason;

/// Of an answer no more is read: enough for an Event or a Status, too little to hurt.
const MAX_BODY_BYTES: usize = 256 << 10;
/// A server may not ask for longer.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What a try came to.
#[derive(Debug)]
pub(super) enum Answer {
    Done,
    /// There is an object of this name.
    Exists,
    /// There is no such object.
    Missing,
    /// It would be refused again.
    Refused(DropReason, Trouble),
    Retry(Option<Duration>, Trouble),
}

/// What went wrong, without the server's message: it may quote the event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Trouble(String);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Trouble {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The parts of a Status that matter.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    reason: String,
    details: Details,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Details {
    kind: String,
    causes: Vec<Cause>,
    retry_after_seconds: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cause {
    reason: String,
    field: String,
}

/// Reads an answer to its end, so that the connection can be used again.
pub(super) async fn read(kind: EventWriteKind, response: http::Response<Body>) -> Answer {
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data[..data.len().min(MAX_BODY_BYTES - bytes.len())]);
        }
        if bytes.len() == MAX_BODY_BYTES {
            break;
        }
    }
    if head.status.is_success() {
        // What the server made of it does not matter.
        return Answer::Done;
    }
    classify(kind, head.status, &head.headers, &serde_json::from_slice(&bytes).unwrap_or_default())
}

fn classify(kind: EventWriteKind, code: StatusCode, headers: &HeaderMap, status: &Status) -> Answer {
    let details = &status.details;
    let trouble = describe(code, status);
    match code {
        StatusCode::CONFLICT if kind == EventWriteKind::Create && status.reason != "Conflict" => {
            Answer::Exists
        }
        StatusCode::NOT_FOUND if details.kind == "namespaces" => {
            Answer::Refused(DropReason::NamespaceGone, trouble)
        }
        StatusCode::NOT_FOUND if kind == EventWriteKind::Patch => Answer::Missing,
        StatusCode::FORBIDDEN
            if details.causes.iter().any(|cause| cause.reason == "NamespaceTerminating") =>
        {
            Answer::Refused(DropReason::NamespaceTerminating, trouble)
        }
        StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
            Answer::Retry(retry_after(headers, status), trouble)
        }
        _ if code.is_server_error() => Answer::Retry(retry_after(headers, status), trouble),
        _ => Answer::Refused(DropReason::Rejected, trouble),
    }
}

fn retry_after(headers: &HeaderMap, status: &Status) -> Option<Duration> {
    let header = headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let secs = header.unwrap_or(status.details.retry_after_seconds);
    (secs > 0).then(|| Duration::from_secs(secs).min(MAX_RETRY_AFTER))
}

/// `422 Unprocessable Entity Invalid (reportingInstance)`.
fn describe(code: StatusCode, status: &Status) -> Trouble {
    let mut text = code.to_string();
    if is_plain(&status.reason) {
        text = format!("{text}: {}", status.reason);
    }
    let fields = status.details.causes.iter().map(|cause| &*cause.field).filter(|field| is_plain(field));
    let fields: Vec<&str> = fields.take(4).collect();
    if !fields.is_empty() {
        text = format!("{text} ({})", fields.join(", "));
    }
    Trouble(text)
}

/// A word of the server's, not something that it quotes.
fn is_plain(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}
