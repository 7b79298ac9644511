//! The two processes as one API server: options, start, kill, restart, stop.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Config, wait_until_ready};
use crate::http::{self, Response};
use crate::ports::random;
use crate::process::Process;
use crate::{Binaries, Error};

/// Without open watches kube-apiserver ends within 2-3 s of SIGTERM; with some it would wait a minute for them.
const APISERVER_PATIENCE: Duration = Duration::from_secs(5);

/// etcd ends at once, once nobody talks to it.
const ETCD_PATIENCE: Duration = Duration::from_secs(5);

/// Starts of a whole server: a chosen port can be taken by somebody else before the server has it.
const TRIES: u32 = 3;

/// How to run the server.
///
/// ```
/// use informer_real_apiserver::Options;
///
/// let options = Options { watch_cache: false, ..Options::default() };
/// assert!(options.directory.is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether kube-apiserver answers from its watch cache (its default), or each time from etcd.
    pub watch_cache: bool,
    /// More flags for kube-apiserver, after ours, so that they win: `--event-ttl=5m`.
    pub extra_flags: Vec<String>,
    /// Where data, certificates and logs are kept. `None` is a new temporary folder, removed at the end; a
    /// folder given here stays, and can be started from again.
    pub directory: Option<PathBuf>,
    /// How long a process may take until it is ready: a few seconds, unless the machine is busy.
    pub start_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            watch_cache: true,
            extra_flags: Vec::new(),
            directory: None,
            start_limit: Duration::from_secs(120),
        }
    }
}

/// A kube-apiserver and its etcd, listening on 127.0.0.1, with one administrator.
///
/// All methods block. Dropping it kills both processes with SIGKILL and removes its temporary folder.
#[derive(Debug)]
pub struct RealApiServer {
    // Dropped in this order: the API server before the etcd it needs, the folder last.
    apiserver: Option<Process>,
    etcd: Process,
    config: Config,
    _folder: Folder,
}

/// The server's folder; a temporary one is removed with it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    is_temporary: bool,
}

