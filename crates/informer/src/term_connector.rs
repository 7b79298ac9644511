//! TCP connections that carry bytes only while a term of leadership lasts.

use std::error::Error;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tower::Service;

use crate::leader_election::Leadership;
use crate::read_pacing::PacedReads;

/// Below TLS, which asks for 4 KB at a time, a call of the system brings as much as this.
const TLS_READ_BYTES: usize = 64 << 10;

/// Connects, and binds each connection to the term, if there is one.
#[derive(Clone)]
pub(crate) struct TermConnector {
    inner: HttpConnector,
    term: Option<Leadership>,
}

/// A connection, below TLS: what is written to it goes to the system in the same call.
pub(crate) struct TermStream {
    inner: TokioIo<BufReader<PacedReads<TcpStream>>>,
    term: Option<Leadership>,
}

/// Nothing was sent, because the term of leadership that it was to be sent in is over.
#[derive(Debug, thiserror::Error)]
#[error("nothing is sent: this term of leadership is over")]
#[non_exhaustive]
pub struct TermOver;

impl TermOver {
    /// Whether this is why the request failed.
    pub fn caused(error: &(dyn Error + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            // An IO error's source is that of what it holds.
            let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if error.is::<Self>() || held.is_some_and(|held| held.is::<Self>()) {
                return true;
            }
            next = error.source();
        }
        false
    }
}

impl TermConnector {
    pub(crate) fn new(inner: HttpConnector, term: Option<Leadership>) -> Self {
        Self { inner, term }
    }
}

impl Service<Uri> for TermConnector {
    type Response = TermStream;
    type Error = crate::BoxError;
    type Future = BoxFuture<'static, Result<TermStream, crate::BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let is_tls = uri.scheme() == Some(&Scheme::HTTPS);
        let (connecting, term) = (self.inner.call(uri), self.term.clone());
        Box::pin(async move {
            check(term.as_ref())?;
            let inner = connecting.await?;
            if term.is_some() {
                // Whatever closes the connection, the system must not go on trying to deliver.
                inner.inner().set_zero_linger()?;
            }
            let inner = if is_tls {
                BufReader::with_capacity(TLS_READ_BYTES, PacedReads::new(inner.into_inner()))
            } else {
                // hyper's own buffer adapts itself; one that is smaller than what is asked for is passed by.
                BufReader::with_capacity(1, PacedReads::unpaced(inner.into_inner()))
            };
            Ok(TermStream { inner: TokioIo::new(inner), term })
        })
    }
}

fn check(term: Option<&Leadership>) -> io::Result<()> {
    match term {
        Some(term) if !term.is_leading() => Err(io::Error::other(TermOver)),
        _ => Ok(()),
    }
}

impl TermStream {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut TokioIo<BufReader<PacedReads<TcpStream>>>> {
        Pin::new(&mut self.get_mut().inner)
    }
}

impl Write for TermStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        check(self.term.as_ref())?;
        self.inner().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        check(self.term.as_ref())?;
        self.inner().poll_write_vectored(cx, parts)
    }
}

impl Read for TermStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(cx, into)
    }
}

impl Connection for TermStream {
    fn connected(&self) -> Connected {
        self.inner.inner().get_ref().get_ref().connected()
    }
}
