//! Serves one request: log, faults, who may, then the API; and the tower service for in-process use.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Limited};

use crate::body::Body;
use crate::faults::Fault;
use crate::request::{Request, Target, Verb};
use crate::server::{Inner, LoggedRequest, TestServer};
use crate::status::{ApiError, Details};
use crate::{discovery, handlers};

/// A request broke off without an answer: the only way in which the service itself errs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeError;

impl fmt::Display for ServeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("connection reset before the answer")
    }
}

impl std::error::Error for ServeError {}

/// The size of a request's body that a real server takes: 3 MiB.
const BODY_LIMIT: usize = 3 << 20;
/// A real server compresses lists and objects longer than this, for clients that ask.
const GZIP_FROM_BYTES: usize = 128 << 10;

/// The body and headers of a good answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) body: Body,
    pub(crate) content_type: &'static str,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn json(code: StatusCode, body: Body) -> Self {
        Self { code, body, content_type: "application/json", warnings: Vec::new() }
    }
}

impl<B> tower_service::Service<http::Request<B>> for TestServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = ServeError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, ServeError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ServeError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        Box::pin(serve(Arc::clone(&self.inner), request))
    }
}

/// Answers one request.
pub(crate) async fn serve<B>(
    inner: Arc<Inner>,
    request: http::Request<B>,
) -> Result<Response<Body>, ServeError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let request = Request::new(&parts.method, &parts.uri, &parts.headers);
    let faults = admit(&inner, &request);
    tracing::debug!(verb = request.verb.as_str(), path = request.path, "request");
    if faults.iter().any(|fault| matches!(fault, Fault::ResetBeforeHeaders)) {
        return Err(ServeError);
    }
    if faults.iter().any(|fault| matches!(fault, Fault::StallBeforeHeaders)) {
        std::future::pending::<()>().await;
    }
    if let Some(response) = faults.iter().find_map(canned) {
        return Ok(finish(response, &request, &faults));
    }
    if let Err(error) = authorise(&inner, &request) {
        return Ok(finish(error_response(&error), &request, &faults));
    }
    let body = match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            let error =
                ApiError::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
            return Ok(error_response(&error));
        }
    };
    let answer = match &request.target {
        Target::Object(path) => handlers::handle(&inner, &request, path, &body, &faults),
        _ => discovery::handle(&inner, &request),
    };
    let response = match answer {
        Ok(answer) => answer_response(answer),
        Err(error) => error_response(&error),
    };
    Ok(finish(response, &request, &faults))
}

/// Logs the request and takes the faults that are meant for it.
fn admit(inner: &Inner, request: &Request) -> Vec<Fault> {
    let resource = request.object().map_or("", |path| path.plural.as_str());
    let mut control = inner.control();
    control.log(LoggedRequest {
        verb: request.verb,
        method: request.method.to_string(),
        path: request.path.clone(),
        query: request.query.0.clone(),
        resource: resource.to_owned(),
        accept: request.accept.text.clone(),
        gzip: request.gzip,
        content_type: request.content_type.clone(),
        user_agent: request.user_agent.clone(),
    });
    control.rules.take(request.verb, resource, &request.path)
}

fn canned(fault: &Fault) -> Option<Response<Body>> {
    match fault {
        Fault::Error(error) => Some(error_response(error)),
        Fault::RetryAfter(error, after) => {
            let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX);
            Some(error_response(&error.clone().retry_after(seconds)))
        }
        Fault::Response { code, headers, body } => {
            let mut response = Response::new(Body::whole(body.clone()));
            *response.status_mut() = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                    response.headers_mut().insert(name, value);
                }
            }
            Some(response)
        }
        _ => None,
    }
}

/// With a token set: a wrong one is nobody (401), none at all is the anonymous user (403). Then the denials.
fn authorise(inner: &Inner, request: &Request) -> Result<(), ApiError> {
    let control = inner.control();
    let mut user = "kubernetes-admin";
    let mut allowed = true;
    if let Some(token) = &control.bearer_token {
        match &request.bearer {
            Some(given) if given == token => {}
            Some(_) => return Err(ApiError::new(401, "Unauthorized", "Unauthorized")),
            None => {
                user = "system:anonymous";
                allowed = matches!(request.target, Target::Health | Target::ServerVersion);
            }
        }
    }
    let Some(path) = request.object() else {
        let what = format!("User \"{user}\" cannot get path \"{}\"", request.path);
        return if allowed {
            Ok(())
        } else {
            Err(ApiError::new(403, "Forbidden", format!("forbidden: {what}")).details(Details::default()))
        };
    };
    if allowed && !control.denied.contains(&(request.verb, path.plural.clone())) {
        return Ok(());
    }
    let resource = if path.subresource.is_empty() {
        path.plural.clone()
    } else {
        format!("{}/{}", path.plural, path.subresource)
    };
    let scope = if path.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{}\"", path.namespace)
    };
    let what = format!(
        "User \"{user}\" cannot {} resource \"{resource}\" in API group \"{}\" {scope}",
        request.verb.as_str(),
        path.group
    );
    Err(ApiError::forbidden(&path.group, &path.plural, &path.name, &what))
}

fn answer_response(answer: Answer) -> Response<Body> {
    let mut response = Response::new(answer.body);
    *response.status_mut() = answer.code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    for warning in answer.warnings {
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{}\"", warning.replace('"', "\\\""))) {
            headers.append(WARNING, value);
        }
    }
    response
}

pub(crate) fn error_response(error: &ApiError) -> Response<Body> {
    let (body, content_type) = if error.is_plain() {
        (format!("{}\n", error.message()).into_bytes(), "text/plain; charset=utf-8")
    } else if error.code() == 406 {
        (error.to_pretty_json(), "application/json")
    } else {
        (error.to_json(), "application/json")
    };
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if error.is_plain() || error.code() == 403 {
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    }
    if let Some(seconds) = error.retry_after_seconds() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The headers all answers have, compression, and what the faults do to the body.
fn finish(mut response: Response<Body>, request: &Request, faults: &[Fault]) -> Response<Body> {
    let cache = if request.verb == Verb::Other { "public" } else { "no-cache, private" };
    response.headers_mut().entry("cache-control").or_insert(HeaderValue::from_static(cache));
    if let Some(raw) = faults.iter().find_map(|fault| match fault {
        Fault::RawBody(bytes) if !response.body().is_watch() => Some(bytes.clone()),
        _ => None,
    }) {
        *response.body_mut() = Body::whole(raw);
    }
    if request.gzip {
        let members = faults.iter().any(|fault| matches!(fault, Fault::GzipMembers));
        if members || response.body().is_longer_than(GZIP_FROM_BYTES) {
            if members {
                response.body_mut().gzip_members();
            } else {
                response.body_mut().gzip();
            }
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response.headers_mut().insert("vary", HeaderValue::from_static("Accept-Encoding"));
        }
    }
    response.body_mut().apply(faults);
    response
}
