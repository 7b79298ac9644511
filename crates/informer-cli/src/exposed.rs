//! `--metrics-addr`: what the informers of a command do, served over HTTP.

use crate::{failure::Failure, session::DynamicInformer};
use informer::{Metrics, MetricsServer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Metrics and health of a command, or nothing if nobody asked for it.
#[derive(Default)]
pub(crate) struct Exposed(Option<Serving>);

struct Serving {
    metrics: Metrics,
    watched: Arc<Mutex<Watched>>,
    /// Serves until dropped.
    _server: MetricsServer,
}

#[derive(Default)]
struct Watched {
    informers: Vec<DynamicInformer>,
    /// Whether these are all: before, the server is still being asked what the resources are.
    complete: bool,
}

impl Exposed {
    /// Listens on the address, if there is one.
    ///
    /// # Errors
    /// The address is none, or in use.
    pub(crate) async fn bind(address: Option<&str>) -> Result<Self, Failure> {
        let Some(address) = address else { return Ok(Self::default()) };
        let metrics = Metrics::new();
        let watched = Arc::new(Mutex::new(Watched::default()));
        let seen = Arc::clone(&watched);
        let server = MetricsServer::builder(metrics.clone())
            .ready_check("informers", move || lock(&seen).ready())
            .bind(address)
            .await?;
        tracing::info!("metrics on http://{}/metrics", server.local_addr());
        Ok(Self(Some(Serving { metrics, watched, _server: server })))
    }

    /// What is served, for a client to count its requests in.
    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.0.as_ref().map(|serving| &serving.metrics)
    }

    /// Adds the informers of a target. Single objects have an informer each, with a number after the name.
    ///
    /// # Errors
    /// There are more than metrics can be kept of.
    pub(crate) fn add(&self, name: &str, informers: &[DynamicInformer]) -> Result<(), Failure> {
        let Some(Serving { metrics, watched, .. }) = &self.0 else { return Ok(()) };
        for (index, informer) in informers.iter().enumerate() {
            match index {
                0 => metrics.informer(name, informer)?,
                _ => metrics.informer(&format!("{name}/{}", index + 1), informer)?,
            }
        }
        lock(watched).informers.extend(informers.iter().cloned());
        Ok(())
    }

    /// No more informers are added.
    pub(crate) fn complete(&self) {
        if let Some(Serving { watched, .. }) = &self.0 {
            lock(watched).complete = true;
        }
    }
}

impl Watched {
    fn ready(&self) -> Result<(), String> {
        if !self.complete {
            return Err("the server has not told what the resources are".to_owned());
        }
        let missing = self.informers.iter().filter_map(|informer| informer.check_synced().err());
        let missing: Vec<_> = missing.map(|missing| missing.to_string()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing.join("; ")) }
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_an_error_that_names_it() {
        let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let failure = Exposed::bind(Some(&address)).await.err().unwrap();
        assert_eq!(
            failure.to_string(),
            format!("error: cannot serve metrics on \"{address}\": the port is in use")
        );
        let failure = Exposed::bind(Some("9090")).await.err().unwrap();
        assert!(failure.to_string().starts_with("error: cannot serve metrics on \"9090\": "), "{failure}");
    }
}
