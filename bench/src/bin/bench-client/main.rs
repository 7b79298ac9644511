//! The library's side of the benchmark: informers of one resource in one format, driven through standard input.
//!
//! The words and answers are those of the peers' programs too (bench/peers):
//!
//! ```text
//! start                          starts the informers; answers when all handlers have been told of everything
//! await VERSION                  answers when every handler has been told of the last object at that version
//! get READERS MILLISECONDS       reads by key on so many threads, as fast as it goes
//! namespace ITERATIONS           lists one namespace after the other
//! label ITERATIONS               lists by an indexed label
//! select ITERATIONS              lists those of a namespace that match a label selector
//! ```

mod formats;
mod reads;
mod seen;
mod subject;

use std::error::Error;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// What users may choose where glibc's heaps, one for each thread, keep too much.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs informers as standard input says, until it ends.
#[derive(Debug, Clone, Parser)]
struct Arguments {
    /// The benchmark's own server.
    #[arg(long, required_unless_present_any = ["kubeconfig", "formats"])]
    url: Option<String>,
    /// A real server.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// What is cached of an object.
    #[arg(long, value_enum, default_value = "typed")]
    format: FormatName,
    /// How many handlers each informer has.
    #[arg(long, default_value_t = 1)]
    handlers: usize,
    /// How many informers: several are of a namespace each, that has no objects.
    #[arg(long, default_value_t = 1)]
    informers: usize,
    /// NAMESPACE/NAME of the last object.
    #[arg(long, default_value = "")]
    last: String,
    /// Only name the formats.
    #[arg(long)]
    formats: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// k8s-openapi's Pod.
    Typed,
    /// Metadata of Pods.
    Metadata,
    /// Of Pods, where they run and how they are.
    Projection,
    /// Compressed Pods.
    Packed,
    /// The custom resource, as dynamic objects.
    Dynamic,
}

type Result<T = (), E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result {
    let arguments = Arguments::parse();
    if arguments.formats {
        for name in FormatName::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
            println!("{}", name.get_name());
        }
        return Ok(());
    }
    let config = match (&arguments.url, &arguments.kubeconfig) {
        (_, Some(path)) => {
            let kubeconfig = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
        }
        (url, None) => Config::new(url.as_deref().unwrap_or_default().parse()?),
    };
    formats::run(&arguments, informer::client(config)?).await
}
