//! Instruction counts of the parts, from valgrind: they do not depend on what else the machine does.

use std::process::{Command, Stdio};

use super::metrics::Unit;
use super::{Bench, Side};
use crate::run::{Result, heading, text};

/// What `bench-part` knows, and how many operations of each are counted.
const PARTS: [(&str, u64, &str); 6] = [
    ("splitter", 100, "split a list, per item of 5.5 KB"),
    ("scan", 200, "scan metadata and cut managedFields, per object of 5.5 KB"),
    ("decode", 50, "decode a k8s-openapi Pod of 5.5 KB"),
    ("fifo", 2_000, "push and drain a delta"),
    ("indexer", 2_000, "apply an update, 2 indexes"),
    ("fan-out", 64_000, "hand a notification to one of 64 handlers"),
];

pub(crate) fn measure(bench: &mut Bench) -> Result {
    heading("bench: parts (instructions)");
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("left out: valgrind is not installed");
        return Ok(());
    }
    for (part, operations, about) in PARTS {
        bench.check_stop()?;
        // What both runs have in common (start, set-up) cancels.
        let (few, many) = (count(bench, part, operations)?, count(bench, part, 2 * operations)?);
        let each = many.saturating_sub(few) as f64 / operations as f64;
        println!("{part:12} {each:.0} instructions");
        let (id, about) = (format!("parts.{part}"), format!("instructions: {about}"));
        bench.samples.add(Side::Ours, &id, &about, Unit::Instructions, each);
    }
    Ok(())
}

/// All instructions of a process that does so many operations.
fn count(bench: &Bench, part: &str, operations: u64) -> Result<u64> {
    let program = bench.programs.command("bench-part");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program.get_program());
    command.args([part, &operations.to_string()]);
    let output = command.output().map_err(|error| format!("{}: {error}", text(&command)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The last line of its report: `==1== Collected : 123`.
    let total = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match total {
        Some(total) if output.status.success() => Ok(total),
        _ => Err(format!("{}: {}\n{said}", text(&command), output.status)),
    }
}
