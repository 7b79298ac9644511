//! One request about the Lease and what came of it.

use std::collections::BTreeMap;

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use informer_core::leader_election::{Answer, Request, Written};
use informer_core::reflector::{Failure, FailureKind};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use super::lease;
use crate::failure;
use crate::list_watch::BoxError;

/// A Lease has less than this by far, whatever people annotate; more is somebody's mistake.
const MAX_BODY_BYTES: usize = 4 << 20;

/// Where the Lease is, and what it carries for us.
pub(super) struct Endpoint {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
}

/// What came of a request.
pub(super) struct Exchanged {
    pub(super) answer: Answer,
    /// The Lease of the answer, whose other fields the next write keeps.
    pub(super) lease: Option<Value>,
    /// What went wrong, in one line; if the answer is a failure.
    pub(super) error: Option<String>,
}

impl Endpoint {
    /// Sends the request and reads its answer. It has no time limit of its own: whoever waits drops it.
    pub(super) async fn exchange(&self, request: &Request, base: Option<&Value>) -> Exchanged {
        let http_request = match self.http_request(request, base) {
            Ok(http_request) => http_request,
            Err(error) => return failed(Written::No, error.to_string()),
        };
        let response = match self.client.send(http_request).await {
            Ok(response) => response,
            Err(error) => {
                let failure = failure::transport(&BoxError::from(error));
                // Where nobody listens nothing was written.
                let refused = failure.kind == FailureKind::Refused;
                return failed(if refused { Written::No } else { Written::Unknown }, failure.message);
            }
        };
        let (head, body) = response.into_parts();
        let bytes = match Limited::new(body, MAX_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return failed(Written::Unknown, failure::transport(&error).message),
        };
        if !head.status.is_success() {
            return refused(request, failure::unsuccessful(head.status, &head.headers, &bytes), &bytes);
        }
        let lease = serde_json::from_slice::<Value>(&bytes).ok();
        match lease.as_ref().map_or(Err("the answer is no JSON"), lease::read) {
            Ok(stored) => Exchanged { answer: Answer::Stored(stored), lease, error: None },
            Err(why) => failed(Written::Unknown, why.to_owned()),
        }
    }

    fn http_request(&self, request: &Request, base: Option<&Value>) -> Result<http::Request<Body>, BoxError> {
        let Self { namespace, name, labels, .. } = self;
        let all = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        let path = (namespace.as_str(), name.as_str());
        let (method, uri, body) = match request {
            Request::Get => (Method::GET, format!("{all}/{name}"), None),
            Request::Create(record) => {
                (Method::POST, all, Some(lease::write(None, path, labels, record, None)))
            }
            Request::Update { record, version } => {
                let lease = lease::write(base, path, labels, record, Some(version));
                (Method::PUT, format!("{all}/{name}"), Some(lease))
            }
        };
        let builder = http::Request::builder()
            .method(method)
            .uri(uri)
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "identity");
        Ok(match body {
            None => builder.body(Body::empty())?,
            Some(lease) => builder
                .header(CONTENT_TYPE, "application/json")
                .body(Body::from(serde_json::to_vec(&lease)?))?,
        })
    }
}

/// What an unsuccessful answer means.
fn refused(request: &Request, failure: Failure, bytes: &[u8]) -> Exchanged {
    // A page of a proxy says nothing about the Lease.
    let is_status = || serde_json::from_slice::<Value>(bytes).is_ok_and(|body| body["kind"] == "Status");
    let code = failure.code.and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or_default();
    let answer = match code {
        // What is not found when one is to be created is the namespace.
        StatusCode::NOT_FOUND if is_status() && !matches!(request, Request::Create(_)) => Answer::NotFound,
        StatusCode::CONFLICT if *request != Request::Get && is_status() => Answer::Conflict,
        code if code.is_client_error() && is_status() => Answer::Failed(Written::No),
        _ => Answer::Failed(Written::Unknown),
    };
    let error = matches!(answer, Answer::Failed(_)).then_some(failure.message);
    Exchanged { answer, lease: None, error }
}

fn failed(written: Written, error: String) -> Exchanged {
    Exchanged { answer: Answer::Failed(written), lease: None, error: Some(error) }
}
