//! The sample controller as a process of its own, which can be killed, frozen and stopped.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_real_apiserver::Process;
use kube::config::Kubeconfig;
use tokio::task::block_in_place;

use crate::outcome::{Error, Result, ensure};

/// Its process's name, and the file's.
const NAME: &str = "sample-controller";

/// How long it may take to finish what it has begun when it is asked to end: it waits 5 s for its last events.
const PATIENCE: Duration = Duration::from_secs(15);

/// A place to start one replica of it in, again and again. Dropping it kills the replica.
pub(crate) struct SampleController {
    process: Option<Process>,
    folder: Folder,
    program: PathBuf,
    arguments: Vec<String>,
}

impl SampleController {
    /// One that is not running yet.
    pub(crate) fn new(kubeconfig: &Kubeconfig, arguments: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name(NAME);
        ensure!(
            program.is_file(),
            "{} is not there: `cargo test --workspace --no-run` builds it, as `cargo xtask e2e` does",
            program.display()
        );
        let folder = Folder::new()?;
        // YAML includes JSON.
        fs::write(folder.0.join("kubeconfig"), serde_json::to_vec(kubeconfig)?)?;
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Ok(Self { process: None, folder, program, arguments })
    }

    /// Starts it.
    pub(crate) fn start(&mut self) -> Result {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(self.folder.0.join("kubeconfig")).args(&self.arguments);
        command.env("RUST_LOG", "info").env("NO_COLOR", "1");
        self.process = Some(Process::spawn(NAME, command, &self.log(), Some(&self.folder.0))?);
        Ok(())
    }

    /// Its process's id, while there is one.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Sends it a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, signal: &str) -> Result {
        let process = self.process.as_ref().ok_or("the controller was not running")?;
        Ok(process.signal(signal)?)
    }

    /// Ends it as a crash does; it must have been running.
    pub(crate) fn kill(&mut self) -> Result {
        let mut process = self.process.take().ok_or("the controller was not running")?;
        process.check()?;
        Ok(process.kill()?)
    }

    /// Asks it to end, which it must do in time and without an error.
    pub(crate) fn stop(&mut self) -> Result {
        let mut process = self.process.take().ok_or("the controller was not running")?;
        process.check()?;
        process.signal("TERM")?;
        let status = block_in_place(|| process.wait(PATIENCE))?;
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(process.failed(format!("ended with an error ({status})")).into()),
            None => Err(process.failed("did not end when it was asked to".to_owned()).into()),
        }
    }

    /// The error, with the end of the log.
    pub(crate) fn explain(&self, error: &Error) -> Error {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let mut lines: Vec<&str> = log.lines().rev().take(20).collect();
        lines.reverse();
        format!("{error}\nthe end of the controller's log:\n{}", lines.join("\n")).into()
    }

    fn log(&self) -> PathBuf {
        self.folder.0.join("log")
    }
}

/// A folder for this user's eyes, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("informer-e2e-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
