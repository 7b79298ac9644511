//! Which cluster to talk to, found where kubectl looks: flags, `KUBECONFIG`, `~/.kube/config`, the Pod we run in.

use crate::{args::Global, text::excerpt};
use http::Uri;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

mod proxy;
#[cfg(test)]
mod tests;

/// How long a connection may take: longer than a slow TLS handshake across the world, shorter than patience.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a request that is not a watch may take when nothing else was asked for: client-go's discovery limit.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(32);

/// What the process's surroundings say; a value, so that tests need no environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// `KUBECONFIG`.
    pub(crate) kubeconfig: Option<OsString>,
    /// The home directory.
    pub(crate) home: Option<PathBuf>,
    /// Whether `KUBERNETES_SERVICE_HOST` and `_PORT` say that this is a Pod.
    pub(crate) in_cluster: bool,
    /// `HTTPS_PROXY` and its kin.
    pub(crate) proxy: proxy::ProxyVariables,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            kubeconfig: set("KUBECONFIG"),
            home: std::env::home_dir(),
            in_cluster: set("KUBERNETES_SERVICE_HOST").is_some() && set("KUBERNETES_SERVICE_PORT").is_some(),
            proxy: proxy::ProxyVariables::of_process(),
        }
    }
}

/// Why there is no cluster to talk to. Never holds a value from a kubeconfig other than names and paths.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConfigError {
    #[error("cannot read the kubeconfig {}: {why}", path.display())]
    Unreadable { path: PathBuf, why: io::Error },
    #[error("{} is not a kubeconfig: {why}", path.display())]
    Malformed { path: PathBuf, why: String },
    #[error("no cluster to talk to: {searched}; use --kubeconfig FILE, --server URL or --embedded")]
    NoCluster { searched: String },
    #[error("the kubeconfig names no current context; choose one with --context{}", listed(.known))]
    NoCurrentContext { known: Vec<String> },
    #[error("there is no context \"{}\" in the kubeconfig{}", excerpt(.name, 64), listed(.known))]
    NoContext { name: String, known: Vec<String> },
    #[error("the context's cluster \"{}\" is not in the kubeconfig", excerpt(.0, 64))]
    NoClusterEntry(String),
    #[error("\"{}\" is not the address of a server: write it like https://10.0.0.1:6443", excerpt(.0, 128))]
    BadServer(String),
    #[error("the kubeconfig cannot be used: {0}")]
    Unusable(String),
    #[error("this looks like a Pod, but its service account cannot be used: {0}")]
    InCluster(String),
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    if names.is_empty() {
        return " (it has no contexts)".to_owned();
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| excerpt(name, 64)).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!(" (it has {}{more})", shown.join(", "))
}

/// The deadline of requests that are not watches; `None` waits for ever.
pub(crate) fn request_timeout(global: &Global) -> Option<Duration> {
    match global.request_timeout {
        None => Some(REQUEST_TIMEOUT),
        Some(Duration::ZERO) => None,
        given => given,
    }
}

/// Finds the cluster and how to log in to it, as kubectl does.
///
/// `--kubeconfig` is the only file looked at if given; otherwise every file of `KUBECONFIG` that exists is merged (the
/// first to say something wins), else `~/.kube/config`; without any of them, the Pod's service account. `--server`
/// replaces the address and needs no kubeconfig at all; over plain HTTP no credentials are sent.
/// The result has no read timeout (a watch may be silent) and leaves retries to the caller.
///
/// # Errors
/// `ConfigError`, in words for the user.
pub(crate) async fn resolve(global: &Global, around: &Surroundings) -> Result<Config, ConfigError> {
    let found = load(global.kubeconfig.as_deref(), around)?;
    let mut config = match found {
        Found::Merged(merged) => from_kubeconfig(*merged, global, around).await?,
        Found::Nothing(searched) => match &global.server {
            Some(server) => {
                let mut config = Config::new(server_address(server, false)?);
                config.proxy_url = None;
                config
            }
            None if around.in_cluster => {
                Config::incluster().map_err(|error| ConfigError::InCluster(error.to_string()))?
            }
            None => return Err(ConfigError::NoCluster { searched }),
        },
    };
    if config.proxy_url.is_none() {
        config.proxy_url = around.proxy.for_server(&config.cluster_url);
    }
    let patience = request_timeout(global).unwrap_or(CONNECT_TIMEOUT);
    config.connect_timeout = Some(patience.min(CONNECT_TIMEOUT));
    config.read_timeout = None;
    config.default_retry = false;
    Ok(config)
}

enum Found {
    /// Some file said something.
    Merged(Box<Kubeconfig>),
    /// No file did; where we looked, in words.
    Nothing(String),
}

