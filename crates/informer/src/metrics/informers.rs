//! Samples of informers.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::ResourceVersion;

use super::families::*;
use super::samples::{Labels, Samples};
use super::{Snapshots, Source};
use crate::factory::SharedInformerFactory;
use crate::informer_metrics::InformerMetrics;
use crate::shared_informer::{Inner, SharedInformer};
use crate::status::{Phase, Status};

/// One informer at one moment.
pub(crate) struct Observation {
    group: String,
    version: String,
    resource: String,
    status: Status,
    metrics: InformerMetrics,
}

impl Observation {
    /// `None` if it does not run.
    pub(crate) fn of<V>(informer: &Inner<V>) -> Option<Self> {
        if informer.is_stopped() {
            return None;
        }
        let shared = &informer.shared;
        let resource = shared.sources.first().and_then(|source| source.resource());
        let part =
            |part: fn(&kube::core::ApiResource) -> &String| resource.map(part).cloned().unwrap_or_default();
        Some(Self {
            group: part(|resource| &resource.group),
            version: part(|resource| &resource.version),
            resource: part(|resource| &resource.plural),
            status: shared.status(),
            metrics: shared.metrics(),
        })
    }

    fn collect(&self, name: &str, samples: &mut Samples) {
        let Self { group, version, resource, .. } = self;
        let labels: Labels = vec![
            ("name", name.to_owned()),
            ("group", group.clone()),
            ("version", version.clone()),
            ("resource", resource.clone()),
        ];
        self.collect_informer(&labels, samples);
        self.collect_reflector(&labels, samples);
        self.collect_handlers(&labels, samples);
    }

    fn collect_informer(&self, labels: &Labels, samples: &mut Samples) {
        let Self { status, metrics, .. } = self;
        let flag = |flag: bool| f64::from(u8::from(flag));
        samples.gauge(SYNCED, labels, flag(status.synced));
        samples.gauge(WATCHING, labels, flag(status.phase == Phase::Watching));
        samples.gauge(FAILING, labels, flag(status.last_error.is_some()));
        samples.gauge(OBJECTS, labels, status.objects as f64);
        samples.gauge(STALE, labels, status.stale as f64);
        samples.gauge(QUEUED_ITEMS, labels, metrics.queued_items as f64);
        if let Some(heard) = status.last_heard {
            samples.gauge(HEARD, labels, heard.as_secs_f64());
        }
        if let Some(version) = status.version.as_ref().and_then(last_digits) {
            samples.gauge(STORE_VERSION, labels, version);
            samples.gauge(LAST_VERSION, labels, version);
        }
        samples.counter(DECODE_ERRORS, labels, metrics.decode_errors);
        samples.counter(INDEX_ERRORS, labels, status.index_errors);
        samples.distribution(PROCESSING, labels, &metrics.processing_seconds);
    }

    fn collect_reflector(&self, labels: &Labels, samples: &mut Samples) {
        let reflector = &self.metrics.reflector;
        samples.counter(REQUESTS, labels, self.status.requests);
        samples.counter(REQUEST_FAILURES, labels, reflector.failures);
        samples.counter(LISTS, labels, reflector.lists);
        samples.distribution(LIST_SECONDS, labels, &reflector.list_seconds);
        samples.distribution(LIST_ITEMS, labels, &reflector.list_items);
        samples.counter(WATCHES, labels, reflector.watches);
        samples.counter(SHORT_WATCHES, labels, reflector.short_watches);
        samples.distribution(WATCH_SECONDS, labels, &reflector.watch_seconds);
        samples.distribution(WATCH_ITEMS, labels, &reflector.watch_items);
    }

    fn collect_handlers(&self, labels: &Labels, samples: &mut Samples) {
        let listeners = &self.metrics.listeners;
        samples.gauge(HANDLERS, labels, self.metrics.handlers as f64);
        samples.gauge(BACKLOG, labels, listeners.waiting as f64);
        samples.gauge(BACKLOG_HIGH, labels, listeners.high_water as f64);
        samples.counter(CONFLATIONS, labels, listeners.conflations);
        samples.counter(MERGED, labels, listeners.merged);
        samples.counter(PANICS, labels, listeners.panics);
    }
}

/// What fits into a float without loss, as client-go cuts it; `None` if the version is no number.
fn last_digits(version: &ResourceVersion) -> Option<f64> {
    if !version.is_ordered() {
        return None;
    }
    let text = version.to_string();
    let digits = text.get(text.len().saturating_sub(15)..)?;
    digits.parse::<u64>().ok().map(|number| number as f64)
}

pub(super) fn of_informer<V: Send + Sync + 'static>(
    name: Arc<str>,
    informer: &SharedInformer<V>,
) -> impl Source + use<V> {
    let informer = Arc::downgrade(&informer.inner);
    let read = move || informer.upgrade().map(|informer| Observation::of(&*informer).into_iter().collect());
    Snapshots { name, read, collect }
}

pub(super) fn of_factory(name: Arc<str>, factory: &SharedInformerFactory) -> impl Source + use<> {
    Snapshots { name, read: factory.observer(), collect }
}

/// Samples of several informers with one name.
fn collect(name: &str, observations: &Vec<Observation>, samples: &mut Samples) {
    let mut numbers: BTreeMap<_, usize> = BTreeMap::new();
    for observation in observations {
        let Observation { group, version, resource, .. } = observation;
        let number = numbers.entry((group, version, resource)).or_default();
        *number += 1;
        match *number {
            1 => observation.collect(name, samples),
            other => observation.collect(&format!("{name}/{other}"), samples),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_digits_are_exact() {
        let cut = |text: &str| last_digits(&ResourceVersion::new(text));
        assert_eq!(cut("12"), Some(12.0));
        assert_eq!(cut("999123456789012345"), Some(123_456_789_012_345.0));
        assert_eq!(cut("1000000000000000007"), Some(7.0));
        assert_eq!(cut("opaque"), None);
    }
}
