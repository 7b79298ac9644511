//! A server's side: bodies rendered beforehand, given within the process or over plain HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use informer::{BoxError, ByteBody, Request};

use crate::objects::object;

/// What one read of a socket gives, about.
const CHUNK: usize = 64 << 10;

/// What is served: objects at version 1, then changes.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) what: String,
    pub(crate) objects: usize,
    pub(crate) changes: usize,
    pub(crate) metadata_only: bool,
}

impl Plan {
    pub(crate) fn parse(what: &str, objects: usize, metadata_only: bool) -> Self {
        let changes = match what {
            "relist" => objects.div_ceil(20),
            "events" => 100_000,
            "reads" => 50_000,
            _ => 0,
        };
        Self { what: what.to_owned(), objects, changes, metadata_only }
    }

    pub(crate) fn last_version(&self) -> u64 {
        1 + self.changes as u64
    }
}

/// Answers a first list (or watch list), a watch, and a second list.
pub(crate) struct Source {
    plan: Plan,
    first: Bytes,
    second: Bytes,
    changes: Bytes,
    lists: AtomicUsize,
    watches: AtomicUsize,
}

impl Source {
    pub(crate) fn new(plan: Plan) -> Self {
        let Plan { objects, changes, metadata_only, .. } = plan;
        let event = |kind: &str, object: &str| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        let (mut first, mut second, mut changed) = (String::new(), String::new(), String::new());
        match &*plan.what {
            "watch-list" => {
                for i in 0..objects {
                    first.push_str(&event("ADDED", &object(i, 1, metadata_only)));
                }
                first.push_str(&event(
                    "BOOKMARK",
                    r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
                ));
            }
            _ => first = list(1, (0..objects).map(|i| object(i, 1, metadata_only))),
        }
        match &*plan.what {
            "relist" => {
                changed = event(
                    "ERROR",
                    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}"#,
                );
                let version = |i: usize| if i.is_multiple_of(20) { 2 + i as u64 / 20 } else { 1 };
                let all = (0..objects).map(|i| object(i, version(i), metadata_only));
                second = list(plan.last_version(), all);
            }
            "events" | "reads" => {
                for change in 0..changes {
                    // In no order that a cache of the processor could learn.
                    let i = change * 7919 % objects;
                    changed.push_str(&event("MODIFIED", &object(i, 2 + change as u64, metadata_only)));
                }
            }
            _ => {}
        }
        let (first, second, changes) = (first.into(), second.into(), changed.into());
        Self { plan, first, second, changes, lists: AtomicUsize::new(0), watches: AtomicUsize::new(0) }
    }

    /// The body, and whether it stays open after it.
    fn body(&self, watch: bool) -> (Bytes, bool) {
        match (watch, self.plan.what == "watch-list") {
            (true, true) => (self.first.clone(), true),
            (true, false) => match self.watches.fetch_add(1, Ordering::Relaxed) {
                0 => (self.changes.clone(), true),
                _ => (Bytes::new(), true),
            },
            (false, _) => match self.lists.fetch_add(1, Ordering::Relaxed) {
                0 => (self.first.clone(), false),
                _ => (self.second.clone(), false),
            },
        }
    }

    pub(crate) fn answer(
        self: &Arc<Self>,
        request: Request,
    ) -> impl Future<Output = Result<http::Response<ByteBody>, BoxError>> + Send + use<> {
        let (mut body, open) = self.body(matches!(request, Request::Watch(_)));
        let chunks = std::iter::from_fn(move || {
            (!body.is_empty()).then(|| Ok(Frame::data(body.split_to(CHUNK.min(body.len())))))
        });
        let pause = if self.plan.what == "reads" { Duration::from_millis(1) } else { Duration::ZERO };
        let chunks = stream::iter(chunks).then(move |chunk| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            chunk
        });
        let body = match open {
            true => StreamBody::new(chunks.chain(stream::pending())).boxed_unsync(),
            false => StreamBody::new(chunks).boxed_unsync(),
        };
        std::future::ready(Ok(http::Response::new(body)))
    }
}

fn list(version: u64, objects: impl Iterator<Item = String>) -> String {
    let mut list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":["#
    );
    for (i, object) in objects.enumerate() {
        if i > 0 {
            list.push(',');
        }
        list.push_str(&object);
    }
    list.push_str("]}");
    list
}

/// Runs this very program as a server; answers its port.
pub(crate) fn spawn_server(plan: &Plan) -> Result<(Child, u16), Box<dyn std::error::Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["serve", &plan.what, &plan.objects.to_string(), &plan.metadata_only.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it was asked for")).read_line(&mut line)?;
    Ok((child, line.trim().parse()?))
}

pub(crate) fn serve(source: Source) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let source = Arc::new(source);
    for stream in listener.incoming() {
        let source = Arc::clone(&source);
        // A client that goes away is no error here.
        std::thread::spawn(move || stream.and_then(|stream| connection(stream, &source)));
    }
    Ok(())
}

fn connection(mut stream: TcpStream, source: &Source) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(request) = lines.next().transpose()? {
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let (body, open) = source.body(request.contains("watch=true"));
        if !open {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len())?;
            stream.write_all(&body)?;
            continue;
        }
        write!(stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
        for chunk in body.chunks(CHUNK) {
            write!(stream, "{:x}\r\n", chunk.len())?;
            stream.write_all(chunk)?;
            stream.write_all(b"\r\n")?;
        }
    }
    Ok(())
}
