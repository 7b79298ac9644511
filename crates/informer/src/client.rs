//! A `kube::Client` made for informers: no retry below ours, no decompression, nothing logged, TCP keep-alive, shared connections.

use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::legacy::connect::HttpConnector;
use kube::client::{ClientBuilder, ConfigExt};
use kube::{Client, Config};
use tower::ServiceBuilder;

#[cfg(feature = "metrics")]
use crate::metrics::RestLayer;
#[cfg(not(feature = "metrics"))]
use tower::layer::util::Identity as RestLayer;

use crate::leader_election::Leadership;
use crate::term_connector::TermConnector;
use crate::transport::Transport;

/// How long a TCP connection may be silent before the kernel probes the peer.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Between probes; with the kernel's few retries a dead peer is noticed about 45 s after its last word.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEP_ALIVE_RETRIES: u32 = 3;
/// The time to connect, if the configuration sets none: a reflector tries again anyway.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Says in the server's audit log who asks; a configuration may name another.
const AGENT: &str = concat!("informer/", env!("CARGO_PKG_VERSION"));

/// A client whose list and watch behaviour is decided by the informer alone.
///
/// It differs from `Client::try_from(config)`: kube's retry layer (it repeats 429, 503 and 504 up to 15 times below the
/// caller), its decompression (it decodes only the first gzip member of a watch), its tracing (it logs each failure at
/// ERROR) and its read timeout are left out, and TCP keep-alive is on. Watches share connections, fifty to one, where the server
/// offers HTTP/2 over TLS; all else goes over HTTP/1.1, which is cheaper for lists. It serves for other calls (`Api::create`, …)
/// just as well. With a proxy configured it is kube's own client, without the retry.
///
/// A client built by kube works with informers too: what is lost then is said in the crate's documentation.
///
/// # Errors
/// If the configuration's credentials or certificates cannot be used.
///
/// # Panics
/// Outside of a tokio runtime.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = informer::client(kube::Config::infer().await?)?;
/// # Ok(())
/// # }
/// ```
pub fn client(config: Config) -> Result<Client, kube::Error> {
    build(config, None, None)
}

/// The same, with every request counted and timed in `metrics`: `rest_client_requests_total` and
/// `rest_client_request_duration_seconds`, client-go's names. The time is that until the answer's headers, so a watch counts as
/// soon as it begins.
///
/// # Errors
/// As [`client`].
///
/// # Panics
/// As [`client`].
#[cfg(feature = "metrics")]
pub fn client_with_metrics(config: Config, metrics: &crate::Metrics) -> Result<Client, kube::Error> {
    let rest = metrics.rest_layer(&config.cluster_url);
    build(config, Some(rest), None)
}

/// A client for one term of leadership, if there is one; see [`Leadership::client`].
pub(crate) fn build(
    mut config: Config,
    rest: Option<RestLayer>,
    term: Option<Leadership>,
) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        if term.is_some() {
            return Err(kube::Error::Service(
                "a connection through a proxy cannot be bound to a term".into(),
            ));
        }
        config.default_retry = false;
        config.read_timeout = None;
        let builder = ClientBuilder::try_from(config)?;
        return Ok(match rest {
            Some(rest) => builder.with_layer(&rest).build(),
            None => builder.build(),
        });
    }
    if !config.headers.iter().any(|(name, _)| name == USER_AGENT) {
        config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    }
    // A proxy's password, mostly: whoever prints a request's headers shall not print it.
    for (name, value) in &mut config.headers {
        value.set_sensitive(*name != USER_AGENT);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_keepalive(Some(KEEP_ALIVE));
    connector.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
    connector.set_connect_timeout(Some(config.connect_timeout.unwrap_or(CONNECT_TIMEOUT)));
    connector.set_nodelay(true);
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(term.as_ref().map(Leadership::delivery_limit));
    let connector = TermConnector::new(connector, term);
    let transport = Transport::new(&config, connector)?;
    let service = ServiceBuilder::new()
        .option_layer(rest)
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(crate::BoxError::from)
        .service(transport);
    Ok(Client::new(service, config.default_namespace))
}
