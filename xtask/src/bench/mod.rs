//! `cargo xtask bench`: the library beside kube-runtime and client-go, against the same servers, in turns.

mod baseline;
mod build;
mod meter;
mod metrics;
mod parts;
mod plan;
mod plot;
mod program;
mod queue;
mod real;
mod report;
mod round;
mod scale;
mod size;

use std::time::Instant;

use clap::Args;

use crate::run::{Result, StopSignal, duration, heading};
use build::Programs;
use metrics::Samples;
use plan::{PLANS, Plan, Server};

/// Measures the library beside kube-runtime and client-go, and writes bench/RESULTS.md and bench/results.svg.
///
/// Without names, every row but the slow ones is measured: some 25 minutes on 2 quiet cores. Only a run of all rows
/// writes the results; a run of some prints them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The rows to measure; `--list` names them.
    #[arg(value_name = "ROW", value_parser = row_names())]
    rows: Vec<String>,

    /// Few objects and rounds, no Go: a few minutes, of which most is compiling. The ratios are compared with
    /// bench/baseline.toml, and a run outside of its margins fails.
    #[arg(long, conflicts_with = "rows")]
    quick: bool,

    /// With --quick: write what was measured into bench/baseline.toml instead of comparing.
    #[arg(long, requires = "quick")]
    bless: bool,

    /// How often each side is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,

    /// How many objects the rows have, in thousandths of their own numbers: to try a row out.
    #[arg(long, default_value_t = 1_000, value_name = "THOUSANDTHS")]
    scale: usize,

    /// Our client with mimalloc instead of the system's allocator, as its users may choose.
    #[arg(long, requires = "rows")]
    mimalloc: bool,

    /// Only name the rows.
    #[arg(long)]
    list: bool,
}

/// Who is measured, in the order of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Ours,
    KubeRuntime,
    ClientGo,
}

/// Rows that are no plans: with a function of their own.
const OTHERS: [(&str, &str); 5] = [
    ("scale", "cost and memory from 1,000 to 100,000 objects: the plot"),
    ("work-queue", "the work queue beside client-go's: cycles, delays, bytes, two threads"),
    ("parts", "instructions of the parts, counted by valgrind"),
    ("size", "the smallest program with an informer, stripped (slow: not among the rows of a whole run)"),
    ("build", "cold build of the library and of kube-runtime (slow: not among the rows of a whole run)"),
];

const SLOW: [&str; 2] = ["size", "build"];

/// What the checks of every change run.
pub(crate) fn quick() -> Result {
    let rows = Vec::new();
    run(&Arguments { rows, quick: true, bless: false, rounds: 0, scale: 0, mimalloc: false, list: false })
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    if arguments.list {
        for (name, about) in PLANS.iter().map(|plan| (plan.row, plan.about)).chain(OTHERS) {
            println!("{name:12} {about}");
        }
        return Ok(());
    }
    let started = Instant::now();
    let stop = StopSignal::register()?;
    let is_wanted = |name: &str| match (arguments.quick, &arguments.rows[..]) {
        (true, _) => baseline::ROWS.contains(&name),
        (false, []) => !SLOW.contains(&name),
        (false, some) => some.iter().any(|row| row == name),
    };
    // kube-runtime has no queue of its own to compare with.
    let with_kube_runtime = arguments.rows.is_empty() || arguments.rows.iter().any(|row| row != "work-queue");
    let mut bench = Bench {
        programs: Programs::build(with_kube_runtime, !arguments.quick, arguments.mimalloc)?,
        samples: Samples::default(),
        stop,
        rounds: if arguments.quick { baseline::ROUNDS } else { arguments.rounds.max(1) },
        scale: if arguments.quick { baseline::SCALE } else { arguments.scale.max(1) },
    };
    bench.plans(&is_wanted)?;
    if is_wanted("scale") {
        scale::measure(&mut bench)?;
    }
    if is_wanted("work-queue") {
        queue::measure(&mut bench)?;
    }
    if is_wanted("parts") {
        parts::measure(&mut bench)?;
    }
    for (name, measure) in [("size", size::program as fn(&mut Bench) -> Result), ("build", size::cold_build)]
    {
        if is_wanted(name) {
            measure(&mut bench)?;
        }
    }
    heading(&format!("bench: {}", duration(started.elapsed())));
    print!("{}", report::table(&bench.samples));
    if arguments.quick {
        return baseline::check(&bench.samples, arguments.bless);
    }
    if arguments.rows.is_empty() { report::write(&bench) } else { Ok(()) }
}

/// A run: what is measured with, and what was measured.
pub(crate) struct Bench {
    pub(crate) programs: Programs,
    pub(crate) samples: Samples,
    pub(crate) stop: StopSignal,
    pub(crate) rounds: usize,
    /// Thousandths of the rows' own numbers of objects.
    pub(crate) scale: usize,
}

impl Bench {
    /// Measures the rows that are plans, those against the real server last: it is filled once for all of them.
    fn plans(&mut self, is_wanted: &dyn Fn(&str) -> bool) -> Result {
        let (own, real): (Vec<&Plan>, Vec<&Plan>) =
            PLANS.iter().filter(|plan| is_wanted(plan.row)).partition(|plan| plan.server == Server::Own);
        for plan in own {
            round::measure(self, plan, None)?;
        }
        self.cost_of_a_handler();
        if !real.is_empty() {
            let server = real::Filled::start(self)?;
            for plan in real {
                round::measure(self, plan, Some(&server))?;
            }
            server.stop()?;
        }
        Ok(())
    }

    /// What each handler adds to an event: 64 of them, less one.
    fn cost_of_a_handler(&mut self) {
        for side in Side::ALL {
            let nanoseconds = |row: &str| Some(1e9 / self.samples.median(&format!("{row}.events"), side)?);
            if let (Some(many), Some(one)) = (nanoseconds("fan-out"), nanoseconds("fan-out-1")) {
                let each = (many - one) / (plan::HANDLERS - 1) as f64;
                let about = "fan-out: CPU of a further handler, per event";
                self.samples.add(side, "fan-out.handler", about, metrics::Unit::Nanoseconds, each);
            }
        }
    }

    /// A row's number of objects, at this run's scale.
    pub(crate) fn scaled(&self, objects: usize) -> usize {
        (objects * self.scale / 1_000).max(objects.min(1_000))
    }

    pub(crate) fn check_stop(&self) -> Result {
        if self.stop.is_raised() { Err("stopped by a signal".to_owned()) } else { Ok(()) }
    }
}

impl Side {
    pub(crate) const ALL: [Self; 3] = [Self::Ours, Self::KubeRuntime, Self::ClientGo];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "informer",
            Self::KubeRuntime => "kube-runtime",
            Self::ClientGo => "client-go",
        }
    }
}

fn row_names() -> Vec<&'static str> {
    PLANS.iter().map(|plan| plan.row).chain(OTHERS.map(|(name, _)| name)).collect()
}
