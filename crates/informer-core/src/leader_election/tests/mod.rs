//! Tests of the election with a hand on each answer; many seeds with faults are the simulation's.

mod client_go;
mod time;
mod work;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::{Mono, Now};

const SECOND: Duration = Duration::from_secs(1);

/// One elector with client-go's durations (15, 10, 2 s), its time, and what it said.
pub(super) struct Bench {
    pub(super) election: LeaderElection,
    pub(super) now: Now,
    pub(super) said: Vec<Output>,
    pub(super) due: Option<Mono>,
    version: u64,
}

impl Bench {
    pub(super) fn new(identity: &str) -> Self {
        Self::with(identity, |options| options)
    }

    pub(super) fn with(identity: &str, change: impl FnOnce(ElectionOptions) -> ElectionOptions) -> Self {
        let options = ElectionOptions::new(identity, SECOND * 15, SECOND * 10, SECOND * 2).expect("valid");
        let mut bench = Self {
            election: LeaderElection::new(change(options), 7),
            now: Now { mono: Mono(0), wall_ms: 1_000 },
            said: Vec::new(),
            due: None,
            version: 0,
        };
        bench.election.start(bench.now);
        bench.drain();
        bench
    }

    pub(super) fn drain(&mut self) {
        loop {
            match self.election.poll_output(self.now) {
                Output::Timeout(due) => return self.due = due,
                output => self.said.push(output),
            }
        }
    }

    /// Lets time pass at one go, as after a sleep.
    pub(super) fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.drain();
    }

    /// Waits until something is due, and how long that took.
    pub(super) fn wait(&mut self) -> Duration {
        let due = self.due.expect("something is due");
        let waited = due.since(self.now.mono);
        self.pass(waited);
        waited
    }

    /// The request that was sent last and what else was said; forgets them.
    pub(super) fn sent(&mut self) -> (RequestId, Request) {
        let position = self.said.iter().rposition(|output| matches!(output, Output::Send(..)));
        match self.said.remove(position.expect("a request was sent")) {
            Output::Send(id, request) => (id, request),
            _ => unreachable!("it was found as one"),
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        let (id, _) = self.sent();
        self.election.handle(self.now, id, answer);
        self.drain();
    }

    /// Answers a read with this record.
    pub(super) fn read(&mut self, record: LeaderRecord) {
        self.version += 1;
        let version = Arc::from(self.version.to_string());
        self.answer(Answer::Stored(Stored { record, version }));
    }

    /// Answers a write as a server that took it, and shows what was written.
    pub(super) fn write(&mut self) -> LeaderRecord {
        let (id, request) = self.sent();
        let (Request::Create(record) | Request::Update { record, .. }) = request else {
            panic!("a write was expected, not {request:?}");
        };
        self.version += 1;
        let version = Arc::from(self.version.to_string());
        self.election.handle(self.now, id, Answer::Stored(Stored { record: record.clone(), version }));
        self.drain();
        record
    }

    /// Acquires a record that does not exist.
    pub(super) fn lead(&mut self) {
        self.answer(Answer::NotFound);
        self.write();
        assert!(self.election.leads(self.now));
        self.said.clear();
    }

    pub(super) fn stop(&mut self) {
        self.election.stop(self.now);
        self.drain();
    }

    pub(super) fn work_ended(&mut self) {
        self.election.work_ended(self.now);
        self.drain();
    }

    /// How the run ended, if it has.
    pub(super) fn ended(&self) -> Option<&Summary> {
        self.said.iter().find_map(|output| match output {
            Output::Ended(summary) => Some(summary),
            _ => None,
        })
    }

    pub(super) fn said(&self, wanted: &Output) -> bool {
        self.said.contains(wanted)
    }
}

/// A record that somebody has written.
pub(super) fn record(holder: &str, seconds: u64) -> LeaderRecord {
    LeaderRecord {
        holder: Arc::from(holder),
        lease_duration: Some(SECOND * seconds as u32),
        transitions: 4,
        acquired_us: Some(1),
        renewed_us: Some(2),
    }
}

pub(super) fn lost(reason: LossReason) -> Output {
    Output::StopWork { lost: Some(reason) }
}
