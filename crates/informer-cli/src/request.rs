//! One GET with a deadline, its answer as JSON; bodies never reach a log or an error.

use crate::errors::{Cause, RequestError};
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;
use serde_json::Value;
use std::time::{Duration, Instant};

/// The largest answer accepted: discovery of a cluster with thousands of CRDs is below 10 MB, a Table of 10,000 rows
/// below 20 MB.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Sends requests to one server.
#[derive(Clone)]
pub(crate) struct Requester {
    client: kube::Client,
    /// Scheme and authority, to say in errors who was asked.
    server: String,
    timeout: Option<Duration>,
}

impl Requester {
    /// Requests through `client`, which talks to `server`; each, body included, is given up after `timeout`.
    pub(crate) fn new(client: kube::Client, server: &http::Uri, timeout: Option<Duration>) -> Self {
        let scheme = server.scheme_str().unwrap_or("http");
        let host = server.host().unwrap_or_default();
        let port = server.port().map(|port| format!(":{port}")).unwrap_or_default();
        Self { client, server: format!("{scheme}://{host}{port}"), timeout }
    }

    /// The answer to `GET path_and_query`.
    ///
    /// # Errors
    /// Whatever kept the answer from coming, or an answer that is no success, not JSON or too large.
    pub(crate) async fn json(&self, path_and_query: &str, accept: &str) -> Result<Value, RequestError> {
        let path = path_and_query.split('?').next().unwrap_or_default();
        let name = format!("GET {}{path}", self.server);
        let started = Instant::now();
        let exchange = self.exchange(&name, path_and_query, accept);
        let answer = match self.timeout {
            None => exchange.await,
            Some(timeout) => match tokio::time::timeout(timeout, exchange).await {
                Ok(answer) => answer,
                Err(_) => Err(RequestError::new(&name, Cause::TimedOut(timeout))),
            },
        };
        let outcome = if answer.is_ok() { "answered" } else { "failed" };
        tracing::debug!("{name}: {outcome} after {} ms", started.elapsed().as_millis());
        answer
    }

    async fn exchange(&self, name: &str, path_and_query: &str, accept: &str) -> Result<Value, RequestError> {
        let request =
            http::Request::get(path_and_query).header(ACCEPT, accept).body(Body::empty()).map_err(|_| {
                RequestError::new(name, Cause::BadAnswer("its address cannot be built".to_owned()))
            })?;
        let answer =
            self.client.send(request).await.map_err(|error| RequestError::transport(name, &error))?;
        let status = answer.status();
        let plain_text =
            answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        let bytes = match body {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("it is larger than {} MiB", MAX_ANSWER_BYTES >> 20);
                return Err(RequestError::new(name, Cause::BadAnswer(why)));
            }
            Err(error) => return Err(RequestError::transport(name, &*error)),
        };
        let parsed: Result<Value, _> = serde_json::from_slice(&bytes);
        if !status.is_success() {
            let status_object = parsed.unwrap_or_default();
            let field = |name: &str| status_object.get(name).and_then(Value::as_str).unwrap_or_default();
            let line =
                std::str::from_utf8(&bytes).ok().and_then(|text| text.lines().next()).unwrap_or_default();
            let message = match field("message") {
                // What Go's HTTP server says comes without any header.
                "" if plain_text || line.starts_with("Client sent an HTTP request to an HTTPS") => line,
                message => message,
            };
            return Err(RequestError::status(name, status.as_u16(), field("reason"), message));
        }
        parsed.map_err(|error| {
            let why = format!("not JSON at line {}, column {}", error.line(), error.column());
            RequestError::new(name, Cause::BadAnswer(why))
        })
    }
}

/// `text` as one part of a path or query: everything but letters, digits and `-._~` is percent-encoded.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::{
        convert::Infallible,
        sync::{Arc, Mutex},
    };

    /// A requester whose server is a function from path and Accept to status and body, and what was asked of it.
    pub(crate) fn scripted(
        answer: impl Fn(&str, &str) -> (u16, String) + Clone + Send + 'static,
    ) -> (Requester, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let path = request.uri().path_and_query().map_or("", |p| p.as_str()).to_owned();
            let accept = request.headers().get(ACCEPT).and_then(|a| a.to_str().ok()).unwrap_or_default();
            let (status, body) = answer(&path, accept);
            log.lock().unwrap().push(path);
            let mut response = http::Response::new(Body::from(body.into_bytes()));
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        let client = kube::Client::new(service, "default");
        let server = http::Uri::from_static("https://h:6443/prefix");
        (Requester::new(client, &server, Some(Duration::from_secs(5))), asked)
    }

    #[tokio::test]
    async fn errors_name_the_request_and_never_the_body() {
        let (requester, _) = scripted(|path, _| match path {
            "/status?x=y" => (403, r#"{"kind":"Status","reason":"Forbidden","message":"no"}"#.to_owned()),
            "/html" => (502, "<p>hunter2</p>".to_owned()),
            "/tls" => (400, "Client sent an HTTP request to an HTTPS server.\n".to_owned()),
            _ => (200, "{\"password\": hunter2".to_owned()),
        });
        let line = async |path| requester.json(path, "application/json").await.unwrap_err().to_string();
        assert_eq!(
            line("/status?x=y").await,
            "Error from server (Forbidden): no (GET https://h:6443/status)"
        );
        assert_eq!(
            line("/html").await,
            "Error from server (BadGateway): status 502 (GET https://h:6443/html)"
        );
        assert_eq!(
            line("/tls").await,
            "Error from server (BadRequest): Client sent an HTTP request to an HTTPS server. (GET https://h:6443/tls)"
        );
        assert_eq!(
            line("/cut").await,
            "error: the server's answer makes no sense: not JSON at line 1, column 14 (GET https://h:6443/cut)"
        );
    }

    #[test]
    fn names_cannot_leave_their_part_of_the_path() {
        assert_eq!(encode("web-0.a_b~"), "web-0.a_b~");
        assert_eq!(encode("a/../b?c=d&e f%é"), "a%2F..%2Fb%3Fc%3Dd%26e%20f%25%C3%A9");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_given_up() {
        let service = tower::service_fn(|_: http::Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, Infallible>>()
        });
        let client = kube::Client::new(service, "default");
        let server = http::Uri::from_static("http://h");
        let requester = Requester::new(client, &server, Some(Duration::from_secs(3)));
        let error = requester.json("/api", "application/json").await.unwrap_err();
        assert_eq!(error.to_string(), "error: no answer within 3s (GET http://h/api)");
    }
}
