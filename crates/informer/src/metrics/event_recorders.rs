//! Samples of event recorders.

use std::sync::Arc;

use super::families::*;
use super::samples::{Family, Labels, Samples};
use super::{Snapshots, Source};
use crate::event_recorder::{Drops, EventRecorder, EventRecorderMetrics};

pub(super) fn of_recorder(name: Arc<str>, recorder: &EventRecorder) -> impl Source + use<> {
    Snapshots { name, read: recorder.observer(), collect }
}

fn collect(name: &str, metrics: &EventRecorderMetrics, samples: &mut Samples) {
    let labels: Labels = vec![("name", name.to_owned())];
    samples.counter(EVENTS, &labels, metrics.recorded);
    drops(EVENTS_REFUSED, &labels, &metrics.dropped, samples);
    for sink in &metrics.sinks {
        let mut labels = labels.clone();
        labels.push(("sink", sink.sink.clone()));
        samples.counter(EVENTS_WRITTEN, &labels, sink.written);
        samples.gauge(EVENTS_PENDING, &labels, sink.pending as f64);
        samples.counter(EVENT_REQUESTS, &labels, sink.requests);
        drops(EVENTS_DROPPED, &labels, &sink.dropped, samples);
    }
}

/// Every reason, zeros included: a rate needs the zero before the first.
fn drops(family: &'static Family, labels: &Labels, drops: &Drops, samples: &mut Samples) {
    for (reason, count) in drops.iter() {
        let mut labels = labels.clone();
        labels.push(("reason", reason.as_str().to_owned()));
        samples.counter(family, &labels, count);
    }
}
