//! Why a command ends without success, as the last line on stderr.

use crate::{
    args::UsageError, config::ConfigError, discovery::UnknownResource, errors::RequestError,
    output::WriteError, serve::ServeError, text::escape,
};
use std::io;

/// Everything a command can fail with. Its text is the whole line, prefix included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    #[error("error: {0}")]
    Usage(#[from] UsageError),
    #[error("error: {0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Request(#[from] RequestError),
    #[error("error: {0}")]
    UnknownResource(#[from] UnknownResource),
    #[error("error: the server does not let anybody {verb} {resource}")]
    Unable { resource: String, verb: &'static str },
    #[error("error: {0}")]
    Client(String),
    #[error("error: {}", escape(.0))]
    NotSynced(String),
    /// Resource and name of each; a line each, as kubectl prints them.
    #[error("{}", missing(.0))]
    Missing(Vec<(String, String)>),
    #[error("error: cannot write the output: {0}")]
    Write(io::Error),
    #[error("error: {0}")]
    Serve(#[from] ServeError),
    #[error("error: {}", escape(&.0.to_string()))]
    Expose(#[from] informer::ServeError),
    #[error("error: {0}")]
    Metrics(#[from] informer::MetricsError),
    /// Nobody reads our output any more. Not worth a word.
    #[error("the output was closed")]
    Closed,
}

fn missing(objects: &[(String, String)]) -> String {
    let line = |(resource, name): &(String, String)| {
        format!("Error from server (NotFound): {resource} \"{}\" not found", escape(name))
    };
    objects.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Closed => Self::Closed,
            WriteError::Failed(error) => Self::Write(error),
        }
    }
}
