//! A model of one Lease on a server: one record, replaced only by whoever knows its version.

use std::sync::Arc;

use informer_core::Mono;
use informer_core::leader_election::{Answer, LeaderRecord, Request, Stored};

/// One write that took place.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) at: Mono,
    /// Which process wrote it.
    pub(crate) by: usize,
    /// When it was sent, on the writer's clock.
    pub(crate) sent: Mono,
    pub(crate) record: LeaderRecord,
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    record: Option<LeaderRecord>,
    version: u64,
    /// Every write that took place, in order.
    pub(crate) writes: Vec<Write>,
    /// A deliberate fault: any version will do.
    ignores_versions: bool,
}

impl Server {
    pub(crate) fn new(ignores_versions: bool) -> Self {
        Self { ignores_versions, ..Self::default() }
    }

    pub(crate) fn holder(&self) -> &str {
        self.record.as_ref().map_or("", |record| &record.holder)
    }

    /// Somebody changes a label: another version of the same record.
    pub(crate) fn touch(&mut self) {
        self.version += u64::from(self.record.is_some());
    }

    pub(crate) fn answer(&mut self, now: Mono, by: usize, sent: Mono, request: &Request) -> Answer {
        let record = match request {
            Request::Get => {
                return self.record.clone().map_or(Answer::NotFound, |record| self.stored(record));
            }
            Request::Create(_) if self.record.is_some() => return Answer::Conflict,
            Request::Create(record) => record,
            Request::Update { .. } if self.record.is_none() => return Answer::NotFound,
            Request::Update { version, .. }
                if **version != *self.version.to_string() && !self.ignores_versions =>
            {
                return Answer::Conflict;
            }
            Request::Update { record, .. } => record,
        };
        self.version += 1;
        self.record = Some(record.clone());
        self.writes.push(Write { at: now, by, sent, record: record.clone() });
        self.stored(record.clone())
    }

    fn stored(&self, record: LeaderRecord) -> Answer {
        Answer::Stored(Stored { record, version: Arc::from(self.version.to_string()) })
    }
}
