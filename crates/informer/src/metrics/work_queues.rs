//! Samples of work queues.

use std::hash::Hash;
use std::sync::Arc;

use informer_core::{Priority, WorkQueueMetrics};

use super::families::*;
use super::samples::{Labels, Samples};
use super::{Snapshots, Source};
use crate::work_queue::WorkQueue;

/// So many priorities have a series of their own, the highest ones; controller-runtime's bound. The rest share one.
const MAX_PRIORITIES: usize = 25;

pub(super) fn of_queue<K>(name: Arc<str>, queue: &WorkQueue<K>) -> impl Source + use<K>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    Snapshots { name, read: queue.observer(), collect }
}

/// Samples of one queue. Like controller-runtime's they have the label `controller` too: the queue's name again.
pub(super) fn collect(name: &str, metrics: &WorkQueueMetrics, samples: &mut Samples) {
    let labels: Labels = vec![("name", name.to_owned()), ("controller", name.to_owned())];
    collect_depth(&labels, metrics, samples);
    samples.gauge(QUEUE_DELAYED, &labels, metrics.delayed as f64);
    samples.gauge(QUEUE_PROCESSING, &labels, metrics.processing as f64);
    samples.counter(QUEUE_ADDS, &labels, metrics.counters.adds);
    samples.counter(QUEUE_RETRIES, &labels, metrics.counters.retries);
    if let Some(timings) = &metrics.timings {
        samples.histogram(QUEUE_WAITING, &labels, &timings.waiting);
        samples.histogram(QUEUE_WORKING, &labels, &timings.working);
        samples.gauge(QUEUE_UNFINISHED, &labels, timings.unfinished.as_secs_f64());
        samples.gauge(QUEUE_LONGEST, &labels, timings.longest_running.as_secs_f64());
    }
}

/// There is always a series of the normal priority, so that an empty queue has depth 0.
fn collect_depth(labels: &Labels, metrics: &WorkQueueMetrics, samples: &mut Samples) {
    let mut depth = |priority: String, keys: usize| {
        let mut labels = labels.clone();
        labels.push(("priority", priority));
        samples.gauge(QUEUE_DEPTH, &labels, keys as f64);
    };
    depth(Priority::NORMAL.to_string(), 0);
    let mut rest = 0;
    for (position, (priority, keys)) in metrics.depth_by_priority.iter().enumerate() {
        if position < MAX_PRIORITIES || *priority == Priority::NORMAL {
            depth(priority.to_string(), *keys);
        } else {
            rest += keys;
        }
    }
    if rest > 0 {
        depth("other".to_owned(), rest);
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::prometheus_text;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::Metrics;

    #[test]
    fn a_hundred_priorities_are_27_series() {
        let queue = WorkQueue::<i8>::new();
        for priority in 0..100 {
            queue.add_with(priority, Priority(priority));
        }
        let metrics = Metrics::new();
        metrics.work_queue("many", &queue).unwrap();
        let text = metrics.text();
        let series: Vec<_> = text.lines().filter(|line| line.starts_with("workqueue_depth{")).collect();
        // The highest 25, the others, and the normal one, which is always there.
        assert_eq!(series.len(), 27, "{text}");
        assert!(
            text.contains("priority=\"99\"} 1.0\n") && text.contains("priority=\"other\"} 74.0\n"),
            "{text}"
        );
    }

    #[test]
    fn a_programs_own_registry_can_hold_them() {
        let (metrics, queue) = (Metrics::new(), WorkQueue::<u8>::new());
        metrics.work_queue("q", &queue).unwrap();
        let mut registry = Registry::with_prefix("mine");
        registry.register_collector(Box::new(metrics));
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("mine_workqueue_adds_total{"), "{text}");
    }
}
