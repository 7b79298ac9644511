//! Samples of leader electors.

use std::sync::Arc;

use super::families::*;
use super::samples::{Labels, Samples};
use super::{Snapshots, Source};
use crate::leader_election::{LeaderElectionMetrics, LeaderElector};

pub(super) fn of_elector(name: Arc<str>, elector: &LeaderElector) -> impl Source + use<> {
    Snapshots { name, read: elector.observer(), collect }
}

fn collect(name: &str, metrics: &LeaderElectionMetrics, samples: &mut Samples) {
    let labels: Labels = vec![("name", name.to_owned())];
    samples.gauge(LEADS, &labels, f64::from(u8::from(metrics.is_leader)));
    samples.counter(SLOW_PATHS, &labels, metrics.counters.slow_paths);
    samples.counter(TERMS, &labels, metrics.counters.acquired);
    samples.counter(LOST_TERMS, &labels, metrics.counters.lost);
    samples.counter(LEASE_FAILURES, &labels, metrics.counters.failed_requests);
}