fn load(flag: Option<&Path>, around: &Surroundings) -> Result<Found, ConfigError> {
    if let Some(path) = flag {
        return read(path).map(Box::new).map(Found::Merged);
    }
    let (paths, searched) = match (&around.kubeconfig, &around.home) {
        (Some(list), _) => {
            let paths: Vec<PathBuf> =
                std::env::split_paths(list).filter(|p| !p.as_os_str().is_empty()).collect();
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            (paths, format!("no file of KUBECONFIG exists ({})", names.join(", ")))
        }
        (None, Some(home)) => {
            let path = home.join(".kube").join("config");
            let searched =
                format!("{} does not exist, KUBECONFIG is not set, and this is not a Pod", path.display());
            (vec![path], searched)
        }
        (None, None) => (vec![], "there is no home directory and KUBECONFIG is not set".to_owned()),
    };
    let mut merged = Kubeconfig::default();
    let mut any = false;
    for path in paths {
        match read(&path) {
            // A file of the list that is not there is passed over, as in kubectl.
            Err(ConfigError::Unreadable { why, .. }) if why.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(next) => {
                any = true;
                merged = merged.merge(next).map_err(|error| malformed(&path, &error))?;
            }
        }
    }
    let empty = merged.contexts.is_empty() && merged.clusters.is_empty();
    Ok(if any && !empty { Found::Merged(Box::new(merged)) } else { Found::Nothing(searched) })
}

fn read(path: &Path) -> Result<Kubeconfig, ConfigError> {
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::ReadConfig(why, _) => ConfigError::Unreadable { path: path.to_owned(), why },
        other => malformed(path, &other),
    })
}

fn malformed(path: &Path, error: &KubeconfigError) -> ConfigError {
    let why = match error {
        // The parser's own message may quote the file, tokens included: only the place is told.
        KubeconfigError::Parse(error) => match error.location() {
            Some(location) => format!("bad YAML at line {}, column {}", location.line(), location.column()),
            None => "bad YAML".to_owned(),
        },
        other => other.to_string(),
    };
    ConfigError::Malformed { path: path.to_owned(), why }
}

async fn from_kubeconfig(
    mut merged: Kubeconfig,
    global: &Global,
    around: &Surroundings,
) -> Result<Config, ConfigError> {
    let known: Vec<String> = merged.contexts.iter().map(|context| context.name.clone()).collect();
    let current = merged.current_context.clone().filter(|name| !name.is_empty());
    let Some(name) = global.context.clone().or(current) else {
        return match &global.server {
            Some(server) => server_address(server, false).map(Config::new),
            None => Err(ConfigError::NoCurrentContext { known }),
        };
    };
    let Some(context) = merged.contexts.iter().find(|c| c.name == name).and_then(|c| c.context.clone())
    else {
        return Err(ConfigError::NoContext { name, known });
    };
    let entry =
        merged.clusters.iter_mut().find(|c| c.name == context.cluster).and_then(|c| c.cluster.as_mut());
    let Some(cluster) = entry else {
        return Err(ConfigError::NoClusterEntry(context.cluster));
    };
    if let Some(server) = &global.server {
        let tls = cluster.certificate_authority.is_some()
            || cluster.certificate_authority_data.is_some()
            || cluster.insecure_skip_tls_verify == Some(true);
        cluster.server = Some(server_address(server, tls)?.to_string());
    }
    let own_proxy = cluster.proxy_url.as_ref().is_some_and(|proxy| !proxy.is_empty());
    let options = KubeConfigOptions { context: Some(name), cluster: None, user: None };
    let loaded = Config::from_custom_kubeconfig(merged, &options).await;
    let mut config = loaded.map_err(|error| match error {
        KubeconfigError::ParseClusterUrl(_) => ConfigError::BadServer("the cluster's server".to_owned()),
        other => ConfigError::Unusable(excerpt(&other.to_string(), 300)),
    })?;
    if !own_proxy {
        // Whatever the environment says about proxies is decided in one place, exceptions included.
        config.proxy_url = around.proxy.for_server(&config.cluster_url);
    }
    if config.cluster_url.scheme_str() == Some("http") {
        // A token or password in the clear could be read by anybody on the way.
        config.auth_info = Default::default();
        config.root_cert = None;
    }
    Ok(config)
}

/// The address as typed, `host:port` included: without a scheme it is HTTPS if the kubeconfig says anything of TLS.
fn server_address(typed: &str, tls: bool) -> Result<Uri, ConfigError> {
    let bad = || ConfigError::BadServer(typed.to_owned());
    let whole = match typed.split_once("://") {
        Some(("http" | "https", _)) => typed.to_owned(),
        Some(_) => return Err(bad()),
        None if tls => format!("https://{typed}"),
        None => format!("http://{typed}"),
    };
    let uri: Uri = whole.parse().map_err(|_| bad())?;
    match uri.host() {
        Some(host) if !host.is_empty() && uri.query().is_none() => Ok(uri),
        _ => Err(bad()),
    }
}
