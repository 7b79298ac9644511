//! What a process has used, from the operating system's accounts: the same for every language.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::run::Result;

/// Processor time of a process, and its memory at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// User and system time of all its threads, the finished ones too.
    pub(crate) cpu: Duration,
    /// Resident memory in bytes.
    pub(crate) resident: u64,
    /// The most resident memory in bytes since the peak was last forgotten.
    pub(crate) peak: u64,
}

/// The accounts of one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    id: u32,
    clock: ClockId,
}

/// A process that used less than this in a window of `WINDOW` is at rest: a runtime's own housekeeping is less.
const REST: Duration = Duration::from_micros(1_500);
const WINDOW: Duration = Duration::from_millis(250);

impl Meter {
    pub(crate) fn new(id: u32) -> Result<Self> {
        let pid = Pid::from_raw(i32::try_from(id).map_err(|error| error.to_string())?);
        let clock = clock_getcpuclockid(pid).map_err(|error| format!("process {id}: {error}"))?;
        Ok(Self { id, clock })
    }

    pub(crate) fn read(&self) -> Result<Reading> {
        let status = format!("/proc/{}/status", self.id);
        let text = fs::read_to_string(&status).map_err(|error| format!("{status}: {error}"))?;
        let bytes = |field: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(field));
            let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            kilobytes.map(|kilobytes| kilobytes * 1_024).ok_or(format!("{status}: no {field}"))
        };
        Ok(Reading { cpu: self.cpu()?, resident: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
    }

    /// Waits until the process does nothing any more, or the limit has passed: whatever it does after its answer
    /// belongs to its cost as well.
    pub(crate) fn rest(&self, limit: Duration) -> Result<Reading> {
        let deadline = Instant::now() + limit;
        let mut before = self.cpu()?;
        loop {
            thread::sleep(WINDOW);
            let now = self.cpu()?;
            if now.saturating_sub(before) < REST || Instant::now() >= deadline {
                return self.read();
            }
            before = now;
        }
    }

    /// Begins the peak anew from what is resident now.
    pub(crate) fn forget_peak(&self) -> Result {
        let path = format!("/proc/{}/clear_refs", self.id);
        // 5 resets the peak (proc(5)).
        fs::write(&path, "5").map_err(|error| format!("{path}: {error}"))
    }

    fn cpu(&self) -> Result<Duration> {
        let time = clock_gettime(self.clock).map_err(|error| format!("process {}: {error}", self.id))?;
        Ok(time.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_counted() {
        let meter = Meter::new(std::process::id()).unwrap();
        let before = meter.read().unwrap();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(30) {}
        let memory = vec![1_u8; 16 << 20];
        let after = meter.read().unwrap();
        assert!(after.cpu > before.cpu);
        assert!(after.peak >= before.resident && after.peak >= memory.len() as u64);
    }
}
