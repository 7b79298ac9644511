//! The command line: what may be typed, and what it means.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::{path::PathBuf, time::Duration};

mod duration;
mod resources;
#[cfg(test)]
mod tests;

pub(crate) use duration::parse_duration;
pub(crate) use resources::{ResourceArg, ResourceArgError, parse_resources};

const ABOUT: &str = "A live, indexed copy of a cluster's objects, on the command line";

const EXAMPLES: &str = "\
Examples:
  # Nothing installed, no cluster: an embedded API server with a moving workload
  informer watch pods --embedded

  # Pods of the current namespace, once
  informer get pods

  # Several resources in all namespaces, with more columns
  informer get deployments,services -A -o wide

  # Follow the Pods of one application, and what changes in them
  informer watch pods -n kube-system -l k8s-app=kube-dns

  # One object, as it is now
  informer get deployment/web -o yaml

  # Every change as one line of JSON, for programs
  informer watch pods -A -o jsonl

  # An API server to try things on; kubectl accepts the kubeconfig it prints
  informer serve --kubeconfig-out /tmp/informer.yaml";

const GET_EXAMPLES: &str = "\
Examples:
  informer get pods
  informer get pods web-0 web-1 -n team-a
  informer get deployment/web service/web -o yaml
  informer get deployments.apps,services -A -o wide
  informer get pods -l 'app=web,tier!=cache' --field-selector spec.nodeName=node-3
  informer get nodes --server http://127.0.0.1:8001 --request-timeout 5s
  informer get pods --embedded --objects 50";

const WATCH_EXAMPLES: &str = "\
Examples:
  informer watch pods --embedded
  informer watch pods --embedded --objects 500 --rate 20 --seed 7
  informer watch pods -A
  informer watch pod/web-0 -n team-a
  informer watch deployments,pods -n team-a -l app=web
  informer watch events -A -o jsonl
  informer watch pods -A --metrics-addr 127.0.0.1:9090";

const SERVE_EXAMPLES: &str = "\
Examples:
  informer serve > /tmp/informer.yaml
  informer serve --port 8080 --objects 500 --rate 20
  informer serve --kubeconfig-out /tmp/informer.yaml
  kubectl --kubeconfig /tmp/informer.yaml get pods -A";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(informer completions bash)
  informer completions zsh > ~/.zfunc/_informer
  informer completions fish > ~/.config/fish/completions/informer.fish";

/// Everything that was typed.
#[derive(Debug, Parser)]
#[command(name = "informer", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show objects once, from a synced copy
    #[command(after_help = GET_EXAMPLES)]
    Get(Query),
    /// Show objects and then every change, until interrupted
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Watch),
    /// Run the embedded API server alone and print a kubeconfig for it
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Which shell the script is for
        #[arg(value_name = "bash|zsh|fish", hide_possible_values = true)]
        shell: Shell,
    },
}

/// Which cluster, and how patiently. Accepted before and after the command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Kubeconfig file; otherwise $KUBECONFIG, ~/.kube/config, or the Pod this runs in
    #[arg(long, value_name = "FILE", global = true, help_heading = "Cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use
    #[arg(long, value_name = "NAME", global = true, help_heading = "Cluster")]
    pub(crate) context: Option<String>,
    /// Address of the API server; needs no kubeconfig
    #[arg(long, value_name = "URL", global = true, help_heading = "Cluster")]
    pub(crate) server: Option<String>,
    /// How long one request may take, such as 10s or 1m30s; 0 means for ever
    #[arg(long, value_name = "T", global = true, value_parser = parse_duration, help_heading = "Cluster")]
    pub(crate) request_timeout: Option<Duration>,
    /// Say more on stderr; repeat for still more
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

/// What to look at, for `get` and `watch`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Query {
    /// Plural, singular, short name, kind or resource.group; RESOURCE/NAME or RESOURCE NAME for single objects
    #[arg(required = true, value_name = "RESOURCE[/NAME][,RESOURCE...] [NAME...]")]
    pub(crate) resources: Vec<String>,
    /// Namespace; otherwise the context's
    #[arg(short, long, value_name = "NS")]
    pub(crate) namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Label selector, such as app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "SELECTOR", allow_hyphen_values = true)]
    pub(crate) selector: Option<String>,
    /// Field selector, such as status.phase=Running
    #[arg(long, value_name = "F")]
    pub(crate) field_selector: Option<String>,
    /// How to print: a table if not given
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// Ask an embedded API server with a moving workload instead of a cluster; all namespaces unless -n is given
    #[arg(long, help_heading = "Embedded server")]
    pub(crate) embedded: bool,
    #[command(flatten)]
    pub(crate) workload: Workload,
}

