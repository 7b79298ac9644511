//! One row: a server, and in turns a fresh client of each side, measured from outside at rest.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::meter::{Meter, Reading};
use super::metrics::{Samples, Unit};
use super::plan::{CHANGED_PERCENT, Plan, Step};
use super::program::Program;
use super::real::Filled;
use super::{Bench, Side};
use crate::run::{POLL, Result, StopSignal, heading};

/// How long what needs no objects may take.
const SHORT: Duration = Duration::from_secs(60);

/// How long a client may go on after its answer: client-go's collector works on for a while.
const REST_LIMIT: Duration = Duration::from_secs(10);

/// Processor time that repeated reads should take, so that the clock's steps do not matter.
const READS: Duration = Duration::from_millis(200);

const IDLE: Duration = Duration::from_secs(60);

/// A second of reads by key, beside a writer of so many changes a second.
const GET_MILLISECONDS: u64 = 1_000;
const WRITES_PER_SECOND: u64 = 1_000;

/// The benchmark's own server, or the address of the real one.
pub(crate) struct Target {
    own: Option<Program>,
    arguments: Vec<String>,
}

/// Measures a row of clients. Without a real server, one of the benchmark's own is started.
pub(crate) fn measure(bench: &mut Bench, plan: &Plan, real: Option<&Filled>) -> Result {
    heading(&format!("bench: {} ({})", plan.row, plan.about));
    if !bench.programs.knows_format(plan.format) {
        println!("left out: our client knows no format {}", plan.format);
        return Ok(());
    }
    let objects = match real {
        Some(server) => server.objects,
        None => bench.scaled(plan.objects),
    };
    let mut target = match real {
        Some(server) => server.target(),
        None => Target::start(bench, plan, objects)?,
    };
    if plan.steps.contains(&Step::Idle) {
        return idle(bench, plan, &target);
    }
    for _ in 0..bench.rounds {
        for side in plan.sides {
            bench.check_stop()?;
            let Some(command) = bench.programs.client(*side) else { continue };
            let mut client = Client::start(command, *side, plan, objects, &target, &bench.stop)?;
            client.sync(plan, &mut bench.samples)?;
            for step in plan.steps {
                client.step(plan, *step, &mut target, &mut bench.samples)?;
            }
        }
    }
    Ok(())
}

impl Target {
    pub(crate) fn start(bench: &Bench, plan: &Plan, objects: usize) -> Result<Self> {
        let mut command = bench.programs.command("bench-server");
        let in_namespace = (objects / 100).clamp(1, plan.in_namespace).to_string();
        command.args([
            "--kind",
            plan.kind,
            "--objects",
            &objects.to_string(),
            "--namespace-objects",
            &in_namespace,
        ]);
        let (mut server, first) = Program::start(&mut command, SHORT, &bench.stop)?;
        let url = first["url"].as_str().ok_or("the server says no address")?.to_owned();
        let state = server.ask("state", SHORT)?;
        let mut arguments = vec!["--url".to_owned(), url];
        if let Some(last) = state["last"].as_str() {
            arguments.extend(["--last".to_owned(), last.to_owned()]);
        }
        Ok(Self { own: Some(server), arguments })
    }

    pub(crate) fn real(kubeconfig: &str) -> Self {
        Self { own: None, arguments: vec!["--kubeconfig".to_owned(), kubeconfig.to_owned()] }
    }

    /// Tells the server something once a client watches; returns the version that this leads to.
    fn change(&mut self, line: &str) -> Result<String> {
        let server = self.own.as_mut().ok_or("the real server takes no orders")?;
        let deadline = Instant::now() + SHORT;
        while server.ask("state", SHORT)?["watches"].as_u64() == Some(0) {
            if Instant::now() >= deadline {
                return Err("the client does not watch".to_owned());
            }
            thread::sleep(POLL);
        }
        Ok(server.ask(line, SHORT)?["version"].to_string())
    }
}

/// A client of one side, from its start on.
pub(crate) struct Client {
    side: Side,
    program: Program,
    meter: Meter,
    objects: usize,
    /// Before it was told to start.
    first: Reading,
    /// At rest after the last step.
    last: Reading,
}

impl Client {
    pub(crate) fn start(
        mut command: Command,
        side: Side,
        plan: &Plan,
        objects: usize,
        target: &Target,
        stop: &StopSignal,
    ) -> Result<Self> {
        command.args(&target.arguments).args(["--format", plan.format]);
        command.args(["--handlers", &plan.handlers.to_string()]);
        command.args(["--informers", &plan.informers.to_string()]);
        let (program, _) = Program::start(&mut command, SHORT, stop)?;
        let meter = Meter::new(program.id())?;
        let first = meter.rest(REST_LIMIT)?;
        Ok(Self { side, program, meter, objects, first, last: first })
    }

