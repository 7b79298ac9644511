//! The measurements as a table, and as bench/RESULTS.md.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use informer_real_apiserver::KUBERNETES_VERSION;

use super::metrics::{Metric, Samples, Unit};
use super::{Bench, Side, plot};
use crate::run::{Result, root};

/// What each quantity is meant to be, in its own unit, and what LIMITS.md calls the section that says why it is not.
const TARGETS: &[(&str, &str, &str)] = &[
    ("typed.sync-cpu", "≤ 30 µs", "typed-first-sync-and-watch-events"),
    ("typed.relist-cpu", "≤ 8 µs", "relist"),
    ("typed.resident", "≤ 1.0 × kube-runtime", ""),
    ("typed.relist-resident", "≤ 0.55 × kube-runtime", ""),
    ("typed.sync-peak", "≤ 1.2 ×", ""),
    ("typed.relist-peak", "≤ 1.2 ×", ""),
    ("typed.events", "≥ 25,000 /s", "typed-first-sync-and-watch-events"),
    ("metadata.sync-cpu", "≤ 12 µs", "metadata-projection-packed"),
    ("metadata.resident", "≤ 1.5 KB", ""),
    ("metadata.events", "≥ 50,000 /s", ""),
    ("projection.sync-cpu", "≤ 15 µs", "metadata-projection-packed"),
    ("projection.resident", "≤ 1.5 KB", ""),
    ("projection.events", "≥ 50,000 /s", "metadata-projection-packed"),
    ("packed.sync-cpu", "≤ 30 µs", ""),
    ("packed.resident", "≤ 1 KB", ""),
    ("million.sync-peak", "≤ 1.2 ×", ""),
    ("many.start", "≤ 1,000 ms", ""),
    ("many.resident", "≤ 60 KB", ""),
    ("idle.cpu", "≤ 1 ms", ""),
    ("fan-out.handler", "≤ 10 ns", "a-further-handler"),
    ("reads.get", "≥ 15 M/s", "reads"),
    ("reads.namespace", "≤ 5 µs", ""),
    ("work-queue.core-id", "≤ 80 ns", ""),
    ("work-queue.core-key", "≤ 200 ns", ""),
    ("work-queue.delayed-core-id", "≤ 150 ns", "work-queue-a-million-delays"),
    ("work-queue.delayed-core-key", "≤ 150 ns", "work-queue-a-million-delays"),
    ("work-queue.two-threads", "≥ one thread", "work-queue-two-threads"),
    ("real-typed.sync-cpu", "≤ 40 µs", "the-real-api-server"),
    ("size.program", "≤ 10 MB", "size-of-a-program-and-cold-build"),
    ("size.program-lto", "≤ 10 MB", ""),
    ("build.library", "≤ 240 s, ≤ 1.2 × kube-runtime", "size-of-a-program-and-cold-build"),
];

/// A Markdown table of everything measured.
pub(crate) fn table(samples: &Samples) -> String {
    let mut text = String::from(
        "| | informer | kube-runtime | client-go | better than kube-runtime | better than client-go | target |\n\
         |---|---:|---:|---:|---:|---:|---|\n",
    );
    for metric in samples.iter() {
        let cell = |side| metric.median(side).map_or("–".to_owned(), |value| metric.unit.text(value));
        let ratio =
            |peer| metric.times_better(peer).map_or("–".to_owned(), |ratio| Unit::Times.text(ratio));
        let target = target(metric);
        let [ours, kube_runtime, client_go] = Side::ALL.map(cell);
        let (vs_kube, vs_go) = (ratio(Side::KubeRuntime), ratio(Side::ClientGo));
        let name = name(metric);
        let _ = writeln!(
            text,
            "| {name} | {ours} | {kube_runtime} | {client_go} | {vs_kube} | {vs_go} | {target} |"
        );
    }
    text
}