/// What `watch` is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) query: Query,
    /// Serve /metrics, /healthz and /readyz here meanwhile, such as 127.0.0.1:9090; no one is asked who they are
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics_addr: Option<String>,
}

/// The embedded server's workload.
#[derive(Clone, Debug, Args)]
pub(crate) struct Workload {
    /// How many Pods the workload keeps [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), help_heading = "Embedded server")]
    pub(crate) objects: Option<u32>,
    /// Changes a second; 0 for a world that stands still [default: 5]
    #[arg(long, value_name = "R", value_parser = parse_rate, help_heading = "Embedded server")]
    pub(crate) rate: Option<f64>,
    /// Seed of the workload: the same seed, the same story [default: 1]
    #[arg(long, value_name = "S", help_heading = "Embedded server")]
    pub(crate) seed: Option<u64>,
}

impl Workload {
    pub(crate) fn objects(&self) -> u32 {
        self.objects.unwrap_or(100)
    }

    pub(crate) fn rate(&self) -> f64 {
        self.rate.unwrap_or(5.0)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    fn is_given(&self) -> bool {
        self.objects.is_some() || self.rate.is_some() || self.seed.is_some()
    }
}

/// What `serve` is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// Loopback port to listen on; 0 for a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Write the kubeconfig to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) workload: Workload,
}

/// How objects are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table with more columns
    Wide,
    /// JSON, indented
    Json,
    /// YAML
    Yaml,
    /// resource/name lines
    Name,
    /// One line of JSON an object (get) or a notification (watch)
    Jsonl,
}

/// Shells that completions exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Which namespaces a query covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of them.
    All,
    /// This one, or the context's default one.
    One(Option<String>),
}

/// Options that are fine one by one but not together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum UsageError {
    #[error("--objects, --rate and --seed describe the embedded server: add --embedded")]
    WorkloadWithoutEmbedded,
    #[error("--embedded starts its own server and cannot be used with {0}")]
    EmbeddedWith(&'static str),
    #[error("a namespace may not be empty")]
    EmptyNamespace,
    #[error("a single object is asked for by name, so {0} cannot be used")]
    NameWith(&'static str),
    #[error(transparent)]
    Resource(#[from] ResourceArgError),
}

impl Query {
    /// The resources asked for, after checking that all options go together.
    ///
    /// Selectors are not parsed here: the library does that, and says what is wrong with them.
    ///
    /// # Errors
    /// `UsageError` says which options contradict each other.
    pub(crate) fn check(&self, global: &Global) -> Result<Vec<ResourceArg>, UsageError> {
        if self.embedded {
            let given = [
                ("--server", global.server.is_some()),
                ("--kubeconfig", global.kubeconfig.is_some()),
                ("--context", global.context.is_some()),
            ];
            if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
                return Err(UsageError::EmbeddedWith(option));
            }
        } else if self.workload.is_given() {
            return Err(UsageError::WorkloadWithoutEmbedded);
        }
        if self.namespace.as_deref() == Some("") {
            return Err(UsageError::EmptyNamespace);
        }
        let resources = parse_resources(&self.resources)?;
        if resources.iter().any(|resource| !resource.names.is_empty()) {
            let given = [
                ("-l", self.selector.is_some()),
                ("--field-selector", self.field_selector.is_some()),
                ("-A", self.all_namespaces),
            ];
            if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
                return Err(UsageError::NameWith(option));
            }
        }
        Ok(resources)
    }

    /// The namespaces to look into. `-A` wins over `-n`, as in kubectl; the embedded server's workload is spread over
    /// several namespaces, so there all of them are the default.
    pub(crate) fn scope(&self) -> Scope {
        match &self.namespace {
            _ if self.all_namespaces => Scope::All,
            None if self.embedded => Scope::All,
            namespace => Scope::One(namespace.clone()),
        }
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.0..=1_000_000.0).contains(&rate) => Ok(rate),
        _ => Err("expected a number from 0 to 1000000".to_owned()),
    }
}
