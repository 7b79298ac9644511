//! Other programs, run from the repository's root: to their end, to a time limit, or until a signal.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What a command of ours returns; the message is for the person who typed it.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// How often a running program and the signals are looked at: unnoticeable, and no load.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The root of the repository this was built from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the xtask folder lies in the repository")
}

/// `cargo`, by the name that lets rustup choose the toolchain (`+1.89`).
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end, with this program's standard streams.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| format!("{}: {error}", text(command)))?;
    success(command, status)
}

/// Runs a command to its end; each line of its standard output is passed on and shown to `see`.
pub(crate) fn run_seeing(command: &mut Command, mut see: impl FnMut(&str)) -> Result {
    let failed = |command: &Command, error: io::Error| format!("{}: {error}", text(command));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| failed(command, error))?;
    if let Some(stdout) = child.stdout.take() {
        // A test may print what is not UTF-8.
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|error| failed(command, error))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            see(&line);
        }
    }
    let status = child.wait().map_err(|error| failed(command, error))?;
    success(command, status)
}

/// Runs a command in a process group of its own, and kills the whole group after `limit` or at a signal, so
/// that nothing that it has started stays.
pub(crate) fn run_limited(command: &mut Command, limit: Duration, stop: &StopSignal) -> Result {
    let failed = |command: &Command, error: io::Error| format!("{}: {error}", text(command));
    command.stdin(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| failed(command, error))?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(command, error))? {
            return success(command, status);
        }
        let reason = if stop.is_raised() {
            "stopped by a signal".to_owned()
        } else if Instant::now() >= deadline {
            format!("killed after its time limit of {}", duration(limit))
        } else {
            thread::sleep(POLL);
            continue;
        };
        kill_group(&mut child);
        return Err(format!("{}: {reason}", text(command)));
    }
}

/// Kills a child that leads a process group, and all of the group.
pub(crate) fn kill_group(child: &mut Child) {
    // The standard library signals single processes only; every Unix shell has a `kill` built in.
    let script = r#"kill -s KILL -- "-$1""#;
    let _ = Command::new("sh").args(["-c", script, "sh", &child.id().to_string()]).status();
    let _ = child.kill();
    let _ = child.wait();
}

/// Set by Ctrl-C, SIGTERM and SIGHUP, which no longer end this program by themselves.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    pub(crate) fn register() -> Result<Self> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&raised))
                .map_err(|error| format!("cannot handle signals: {error}"))?;
        }
        Ok(Self(raised))
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// As if a signal had come.
    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A heading between the outputs of other programs.
pub(crate) fn heading(line: &str) {
    println!("\n==== {line}");
    // The programs write to the same place on their own.
    let _ = io::stdout().flush();
}

/// `75 s` as `1 min 15 s`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let mut text = String::new();
    if seconds >= 60 {
        let _ = write!(text, "{} min ", seconds / 60);
    }
    let _ = write!(text, "{} s", seconds % 60);
    text
}

/// The command as one would type it.
pub(crate) fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn success(command: &Command, status: ExitStatus) -> Result {
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", text(command))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn quiet() -> StopSignal {
        StopSignal(Arc::default())
    }

    #[test]
    fn time_limit_kills_grandchildren_too() {
        // The grandchild holds the pipe's writing end: reading ends when it is dead.
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = shell("sleep 600 & wait");
        command.stdout(writer);
        let error = run_limited(&mut command, Duration::from_millis(200), &quiet()).unwrap_err();
        assert!(error.contains("time limit"), "{error}");
        drop(command);
        assert_eq!(io::copy(&mut reader, &mut io::sink()).unwrap(), 0);
    }

    #[test]
    fn a_signal_ends_a_limited_run() {
        let stop = quiet();
        stop.raise();
        let error = run_limited(&mut shell("sleep 600"), Duration::from_secs(600), &stop).unwrap_err();
        assert!(error.contains("signal"), "{error}");
    }

    #[test]
    fn exit_code_decides() {
        let limit = Duration::from_secs(60);
        assert_eq!(run_limited(&mut shell("exit 0"), limit, &quiet()), Ok(()));
        assert!(run_limited(&mut shell("exit 3"), limit, &quiet()).unwrap_err().contains('3'));
        assert!(run(&mut shell("exit 4")).unwrap_err().contains('4'));
        let mut seen = Vec::new();
        assert!(run_seeing(&mut shell("echo a; echo b; exit 5"), |line| seen.push(line.to_owned())).is_err());
        assert_eq!(seen, ["a", "b"]);
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(Duration::from_millis(59_900)), "59 s");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 5 s");
    }
}
