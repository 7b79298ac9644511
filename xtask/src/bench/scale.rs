//! Cost and memory against the number of objects.

use super::metrics::Unit;
use super::plan::{Plan, Server};
use super::round::{Client, Target};
use super::{Bench, Side};
use crate::run::{Result, heading};

/// The numbers of objects, evenly spread on a logarithmic axis.
pub(crate) const OBJECTS: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];

const PLAN: Plan = Plan {
    row: "scale",
    about: "",
    server: Server::Own,
    kind: "pod-5k",
    objects: 0,
    in_namespace: 500,
    format: "typed",
    handlers: 1,
    informers: 1,
    sides: &Side::ALL,
    with_sync: false,
    steps: &[],
};

/// A curve of the plot: ours has several, one a format.
pub(crate) const CURVES: [(Side, &str); 6] = [
    (Side::Ours, "typed"),
    (Side::KubeRuntime, "typed"),
    (Side::ClientGo, "typed"),
    (Side::Ours, "metadata"),
    (Side::Ours, "projection"),
    (Side::Ours, "packed"),
];

pub(crate) fn measure(bench: &mut Bench) -> Result {
    for objects in OBJECTS {
        let scaled = bench.scaled(objects);
        heading(&format!("bench: scale, {scaled} objects"));
        let target = Target::start(bench, &PLAN, scaled)?;
        for _ in 0..bench.rounds {
            for (side, format) in CURVES {
                bench.check_stop()?;
                let Some(command) = bench.programs.client(side) else { continue };
                if !bench.programs.knows_format(format) {
                    continue;
                }
                let plan = Plan { format, ..PLAN };
                let mut client = Client::start(command, side, &plan, scaled, &target, &bench.stop)?;
                client.sync(&plan, &mut bench.samples)?;
                let (cpu, resident) = client.used();
                let about = format!("{format}, {objects} objects");
                let (cpu_id, memory_id) = ids(format, objects);
                let cpu_about = format!("scale: CPU to first sync, {about}");
                bench.samples.add(side, &cpu_id, &cpu_about, Unit::Milliseconds, cpu.as_secs_f64() * 1e3);
                let memory_about = format!("scale: resident, {about}");
                bench.samples.add(side, &memory_id, &memory_about, Unit::Megabytes, resident as f64 / 1e6);
            }
        }
    }
    Ok(())
}

/// The metrics of a point: processor time and memory.
pub(crate) fn ids(format: &str, objects: usize) -> (String, String) {
    (format!("scale.{format}.{objects}.cpu"), format!("scale.{format}.{objects}.resident"))
}
