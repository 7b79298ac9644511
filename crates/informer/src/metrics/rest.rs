//! Counting and timing the requests of a client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::{Method, Request, Response, Uri};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::families::*;
use super::samples::{Labels, Samples};
use crate::distribution::Distribution;

/// client-go's bounds of `rest_client_request_duration_seconds`.
const SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
/// Programs speak to one cluster, some to a few. Further ones are counted together.
const MAX_HOSTS: usize = 16;
/// client-go's word for a request that got no answer.
const NO_ANSWER: &str = "<error>";

/// What the clients of a program asked for; all clients share it.
#[derive(Clone, Default)]
pub(crate) struct RestMetrics(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    hosts: Vec<Arc<str>>,
    /// By code, method and host.
    requests: BTreeMap<(String, &'static str, Arc<str>), u64>,
    /// By verb and host.
    seconds: BTreeMap<(&'static str, Arc<str>), Distribution>,
}

impl RestMetrics {
    pub(crate) fn layer(&self, server: &Uri) -> RestLayer {
        // Without user and password, if the address has them.
        let mut host = server.host().unwrap_or_default().to_owned();
        if let Some(port) = server.port() {
            host = format!("{host}:{port}");
        }
        let mut counted = self.counted();
        let host = match counted.hosts.iter().find(|known| ***known == *host) {
            Some(known) => Arc::clone(known),
            None if counted.hosts.len() < MAX_HOSTS => {
                let host: Arc<str> = host.into();
                counted.hosts.push(Arc::clone(&host));
                host
            }
            None => "other".into(),
        };
        drop(counted);
        RestLayer { metrics: self.clone(), host }
    }

    pub(crate) fn collect(&self, samples: &mut Samples) {
        let counted = self.counted();
        for ((code, method, host), count) in &counted.requests {
            let labels: Labels =
                vec![("code", code.clone()), ("method", (*method).to_owned()), ("host", host.to_string())];
            samples.counter(REST_REQUESTS, &labels, *count);
        }
        for ((verb, host), seconds) in &counted.seconds {
            let labels: Labels = vec![("verb", (*verb).to_owned()), ("host", host.to_string())];
            samples.distribution(REST_SECONDS, &labels, seconds);
        }
    }

    fn observe(&self, code: String, method: &'static str, host: &Arc<str>, seconds: f64) {
        let mut counted = self.counted();
        *counted.requests.entry((code, method, Arc::clone(host))).or_default() += 1;
        let key = (method, Arc::clone(host));
        counted.seconds.entry(key).or_insert_with(|| Distribution::new(SECONDS)).observe(seconds);
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Nothing but counting happens under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Put around a client's service, outermost.
#[derive(Clone)]
pub(crate) struct RestLayer {
    metrics: RestMetrics,
    host: Arc<str>,
}

impl<S> Layer<S> for RestLayer {
    type Service = RestService<S>;

    fn layer(&self, inner: S) -> RestService<S> {
        RestService { inner, layer: self.clone() }
    }
}

/// A service whose requests are counted and timed.
#[derive(Clone)]
pub(crate) struct RestService<S> {
    inner: S,
    layer: RestLayer,
}

impl<S, A, B> Service<Request<A>> for RestService<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let method = known(request.method());
        let RestLayer { metrics, host } = self.layer.clone();
        let begun = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = match &answer {
                Ok(response) => response.status().as_str().to_owned(),
                Err(_) => NO_ANSWER.to_owned(),
            };
            metrics.observe(code, method, &host, begun.elapsed().as_secs_f64());
            answer
        })
    }
}

/// The methods that Kubernetes has.
fn known(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    known.into_iter().find(|name| method == *name).unwrap_or("OTHER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_hosts_are_17_and_no_password_is_told() {
        let metrics = RestMetrics::default();
        let mut hosts: Vec<_> = (0..100)
            .map(|n| metrics.layer(&format!("https://u:p@h{n}:6443/x").parse().unwrap()).host.to_string())
            .collect();
        assert_eq!(hosts[0], "h0:6443");
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!(hosts.len(), MAX_HOSTS + 1);
    }
}
