//! A real kube-apiserver with its etcd.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use informer_real_apiserver::{Options, RealApiServer};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::task::{block_in_place, spawn_blocking};

use crate::api::Api;
use crate::outcome::Result;
use crate::world::Kind;

/// The user without rights.
const STRANGER: &str = "stranger";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A running kube-apiserver.
pub(crate) struct Real {
    server: Mutex<State>,
    config: kube::Config,
    watch_cache: bool,
}

struct State {
    server: RealApiServer,
    is_killed: bool,
    is_frozen: bool,
}

impl Real {
    pub(super) async fn start(watch_cache: bool) -> Result<Self> {
        let options = Options { watch_cache, ..Options::default() };
        let server = spawn_blocking(move || RealApiServer::start(&options)).await??;
        let kubeconfig = Kubeconfig::read_from(server.kubeconfig())?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let state = State { server, is_killed: false, is_frozen: false };
        Ok(Self { server: Mutex::new(state), config, watch_cache })
    }

    pub(super) fn config(&self) -> kube::Config {
        self.config.clone()
    }

    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig> {
        Ok(Kubeconfig::read_from(self.state().server.kubeconfig())?)
    }

    pub(super) async fn kill(&self) -> Result {
        let mut state = self.state();
        state.is_killed = true;
        block_in_place(|| state.server.kill_apiserver())?;
        Ok(())
    }

    pub(super) async fn start_again(&self) -> Result {
        let mut state = self.state();
        block_in_place(|| state.server.start_apiserver())?;
        (state.is_killed, state.is_frozen) = (false, false);
        Ok(())
    }

    /// etcd forgets; so does the API server's watch cache, if there is one, with a new start.
    pub(super) async fn lose_versions(&self) -> Result {
        let namespaces = self.api()?.get("/api/v1/namespaces?limit=1").await?;
        let version = namespaces["metadata"]["resourceVersion"].as_str().ok_or("a list without a version")?;
        let version: u64 = version.parse()?;
        {
            let state = self.state();
            block_in_place(|| state.server.compact(version))?;
        }
        if self.watch_cache { self.start_again().await } else { Ok(()) }
    }

    pub(super) fn freeze(&self) -> Result {
        let mut state = self.state();
        state.is_frozen = true;
        Ok(state.server.freeze_apiserver()?)
    }

    pub(super) fn thaw(&self) -> Result {
        let mut state = self.state();
        state.is_frozen = false;
        Ok(state.server.thaw_apiserver()?)
    }

    /// A service account without any role.
    pub(super) async fn stranger(&self, _kind: Kind) -> Result<kube::Config> {
        let api = self.api()?;
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        api.post(accounts, &json!({"metadata": {"name": STRANGER}})).await?;
        let ask = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let answer = api.post(&format!("{accounts}/{STRANGER}/token"), &ask).await?;
        let token = answer["status"]["token"].as_str().ok_or("no token was issued")?;
        let mut config = self.config();
        config.auth_info =
            kube::config::AuthInfo { token: Some(token.to_owned().into()), ..Default::default() };
        Ok(config)
    }

    pub(super) async fn permit(&self, kind: Kind) -> Result {
        let api = self.api()?;
        let resource = kind.resource();
        let rule = json!({"apiGroups": [resource.group], "resources": [resource.plural], "verbs": ["list", "watch"]});
        let role = json!({"metadata": {"name": STRANGER}, "rules": [rule]});
        api.post(&format!("{RBAC}/clusterroles"), &role).await?;
        let binding = json!({
            "metadata": {"name": STRANGER},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": STRANGER},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": STRANGER}],
        });
        api.post(&format!("{RBAC}/clusterrolebindings"), &binding).await?;
        Ok(())
    }

    /// The server reads its tokens when it starts.
    pub(super) async fn accept_token(&self, token: &str) -> Result {
        let path = self.state().server.directory().join("tokens.csv");
        writeln!(OpenOptions::new().append(true).open(path)?, "{token},second,second,\"system:masters\"")?;
        self.kill().await?;
        self.start_again().await
    }

    pub(super) async fn repair(&self) -> Result {
        let (is_killed, is_frozen) = {
            let state = self.state();
            (state.is_killed, state.is_frozen)
        };
        if is_frozen {
            self.thaw()?;
        }
        if is_killed { self.start_again().await } else { Ok(()) }
    }

    pub(super) async fn stop(self) -> Result {
        let state = self.server.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(spawn_blocking(|| state.server.stop()).await??)
    }

    fn api(&self) -> Result<Api> {
        Api::new(self.config())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