    /// Starts its informers and measures until all is quiet.
    pub(crate) fn sync(&mut self, plan: &Plan, samples: &mut Samples) -> Result {
        let said = self.program.ask("start", self.limit())?;
        let cpu = self.rest()?;
        if plan.informers > 1 {
            self.many(plan, &said, cpu, samples);
            return Ok(());
        }
        if said["objects"].as_u64() != Some(self.objects as u64) {
            return Err(format!("{} has {} of {} objects", self.side.name(), said["objects"], self.objects));
        }
        let objects = self.objects as f64;
        let row = plan.row;
        let resident = self.last.resident.saturating_sub(self.first.resident) as f64;
        println!(
            "{:12} {:.1} µs {:.2} KB",
            self.side.name(),
            micros(cpu) / objects,
            resident / objects / 1e3
        );
        if !plan.with_sync {
            return Ok(());
        }
        let mut add = |what: &str, about: &str, unit, value| {
            samples.add(self.side, &format!("{row}.{what}"), &format!("{row}: {about}"), unit, value);
        };
        add("sync-cpu", "CPU to first sync, per object", Unit::Microseconds, micros(cpu) / objects);
        add("resident", "resident after sync, per object", Unit::Kilobytes, resident / objects / 1e3);
        let peak = self.last.peak as f64 / self.last.resident as f64;
        add("sync-peak", "peak over steady, first sync", Unit::Times, peak);
        Ok(())
    }

    fn many(&self, plan: &Plan, said: &Value, cpu: Duration, samples: &mut Samples) {
        let each = self.last.resident.saturating_sub(self.first.resident) as f64 / plan.informers as f64;
        let mut add = |what: &str, about: &str, unit, value| {
            samples.add(self.side, &format!("{}.{what}", plan.row), about, unit, value);
        };
        let wall = said["wall_ns"].as_f64().unwrap_or_default() / 1e6;
        add("start", "200 empty informers: time until all are synced", Unit::Milliseconds, wall);
        add(
            "start-cpu",
            "200 empty informers: CPU until all are synced",
            Unit::Milliseconds,
            micros(cpu) / 1e3,
        );
        add("resident", "200 empty informers: resident each", Unit::Kilobytes, each / 1e3);
    }

    fn step(&mut self, plan: &Plan, step: Step, target: &mut Target, samples: &mut Samples) -> Result {
        match step {
            Step::Relist => self.relist(plan, target, samples),
            Step::Events(count) => self.events(plan, count.min(self.objects), target, samples),
            Step::Reads => self.reads(plan, target, samples),
            // Measured for all sides at once.
            Step::Idle => Ok(()),
        }
    }

    fn relist(&mut self, plan: &Plan, target: &mut Target, samples: &mut Samples) -> Result {
        self.meter.forget_peak()?;
        let steady = self.last.resident as f64;
        let version = target.change(&format!("relist {CHANGED_PERCENT}"))?;
        self.program.ask(&format!("await {version}"), self.limit())?;
        let cpu = self.rest()?;
        let objects = self.objects as f64;
        let row = plan.row;
        let mut add = |what: &str, about: &str, unit, value| {
            samples.add(self.side, &format!("{row}.{what}"), &format!("{row}: {about}"), unit, value);
        };
        let resident = self.last.resident.saturating_sub(self.first.resident) as f64;
        add(
            "relist-cpu",
            "CPU of a relist, 5 % changed, per object",
            Unit::Microseconds,
            micros(cpu) / objects,
        );
        add(
            "relist-resident",
            "resident after a relist, per object",
            Unit::Kilobytes,
            resident / objects / 1e3,
        );
        add(
            "relist-peak",
            "peak of a relist over what was resident",
            Unit::Times,
            self.last.peak as f64 / steady,
        );
        println!("{:12} relist {:.1} µs", self.side.name(), micros(cpu) / objects);
        Ok(())
    }

    fn events(&mut self, plan: &Plan, count: usize, target: &mut Target, samples: &mut Samples) -> Result {
        let version = target.change(&format!("events {count}"))?;
        self.program.ask(&format!("await {version}"), self.limit())?;
        let cpu = self.rest()?;
        let (row, per_second) = (plan.row, count as f64 / cpu.as_secs_f64());
        let (id, about) = (format!("{row}.events"), format!("{row}: watch events per second of CPU"));
        samples.add(self.side, &id, &about, Unit::PerSecond, per_second);
        if count == self.objects {
            let resident = self.last.resident.saturating_sub(self.first.resident) as f64;
            let (id, about) = (
                format!("{row}.events-resident"),
                format!("{row}: resident after each has changed, per object"),
            );
            samples.add(self.side, &id, &about, Unit::Kilobytes, resident / count as f64 / 1e3);
        }
        println!("{:12} {per_second:.0} events/s", self.side.name());
        Ok(())
    }

