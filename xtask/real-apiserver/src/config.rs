//! What stays the same however often a process is started: paths, ports, flags, and how to ask it something.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{self, Response};
use crate::ports::{free_ports, random};
use crate::process::Process;
use crate::{Binaries, Error, Options};

/// How often a starting server is asked whether it is ready; each time costs a process of a few milliseconds.
const POLL: Duration = Duration::from_millis(100);

/// What does not change when a process is started again.
#[derive(Debug)]
pub(crate) struct Config {
    binaries: Binaries,
    pub(crate) options: Options,
    pub(crate) folder: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) token: String,
    pub(crate) etcd_port: u16,
    etcd_peer_port: u16,
    apiserver_port: u16,
}

impl Config {
    /// Chooses ports and writes what the processes and their clients read.
    pub(crate) fn write(binaries: &Binaries, options: &Options, folder: &Path) -> Result<Self, Error> {
        let doing = || format!("writing to {}", folder.display());
        let [etcd_port, etcd_peer_port, apiserver_port] =
            free_ports().map_err(Error::io(|| "looking for free ports"))?;
        let config = Self {
            binaries: binaries.clone(),
            options: options.clone(),
            folder: folder.to_owned(),
            kubeconfig: folder.join("kubeconfig"),
            token: format!("{:016x}{:016x}", random(), random()),
            etcd_port,
            etcd_peer_port,
            apiserver_port,
        };
        let token_line = format!("{},admin,admin,\"system:masters\"\n", config.token);
        fs::write(config.token_file(), token_line).map_err(Error::io(doing))?;
        fs::write(&config.kubeconfig, config.kubeconfig_text()).map_err(Error::io(doing))?;
        Ok(config)
    }

    pub(crate) fn start_etcd(&self, is_temporary: bool) -> Result<Process, Error> {
        let client = format!("http://127.0.0.1:{}", self.etcd_port);
        let peer = format!("http://127.0.0.1:{}", self.etcd_peer_port);
        let mut command = Command::new(&self.binaries.etcd);
        // Nothing of the caller's environment (ETCD_…, KUBE_FEATURE_…) changes what is tested.
        command.env_clear().current_dir(&self.folder);
        command.arg("--data-dir").arg(self.folder.join("etcd"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}"), "--log-level", "warn"]);
        // Nobody's data: a power cut may lose it.
        command.arg("--unsafe-no-fsync");
        // Should this program be killed, etcd's guard removes the folder: etcd lives as long as the server.
        let remove = is_temporary.then_some(self.folder.as_path());
        let mut process = Process::spawn("etcd", command, &self.folder.join("etcd.log"), remove)?;
        wait_until_ready(&mut process, self.options.start_limit, || {
            let request = || "GET /health of etcd".to_owned();
            let answer = http::request(self.etcd_port, "GET", "/health", "");
            answer.map_err(|error| Error::RequestFailed { request: request(), reason: error.to_string() })
        })?;
        Ok(process)
    }

    pub(crate) fn spawn_apiserver(&self) -> Result<Process, Error> {
        let certificates = self.folder.join("certificates");
        // kube-apiserver makes itself an RSA key and a certificate for 127.0.0.1 in this folder before it reads
        // the key for service account tokens: that key does for both.
        let key = certificates.join("apiserver.key");
        let mut command = Command::new(&self.binaries.apiserver);
        command.env_clear().current_dir(&self.folder);
        let mut flag = |name: &str, value: &Path| {
            let mut flag = OsString::from(name);
            flag.push(value);
            command.arg(flag);
        };
        flag("--cert-dir=", &certificates);
        flag("--service-account-key-file=", &key);
        flag("--service-account-signing-key-file=", &key);
        flag("--token-auth-file=", &self.token_file());
        command.args([
            &format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
            &format!("--secure-port={}", self.apiserver_port),
            &format!("--service-account-issuer={}", self.url()),
            &format!("--watch-cache={}", self.options.watch_cache),
        ]);
        command.args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // Else a loopback address is refused.
            "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            // No controller makes the service accounts that this would ask of every Pod.
            "--disable-admission-plugins=ServiceAccount",
        ]);
        command.args(&self.options.extra_flags);
        Process::spawn("kube-apiserver", command, &self.folder.join("kube-apiserver.log"), None)
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Result<Response, Error> {
        let failed = |reason: String| Error::RequestFailed { request: format!("{method} {path}"), reason };
        let io_failed = |error: io::Error| failed(error.to_string());
        let mut probe = Command::new(&self.binaries.probe)
            .args([method, &format!("{}{path}", self.url())])
            .arg(self.ca_certificate())
            .env_clear()
            .env("PROBE_TOKEN", &self.token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io_failed)?;
        if let Some(mut stdin) = probe.stdin.take() {
            // A probe that ends before it has read everything says why on its standard error.
            let _ = stdin.write_all(body.as_bytes());
        }
        let output = probe.wait_with_output().map_err(io_failed)?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let (status, body) = text.split_once('\n').unwrap_or((&text, ""));
        let status = status.parse().map_err(|_| failed("the probe printed no status".to_owned()))?;
        Ok(Response { status, body: body.to_owned() })
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.apiserver_port)
    }

    pub(crate) fn ca_certificate(&self) -> PathBuf {
        // The file holds the server's certificate and that of the authority made for it.
        self.folder.join("certificates/apiserver.crt")
    }

    fn token_file(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    fn kubeconfig_text(&self) -> String {
        let url = self.url();
        let token = &self.token;
        // YAML's single quotes take everything but themselves.
        let authority = self.ca_certificate().to_string_lossy().replace('\'', "''");
        format!(
            "apiVersion: v1
kind: Config
clusters:
- name: real
  cluster:
    server: {url}
    certificate-authority: '{authority}'
users:
- name: admin
  user:
    token: {token}
contexts:
- name: real
  context:
    cluster: real
    user: admin
current-context: real
"
        )
    }
}

/// Waits until `ask` is answered with 200.
pub(crate) fn wait_until_ready(
    process: &mut Process,
    limit: Duration,
    ask: impl Fn() -> Result<Response, Error>,
) -> Result<(), Error> {
    let deadline = Instant::now() + limit;
    loop {
        process.check()?;
        let seen = match ask() {
            Ok(Response { status: 200, .. }) => return Ok(()),
            Ok(Response { status, body }) => format!("{status} {body}"),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline {
            return Err(process.failed(format!("was not ready within {limit:?} ({seen})")));
        }
        thread::sleep(POLL);
    }
}