impl RealApiServer {
    /// Starts both processes and returns when the API server is ready (`/readyz`), usually after 4 s.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`] when the binaries are not in the cache, [`Error::ProcessFailed`] when a process ends
    /// or is not ready within [`Options::start_limit`], [`Error::Io`] for what the system refuses.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let binaries = Binaries::find()?;
        let mut tries = 1;
        loop {
            match Self::start_once(&binaries, options) {
                Err(Error::ProcessFailed { log_tail, .. })
                    if tries < TRIES && log_tail.contains("address already in use") =>
                {
                    tries += 1;
                }
                result => return result,
            }
        }
    }

    fn start_once(binaries: &Binaries, options: &Options) -> Result<Self, Error> {
        let folder = Folder::open(options)?;
        let config = Config::write(binaries, options, &folder.path)?;
        let etcd = config.start_etcd(folder.is_temporary)?;
        let mut server = Self { apiserver: None, etcd, config, _folder: folder };
        server.start_apiserver()?;
        // Had somebody else's etcd taken our port and answered in place of ours, ours would have ended by now.
        server.check()?;
        Ok(server)
    }

    /// The kubeconfig file of the administrator, with absolute paths in it; good while the server exists.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.config.kubeconfig
    }

    /// `https://127.0.0.1:PORT`, the same after every restart.
    #[must_use]
    pub fn url(&self) -> String {
        self.config.url()
    }

    /// The bearer token of a user in the group `system:masters`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.config.token
    }

    /// The certificate of the authority that signed the API server's own, as a PEM file.
    #[must_use]
    pub fn ca_certificate(&self) -> PathBuf {
        self.config.ca_certificate()
    }

    /// The folder with the data, the certificates and the logs `etcd.log` and `kube-apiserver.log`.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.config.folder
    }

    /// Kills kube-apiserver with SIGKILL, as a crash would; etcd lives on. Does nothing if it is not running.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses.
    pub fn kill_apiserver(&mut self) -> Result<(), Error> {
        match self.apiserver.take() {
            Some(mut process) => process.kill(),
            None => Ok(()),
        }
    }

    /// Starts kube-apiserver again with the same address, certificate and data, and returns when it is ready.
    /// One that is still running is killed first.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn start_apiserver(&mut self) -> Result<(), Error> {
        self.kill_apiserver()?;
        let process = self.config.spawn_apiserver()?;
        let process = self.apiserver.insert(process);
        let config = &self.config;
        wait_until_ready(process, config.options.start_limit, || config.request("GET", "/readyz", ""))
    }

    /// Stops kube-apiserver in its tracks (SIGSTOP): its connections stay open and say nothing more, as with a
    /// machine that is cut off. Does nothing if it is not running.
    ///
    /// # Errors
    ///
    /// [`Error::ProcessFailed`] if it has ended by itself.
    pub fn freeze_apiserver(&mut self) -> Result<(), Error> {
        self.signal_apiserver("STOP")
    }

    /// Lets a frozen kube-apiserver go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// As for [`freeze_apiserver`](Self::freeze_apiserver).
    pub fn thaw_apiserver(&mut self) -> Result<(), Error> {
        self.signal_apiserver("CONT")
    }

    fn signal_apiserver(&mut self, signal: &str) -> Result<(), Error> {
        match &mut self.apiserver {
            Some(process) => {
                process.check()?;
                process.signal(signal)
            }
            None => Ok(()),
        }
    }

    /// Makes etcd forget every version before `revision`, so that a read or watch from there is answered with
    /// 410 Expired. A revision of etcd is a resourceVersion of Kubernetes.
    ///
    /// A running API server's watch cache may remember longer; restart it to empty that too.
    ///
    /// # Errors
    ///
    /// [`Error::RequestFailed`] if etcd refuses, as it does for a revision that is compacted already or in the
    /// future.
    pub fn compact(&self, revision: u64) -> Result<(), Error> {
        let path = "/v3/kv/compaction";
        let failed = |reason| Error::RequestFailed { request: format!("POST {path}"), reason };
        let body = format!(r#"{{"revision":"{revision}","physical":true}}"#);
        let response = http::request(self.config.etcd_port, "POST", path, &body);
        match response.map_err(|error| failed(error.to_string()))? {
            Response { status: 200, .. } => Ok(()),
            Response { status, body } => Err(failed(format!("{status} {body}"))),
        }
    }

    /// Sends a request to the API server as its administrator and returns the answer, whatever its status. The
    /// body, if not empty, is JSON.
    ///
    /// A client of its own, independent of every Rust library, for set-up and checks; it costs a process each
    /// time.
    ///
    /// # Errors
    ///
    /// [`Error::RequestFailed`] if no answer came within 10 s.
    pub fn request(&self, method: &str, path: &str, body: &str) -> Result<Response, Error> {
        self.config.request(method, path, body)
    }

    /// An error if a process that should be running has ended by itself.
    ///
    /// # Errors
    ///
    /// [`Error::ProcessFailed`], with the end of that process's log.
    pub fn check(&mut self) -> Result<(), Error> {
        self.etcd.check()?;
        self.apiserver.as_mut().map_or(Ok(()), Process::check)
    }

    /// Stops kube-apiserver, then etcd, gently where they let themselves: at most 10 s. Removes a temporary
    /// folder.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses; the processes are then killed as by a drop.
    pub fn stop(mut self) -> Result<(), Error> {
        // The API server goes first: without its etcd a gentle end takes minutes.
        if let Some(mut process) = self.apiserver.take() {
            process.stop(APISERVER_PATIENCE)?;
        }
        self.etcd.stop(ETCD_PATIENCE)
    }
}

impl Folder {
    fn open(options: &Options) -> Result<Self, Error> {
        let (path, is_temporary) = match &options.directory {
            // The servers run in this folder, so a relative path would mean something else to them.
            Some(path) => (std::path::absolute(path).map_err(Error::io(|| "resolving a path"))?, false),
            None => (env::temp_dir().join(format!("informer-real-apiserver-{:016x}", random())), true),
        };
        // For the owner only: there are keys in it. A temporary folder must be new.
        let made = DirBuilder::new().mode(0o700).recursive(!is_temporary).create(&path);
        made.map_err(Error::io(|| format!("creating the folder {}", path.display())))?;
        Ok(Self { path, is_temporary })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            // What cannot be removed now is left to the system's own cleaning of temporary files.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
