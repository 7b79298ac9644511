//! Random histories: the correlator writes what the naive one writes.

use std::time::Duration;

use informer_core::{EventCorrelatorOptions, EventFacts, EventType};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::naive::{Event, Naive};
use crate::support::AtOnce;

fn event() -> impl Strategy<Value = Event> {
    let object = prop::sample::select(vec!["a", "b", "c"]);
    let path = prop::sample::select(vec!["", "", "spec"]);
    let reason = prop::sample::select(vec!["Started", "Failed"]);
    (object, path, any::<bool>(), reason, 0..8_u8).prop_map(|(object, path, normal, reason, message)| Event {
        object,
        path,
        event_type: if normal { EventType::Normal } else { EventType::Warning },
        reason,
        message: format!("message {message}"),
    })
}

fn options() -> impl Strategy<Value = EventCorrelatorOptions> {
    let figures = (1..12_usize, 0..6_usize, 0..60_u64, 0..6_u32, 1..40_u64, any::<bool>(), any::<u64>());
    figures.prop_map(|(capacity, max_messages, interval, burst, refill, burst_by_reason, hash_seed)| {
        let mut options = EventCorrelatorOptions::default();
        options.capacity = capacity;
        options.max_messages = max_messages;
        options.interval = Duration::from_secs(interval);
        options.burst = burst;
        options.refill = Duration::from_secs(refill);
        options.burst_by_reason = burst_by_reason;
        options.hash_seed = hash_seed;
        options
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_written_as_the_naive_one(
        options in options(),
        history in vec((0..40_u64, event()), 0..120),
    ) {
        let mut naive = Naive::new(options.clone());
        let mut correlator = AtOnce::new(options.clone());
        let mut now = 0;
        for (gap, event) in history {
            now += gap.saturating_sub(20);
            let facts = EventFacts {
                object: &event.object,
                field_path: event.path,
                event_type: event.event_type,
                reason: event.reason,
                message: &event.message,
            };
            prop_assert_eq!(correlator.told(now, facts), naive.tell(now, &event));
            prop_assert!(correlator.correlator.len() <= options.capacity);
            prop_assert_eq!(correlator.correlator.pending(), 0);
        }
    }
}
