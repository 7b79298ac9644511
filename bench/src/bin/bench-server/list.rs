//! A LIST: its items are written while they are sent.

use std::io::Write as _;
use std::sync::Arc;

use crate::body::{Gone, Writer};
use crate::request::Query;
use crate::state::Server;

pub(crate) async fn write(server: Arc<Server>, query: Query, writer: Writer) {
    // A client that goes in the middle needs no more.
    let _ = try_write(&server, &query, &writer).await;
}

async fn try_write(server: &Server, query: &Query, writer: &Writer) -> Result<(), Gone> {
    let collection = &server.collection;
    let end = query.limit.map_or(query.range.end, |limit| query.range.end.min(query.from + limit));
    let (version, versions) = server.versions(query.from..end);
    let (api_version, kind) = match query.metadata_only {
        true => ("meta.k8s.io/v1", "PartialObjectMetadata"),
        false => collection.types(),
    };
    let mut buffer = Vec::new();
    let _ = write!(
        buffer,
        r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{version}""#
    );
    let left = query.range.end - end;
    if left > 0 {
        let _ = write!(buffer, r#","continue":"{end}","remainingItemCount":{left}"#);
    }
    buffer.extend_from_slice(br#"},"items":["#);
    for (number, version) in (query.from..end).zip(versions) {
        if number > query.from {
            buffer.push(b',');
        }
        if query.metadata_only {
            collection.write_metadata(number, version, &mut buffer);
        } else {
            collection.write(number, version, true, &mut buffer);
        }
        writer.send_full(&mut buffer).await?;
    }
    buffer.extend_from_slice(b"]}\n");
    writer.send(buffer).await
}
