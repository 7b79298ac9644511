//! Time in seconds, and a correlator whose writes end at once.

use std::time::Duration;

use informer_core::{
    EventCorrelator, EventCorrelatorOptions, EventFacts, EventType, EventWrite, EventWriteKind,
    EventWriteOutcome, Mono, Now, Observed,
};

pub(crate) fn at(secs: u64) -> Now {
    Now { mono: Mono(0).after(Duration::from_secs(secs)), wall_ms: secs * 1000 }
}

pub(crate) fn facts<'a>(
    object: &'a &'static str,
    reason: &'a str,
    message: &'a str,
) -> EventFacts<'a, &'static str> {
    EventFacts { object, field_path: "", event_type: EventType::Normal, reason, message }
}

/// What was written: how, how often it happened by then, whether it is a combined one.
pub(crate) type Told = (EventWriteKind, u32, bool);

/// The events are numbered.
pub(crate) struct AtOnce {
    pub(crate) correlator: EventCorrelator<&'static str, u32>,
    pub(crate) next: u32,
}

impl AtOnce {
    pub(crate) fn new(options: EventCorrelatorOptions) -> Self {
        Self { correlator: EventCorrelator::new(options), next: 0 }
    }

    /// The write that an event causes, which succeeds; `None` for spam.
    pub(crate) fn tell(&mut self, secs: u64, facts: EventFacts<'_, &'static str>) -> Option<EventWrite<u32>> {
        self.next += 1;
        match self.correlator.observe(at(secs), facts, self.next) {
            Observed::Due => {}
            Observed::Spam => return None,
            other => panic!("nothing is under way: {other:?}"),
        }
        let write = self.correlator.poll_write(at(secs)).expect("it is due");
        assert_eq!(self.correlator.poll_write(at(secs)), None);
        self.correlator.written(at(secs), write.id, EventWriteOutcome::Done);
        Some(write)
    }

    pub(crate) fn told(&mut self, secs: u64, facts: EventFacts<'_, &'static str>) -> Option<Told> {
        self.tell(secs, facts).map(|write| (write.kind, write.count, write.combined))
    }
}
