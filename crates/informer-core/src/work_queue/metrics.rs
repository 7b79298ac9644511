//! What a work queue did and how long it took: numbers for a metrics system to read.

use std::time::Duration;

use super::slots::KeyId;
use crate::Mono;

/// What happened in a work queue so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WorkQueueCounters {
    /// How often a key began to wait; merged adds do not count, delays that ended do.
    pub adds: u64,
    /// Adds that changed nothing but perhaps a priority: the key had an appointment as early already.
    pub merged: u64,
    /// Adds with a delay, by the rate limiter or not.
    pub retries: u64,
    /// How often a key was handed out.
    pub handed_out: u64,
    /// Adds after the shutdown, which were ignored.
    pub ignored: u64,
    /// Delayed keys that the shutdown dropped.
    pub dropped: u64,
}

/// How a work queue is doing.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct WorkQueueMetrics {
    /// Keys that wait.
    pub depth: usize,
    /// The same by priority, the highest first; those without keys are left out.
    pub depth_by_priority: Vec<(super::Priority, usize)>,
    /// Keys that are delayed.
    pub delayed: usize,
    /// Keys that are being processed.
    pub processing: usize,
    /// All keys the queue holds in memory, those that only the rate limiter remembers included.
    pub known: usize,
    /// What happened so far.
    pub counters: WorkQueueCounters,
    /// How long things take, if the queue measures it.
    pub timings: Option<WorkQueueTimings>,
}

/// How long things take in a work queue.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct WorkQueueTimings {
    /// From when a key was added until it was handed out.
    pub waiting: Histogram,
    /// From when a key was handed out until it was done.
    pub working: Histogram,
    /// The sum of the times that the keys now being processed have taken so far: grows without end if one is stuck.
    pub unfinished: Duration,
    /// The longest of these times.
    pub longest_running: Duration,
}

/// How many durations fell between which bounds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Histogram {
    /// By bound; the last one is beyond all of them.
    counts: [u64; Histogram::BOUNDS.len() + 1],
    sum: Duration,
}

impl Histogram {
    /// The upper bounds, inclusive. client-go's, so that dashboards fit: tenfold steps from 10 ns to 1000 s.
    pub const BOUNDS: [Duration; 12] = [
        Duration::from_nanos(10),
        Duration::from_nanos(100),
        Duration::from_micros(1),
        Duration::from_micros(10),
        Duration::from_micros(100),
        Duration::from_millis(1),
        Duration::from_millis(10),
        Duration::from_millis(100),
        Duration::from_secs(1),
        Duration::from_secs(10),
        Duration::from_secs(100),
        Duration::from_secs(1000),
    ];

    /// How many durations were within each bound and beyond the one before; the last: beyond all bounds.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many durations there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Counts one more.
    pub fn observe(&mut self, duration: Duration) {
        let bucket = Self::BOUNDS.iter().position(|&bound| duration <= bound);
        self.counts[bucket.unwrap_or(Self::BOUNDS.len())] += 1;
        self.sum = self.sum.saturating_add(duration);
    }
}

/// Measures; there is none when nobody asked for it.
#[derive(Clone, Default)]
pub(super) struct Stopwatch {
    /// By slot: when the key's present wait began. Meaningless for a key that has none.
    added: Vec<Mono>,
    /// By slot: when it was handed out, while it is being processed.
    started: Vec<Option<Mono>>,
    waiting: Histogram,
    working: Histogram,
}

impl Stopwatch {
    pub(super) fn added(&mut self, id: KeyId, now: Mono) {
        if self.added.len() <= id.index() {
            self.added.resize(id.index() + 1, Mono(0));
            self.started.resize(id.index() + 1, None);
        }
        self.added[id.index()] = now;
    }

    pub(super) fn started(&mut self, id: KeyId, now: Mono) {
        self.waiting.observe(now.since(self.added[id.index()]));
        self.started[id.index()] = Some(now);
    }

    pub(super) fn done(&mut self, id: KeyId, now: Mono) {
        if let Some(started) = self.started[id.index()].take() {
            self.working.observe(now.since(started));
        }
    }

    /// No key is known any more.
    pub(super) fn give_back_memory(&mut self) {
        self.added = Vec::new();
        self.started = Vec::new();
    }

    pub(super) fn timings(&self, now: Mono) -> WorkQueueTimings {
        let running = self.started.iter().flatten().map(|&started| now.since(started));
        WorkQueueTimings {
            waiting: self.waiting.clone(),
            working: self.working.clone(),
            unfinished: running.clone().fold(Duration::ZERO, Duration::saturating_add),
            longest_running: running.max().unwrap_or_default(),
        }
    }
}
