//! kube-runtime's side of the benchmark: `watcher` and `reflector` with their defaults, driven through standard input by
//! the words that bench/src/bin/bench-client/main.rs lists.

#[path = "../../../src/lines.rs"]
mod lines;
mod reads;
mod seen;
mod subject;

use std::error::Error;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Config, Resource};
use serde::de::DeserializeOwned;
use subject::{Cached, Subject};

/// Runs reflectors as standard input says, until it ends.
#[derive(Debug, Clone, Parser)]
struct Arguments {
    /// The benchmark's own server.
    #[arg(long, required_unless_present = "kubeconfig")]
    url: Option<String>,
    /// A real server.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// What is cached of an object.
    #[arg(long, value_enum, default_value = "typed")]
    format: FormatName,
    /// How many subscribers each reflector has.
    #[arg(long, default_value_t = 1)]
    handlers: usize,
    /// How many reflectors: several are of a namespace each, that has no objects.
    #[arg(long, default_value_t = 1)]
    informers: usize,
    /// NAMESPACE/NAME of the last object.
    #[arg(long, default_value = "")]
    last: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    Typed,
    Metadata,
    Dynamic,
}

type Result<T = (), E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;
type Events<K> = BoxStream<'static, watcher::Result<Event<K>>>;

#[tokio::main]
async fn main() -> Result {
    let arguments = Arguments::parse();
    let config = match (&arguments.url, &arguments.kubeconfig) {
        (_, Some(path)) => {
            let kubeconfig = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
        }
        (url, None) => Config::new(url.as_deref().unwrap_or_default().parse()?),
    };
    let client = Client::try_from(config)?;
    match arguments.format {
        FormatName::Typed => {
            let events = |namespace: Option<&str>| events(pods::<Pod>(&client, namespace));
            Subject::with_handlers(&arguments, &events).obey().await
        }
        FormatName::Metadata => {
            let events = |namespace: Option<&str>| events(pods::<PartialObjectMeta<Pod>>(&client, namespace));
            Subject::with_handlers(&arguments, &events).obey().await
        }
        FormatName::Dynamic => {
            let kind = GroupVersionKind::gvk("bench.example.dev", "v1", "Widget");
            let resource = ApiResource::from_gvk(&kind);
            let events = |_: Option<&str>| events(Api::<DynamicObject>::all_with(client.clone(), &resource));
            Subject::new(&arguments, resource.clone(), &events).obey().await
        }
    }
}

fn pods<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

fn events<K: Cached + DeserializeOwned>(api: Api<K>) -> Events<K> {
    watcher(api, watcher::Config::default()).boxed()
}
