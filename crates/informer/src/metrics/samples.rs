//! What one scrape found: samples by family, written in the order of names and labels.

use std::collections::BTreeMap;
use std::fmt;

use informer_core::Histogram;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::distribution::Distribution;

/// What all samples of one name have in common.
pub(crate) struct Family {
    /// Without the `_total` of a counter, which the encoder adds.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

pub(crate) type Labels = Vec<(&'static str, String)>;

/// The samples of one scrape.
#[derive(Default)]
pub(crate) struct Samples {
    families: BTreeMap<&'static str, (&'static Family, BTreeMap<Labels, Value>)>,
}

enum Value {
    Counter(u64),
    Gauge(f64),
    Histogram { sum: f64, count: u64, buckets: Vec<(f64, u64)> },
}

impl Samples {
    pub(crate) fn counter(&mut self, family: &'static Family, labels: &Labels, value: u64) {
        self.push(family, labels, Value::Counter(value));
    }

    pub(crate) fn gauge(&mut self, family: &'static Family, labels: &Labels, value: f64) {
        self.push(family, labels, Value::Gauge(value));
    }

    pub(crate) fn distribution(&mut self, family: &'static Family, labels: &Labels, value: &Distribution) {
        let bounds = value.bounds().iter().copied().chain([f64::INFINITY]);
        let buckets = bounds.zip(value.counts().iter().copied()).collect();
        self.push(family, labels, Value::Histogram { sum: value.sum(), count: value.count(), buckets });
    }

    pub(crate) fn histogram(&mut self, family: &'static Family, labels: &Labels, value: &Histogram) {
        let bounds = Histogram::BOUNDS.iter().map(|bound| bound.as_secs_f64()).chain([f64::INFINITY]);
        let buckets = bounds.zip(value.counts().iter().copied()).collect();
        let sum = value.sum().as_secs_f64();
        self.push(family, labels, Value::Histogram { sum, count: value.count(), buckets });
    }

    fn push(&mut self, family: &'static Family, labels: &Labels, value: Value) {
        let (_, values) = self.families.entry(family.name).or_insert_with(|| (family, BTreeMap::new()));
        values.insert(labels.clone(), value);
    }

    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (family, values) in self.families.values() {
            let Family { name, help, kind } = family;
            let mut metric = encoder.encode_descriptor(name, help, None, kind.metric_type())?;
            for (labels, value) in values {
                let mut sample = metric.encode_family(labels)?;
                match value {
                    Value::Counter(value) => sample.encode_counter::<NoLabelSet, _, u64>(value, None)?,
                    Value::Gauge(value) => sample.encode_gauge(value)?,
                    Value::Histogram { sum, count, buckets } => {
                        sample.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Kind {
    fn metric_type(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
        }
    }
}
