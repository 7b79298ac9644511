//! A real kube-apiserver with its etcd on this machine, for tests: build, start, kill, restart, stop.
//!
//! The servers are built from their Go modules (folders `apiserver` and `etcd` beside this crate) into a cache
//! outside the checkout, once per version. They listen on loopback only, on free ports, and keep all their
//! files in one folder that goes away with the [`RealApiServer`].
//!
//! ```no_run
//! use informer_real_apiserver::{Binaries, Options, RealApiServer};
//!
//! # fn main() -> Result<(), informer_real_apiserver::Error> {
//! Binaries::find_or_build(|line| eprintln!("{line}"))?;
//! let mut server = RealApiServer::start(&Options::default())?;
//! println!("KUBECONFIG={}", server.kubeconfig().display());
//! server.kill_apiserver()?;
//! server.start_apiserver()?;
//! server.stop()?;
//! # Ok(())
//! # }
//! ```
//!
//! No process outlives its owner: dropping the server kills both processes, and when the owner itself is
//! killed, a guard process (see `process.rs`) does it. Unix only.

mod binaries;
mod config;
mod error;
mod http;
mod ports;
mod process;
mod server;

pub use binaries::{Binaries, ETCD_VERSION, KUBERNETES_VERSION};
pub use error::Error;
pub use http::Response;
pub use process::Process;
pub use server::{Options, RealApiServer};
