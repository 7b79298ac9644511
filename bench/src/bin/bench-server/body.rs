//! A body that a task writes and the connection reads, a few chunks apart.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc;

/// How much is sent at once: as much as a socket takes.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// Chunks that may wait: the writer stays a little ahead of the reader.
const CHUNKS: usize = 4;

/// The reading end.
pub(crate) struct Channel(mpsc::Receiver<Bytes>);

/// The writing end. It fails when the reader has gone.
pub(crate) struct Writer(mpsc::Sender<Bytes>);

pub(crate) fn channel() -> (Writer, Channel) {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    (Writer(sender), Channel(receiver))
}

impl Writer {
    pub(crate) async fn send(&self, bytes: Vec<u8>) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.0.send(bytes.into()).await.map_err(|_| Gone)
    }

    /// Sends what is in the buffer once it is a chunk.
    pub(crate) async fn send_full(&self, buffer: &mut Vec<u8>) -> Result<(), Gone> {
        if buffer.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.send(std::mem::replace(buffer, Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4))).await
    }

    /// Returns when the reader has gone.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The reader has gone.
#[derive(Debug)]
pub(crate) struct Gone;

impl Body for Channel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }
}
