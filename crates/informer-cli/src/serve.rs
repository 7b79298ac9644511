//! `informer serve`: the embedded API server alone, for kubectl and others to talk to.

use crate::{
    args::{Serve, Workload as WorkloadArgs},
    output::{WriteError, write_text},
};
use informer_testserver::{
    ApiError, Listening, TestServer,
    workload::{Workload, WorkloadOptions},
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    pin::pin,
};

/// From so many objects on the wait for them is long enough to be explained.
const LARGE: usize = 10_000;

/// Why the server does not run (any more).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ServeError {
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    #[error("cannot write the kubeconfig to {}: {why}", path.display())]
    Kubeconfig { path: PathBuf, why: io::Error },
    #[error("cannot print the kubeconfig: {0}")]
    Print(io::Error),
    #[error("the embedded server's objects cannot be created: {0}")]
    Creation(tokio::task::JoinError),
    #[error("the embedded server's workload stopped: {0}")]
    Workload(ApiError),
}

/// An embedded server that listens, with its world created; the workload stands still until it is run.
pub(crate) struct Embedded {
    pub(crate) listening: Listening,
    pub(crate) workload: Workload,
    /// Whether the workload was asked not to move.
    pub(crate) still: bool,
}

impl Embedded {
    /// Creates the workload's objects and starts a server on a loopback port, 0 for a free one.
    ///
    /// # Errors
    /// The port cannot be had.
    pub(crate) async fn start(args: &WorkloadArgs, port: u16) -> Result<Self, ServeError> {
        let server = TestServer::builder().seed(args.seed()).create_namespaces(true).build();
        let options = WorkloadOptions {
            objects: args.objects() as usize,
            rate_per_second: args.rate(),
            seed: args.seed(),
            ..WorkloadOptions::default()
        };
        if options.objects >= LARGE {
            eprintln!("creating {} Pods", options.objects);
        }
        // Takes seconds for a large world, in which Ctrl-C must be heard.
        let create = {
            let server = server.clone();
            tokio::task::spawn_blocking(move || Workload::new(server, options))
        };
        let workload = create.await.map_err(ServeError::Creation)?.map_err(ServeError::Workload)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listening =
            server.listen_on(address).await.map_err(|error| ServeError::Listen(address, error))?;
        Ok(Self { listening, workload, still: args.rate() == 0.0 || args.objects() == 0 })
    }

    /// Moves the workload until it fails, or for ever.
    pub(crate) async fn run(workload: Workload, still: bool) -> ServeError {
        if still {
            return std::future::pending().await;
        }
        ServeError::Workload(workload.run().await)
    }
}

/// Serves until `stop` completes.
///
/// The kubeconfig goes to standard output, or to the file asked for; what a person wants to know goes to stderr.
///
/// # Errors
/// `ServeError`; a reader of standard output that goes away is none.
pub(crate) async fn serve(args: &Serve, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
    let mut stop = pin!(stop);
    let Embedded { listening, workload, still } = tokio::select! {
        started = Embedded::start(&args.workload, args.port) => started?,
        () = &mut stop => return Ok(()),
    };
    let kubeconfig = listening.kubeconfig();
    let url = listening.url();
    match &args.kubeconfig_out {
        Some(path) => {
            std::fs::write(path, kubeconfig)
                .map_err(|error| ServeError::Kubeconfig { path: path.clone(), why: error })?;
            eprintln!("serving {} Pods on {url}", args.workload.objects());
            eprintln!("try: kubectl --kubeconfig {} get pods -A", path.display());
        }
        None => {
            match write_text(&mut io::stdout(), &kubeconfig) {
                Ok(()) | Err(WriteError::Closed) => {}
                Err(WriteError::Failed(error)) => return Err(ServeError::Print(error)),
            }
            eprintln!("serving {} Pods on {url}; end with Ctrl-C", args.workload.objects());
        }
    }
    tokio::select! {
        error = Embedded::run(workload, still) => Err(error),
        () = &mut stop => Ok(()),
    }
}
