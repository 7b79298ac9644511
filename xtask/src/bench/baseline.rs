//! `--quick`: ratios and instruction counts, compared with bench/baseline.toml.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::Side;
use super::metrics::{Samples, Unit};
use crate::run::{Result, heading, root};

/// What a quick run measures.
pub(crate) const ROWS: [&str; 4] = ["typed", "metadata", "reads", "parts"];
pub(crate) const ROUNDS: usize = 3;
/// Thousandths of the rows' objects: 2,000 Pods.
pub(crate) const SCALE: usize = 100;

/// How much worse than its baseline a ratio may be. The two sides of a ratio run on the same machine, in turns; what
/// is left is noise of a busy machine and of few objects.
const RATIO_MARGIN: f64 = 0.45;

/// Instructions are counted, not timed: what is left is the layout of memory.
const COUNT_MARGIN: f64 = 0.03;

/// These say something in a run of few objects; a peak, for one, does not.
const RATIOS: [&str; 8] = [
    "typed.sync-cpu",
    "typed.resident",
    "typed.relist-cpu",
    "typed.relist-resident",
    "typed.events",
    "metadata.sync-cpu",
    "reads.namespace",
    "reads.get-1-cpu",
];

/// Beyond this a ratio is that of two ways to do it, and says nothing of small changes.
const MOST_TIMES: f64 = 10.0;

const RATIOS_SECTION: &str = "times-better";

/// The section of instruction counts: another compiler makes other code, and libraries choose theirs by processor.
fn counted_by() -> String {
    let compiler = Command::new("rustc").arg("--version").output();
    let compiler =
        compiler.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version = compiler.split_whitespace().nth(1).unwrap_or("unknown");
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let known =
        ["avx2", "avx512f"].into_iter().filter(|flag| flags.split_whitespace().any(|one| one == *flag));
    let known: Vec<_> = known.collect();
    format!("instructions rustc {version} {} {}", std::env::consts::ARCH, known.join(" "))
}

/// Names and numbers, in sections: the part of TOML that is needed.
type Sections = BTreeMap<String, BTreeMap<String, f64>>;

/// Compares with the baseline, or writes it.
pub(crate) fn check(samples: &Samples, bless: bool) -> Result {
    let measured = measured(samples);
    if bless {
        let path = path();
        fs::write(&path, text(&measured)).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("written: {}", path.display());
        return Ok(());
    }
    let stored = fs::read_to_string(path()).map_err(|error| format!("bench/baseline.toml: {error}"))?;
    let stored = parse(&stored)?;
    if stored.keys().all(|section| section == RATIOS_SECTION || !measured.contains_key(section)) {
        println!("instructions are not compared: the baseline has none of this compiler and processor");
    }
    let problems = compare(&stored, &measured);
    heading("bench: compared with bench/baseline.toml");
    if problems.is_empty() {
        println!("nothing is worse");
        return Ok(());
    }
    for problem in &problems {
        println!("{problem}");
    }
    println!("If that is meant: `cargo xtask bench --quick --bless`, and say why in the change.");
    Err(format!("{} of the measured quantities are worse than their baseline", problems.len()))
}

fn measured(samples: &Samples) -> Sections {
    let mut sections = Sections::new();
    for metric in samples.iter() {
        let (section, value) = match metric.unit {
            Unit::Instructions => (counted_by(), metric.median(Side::Ours)),
            _ if RATIOS.contains(&&*metric.id) => {
                let times = metric.times_better(Side::KubeRuntime).map(|times| times.min(MOST_TIMES));
                (RATIOS_SECTION.to_owned(), times)
            }
            _ => continue,
        };
        if let Some(value) = value {
            sections.entry(section).or_default().insert(metric.id.clone(), value);
        }
    }
    sections
}

/// What is worse than it was, or is no longer measured.
fn compare(stored: &Sections, measured: &Sections) -> Vec<String> {
    let mut problems = Vec::new();
    for (section, entries) in stored {
        for (id, before) in entries {
            let Some(now) = measured.get(section).and_then(|entries| entries.get(id)) else {
                // Instructions cannot be counted everywhere, nor be compared from one compiler or processor to another.
                if section == RATIOS_SECTION || measured.contains_key(section) {
                    problems.push(format!("{id}: is in the baseline and was not measured"));
                }
                continue;
            };
            let (is_worse, margin) = match section.as_str() {
                RATIOS_SECTION => (*now < before * (1.0 - RATIO_MARGIN), RATIO_MARGIN),
                _ => (*now > before * (1.0 + COUNT_MARGIN), COUNT_MARGIN),
            };
            if is_worse {
                let percent = margin * 100.0;
                problems.push(format!("{id} ({section}): {now:.2}, was {before:.2}, margin {percent:.0} %"));
            }
        }
    }
    problems
}

fn text(sections: &Sections) -> String {
    let mut text = String::from(
        "# What `cargo xtask bench --quick` compares with, written by it with --bless.\n\
         # Margins are in xtask/src/bench/baseline.rs.\n",
    );
    for (section, entries) in sections {
        let about = match section.as_str() {
            RATIOS_SECTION => "How many times better than kube-runtime's is ours, in the same run.",
            _ => "Instructions of one operation of a part, by compiler and processor; less is better.",
        };
        let _ = writeln!(text, "\n# {about}\n[{section}]");
        for (id, value) in entries {
            let _ = writeln!(text, "\"{id}\" = {value:.2}");
        }
    }
    text
}

fn parse(text: &str) -> Result<Sections> {
    let mut sections = Sections::new();
    let mut section = String::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.to_owned();
        } else if !line.is_empty() && !line.starts_with('#') {
            let entry = line.split_once('=').and_then(|(id, value)| {
                Some((id.trim().trim_matches('"').to_owned(), value.trim().parse().ok()?))
            });
            let (id, value) = entry.ok_or(format!("bench/baseline.toml:{}: not understood", at + 1))?;
            sections.entry(section.clone()).or_default().insert(id, value);
        }
    }
    Ok(sections)
}

fn path() -> PathBuf {
    root().join("bench/baseline.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(entries: &[(&str, &str, f64)]) -> Sections {
        let mut sections = Sections::new();
        for (section, id, value) in entries {
            sections.entry((*section).to_owned()).or_default().insert((*id).to_owned(), *value);
        }
        sections
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = sections(&[("times-better", "a.b", 2.5), ("instructions", "c", 1_234.0)]);
        assert_eq!(parse(&text(&all)).unwrap(), all);
        assert!(parse("[a]\nb: 3").is_err());
    }

    #[test]
    fn margins_decide() {
        let before = sections(&[("times-better", "a", 2.0), ("instructions", "b", 1_000.0)]);
        let fine = sections(&[("times-better", "a", 1.11), ("instructions", "b", 1_029.0)]);
        assert_eq!(compare(&before, &fine), [""; 0]);
        let worse = sections(&[("times-better", "a", 1.09), ("instructions", "b", 1_031.0)]);
        assert_eq!(compare(&before, &worse).len(), 2);
    }

    #[test]
    fn what_is_no_longer_measured_is_a_problem() {
        let before = sections(&[("times-better", "a", 2.0), ("instructions", "b", 1_000.0)]);
        let other = sections(&[("times-better", "c", 2.0), ("instructions", "b", 1_000.0)]);
        assert_eq!(compare(&before, &other).len(), 1);
        let no_valgrind = sections(&[("times-better", "a", 2.0)]);
        assert_eq!(compare(&before, &no_valgrind), [""; 0]);
    }
}
