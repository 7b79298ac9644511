//! Metrics, alerts and their tests, as Prometheus' own `promtool` judges them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::{self, Result, StopSignal, cargo, root};

/// promtool needs seconds, a slow mirror some minutes.
const LIMIT: Duration = Duration::from_secs(5 * 60);
const TOOL: &str = "promtool";

/// Lets `promtool` check a program's metrics and the alerts; says so and goes on where there is none and none can be had.
pub(crate) fn check() -> Result {
    let stop = StopSignal::register()?;
    let Some(tool) = installed().or_else(|| unpacked(&stop)) else {
        println!("skipped: `apt-get install prometheus` to check metrics and alerts with {TOOL}");
        return Ok(());
    };
    let rules = ["docs/operations/alerts.yaml", "docs/operations/alerts_test.yaml"];
    run::run_limited(&mut command(&tool, &["check", "rules", rules[0]]), LIMIT, &stop)?;
    run::run_limited(&mut command(&tool, &["test", "rules", rules[1]]), LIMIT, &stop)?;
    check_text(&tool)
}

/// What the example prints has to be valid, and named as Prometheus' authors advise.
fn check_text(tool: &Path) -> Result {
    run::run(&mut cargo(&["build", "--workspace", "--example", "metrics_text"]))?;
    let example = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let example = example.with_file_name("examples").join("metrics_text");
    let text = scratch()?.join("metrics.txt");
    let file = File::create(&text).map_err(|error| format!("{}: {error}", text.display()))?;
    let stop = StopSignal::register()?;
    run::run_limited(Command::new(&example).stdout(file), LIMIT, &stop)?;
    let file = File::open(&text).map_err(|error| format!("{}: {error}", text.display()))?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length == 0 {
        return Err("the example printed no metrics".to_owned());
    }
    run::run(command(tool, &["check", "metrics"]).stdin(file))?;
    println!("{TOOL} check metrics: {length} bytes, nothing to object to");
    Ok(())
}

fn command(tool: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(root());
    command
}

fn installed() -> Option<PathBuf> {
    let works = Command::new(TOOL).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    works.is_ok_and(|status| status.success()).then(|| TOOL.into())
}

/// The one of Debian's package, unpacked and not installed: an installed one would start a server.
fn unpacked(stop: &StopSignal) -> Option<PathBuf> {
    let folder = scratch().ok()?;
    let tool = folder.join("usr/bin").join(TOOL);
    if tool.is_file() {
        return Some(tool);
    }
    println!("no {TOOL} here: trying Debian's package");
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        run::run_limited(apt.args(arguments).current_dir(&folder), LIMIT, stop).is_ok()
    };
    let download = ["download", "-q", "prometheus"];
    let is_there = apt(&download) || (apt(&["update", "-q"]) && apt(&download));
    if !is_there {
        return None;
    }
    let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
    let package = fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.path()).find(is_package)?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(&package).arg(&folder);
    run::run_limited(&mut unpack, LIMIT, stop).ok()?;
    tool.is_file().then_some(tool)
}

/// A folder of ours among what is built.
fn scratch() -> std::result::Result<PathBuf, String> {
    let folder = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let folder = folder.with_file_name(TOOL);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
