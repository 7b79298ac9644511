//! A WATCH, with the collection's objects first if they are asked for.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::body::{Gone, Writer};
use crate::request::Query;
use crate::state::{Next, Server};

/// A real server tells the version about once a minute; what is silent for longer counts as dead with some clients.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(50);

/// How long a watch is without a word from the client about it.
const DEFAULT_TIMEOUT_SECONDS: u64 = 1_800;

/// Changes taken from the history at once: a few chunks.
const CHANGES: usize = 64;

pub(crate) async fn write(server: Arc<Server>, query: Query, writer: Writer) {
    let timeout = Duration::from_secs(query.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS));
    let epoch = server.open_watch();
    // A client may end a watch at any time; so may the time limit.
    let events = Events { server: &server, query: &query, writer: &writer };
    tokio::select! {
        _ = events.write(epoch) => {}
        () = sleep(timeout) => {}
        () = writer.closed() => {}
    }
    server.close_watch();
}

struct Events<'a> {
    server: &'a Server,
    query: &'a Query,
    writer: &'a Writer,
}

impl Events<'_> {
    async fn write(&self, epoch: u64) -> Result<(), Gone> {
        let mut growth = self.server.growth();
        let mut version = self.query.version.unwrap_or(0);
        if version == 0 || self.query.initial_events {
            version = self.initial().await?;
        } else if !self.server.remembers(version) {
            return self.writer.send(EXPIRED.to_vec()).await;
        }
        let mut bookmark_at = Instant::now() + BOOKMARK_PERIOD;
        loop {
            growth.mark_unchanged();
            match self.server.next(version, epoch, CHANGES) {
                Next::Changes(changes) => {
                    version = changes.last().map_or(version, |(_, version)| *version);
                    self.changes(&changes).await?;
                }
                Next::End => return Ok(()),
                Next::Wait => tokio::select! {
                    _ = growth.changed() => {}
                    () = sleep_until(bookmark_at) => {
                        bookmark_at = Instant::now() + BOOKMARK_PERIOD;
                        if self.query.bookmarks {
                            self.bookmark(version, "").await?;
                        }
                    }
                },
            }
        }
    }

    /// The objects as they are, and that they were all.
    async fn initial(&self) -> Result<u64, Gone> {
        let (version, versions) = self.server.versions(self.query.range.clone());
        let mut buffer = Vec::new();
        for (number, version) in self.query.range.clone().zip(versions) {
            self.event("ADDED", number, version, &mut buffer);
            self.writer.send_full(&mut buffer).await?;
        }
        self.writer.send(buffer).await?;
        if self.query.initial_events {
            self.bookmark(version, r#","annotations":{"k8s.io/initial-events-end":"true"}"#).await?;
        }
        Ok(version)
    }

    async fn changes(&self, changes: &[(usize, u64)]) -> Result<(), Gone> {
        let mut buffer = Vec::new();
        for (number, version) in changes {
            if self.query.range.contains(number) {
                self.event("MODIFIED", *number, *version, &mut buffer);
                self.writer.send_full(&mut buffer).await?;
            }
        }
        if buffer.is_empty() { Ok(()) } else { self.writer.send(buffer).await }
    }

    fn event(&self, kind: &str, number: usize, version: u64, buffer: &mut Vec<u8>) {
        let _ = write!(buffer, r#"{{"type":"{kind}","object":"#);
        if self.query.metadata_only {
            self.server.collection.write_metadata(number, version, buffer);
        } else {
            self.server.collection.write(number, version, false, buffer);
        }
        buffer.extend_from_slice(b"}\n");
    }

    async fn bookmark(&self, version: u64, annotations: &str) -> Result<(), Gone> {
        let (api_version, kind) = match self.query.metadata_only {
            true => ("meta.k8s.io/v1", "PartialObjectMetadata"),
            false => self.server.collection.types(),
        };
        let object = format!(
            r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{version}"{annotations}}}}}"#
        );
        self.writer.send(format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n").into_bytes()).await
    }
}

/// What a real server sends where a watch begins at a version that it has forgotten.
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}
"#;
