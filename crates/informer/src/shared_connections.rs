//! HTTP/2 connections that many requests share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::{Body, ConfigExt};

use crate::term_connector::TermConnector;
use crate::transport::Connector;

/// Requests on one connection. API servers allow 100, other servers hardly less; beyond that hyper would let one wait until
/// another ends, which a watch does not.
const PLACES: usize = 50;
/// How much of one answer the server may send before it is read.
const STREAM_WINDOW: u32 = 256 << 10;
/// All at once: an answer that is not read must not stop the others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * PLACES as u32;
/// Fewer, larger pieces cost less than the 16 KiB that are usual.
const FRAME_BYTES: u32 = 64 << 10;
/// A connection that is silent for so long is asked whether it is alive (client-go: 30 s), and
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// has so long for the answer (client-go: 15 s).
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Clients of one connection each, as many as are needed. Where the server offers no HTTP/2, a client has as many connections as
/// requests.
#[derive(Clone)]
pub(crate) struct SharedConnections {
    connector: Connector,
    clients: Arc<Mutex<Vec<Arc<Shared>>>>,
}

struct Shared {
    client: Client<Connector, Body>,
    /// Those that are in use: one place each has a reference to this.
    in_use: Arc<()>,
}

/// A request's place on a connection, free again when it is dropped.
///
/// Whoever drops it without its [`end`](Self::end) has given up waiting, which may be because the connection is dead. Nobody
/// else is sent there then; who is there already stays.
pub(crate) struct Place {
    shared: Weak<Shared>,
    clients: Weak<Mutex<Vec<Arc<Shared>>>>,
    _in_use: Arc<()>,
    has_ended: bool,
}

impl SharedConnections {
    pub(crate) fn new(config: &Config, connector: TermConnector) -> Result<Self, kube::Error> {
        let tls = config.rustls_client_config()?;
        let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        if let Some(name) = &config.tls_server_name {
            let name = name.clone().try_into().map_err(|error| kube::Error::Service(Box::new(error)))?;
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        let connector = builder.enable_all_versions().wrap_connector(connector);
        Ok(Self { connector, clients: Arc::default() })
    }

    /// A place on the first connection that has one.
    pub(crate) fn place(&self) -> (Client<Connector, Body>, Place) {
        let mut clients = lock(&self.clients);
        let found = clients.iter().find(|shared| Arc::strong_count(&shared.in_use) <= PLACES).cloned();
        let shared = found.unwrap_or_else(|| {
            let shared = Arc::new(Shared { client: self.client(), in_use: Arc::default() });
            clients.push(Arc::clone(&shared));
            shared
        });
        let place = Place {
            _in_use: Arc::clone(&shared.in_use),
            shared: Arc::downgrade(&shared),
            clients: Arc::downgrade(&self.clients),
            has_ended: false,
        };
        (shared.client.clone(), place)
    }

    fn client(&self) -> Client<Connector, Body> {
        Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_max_frame_size(FRAME_BYTES)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(self.connector.clone())
    }
}

impl Place {
    /// The request is over, in whichever way.
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        if let Some(clients) = self.clients.upgrade() {
            lock(&clients).retain(|shared| !self.shared.ptr_eq(&Arc::downgrade(shared)));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
