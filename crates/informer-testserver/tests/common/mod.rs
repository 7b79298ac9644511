//! Recorded requests and answers, and how they are compared.

#![allow(dead_code, unreachable_pub)] // Each test program uses its part.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use informer_testserver::{Body, TestServer};
use serde_json::Value;
use tower_service::Service;

/// One recorded exchange.
pub struct Recorded {
    pub name: String,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub answer: Answer,
}

/// An answer, read to its end.
pub struct Answer {
    pub code: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

fn headers<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

impl Recorded {
    pub fn read(name: &str) -> Self {
        let path = format!("{}/tests/golden/{name}.http", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let (request, answer) = text.split_once("\n----\n").unwrap();
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let (line, rest) = head.split_once('\n').unwrap();
        let (method, path) = line.split_once(' ').unwrap();
        let (answer_head, answer_body) = answer.split_once("\n\n").unwrap_or((answer, ""));
        let code = answer_head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            name: name.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers(rest.lines()),
            body: body.trim().to_owned(),
            answer: Answer {
                code,
                headers: headers(answer_head.lines().skip(1)),
                body: answer_body.trim_end().to_owned(),
            },
        }
    }

    /// Code, headers and body must be the recorded ones.
    pub fn compare(&self, answer: &Answer) {
        assert_eq!(answer.code, self.answer.code, "{}: {}", self.name, answer.body);
        for (name, value) in &self.answer.headers {
            let ours =
                answer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
            assert_eq!(ours, Some(value.as_str()), "{}: header {name}", self.name);
        }
        self.compare_body(&answer.body);
    }

    /// Like `compare`, but the order of keys does not matter.
    pub fn compare_unordered(&self, answer: &Answer) {
        assert_eq!(answer.code, self.answer.code, "{}: {}", self.name, answer.body);
        let parse = |text: &str| -> Value { serde_json::from_str(&normal(text)).unwrap() };
        assert_eq!(parse(&answer.body), parse(&self.answer.body), "{}", self.name);
    }

    pub fn compare_body(&self, body: &str) {
        let (ours, theirs) = (normal(body), normal(&self.answer.body));
        assert_eq!(ours, theirs, "{}", self.name);
    }

    /// Code, reason and the keys of the body must be the recorded ones.
    pub fn compare_shape(&self, answer: &Answer) {
        assert_eq!(answer.code, self.answer.code, "{}: {}", self.name, answer.body);
        let parse = |text: &str| -> Vec<Value> {
            serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().unwrap()
        };
        let (ours, theirs) = (parse(&answer.body), parse(&self.answer.body));
        assert_eq!(ours.len(), theirs.len(), "{}", self.name);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours["reason"], theirs["reason"], "{}", self.name);
            assert_eq!(shape(ours), shape(theirs), "{}", self.name);
        }
    }
}

/// The keys of a value, nested; values of the same keys count once.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "managedFields" | "storageVersionHash"))
            .map(|(key, value)| (key.clone(), shape(value)))
            .collect(),
        Value::Array(list) => list.iter().map(shape).collect(),
        Value::String(_) => "".into(),
        other => other.clone(),
    }
}

/// The text without what differs from run to run: uids, times, generated names, managedFields.
pub fn normal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.trim();
    while let Some(at) = rest.find("\"managedFields\":[") {
        let before = &rest[..at];
        rest = after_list(&rest[at..]);
        // One comma of the two beside it goes with it.
        match before.strip_suffix(',') {
            Some(before) => out.push_str(before),
            None => {
                out.push_str(before);
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
        }
    }
    out.push_str(rest);
    let out = masked(&out, "\"uid\":\"", 36);
    let out = masked(&out, "Timestamp\":\"20", 18);
    let out = masked(&out, "Time\":\"20", 18);
    masked(&out, "\"gen-", 5)
}

/// What follows the list that starts in `text`.
fn after_list(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return &text[at + 1..];
                }
            }
            _ => {}
        }
    }
    ""
}

/// Replaces the `length` characters behind each `start`.
fn masked(text: &str, start: &str, length: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(start) {
        let end = at + start.len();
        out.push_str(&rest[..end]);
        let hidden = rest[end..].find('"').unwrap_or(0).min(length);
        out.push_str(if hidden > 0 { "*" } else { "" });
        rest = &rest[end + hidden..];
    }
    out + rest
}

fn request(recorded: &Recorded, token: Option<&str>) -> http::Request<Full<Bytes>> {
    let mut builder = http::Request::builder()
        .method(recorded.method.as_str())
        .uri(format!("http://server{}", recorded.path));
    for (name, value) in &recorded.headers {
        builder = builder.header(name, value);
    }
    if let Some(token) = token {
        builder = builder.header("authorization", format!("Bearer {token}"));
    }
    builder.body(Full::new(Bytes::from(recorded.body.clone()))).unwrap()
}

/// Sends a request and leaves the body to be read.
pub async fn open(server: &TestServer, recorded: &Recorded) -> http::Response<Body> {
    server.clone().call(request(recorded, None)).await.unwrap()
}

pub async fn send(server: &TestServer, recorded: &Recorded) -> Answer {
    finished(open(server, recorded).await).await
}

pub async fn send_with_token(server: &TestServer, recorded: &Recorded, token: &str) -> Answer {
    finished(server.clone().call(request(recorded, Some(token))).await.unwrap()).await
}

/// GET of a path.
pub async fn get(server: &TestServer, path: &str) -> http::Response<Body> {
    let request = http::Request::get(format!("http://server{path}")).body(Full::<Bytes>::default()).unwrap();
    server.clone().call(request).await.unwrap()
}

/// GET of a path, read to its end.
pub async fn get_all(server: &TestServer, path: &str) -> Answer {
    finished(get(server, path).await).await
}

pub async fn finished(response: http::Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        code: parts.status.as_u16(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect(),
        body: String::from_utf8(body.to_vec()).unwrap().trim_end().to_owned(),
    }
}

/// Reads frames until one holds this text.
pub async fn read_until(body: &mut Body, text: &str) -> String {
    let mut out = String::new();
    while !out.contains(text) {
        let frame = body.frame().await.unwrap().unwrap();
        out.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    out
}
