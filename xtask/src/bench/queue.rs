//! The work queue beside client-go's: the pure core and the queue that controllers use, in turns with client-go's.

use std::collections::BTreeMap;

use super::metrics::Unit;
use super::{Bench, Side};
use crate::run::{Result, heading, text};

struct Figure {
    /// What `bench-queue` calls it.
    name: &'static str,
    about: &'static str,
    unit: Unit,
    /// What client-go's program calls what is compared with it.
    peer: &'static str,
}

const FIGURES: [Figure; 10] = [
    figure("core-id", "work queue: add, get, done; pure core, interned keys", Unit::Nanoseconds, "shell"),
    figure("core-key", "work queue: add, get, done; pure core, ObjectKey", Unit::Nanoseconds, "shell"),
    figure("shell", "work queue: add, get, done; WorkQueue", Unit::Nanoseconds, "shell"),
    figure(
        "shell-limited",
        "work queue: add, get, forget, done; rate-limited WorkQueue",
        Unit::Nanoseconds,
        "shell-limited",
    ),
    figure(
        "delayed-core-id",
        "1 M delayed: add, expire; pure core, interned",
        Unit::Nanoseconds,
        "delayed-shell",
    ),
    figure(
        "delayed-core-key",
        "1 M delayed: add, expire; pure core, ObjectKey",
        Unit::Nanoseconds,
        "delayed-shell",
    ),
    figure(
        "delayed-shell",
        "1 M delayed: add, expire, get, done; WorkQueue",
        Unit::Nanoseconds,
        "delayed-shell",
    ),
    figure("bytes", "a waiting key, its name apart", Unit::Bytes, "bytes"),
    figure("one-thread", "work queue: add, get, done of one thread", Unit::MillionsPerSecond, "one-thread"),
    figure(
        "two-threads",
        "work queue: add, get, done of two threads on one queue",
        Unit::MillionsPerSecond,
        "two-threads",
    ),
];

const fn figure(name: &'static str, about: &'static str, unit: Unit, peer: &'static str) -> Figure {
    Figure { name, about, unit, peer }
}

pub(crate) fn measure(bench: &mut Bench) -> Result {
    heading("bench: work-queue");
    for round in 1..=bench.rounds {
        println!("round {round} of {}", bench.rounds);
        // Several of ours are compared with the same of client-go's.
        let mut peers = BTreeMap::new();
        for Figure { name, about, unit, peer } in FIGURES {
            bench.check_stop()?;
            let ours = value(bench, Side::Ours, name)?;
            if !peers.contains_key(peer) {
                peers.insert(peer, value(bench, Side::ClientGo, peer)?);
            }
            for (side, value) in [(Side::Ours, ours), (Side::ClientGo, peers[peer])] {
                let Some(value) = value else { continue };
                println!("{name:16} {:9} {}", side.name(), unit.text(value));
                bench.samples.add(side, &format!("work-queue.{name}"), about, unit, value);
            }
        }
    }
    Ok(())
}

/// What a process of its own says: each begins with an empty heap.
fn value(bench: &Bench, side: Side, name: &str) -> Result<Option<f64>> {
    let mut command = match side {
        Side::Ours => {
            let mut command = bench.programs.command("bench-queue");
            command.arg(name);
            command
        }
        _ => {
            let Some(mut command) = bench.programs.client(side) else { return Ok(None) };
            command.args(["-queue", name]);
            command
        }
    };
    let output = command.output().map_err(|error| format!("{}: {error}", text(&command)))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.trim().parse() {
        Ok(value) if output.status.success() => Ok(Some(value)),
        _ => Err(format!(
            "{}: {}\n{said}{}",
            text(&command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
