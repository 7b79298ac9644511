//! From a request to a list, a watch, or a refusal.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};
use informer_bench::Collection;
use serde_json::json;

use crate::state::Server;
use crate::{body, list, watch};

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What a list or a watch is asked for.
#[derive(Debug, Default)]
pub(crate) struct Query {
    /// The numbers of the objects in question.
    pub(crate) range: Range<usize>,
    pub(crate) metadata_only: bool,
    pub(crate) limit: Option<usize>,
    /// The number to go on with.
    pub(crate) from: usize,
    pub(crate) version: Option<u64>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) initial_events: bool,
    pub(crate) bookmarks: bool,
    is_watch: bool,
}

pub(crate) fn answer(server: &Arc<Server>, request: &Request<Incoming>) -> Answer {
    let Some(range) = range(&server.collection, request.uri().path()) else {
        return refusal(StatusCode::NOT_FOUND, "NotFound", "only one resource is served here");
    };
    if request.method() != Method::GET {
        return refusal(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "nothing can be written here");
    }
    let Some(query) = parse(range, request) else {
        return refusal(StatusCode::BAD_REQUEST, "BadRequest", "a parameter is not as it should be");
    };
    let (writer, channel) = body::channel();
    let server = Arc::clone(server);
    if query.is_watch {
        tokio::spawn(watch::write(server, query, writer));
    } else {
        tokio::spawn(list::write(server, query, writer));
    }
    response(StatusCode::OK, channel.boxed())
}

/// The numbers of the objects that a path means.
fn range(collection: &Collection, path: &str) -> Option<Range<usize>> {
    let rest = path.strip_prefix(collection.group_path())?.strip_prefix('/')?;
    match rest.split('/').collect::<Vec<_>>()[..] {
        [plural] if plural == collection.plural() => Some(0..collection.len()),
        ["namespaces", namespace, plural] if plural == collection.plural() => {
            Some(collection.in_namespace(namespace))
        }
        _ => None,
    }
}

fn parse(range: Range<usize>, request: &Request<Incoming>) -> Option<Query> {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
    let metadata_only = accept.contains("as=PartialObjectMetadata");
    let mut query = Query { from: range.start, range, metadata_only, ..Query::default() };
    for pair in request.uri().query().unwrap_or("").split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_true = matches!(value, "true" | "1");
        match name {
            "watch" => query.is_watch = is_true,
            "sendInitialEvents" => query.initial_events = is_true,
            "allowWatchBookmarks" => query.bookmarks = is_true,
            "limit" => query.limit = Some(value.parse().ok()?).filter(|limit| *limit > 0),
            "continue" if !value.is_empty() => query.from = value.parse().ok()?,
            "resourceVersion" if !value.is_empty() => query.version = Some(value.parse().ok()?),
            "timeoutSeconds" => query.timeout_seconds = Some(value.parse().ok()?),
            _ => {}
        }
    }
    if query.version == Some(0) {
        // The watch cache answers: it knows no pages.
        query.limit = None;
    }
    (query.range.start..=query.range.end).contains(&query.from).then_some(query)
}

fn refusal(code: StatusCode, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    response(code, Full::new(status.to_string().into()).boxed())
}

fn response(code: StatusCode, body: BoxBody<Bytes, Infallible>) -> Answer {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let json = "application/json".try_into().expect("a header's value");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
