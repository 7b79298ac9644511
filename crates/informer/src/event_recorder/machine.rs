//! What decides for a sink: one of two machines, by the form of its events.

use std::sync::Arc;

use informer_core::{
    EventCorrelator, EventCorrelatorOptions, EventSeries, EventSeriesOptions, EventWrite, EventWriteId,
    EventWriteOutcome, Mono, Now, Observed, Settled,
};

use super::SharedEvent;
use super::event::{SeriesKey, Subject};
use super::sink::Form;

pub(super) enum Machine {
    CoreV1(Box<EventCorrelator<Subject, SharedEvent>>),
    V1(EventSeries<SeriesKey, SharedEvent>),
}

impl Machine {
    pub(super) fn new(
        now: Now,
        form: Form,
        correlator: EventCorrelatorOptions,
        series: EventSeriesOptions,
    ) -> Self {
        match form {
            Form::CoreV1 => Self::CoreV1(Box::new(EventCorrelator::new(correlator))),
            Form::V1 => Self::V1(EventSeries::new(now, series)),
        }
    }

    pub(super) fn observe(&mut self, now: Now, event: SharedEvent) -> Observed {
        match self {
            Self::CoreV1(machine) => {
                let subject = Subject(Arc::clone(&event));
                machine.observe(now, event.facts(&subject), Arc::clone(&event))
            }
            Self::V1(machine) => machine.observe(now, SeriesKey(Arc::clone(&event)), event),
        }
    }

    pub(super) fn poll_write(&mut self, now: Now) -> Option<EventWrite<SharedEvent>> {
        match self {
            Self::CoreV1(machine) => machine.poll_write(now),
            Self::V1(machine) => machine.poll_write(now),
        }
    }

    pub(super) fn written(&mut self, now: Now, id: EventWriteId, outcome: EventWriteOutcome) -> Settled {
        match self {
            Self::CoreV1(machine) => machine.written(now, id, outcome),
            Self::V1(machine) => machine.written(now, id, outcome),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Mono> {
        match self {
            Self::CoreV1(_) => None,
            Self::V1(machine) => machine.poll_timeout(),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Now) {
        if let Self::V1(machine) = self {
            machine.handle_timeout(now);
        }
    }

    /// Lets everything that is known be written.
    pub(super) fn flush(&mut self) {
        if let Self::V1(machine) = self {
            machine.flush();
        }
    }

    pub(super) fn pending(&self) -> u64 {
        match self {
            Self::CoreV1(machine) => machine.pending(),
            Self::V1(machine) => machine.pending(),
        }
    }
}