    fn reads(&mut self, plan: &Plan, target: &mut Target, samples: &mut Samples) -> Result {
        self.program.ask("prepare", self.limit())?;
        self.rest()?;
        let row = plan.row;
        for (what, about) in [
            ("namespace", format!("list one namespace of {}", plan.in_namespace)),
            ("label", "list by a label".to_owned()),
            ("select", "list by a label within a namespace".to_owned()),
            ("look", "get by key, and read a label".to_owned()),
        ] {
            let once = self.read(what, 10)?;
            let iterations = (READS.as_secs_f64() / once.as_secs_f64()).clamp(10.0, 200_000.0) as u32;
            let each = self.read(what, iterations)?;
            let (id, about) = (format!("{row}.{what}"), format!("{row}: {about}"));
            samples.add(self.side, &id, &about, Unit::Microseconds, micros(each));
        }
        for (what, about, readers, writes) in [
            ("get-1", "get by key, 1 reader", 1, false),
            ("get", "get by key, 2 readers and a writer of 1,000 changes/s", 2, true),
        ] {
            if writes {
                let count = WRITES_PER_SECOND * (GET_MILLISECONDS + 200) / 1_000;
                target.change(&format!("events {count} {WRITES_PER_SECOND}"))?;
            }
            let said = self.program.ask(&format!("get {readers} {GET_MILLISECONDS}"), SHORT)?;
            let number = |field: &str| said[field].as_f64().ok_or(format!("{field} is missing"));
            let per_second = number("iterations")? / number("read_ns")? * 1e3;
            let (id, about) = (format!("{row}.{what}"), format!("{row}: {about}"));
            samples.add(self.side, &id, &about, Unit::MillionsPerSecond, per_second);
            let cpu = self.rest()?.as_secs_f64() * 1e9 / number("iterations")?;
            if !writes {
                let (id, about) = (format!("{row}.{what}-cpu"), format!("{row}: CPU of a get by key"));
                samples.add(self.side, &id, &about, Unit::Nanoseconds, cpu);
            }
        }
        println!("{:12} read", self.side.name());
        Ok(())
    }

    /// Processor time of one read.
    fn read(&mut self, what: &str, iterations: u32) -> Result<Duration> {
        let before = self.meter.read()?.cpu;
        self.program.ask(&format!("{what} {iterations}"), self.limit())?;
        Ok((self.meter.read()?.cpu - before) / iterations)
    }

    /// The processor time since the last rest.
    fn rest(&mut self) -> Result<Duration> {
        let before = self.last.cpu;
        self.last = self.meter.rest(REST_LIMIT)?;
        Ok(self.last.cpu.saturating_sub(before))
    }

    /// What was used from the start on: processor time, and bytes more than before.
    pub(crate) fn used(&self) -> (Duration, u64) {
        (self.last.cpu.saturating_sub(self.first.cpu), self.last.resident.saturating_sub(self.first.resident))
    }

    /// Twice what the slowest side takes for an object on a busy machine, and a minute.
    fn limit(&self) -> Duration {
        SHORT + Duration::from_millis(2) * self.objects as u32
    }
}

/// All clients of all rounds at once: they do not disturb each other by doing nothing.
fn idle(bench: &mut Bench, plan: &Plan, target: &Target) -> Result {
    let objects = bench.scaled(plan.objects);
    let mut clients = Vec::new();
    for _ in 0..bench.rounds {
        for side in plan.sides {
            let Some(command) = bench.programs.client(*side) else { continue };
            let mut client = Client::start(command, *side, plan, objects, target, &bench.stop)?;
            client.program.ask("start", client.limit())?;
            clients.push(client);
        }
    }
    for client in &mut clients {
        client.rest()?;
    }
    for client in &mut clients {
        client.last = client.meter.read()?;
    }
    let until = Instant::now() + IDLE;
    while Instant::now() < until {
        bench.check_stop()?;
        thread::sleep(POLL);
    }
    for client in &clients {
        let cpu = client.meter.read()?.cpu - client.last.cpu;
        let (id, about) = ("idle.cpu", "idle: CPU in a minute");
        bench.samples.add(client.side, id, about, Unit::Milliseconds, micros(cpu) / 1e3);
    }
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