/// With a link to the limit, where one was found.
fn target(metric: &Metric) -> String {
    match TARGETS.iter().find(|(id, _, _)| *id == metric.id) {
        None => String::new(),
        Some((_, target, "")) => (*target).to_owned(),
        Some((_, target, limit)) => format!("{target} ([limit](LIMITS.md#{limit}))"),
    }
}

fn name(metric: &Metric) -> &str {
    if metric.about.is_empty() { &metric.id } else { &metric.about }
}

/// Writes bench/RESULTS.md and the plot beside it.
pub(crate) fn write(bench: &Bench) -> Result {
    let folder = root().join("bench");
    let plot = plot::svg(&bench.samples);
    let table = table(&bench.samples);
    let (machine, versions) = (machine(), versions());
    let (date, rounds) = (said("date", &["--utc", "+%Y-%m-%d"]), bench.rounds);
    let text = format!(
        "# Results\n\n\
         Written by `cargo xtask bench` on {date}; do not edit.\n\n\
         - Machine: {machine}.\n\
         - Versions: {versions}.\n\
         - Each number is the median of {rounds} runs; the sides take turns against the same server process. CPU is user \
         and system time of the client's process, as the operating system counts it, from before the step until \
         the process is at rest again. Resident is VmRSS less what the process had before it began; peak is VmHWM. \
         managedFields are dropped on every side by its own means.\n\
         - Rows that begin with `real` are measured against kube-apiserver {KUBERNETES_VERSION} over TLS, where \
         client-go speaks protobuf; the others against the benchmark's own server: JSON, plain HTTP, another process on \
         the same machine.\n\
         - Kilobytes are 1,000 bytes. \"Better\" is how many times less is used, or more is done.\n\
         - What keeps rows from their targets, and how that was found: [LIMITS.md](LIMITS.md).\n\n\
         ![CPU and memory against the number of objects](results.svg)\n\n\
         {table}"
    );
    for (name, text) in [("RESULTS.md", &text), ("results.svg", &plot)] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(())
}

fn machine() -> String {
    let first = |path: &str, field: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.split_once(':'));
        line.map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kilobytes = first("/proc/meminfo", "MemTotal");
    let gigabytes = kilobytes.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    let gigabytes = gigabytes.unwrap_or_default() / 1e6;
    let (model, kernel) = (first("/proc/cpuinfo", "model name"), said("uname", &["-sr"]));
    format!("{cores} cores ({model}), {gigabytes:.0} GB, {kernel}")
}

fn versions() -> String {
    let commit = said("git", &["describe", "--always", "--dirty"]);
    let (rustc, go) = (said("rustc", &["--version"]), said("go", &["version"]));
    let module = fs::read_to_string(root().join("bench/peers/client-go/go.mod")).unwrap_or_default();
    let client_go = module.split_whitespace().skip_while(|word| *word != "k8s.io/client-go").nth(1);
    let client_go = client_go.unwrap_or("client-go");
    let kube = fs::read_to_string(root().join("bench/peers/kube-runtime/Cargo.lock")).unwrap_or_default();
    let kube =
        kube.split("name = \"kube-runtime\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    let kube = kube.unwrap_or("unknown");
    format!("informer at {commit}, kube-runtime {kube}, client-go {client_go}; {rustc}; {go}")
}

/// What a command prints, or that it is not there.
fn said(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).current_dir(root()).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(_) => format!("no {program}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_a_section() {
        let limits = fs::read_to_string(root().join("bench/LIMITS.md")).unwrap();
        // As GitHub names a heading.
        let name = |heading: &str| {
            let kept = |char: char| char.is_alphanumeric() || char == ' ';
            heading.to_lowercase().chars().filter(|&char| kept(char)).collect::<String>().replace(' ', "-")
        };
        let sections: Vec<_> = limits.lines().filter_map(|line| line.strip_prefix("## ")).map(name).collect();
        for (id, _, limit) in TARGETS {
            assert!(limit.is_empty() || sections.iter().any(|section| section == limit), "{id}: #{limit}");
        }
    }
}
