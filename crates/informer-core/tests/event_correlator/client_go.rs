//! What client-go's tests of its correlator say.

use informer_core::EventWriteKind::{Create, Patch};
use informer_core::{EventCorrelatorOptions, EventFacts, EventType};

use crate::support::{AtOnce, facts};

fn correlator() -> AtOnce {
    AtOnce::new(EventCorrelatorOptions::default())
}

#[test]
fn default_figures_are_client_gos() {
    let options = EventCorrelatorOptions::default();
    assert_eq!((options.capacity, options.max_messages, options.burst), (4096, 10, 25));
    assert_eq!((options.interval.as_secs(), options.refill.as_secs()), (600, 300));
    assert!(!options.burst_by_reason);
}

#[test]
fn single_event_is_created() {
    let write = correlator().tell(0, facts(&"pod", "Started", "ok")).unwrap();
    assert_eq!((write.kind, write.count, write.combined, write.occurrences), (Create, 1, false, 1));
    assert_eq!((write.first, write.latest), (1, 1));
}

#[test]
fn identical_events_are_counted_by_patches_of_the_first() {
    let mut correlator = correlator();
    for count in 1..=25 {
        let write = correlator.tell(0, facts(&"pod", "Started", "ok")).unwrap();
        assert_eq!(write.kind, if count == 1 { Create } else { Patch });
        assert_eq!((write.count, write.combined, write.first, write.latest), (count, false, 1, count));
    }
}

#[test]
fn more_than_25_about_one_object_are_dropped_but_counted() {
    let mut correlator = correlator();
    for _ in 0..25 {
        assert!(correlator.told(0, facts(&"pod", "Started", "ok")).is_some());
    }
    assert_eq!(correlator.told(299, facts(&"pod", "Started", "ok")), None);
    assert_eq!(correlator.told(300, facts(&"pod", "Started", "ok")), Some((Patch, 27, false)));
    assert_eq!(correlator.told(599, facts(&"pod", "Started", "ok")), None);
    // Another object has its own burst.
    assert_eq!(correlator.told(599, facts(&"other", "Started", "ok")), Some((Create, 1, false)));
}

#[test]
fn tenth_message_is_combined_and_the_next_counts() {
    let mut correlator = correlator();
    for number in 1..=9 {
        let message = format!("message {number}");
        assert_eq!(correlator.told(0, facts(&"pod", "Started", &message)), Some((Create, 1, false)));
    }
    assert_eq!(correlator.told(0, facts(&"pod", "Started", "message 10")), Some((Create, 1, true)));
    let write = correlator.tell(0, facts(&"pod", "Started", "message 11")).unwrap();
    assert_eq!((write.kind, write.count, write.combined), (Patch, 2, true));
    assert_eq!((write.first, write.latest), (10, 11), "the object is the tenth, the message the latest");
    // The first ones keep theirs.
    assert_eq!(correlator.told(0, facts(&"pod", "Started", "message 3")), Some((Patch, 2, false)));
    // Another reason or another type is not similar.
    assert_eq!(correlator.told(0, facts(&"pod", "Stopped", "message 12")), Some((Create, 1, false)));
    let warning = EventFacts { event_type: EventType::Warning, ..facts(&"pod", "Started", "message 12") };
    assert_eq!(correlator.told(0, warning), Some((Create, 1, false)));
}

#[test]
fn same_message_about_another_part_is_an_event_of_its_own_and_not_combined() {
    let mut correlator = correlator();
    for number in 0..12 {
        let path = format!("spec.containers{{c{number}}}");
        let of_part = EventFacts { field_path: &path, ..facts(&"pod", "Started", "ok") };
        assert_eq!(correlator.told(0, of_part), Some((Create, 1, false)));
    }
}

#[test]
fn messages_further_apart_than_the_interval_are_not_combined() {
    for (gap, combined) in [(600, true), (601, false)] {
        let mut correlator = AtOnce::new(EventCorrelatorOptions::default());
        let mut last = None;
        for number in 0..10 {
            let message = format!("message {number}");
            last = correlator.told(number * gap, facts(&"pod", "Started", &message));
        }
        assert_eq!(last, Some((Create, 1, combined)), "{gap} s apart");
    }
}

#[test]
fn burst_of_one_ignores_the_reason_unless_told() {
    for (burst_by_reason, second) in [(false, None), (true, Some((Create, 1, false)))] {
        let mut options = EventCorrelatorOptions::default();
        options.burst = 1;
        options.burst_by_reason = burst_by_reason;
        let mut correlator = AtOnce::new(options);
        assert_eq!(correlator.told(0, facts(&"pod", "Started", "ok")), Some((Create, 1, false)));
        assert_eq!(correlator.told(0, facts(&"pod", "Stopped", "ok")), second);
    }
}

#[test]
fn warnings_are_not_silenced_by_normal_events() {
    let mut correlator = correlator();
    for _ in 0..1000 {
        correlator.told(0, facts(&"pod", "Started", "ok"));
    }
    let warning = EventFacts { event_type: EventType::Warning, ..facts(&"pod", "Failed", "no") };
    assert_eq!(correlator.told(0, warning), Some((Create, 1, false)));
}

#[test]
fn keys_whose_parts_join_to_the_same_text_stay_apart() {
    let mut correlator = correlator();
    assert_eq!(correlator.told(0, facts(&"pod", "ab", "c")), Some((Create, 1, false)));
    assert_eq!(correlator.told(0, facts(&"pod", "a", "bc")), Some((Create, 1, false)));
    assert_eq!(correlator.told(0, facts(&"poda", "", "bc")), Some((Create, 1, false)));
}

#[test]
fn burst_of_none_lets_nothing_through() {
    let mut options = EventCorrelatorOptions::default();
    options.burst = 0;
    assert_eq!(AtOnce::new(options).told(0, facts(&"pod", "Started", "ok")), None);
}

#[test]
fn memory_holds_the_last_used_only() {
    let mut options = EventCorrelatorOptions::default();
    options.capacity = 3;
    let mut correlator = AtOnce::new(options);
    for object in ["a", "b", "c"] {
        correlator.told(0, EventFacts { object: &object, ..facts(&"", "Started", "ok") });
    }
    assert_eq!(correlator.told(0, facts(&"a", "Started", "ok")), Some((Patch, 2, false)));
    assert_eq!(correlator.told(0, facts(&"d", "Started", "ok")), Some((Create, 1, false)));
    assert_eq!(correlator.told(0, facts(&"a", "Started", "ok")), Some((Patch, 3, false)));
    assert_eq!(correlator.told(0, facts(&"b", "Started", "ok")), Some((Create, 1, false)), "forgotten");
    assert_eq!(correlator.correlator.len(), 3);
}
