//! The embedded server behind its HTTP listener.

use informer_testserver::{Fault, FaultRule, Listening, TestServer, Verb};
use kube::config::Kubeconfig;
use serde_json::json;

use crate::outcome::Result;
use crate::world::Kind;

/// The administrator's token.
const TOKEN: &str = "administrator";
/// Every resource that informers of the suite watch.
const WATCHED: [Kind; 3] = [Kind::Pod, Kind::ConfigMap, Kind::Widget];

/// A running embedded server.
pub(crate) struct Embedded {
    server: TestServer,
    listening: Listening,
}

impl Embedded {
    pub(super) async fn start() -> Result<Self> {
        let server = TestServer::builder().bearer_token(TOKEN).build();
        let listening = server.listen().await?;
        Ok(Self { server, listening })
    }

    pub(super) fn config(&self) -> kube::Config {
        let url = self.listening.url().parse().expect("the listener's URL is one");
        let mut config = kube::Config::new(url);
        config.auth_info.token = Some(TOKEN.to_owned().into());
        config
    }

    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig> {
        Ok(serde_json::from_value(json!({
            "clusters": [{"name": "it", "cluster": {"server": self.listening.url()}}],
            "users": [{"name": "it", "user": {"token": TOKEN}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }))?)
    }

    pub(super) async fn kill(&self) -> Result {
        self.listening.stop().await;
        Ok(())
    }

    pub(super) async fn start_again(&self) -> Result {
        Ok(self.listening.restart(true).await?)
    }

    pub(super) async fn lose_versions(&self) -> Result {
        self.server.compact();
        Ok(())
    }

    pub(super) fn freeze(&self) -> Result {
        self.server.add_fault(FaultRule::new(Fault::StallBeforeHeaders));
        for kind in WATCHED {
            self.server.stall_watches(&kind.resource().plural)?;
        }
        Ok(())
    }

    pub(super) fn thaw(&self) -> Result {
        self.server.clear_faults();
        Ok(())
    }

    pub(super) async fn stranger(&self, kind: Kind) -> Result<kube::Config> {
        for verb in [Verb::List, Verb::Watch] {
            self.server.deny(verb, &kind.resource().plural);
        }
        Ok(self.config())
    }

    pub(super) async fn permit(&self, kind: Kind) -> Result {
        for verb in [Verb::List, Verb::Watch] {
            self.server.allow(verb, &kind.resource().plural);
        }
        Ok(())
    }

    /// It knows one token only: the administrator's works again after [`repair`](Self::repair).
    pub(super) async fn accept_token(&self, token: &str) -> Result {
        self.server.set_bearer_token(Some(token.to_owned()));
        Ok(())
    }

    pub(super) async fn repair(&self) -> Result {
        self.server.clear_faults();
        self.server.set_bearer_token(Some(TOKEN.to_owned()));
        for kind in WATCHED {
            self.permit(kind).await?;
        }
        Ok(self.listening.accept().await?)
    }

    pub(super) async fn stop(self) -> Result {
        self.listening.shutdown().await;
        Ok(())
    }
}
