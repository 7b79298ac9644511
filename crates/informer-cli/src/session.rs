//! A connection to one cluster, and what of it the command line asks for.

use crate::{
    args::{Global, Query, ResourceArg, Scope},
    columns::Kind,
    config::{self, Surroundings},
    discovery::{Catalog, Resource},
    errors::RequestError,
    failure::Failure,
    request::Requester,
    serve::Embedded,
    text::escape,
};
use informer::{
    Dynamic, FailureKind, Metrics, ResourceListWatch, SharedInformer, Trouble, TroubleReport,
    kube::{Client, Config, core::DynamicObject},
};
use std::time::Duration;
use tokio::sync::mpsc;

/// An informer of objects whose type is known only at run time.
pub(crate) type DynamicInformer = SharedInformer<DynamicObject>;

/// A cluster to talk to.
pub(crate) struct Session {
    client: Client,
    pub(crate) requester: Requester,
    /// Scheme and authority of the server.
    server: http::Uri,
    default_namespace: String,
    /// How long a request that is not a watch may take.
    pub(crate) timeout: Option<Duration>,
    /// Keeps the embedded server running.
    _embedded: Option<informer_testserver::Listening>,
}

/// One resource that was asked for.
pub(crate) struct Target {
    pub(crate) resource: Resource,
    pub(crate) kind: Option<Kind>,
    /// The objects asked for; none named means all.
    pub(crate) names: Vec<String>,
    /// `None` for all namespaces, and for resources without.
    pub(crate) namespace: Option<String>,
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
}

impl Session {
    /// Finds the cluster, or starts the embedded one. Sends nothing yet.
    ///
    /// # Errors
    /// There is no cluster, or its credentials cannot be used.
    pub(crate) async fn open(
        global: &Global,
        query: &Query,
        metrics: Option<&Metrics>,
    ) -> Result<Self, Failure> {
        let (config, embedded) = if query.embedded {
            let Embedded { listening, workload, still } = Embedded::start(&query.workload, 0).await?;
            let url = listening
                .url()
                .parse()
                .map_err(|_| Failure::Client("bad address of the embedded server".into()))?;
            tokio::spawn(async move {
                eprintln!("error: {}", Embedded::run(workload, still).await);
            });
            (Config::new(url), Some(listening))
        } else {
            (config::resolve(global, &Surroundings::of_process()).await?, None)
        };
        let server = config.cluster_url.clone();
        let default_namespace = config.default_namespace.clone();
        tracing::info!("the server is {server}, the default namespace {}", escape(&default_namespace));
        let client = match metrics {
            Some(metrics) => informer::client_with_metrics(config, metrics),
            None => informer::client(config),
        };
        let client = client
            .map_err(|error| RequestError::transport(format!("preparing to connect to {server}"), &error))?;
        let timeout = config::request_timeout(global);
        let requester = Requester::new(client.clone(), &server, timeout);
        Ok(Self { client, requester, server, default_namespace, timeout, _embedded: embedded })
    }

    /// Finds the resources through the server's discovery.
    ///
    /// # Errors
    /// Discovery failed, a word is no resource, or a resource cannot be listed and watched.
    pub(crate) async fn targets(
        &self,
        query: &Query,
        wanted: Vec<ResourceArg>,
    ) -> Result<Vec<Target>, Failure> {
        let catalog = Catalog::load(&self.requester).await?;
        for problem in catalog.problems() {
            tracing::info!("discovery: {problem}");
        }
        let mut targets: Vec<Target> = Vec::new();
        for ResourceArg { resource, names } in wanted {
            for resource in catalog.find(&resource)? {
                if let Some(verb) = ["list", "watch"].into_iter().find(|verb| !resource.can(verb)) {
                    return Err(Failure::Unable { resource: resource.full_name(), verb });
                }
                // `po` and `pods` are one resource.
                match targets.iter_mut().find(|target| target.resource == *resource) {
                    Some(known) => known.names.extend(names.clone()),
                    None => targets.push(self.target(query, resource.clone(), names.clone())),
                }
            }
        }
        Ok(targets)
    }

    fn target(&self, query: &Query, resource: Resource, names: Vec<String>) -> Target {
        let namespace = match query.scope() {
            Scope::One(namespace) if resource.namespaced => {
                Some(namespace.unwrap_or_else(|| self.default_namespace.clone()))
            }
            _ => None,
        };
        Target {
            kind: Kind::of(&resource.api),
            resource,
            names,
            namespace,
            label_selector: query.selector.clone().unwrap_or_default(),
            field_selector: query.field_selector.clone().unwrap_or_default(),
        }
    }

    /// The informers of a target, not started: one of everything, or one for each name.
    ///
    /// Troubles are sent to `troubles`; nobody waits for their reader.
    ///
    /// # Errors
    /// None that the command line could cause; the library's, in words.
    pub(crate) fn informers(
        &self,
        target: &Target,
        troubles: &mpsc::UnboundedSender<TroubleReport>,
    ) -> Result<Vec<DynamicInformer>, Failure> {
        let names: Vec<Option<&String>> = match target.names.as_slice() {
            [] => vec![None],
            names => names.iter().map(Some).collect(),
        };
        let build = |name: Option<&String>| {
            let mut source = ResourceListWatch::new(self.client.clone(), &target.resource.api)
                .label_selector(&target.label_selector)
                .field_selector(match name {
                    Some(name) => format!("metadata.name={}", escape_field(name)),
                    None => target.field_selector.clone(),
                });
            if let Some(namespace) = &target.namespace {
                source = source.namespace(namespace);
            }
            let troubles = troubles.clone();
            SharedInformer::builder(source, Dynamic::new(&target.resource.api))
                .watch_error_handler(move |report| {
                    let _ = troubles.send(report.clone());
                })
                .build()
                .map_err(|error| Failure::Client(error.to_string()))
        };
        names.into_iter().map(build).collect()
    }

    /// A trouble that trying again does not cure, as the failure of `get`.
    pub(crate) fn fatal(&self, target: &Target, report: &TroubleReport) -> Option<Failure> {
        let Trouble::RequestFailed { failure, .. } = &report.trouble else {
            return None;
        };
        let hopeless = matches!(
            failure.kind,
            FailureKind::Unauthorized | FailureKind::Forbidden | FailureKind::NotFound | FailureKind::Invalid
        );
        let code = failure.code.filter(|_| hopeless)?;
        // The library's message is `403 Forbidden: what the server said`.
        let text = failure.message.strip_prefix(&format!("{code} ")).unwrap_or(&failure.message);
        let (reason, message) = text.split_once(": ").unwrap_or((text, ""));
        let server = self.server.to_string();
        let path = target.resource.path(target.namespace.as_deref());
        let request = format!("GET {}{path}", server.trim_end_matches('/'));
        Some(RequestError::status(request, code, reason, message).into())
    }
}

impl Target {
    /// How lines for people and programs call the resource.
    pub(crate) fn name(&self) -> String {
        self.resource.full_name()
    }

    /// What kubectl says when there are none.
    pub(crate) fn nothing(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("No resources found in {} namespace.", escape(namespace)),
            None => "No resources found".to_owned(),
        }
    }
}

/// A value in field selector syntax.
fn escape_field(value: &str) -> String {
    value.chars().flat_map(|c| matches!(c, '\\' | ',' | '=').then_some('\\').into_iter().chain([c])).collect()
}
