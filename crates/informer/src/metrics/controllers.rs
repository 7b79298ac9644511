//! Samples of controllers.

use std::sync::Arc;

use super::families::*;
use super::samples::{Labels, Samples};
use super::{Snapshots, Source, work_queues};
use crate::controller::{ControllerHandle, ControllerMetrics};

pub(super) fn of_controller(name: Arc<str>, controller: &ControllerHandle) -> impl Source + use<> {
    Snapshots { name, read: controller.observer(), collect }
}

fn collect(name: &str, metrics: &ControllerMetrics, samples: &mut Samples) {
    let labels: Labels = vec![("controller", name.to_owned())];
    let reconciles = &metrics.reconciles;
    // controller-runtime calls all of these an error, and counts some of them once more by themselves.
    let failed = reconciles.error + reconciles.terminal + reconciles.panic + reconciles.timeout;
    for (result, count) in [
        ("success", reconciles.success),
        ("requeue_after", reconciles.requeue_after),
        ("error", failed),
        ("cancelled", reconciles.cancelled),
    ] {
        let mut labels = labels.clone();
        labels.push(("result", result.to_owned()));
        samples.counter(RECONCILES, &labels, count);
    }
    samples.counter(RECONCILE_ERRORS, &labels, failed);
    samples.counter(RECONCILE_TERMINAL, &labels, reconciles.terminal);
    samples.counter(RECONCILE_PANICS, &labels, reconciles.panic);
    samples.counter(RECONCILE_TIMEOUTS, &labels, reconciles.timeout);
    samples.distribution(RECONCILE_SECONDS, &labels, &metrics.durations);
    samples.gauge(CONCURRENCY, &labels, metrics.concurrency as f64);
    samples.gauge(ACTIVE, &labels, metrics.active as f64);
    samples.gauge(WAITING_KEYS, &labels, metrics.waiting_for_cache as f64);
    samples.counter(CACHE_WAITS, &labels, metrics.waits_for_cache);
    samples.counter(STALE_READS, &labels, metrics.stale_reads);
    samples.counter(EXPIRED, &labels, metrics.expired_expectations);
    samples.counter(MAPPING_PANICS, &labels, metrics.mapping_panics);
    work_queues::collect(name, &metrics.queue, samples);
}
