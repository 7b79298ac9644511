//! What can go wrong between Go's source and a server that is ready.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a server could not be built, started, reached or stopped.
///
/// Its text is meant for the person who runs the tests; it ends with the log's last lines where a process
/// failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The servers are not in the cache and Go, which builds them, is not installed.
    GoMissing,
    /// The servers are not in the cache: `cargo xtask real-apiserver --build-only` builds them.
    NotBuilt {
        /// The first file that was looked for and not found.
        missing: PathBuf,
    },
    /// `go build` failed; it has printed why.
    BuildFailed {
        /// What was being built, with its version.
        name: String,
    },
    /// A process did not start, ended by itself, or was not ready in time.
    ProcessFailed {
        /// What it is called: `etcd`, `kube-apiserver`, or as its starter says.
        name: &'static str,
        /// What was seen of it.
        reason: String,
        /// The last lines of its log.
        log_tail: String,
    },
    /// A request to a running server got no answer, or one that cannot be used.
    RequestFailed {
        /// The request's method and path.
        request: String,
        /// What came instead.
        reason: String,
    },
    /// The operating system refused something.
    Io {
        /// What was being done.
        doing: String,
        /// The refusal.
        source: io::Error,
    },
}

impl Error {
    /// Turns an `io::Error` into ours, saying what was being done: `.map_err(Error::io(|| …))`.
    pub(crate) fn io<S: Into<String>>(doing: impl FnOnce() -> S) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: doing().into(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GoMissing => {
                f.write_str("Go is not installed: it is needed once, to build kube-apiserver and etcd")
            }
            Self::NotBuilt { missing } => {
                let path = missing.display();
                write!(f, "{path} is not there: `cargo xtask real-apiserver --build-only` builds it")
            }
            Self::BuildFailed { name } => write!(f, "building {name} failed"),
            Self::ProcessFailed { name, reason, log_tail } => {
                write!(f, "{name} {reason}; the end of its log:\n{log_tail}")
            }
            Self::RequestFailed { request, reason } => write!(f, "{request}: {reason}"),
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
