//! A real kube-apiserver, filled with Pods.

use std::time::Duration;

use informer_real_apiserver::{KUBERNETES_VERSION, Options, RealApiServer};

use super::Bench;
use super::program::Program;
use super::round::Target;
use crate::real_apiserver;
use crate::run::{Result, heading};

/// Pods that it is filled with, each by two requests.
const OBJECTS: usize = 5_000;

/// Some 200 requests a second are to be had on a busy machine.
const FILL_LIMIT: Duration = Duration::from_secs(10 * 60);

/// The server and how much is in it.
pub(crate) struct Filled {
    server: RealApiServer,
    pub(crate) objects: usize,
}

impl Filled {
    pub(crate) fn start(bench: &Bench) -> Result<Self> {
        heading(&format!("bench: kube-apiserver {KUBERNETES_VERSION}"));
        real_apiserver::build()?;
        let server = RealApiServer::start(&Options::default()).map_err(|error| error.to_string())?;
        let objects = bench.scaled(OBJECTS);
        println!("filling it with {objects} Pods");
        let mut command = bench.programs.command("bench-fill");
        command.arg("--kubeconfig").arg(server.kubeconfig()).args(["--objects", &objects.to_string()]);
        Program::start(&mut command, FILL_LIMIT, &bench.stop)?;
        Ok(Self { server, objects })
    }

    pub(crate) fn target(&self) -> Target {
        Target::real(&self.server.kubeconfig().to_string_lossy())
    }

    pub(crate) fn stop(self) -> Result {
        self.server.stop().map_err(|error| error.to_string())
    }
}
