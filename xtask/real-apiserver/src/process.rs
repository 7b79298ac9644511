//! One child process with its log, and a guard that ends it when its owner dies.
//!
//! A test binary that is killed runs no destructor, and its servers would live on. So beside each process runs
//! a shell that only waits for its standard input to end, which happens when the owner is gone however it went,
//! and then kills the process. Both are in process groups of their own: a Ctrl-C in the terminal reaches the
//! owner only, which stops the servers in the right order.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// `$1` is the process, `$2` a folder to remove after it, or nothing. A line on standard input means that all is
/// done already.
const GUARD: &str =
    r#"read -r line || { kill -KILL "$1"; [ -z "$2" ] || rm -rf -- "$2" || { sleep 1; rm -rf -- "$2"; }; }"#;

/// How often a process is asked whether it has ended: unnoticeable, and no load.
const POLL: Duration = Duration::from_millis(20);

/// How much of a log an error shows.
const TAIL_LINES: usize = 25;

/// A running child process; dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    guard: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output appended to `log`. Should this program die before it has stopped the
    /// process, the guard removes the folder `remove` too.
    ///
    /// # Errors
    /// When the log cannot be opened, or the process or its guard not be started.
    pub fn spawn(
        name: &'static str,
        mut command: Command,
        log: &Path,
        remove: Option<&Path>,
    ) -> Result<Self, Error> {
        let open = || OpenOptions::new().create(true).append(true).open(log);
        let doing = || format!("starting {name}");
        let stdout = open().map_err(Error::io(doing))?;
        let stderr = open().map_err(Error::io(doing))?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
        let mut child = command.spawn().map_err(Error::io(doing))?;
        let guard = guard(child.id(), remove).inspect_err(|_| {
            // Unguarded it may not live; the guard's error is the one to report.
            let _ = child.kill();
            let _ = child.wait();
        });
        Ok(Self { name, guard: guard.map_err(Error::io(doing))?, child, log: log.to_owned() })
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, by its name without `SIG`.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn signal(&self, signal: &str) -> Result<(), Error> {
        // The standard library can only send SIGKILL; every Unix shell has a `kill` built in.
        let script = r#"kill -s "$1" "$2""#;
        let status = Command::new("sh")
            .args(["-c", script, "sh", signal, &self.child.id().to_string()])
            .stdin(Stdio::null())
            .status()
            .map_err(Error::io(|| format!("sending SIG{signal} to {}", self.name)))?;
        if status.success() { Ok(()) } else { Err(self.failed(format!("does not take SIG{signal}"))) }
    }

    /// Kills the process with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(&mut self) -> Result<(), Error> {
        let doing = || format!("killing {}", self.name);
        self.child.kill().map_err(Error::io(doing))?;
        self.child.wait().map_err(Error::io(doing))?;
        self.dismiss_guard();
        Ok(())
    }

    /// Asks the process to end with SIGTERM, and kills it if it has not done so within `patience`.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn stop(&mut self, patience: Duration) -> Result<(), Error> {
        if self.ended()?.is_none() {
            self.signal("TERM")?;
            self.wait(patience)?;
        }
        self.kill()
    }

    /// How the process ended; nothing if it has not done so within `patience`.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>, Error> {
        let deadline = Instant::now() + patience;
        loop {
            let ended = self.ended()?;
            if ended.is_some() || Instant::now() >= deadline {
                return Ok(ended);
            }
            thread::sleep(POLL);
        }
    }

    /// How the process ended, if it has.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(Error::io(|| format!("waiting for {}", self.name)))
    }

    /// An error if the process has ended, which nobody asked it to.
    ///
    /// # Errors
    /// [`Error::ProcessFailed`] if it has.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => Err(self.failed(format!("ended by itself ({status})"))),
        }
    }

    /// An error about this process, with the end of its log.
    pub fn failed(&self, reason: String) -> Error {
        Error::ProcessFailed { name: self.name, reason, log_tail: tail(&self.log) }
    }

    fn dismiss_guard(&mut self) {
        if let Some(mut stdin) = self.guard.stdin.take() {
            // A guard that is gone already has nothing left to do.
            let _ = stdin.write_all(b"done\n");
        }
        let _ = self.guard.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // `kill` fails only for a process that cannot be waited for; the guard then ends it.
        let _ = self.kill();
    }
}

fn guard(process_id: u32, remove: Option<&Path>) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", GUARD, "guard", &process_id.to_string()])
        .arg(remove.unwrap_or(Path::new("")))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<&str> = text.lines().rev().take(TAIL_LINES).collect();
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, removed with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("informer-process-{name}-{:x}", crate::ports::random()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn is_alive(process_id: u32) -> bool {
        shell(&format!("kill -0 {process_id} 2>/dev/null")).status().unwrap().success()
    }

    /// Waits until `done`, or fails the test after a time that no healthy machine needs.
    fn eventually(what: &str, mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !done() {
            assert!(Instant::now() < deadline, "{what}: not within 20 s");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn stop_is_gentle_first() {
        let folder = Folder::new("gentle");
        let log = folder.0.join("log");
        let script = r#"trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"#;
        let mut process = Process::spawn("test", shell(script), &log, None).unwrap();
        eventually("ready", || fs::read_to_string(&log).unwrap().contains("ready"));
        process.stop(Duration::from_secs(20)).unwrap();
        assert!(fs::read_to_string(&log).unwrap().contains("bye"));
    }

    #[test]
    fn stop_kills_what_does_not_listen() {
        let folder = Folder::new("stubborn");
        let log = folder.0.join("log");
        let script = r#"trap '' TERM; echo ready; while :; do sleep 0.05; done"#;
        let mut process = Process::spawn("test", shell(script), &log, None).unwrap();
        let process_id = process.child.id();
        eventually("ready", || fs::read_to_string(&log).unwrap().contains("ready"));
        process.stop(Duration::from_millis(100)).unwrap();
        assert!(!is_alive(process_id));
    }

    #[test]
    fn an_end_that_nobody_asked_for_is_an_error_with_the_logs_end() {
        let folder = Folder::new("end");
        let script = "echo out of cheese >&2; exit 3";
        let mut process = Process::spawn("test", shell(script), &folder.0.join("log"), None).unwrap();
        eventually("ended", || process.ended().unwrap().is_some());
        let text = process.check().unwrap_err().to_string();
        assert!(text.contains("out of cheese") && text.contains('3'), "{text}");
    }

    #[test]
    fn guard_kills_and_cleans_up_when_its_owner_is_gone() {
        let folder = Folder::new("orphan");
        let kept = folder.0.join("kept by the process");
        fs::create_dir(&kept).unwrap();
        let log = folder.0.join("log");
        let mut process = Process::spawn("test", shell("exec sleep 600"), &log, Some(&kept)).unwrap();
        // What happens to the pipe when the owner is killed.
        drop(process.guard.stdin.take());
        eventually("killed", || process.ended().unwrap().is_some());
        eventually("removed", || !kept.exists());
    }

    #[test]
    fn dropped_process_dies_and_leaves_its_folder_to_the_owner() {
        let folder = Folder::new("drop");
        let log = folder.0.join("log");
        let process = Process::spawn("test", shell("exec sleep 600"), &log, Some(&folder.0)).unwrap();
        let (process_id, guard_id) = (process.child.id(), process.guard.id());
        drop(process);
        assert!(!is_alive(process_id) && !is_alive(guard_id));
        assert!(folder.0.exists());
    }
}
