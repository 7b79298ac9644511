//! The endpoint: `/metrics`, `/healthz` and `/readyz` over HTTP/1.1.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::prometheus_text;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::Metrics;
use super::checks::{Checks, Outcome};
use crate::factory::SharedInformerFactory;

/// A Prometheus, a few probes and a person: all of them use a connection for one request.
const MAX_CONNECTIONS: usize = 32;
/// Whoever has not sent its request by then is no client of ours. Probes wait 1 s.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(5);
/// One request and its answer; a scrape is given 10 s by Prometheus.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest that a shutdown waits for answers under way.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// After an accept that failed (out of file descriptors, mostly), so that a loop without sense does not burn a core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves metrics and health on an address of its own, until it is shut down or dropped.
///
/// - `/metrics`: [`Metrics::text`];
/// - `/healthz`: 200 while the runtime runs and every [`live_check`](MetricsServerBuilder::live_check) passes, else 503;
/// - `/readyz`: 200 if every [`ready_check`](MetricsServerBuilder::ready_check) passes, else 503. The page has a line for each
///   check, with the reason of each failure; `?exclude=NAME` leaves one out.
///
/// Only GET and HEAD are answered, one request a connection, of 32 connections at once; a request has to be there within 5 s.
/// There is no TLS and no authentication: bind it to an address that only those reach who may know, or put a proxy before it.
#[must_use = "dropping it stops serving"]
pub struct MetricsServer {
    addr: SocketAddr,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// What a [`MetricsServer`] is to tell.
#[must_use]
pub struct MetricsServerBuilder {
    metrics: Metrics,
    live: Checks,
    ready: Checks,
}

/// The address cannot be served on.
#[derive(Debug)]
pub struct ServeError {
    address: String,
    source: io::Error,
}

impl MetricsServer {
    /// A server of these metrics.
    pub fn builder(metrics: Metrics) -> MetricsServerBuilder {
        MetricsServerBuilder { metrics, live: Checks::default(), ready: Checks::default() }
    }

    /// The address, with the port that the system chose if it was to choose one.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops listening, and waits until the answers under way are sent, at most a second.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for MetricsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetricsServer({})", self.addr)
    }
}

impl MetricsServerBuilder {
    /// Adds a check to `/readyz`: whether the program can do its work now. Its error is shown on the page to everybody who asks,
    /// so it must hold no secret. It is called on the runtime's thread at each request: it has to be quick.
    ///
    /// The name should need no escaping in a URL.
    pub fn ready_check<E: fmt::Display>(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.ready.push(name, check);
        self
    }

    /// Adds a check to `/healthz`: whether the program should not rather be restarted. An API server that cannot be reached is
    /// no reason.
    pub fn live_check<E: fmt::Display>(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.live.push(name, check);
        self
    }

    /// Adds the check `informers` to `/readyz`: every informer of the factory has its first list, those made later too. The
    /// reason says which has not, in which phase it is, and why. Does not keep the factory.
    pub fn synced(self, factory: &SharedInformerFactory) -> Self {
        self.ready_check("informers", factory.synced_check())
    }

    /// Listens on `address`: `127.0.0.1:8080`, `[::1]:0`, `localhost:9090`, or `:8080` for every IPv4 address of the host.
    ///
    /// # Errors
    /// If it is no address, not one of this host, or in use.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time enabled.
    pub async fn bind(self, address: &str) -> Result<MetricsServer, ServeError> {
        let failed = |source| ServeError { address: address.to_owned(), source };
        let full = if address.starts_with(':') { format!("0.0.0.0{address}") } else { address.to_owned() };
        let listener = TcpListener::bind(full).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(accept(listener, Arc::new(self), stop.clone()));
        Ok(MetricsServer { addr, stop, task: Some(task) })
    }

    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut response = page(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n".into());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let query = request.uri().query().unwrap_or_default();
        match request.uri().path() {
            "/metrics" => {
                let mut response = page(StatusCode::OK, self.metrics.text());
                let format = HeaderValue::from_static(prometheus_text::CONTENT_TYPE);
                response.headers_mut().insert(CONTENT_TYPE, format);
                response
            }
            "/healthz" | "/livez" => verdict(self.live.run("healthz", query)),
            "/readyz" => verdict(self.ready.run("readyz", query)),
            _ => page(StatusCode::NOT_FOUND, "there are /metrics, /healthz and /readyz\n".into()),
        }
    }
}

impl fmt::Debug for MetricsServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsServerBuilder").finish_non_exhaustive()
    }
}

impl ServeError {
    /// The address as it was given.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether somebody else listens there.
    pub fn is_in_use(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, source } = self;
        match source.kind() {
            io::ErrorKind::AddrInUse => write!(f, "cannot serve metrics on {address:?}: the port is in use"),
            io::ErrorKind::InvalidInput => {
                write!(f, "cannot serve metrics on {address:?}: no address of the form HOST:PORT")
            }
            _ => write!(f, "cannot serve metrics on {address:?}: {source}"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

async fn accept(listener: TcpListener, pages: Arc<MetricsServerBuilder>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            let place = Arc::clone(&places).acquire_owned().await;
            match listener.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    let pages = Arc::clone(&pages);
                    connections.spawn(async move {
                        let _place = place;
                        // Its one error, time, is the peer's trouble.
                        let _ = tokio::time::timeout(CONNECTION_TIMEOUT, serve(stream, &pages)).await;
                    });
                }
                Err(error) => {
                    tracing::debug!(target: "informer::metrics", %error, "accept failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop.cancelled() => {}
    }
    drop(listener);
    let _ =
        tokio::time::timeout(SHUTDOWN_TIMEOUT, async { while connections.join_next().await.is_some() {} })
            .await;
}

async fn serve(stream: TcpStream, pages: &MetricsServerBuilder) {
    let service = service_fn(|request| std::future::ready(Ok::<_, Infallible>(pages.answer(&request))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(target: "informer::metrics", %error, "connection failed");
    }
}

fn verdict(Outcome { passed, page: text }: Outcome) -> Response<Full<Bytes>> {
    page(if passed { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
}

fn page(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
