//! The server under the suite, embedded or real, and what can happen to it.

mod embedded;
mod real;

use std::net::SocketAddr;

use clap::ValueEnum;
use kube::config::Kubeconfig;

use crate::gate::Gate;
use crate::outcome::{Error, Result};
use crate::world::Kind;
use embedded::Embedded;
use real::Real;

/// Which server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ServerKind {
    /// The embedded one, over HTTP on loopback.
    Embedded,
    /// A kube-apiserver with its etcd, over TLS on loopback.
    Real,
}

/// A running server.
pub(crate) enum Cluster {
    Embedded(Embedded),
    Real(Box<Real>),
}

/// Calls the same method of whichever server it is.
macro_rules! either {
    ($self:ident, $server:ident => $call:expr) => {
        match $self {
            Cluster::Embedded($server) => $call,
            Cluster::Real($server) => $call,
        }
    };
}

impl Cluster {
    /// Starts one. `watch_cache`: whether the real server has one.
    pub(crate) async fn start(kind: ServerKind, watch_cache: bool) -> Result<Self> {
        Ok(match kind {
            ServerKind::Embedded => Self::Embedded(Embedded::start().await?),
            ServerKind::Real => Self::Real(Box::new(Real::start(watch_cache).await?)),
        })
    }

    /// Whether it is the real one: slower, and with causes of its own to list again.
    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// How often a writer can write in the time it takes another server to be written to once.
    pub(crate) fn scaled(&self, embedded: usize, real: usize) -> usize {
        if self.is_real() { real } else { embedded }
    }

    /// How its administrator connects.
    pub(crate) fn config(&self) -> kube::Config {
        either!(self, server => server.config())
    }

    /// An administrator's client, made for informers.
    pub(crate) fn client(&self) -> Result<kube::Client> {
        Ok(informer::client(self.config())?)
    }

    /// The same through a gate.
    pub(crate) fn client_through(&self, gate: &Gate) -> Result<kube::Client> {
        let mut config = self.config();
        let scheme = config.cluster_url.scheme_str().unwrap_or("http");
        config.cluster_url = format!("{scheme}://{}", gate.addr()).parse()?;
        Ok(informer::client(config)?)
    }

    /// A gate in front of it.
    pub(crate) async fn gate(&self) -> Result<Gate> {
        Ok(Gate::open_to(self.addr()?).await?)
    }

    /// How its administrator connects, as a file for programs; through a gate, if there is one.
    pub(crate) fn kubeconfig(&self, gate: Option<&Gate>, namespace: &str) -> Result<Kubeconfig> {
        let mut kubeconfig = either!(self, server => server.kubeconfig())?;
        let url = self.config().cluster_url;
        let url = match gate {
            None => url.to_string(),
            Some(gate) => format!("{}://{}", url.scheme_str().unwrap_or("http"), gate.addr()),
        };
        for cluster in kubeconfig.clusters.iter_mut().filter_map(|it| it.cluster.as_mut()) {
            cluster.server = Some(url.clone());
        }
        for context in kubeconfig.contexts.iter_mut().filter_map(|it| it.context.as_mut()) {
            context.namespace = Some(namespace.to_owned());
        }
        Ok(kubeconfig)
    }

    fn addr(&self) -> Result<SocketAddr> {
        let url = self.config().cluster_url;
        let authority = url.authority().ok_or_else(|| Error::from("a URL without a host"))?;
        Ok(authority.as_str().parse()?)
    }

    /// Ends it without a word, as a crash does: connections break, and nobody listens any more. Its data stay.
    pub(crate) async fn kill(&self) -> Result {
        either!(self, server => server.kill().await)
    }

    /// Starts what was killed, at the same address.
    pub(crate) async fn start_again(&self) -> Result {
        either!(self, server => server.start_again().await)
    }

    /// Makes it forget every version before now: a watch from one is answered with 410.
    pub(crate) async fn lose_versions(&self) -> Result {
        either!(self, server => server.lose_versions().await)
    }

    /// Makes it silent: nothing more comes on open connections, and new requests are not answered.
    pub(crate) fn freeze(&self) -> Result {
        either!(self, server => server.freeze())
    }

    /// Makes it answer again.
    pub(crate) fn thaw(&self) -> Result {
        either!(self, server => server.thaw())
    }

    /// A user who may not list or watch these, until [`permit`](Self::permit).
    pub(crate) async fn stranger(&self, kind: Kind) -> Result<kube::Config> {
        either!(self, server => server.stranger(kind).await)
    }

    /// Lets the stranger list and watch these.
    pub(crate) async fn permit(&self, kind: Kind) -> Result {
        either!(self, server => server.permit(kind).await)
    }

    /// Accepts this token of an administrator's from now on.
    pub(crate) async fn accept_token(&self, token: &str) -> Result {
        either!(self, server => server.accept_token(token).await)
    }

    /// Makes everything well again, whatever a case has left behind.
    pub(crate) async fn repair(&self) -> Result {
        either!(self, server => server.repair().await)
    }

    /// Ends it for good.
    pub(crate) async fn stop(self) -> Result {
        match self {
            Self::Embedded(server) => server.stop().await,
            Self::Real(server) => server.stop().await,
        }
    }
}
