//! Writes that take their time, and end well or not: nothing is lost without being counted, nothing told twice at a time.

use std::collections::{BTreeMap, BTreeSet};

use informer_core::{
    EventCorrelator, EventCorrelatorOptions, EventSeries, EventSeriesOptions, EventWrite, EventWriteId,
    EventWriteKind, EventWriteOutcome, Now, Observed, Settled,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{at, facts};

fn correlator() -> EventCorrelator<&'static str, u32> {
    EventCorrelator::new(EventCorrelatorOptions::default())
}

#[test]
fn events_during_a_write_are_told_by_one_write_after_it() {
    let mut correlator = correlator();
    let same = facts(&"pod", "Started", "ok");
    assert_eq!(correlator.observe(at(0), same, 1), Observed::Due);
    let create = correlator.poll_write(at(0)).unwrap();
    for number in 2..=9 {
        assert_eq!(correlator.observe(at(0), same, number), Observed::Counted);
        assert_eq!(correlator.poll_write(at(0)), None, "one at a time");
    }
    assert_eq!(correlator.written(at(1), create.id, EventWriteOutcome::Done), Settled::Reported);
    let patch = correlator.poll_write(at(1)).unwrap();
    assert_eq!((patch.kind, patch.count, patch.occurrences), (EventWriteKind::Patch, 9, 8));
    assert_eq!((patch.first, patch.latest), (1, 9));
    assert_eq!(correlator.written(at(1), patch.id, EventWriteOutcome::Done), Settled::Reported);
    assert_eq!((correlator.poll_write(at(1)), correlator.pending()), (None, 0));
}

#[test]
fn expired_event_is_created_again_with_its_count() {
    let mut correlator = correlator();
    let same = facts(&"pod", "Started", "ok");
    correlator.observe(at(0), same, 1);
    let create = correlator.poll_write(at(0)).unwrap();
    correlator.written(at(0), create.id, EventWriteOutcome::Done);
    correlator.observe(at(1), same, 2);
    let patch = correlator.poll_write(at(1)).unwrap();
    assert_eq!(correlator.written(at(1), patch.id, EventWriteOutcome::Missing), Settled::Later);
    let again = correlator.poll_write(at(1)).unwrap();
    assert_eq!((again.kind, again.count, again.occurrences), (EventWriteKind::Create, 2, 1));
    assert_eq!(correlator.written(at(1), again.id, EventWriteOutcome::Done), Settled::Reported);
}

#[test]
fn object_that_exists_already_is_patched_if_it_lacks_something() {
    let mut correlator = correlator();
    let same = facts(&"pod", "Started", "ok");
    correlator.observe(at(0), same, 1);
    let create = correlator.poll_write(at(0)).unwrap();
    assert_eq!(correlator.written(at(0), create.id, EventWriteOutcome::Failed), Settled::Lost);
    correlator.observe(at(1), same, 2);
    let create = correlator.poll_write(at(1)).unwrap();
    assert_eq!((create.kind, create.count), (EventWriteKind::Create, 2));
    assert_eq!(correlator.written(at(1), create.id, EventWriteOutcome::Exists), Settled::Later);
    let patch = correlator.poll_write(at(1)).unwrap();
    assert_eq!((patch.kind, patch.count, patch.occurrences), (EventWriteKind::Patch, 2, 1));
}

#[test]
fn first_event_that_exists_already_was_written_by_a_lost_attempt() {
    let mut correlator = correlator();
    correlator.observe(at(0), facts(&"pod", "Started", "ok"), 1);
    let create = correlator.poll_write(at(0)).unwrap();
    assert_eq!(correlator.written(at(0), create.id, EventWriteOutcome::Exists), Settled::Reported);
    assert_eq!(correlator.poll_write(at(0)), None);
}

#[test]
fn server_that_contradicts_itself_is_not_asked_for_ever() {
    let mut correlator = correlator();
    correlator.observe(at(0), facts(&"pod", "Started", "ok"), 1);
    correlator.observe(at(0), facts(&"pod", "Started", "ok"), 2);
    let mut writes = 0;
    while let Some(write) = correlator.poll_write(at(0)) {
        writes += 1;
        let outcome = match write.kind {
            EventWriteKind::Create => EventWriteOutcome::Exists,
            EventWriteKind::Patch => EventWriteOutcome::Missing,
        };
        correlator.written(at(0), write.id, outcome);
    }
    assert_eq!((writes, correlator.pending()), (4, 0));
}

#[test]
fn events_beyond_what_can_be_remembered_are_refused_while_all_are_due() {
    let mut options = EventCorrelatorOptions::default();
    options.capacity = 2;
    let mut correlator = EventCorrelator::new(options);
    for object in ["a", "b"] {
        assert_eq!(correlator.observe(at(0), facts(&object, "Started", "ok"), 1), Observed::Due);
    }
    assert_eq!(correlator.observe(at(0), facts(&"c", "Started", "ok"), 1), Observed::Full);
    assert_eq!(correlator.observe(at(0), facts(&"a", "Started", "ok"), 1), Observed::Due);
    assert_eq!((correlator.len(), correlator.pending()), (2, 3));
}

/// Both machines, told and asked the same.
enum Machine {
    Correlator(EventCorrelator<&'static str, u32>),
    Series(EventSeries<&'static str, u32>),
}

impl Machine {
    fn observe(&mut self, now: Now, object: &'static str, number: u32) -> Observed {
        match self {
            Self::Correlator(machine) => machine.observe(now, facts(&object, "Started", "ok"), number),
            Self::Series(machine) => machine.observe(now, object, number),
        }
    }

    fn poll_write(&mut self, now: Now) -> Option<EventWrite<u32>> {
        match self {
            Self::Correlator(machine) => machine.poll_write(now),
            Self::Series(machine) => machine.poll_write(now),
        }
    }

    fn written(&mut self, now: Now, id: EventWriteId, outcome: EventWriteOutcome) -> Settled {
        match self {
            Self::Correlator(machine) => machine.written(now, id, outcome),
            Self::Series(machine) => machine.written(now, id, outcome),
        }
    }

    fn flush(&mut self) {
        if let Self::Series(machine) = self {
            machine.flush();
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        if let Self::Series(machine) = self {
            machine.handle_timeout(now);
        }
    }

    fn pending_and_len(&self) -> (u64, usize) {
        match self {
            Self::Correlator(machine) => (machine.pending(), machine.len()),
            Self::Series(machine) => (machine.pending(), machine.len()),
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Observe(&'static str),
    Poll,
    Written(usize, EventWriteOutcome),
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    use EventWriteOutcome::{Done, Exists, Failed, Missing};
    let outcome = prop::sample::select(vec![Done, Done, Done, Exists, Missing, Failed]);
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(Op::Observe),
        4 => Just(Op::Poll),
        4 => (0..4_usize, outcome).prop_map(|(which, outcome)| Op::Written(which, outcome)),
        1 => (0..2000_u64).prop_map(Op::Advance),
    ]
}

/// What must be true at any time.
struct Books {
    machine: Machine,
    accepted: u64,
    settled: u64,
    in_flight: BTreeMap<EventWriteId, EventWrite<u32>>,
    capacity: usize,
}

impl Books {
    fn apply(&mut self, now: Now, op: &Op, number: u32) {
        match op {
            Op::Observe(object) => match self.machine.observe(now, object, number) {
                Observed::Due | Observed::Counted => self.accepted += 1,
                Observed::Spam | Observed::Full => {}
            },
            Op::Poll => {
                if let Some(write) = self.machine.poll_write(now) {
                    self.in_flight.insert(write.id, write);
                }
            }
            Op::Written(which, outcome) => {
                let Some(id) = self.in_flight.keys().nth(*which).copied() else { return };
                self.written(now, id, *outcome);
            }
            Op::Advance(_) => self.machine.handle_timeout(now),
        }
        self.check();
    }

    fn written(&mut self, now: Now, id: EventWriteId, outcome: EventWriteOutcome) {
        let write = self.in_flight.remove(&id).unwrap();
        if self.machine.written(now, id, outcome) != Settled::Later {
            self.settled += write.occurrences;
        }
    }

    fn check(&self) {
        let (pending, len) = self.machine.pending_and_len();
        assert_eq!(self.accepted, self.settled + pending, "each is settled once or still to come");
        assert!(len <= 2 * self.capacity, "{len} remembered");
        let firsts: BTreeSet<u32> = self.in_flight.values().map(|write| write.first).collect();
        assert_eq!(firsts.len(), self.in_flight.len(), "one write for each event at a time");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_event_is_settled_once_whatever_happens_to_the_writes(
        is_series in any::<bool>(),
        capacity in 1..6_usize,
        ops in vec(op(), 0..150),
    ) {
        let machine = if is_series {
            let mut options = EventSeriesOptions::default();
            options.capacity = capacity;
            Machine::Series(EventSeries::new(at(0), options))
        } else {
            let mut options = EventCorrelatorOptions::default();
            options.capacity = capacity;
            options.burst = 40;
            Machine::Correlator(EventCorrelator::new(options))
        };
        let mut books = Books { machine, accepted: 0, settled: 0, in_flight: BTreeMap::new(), capacity };
        let mut secs = 0;
        for (number, op) in ops.iter().enumerate() {
            if let Op::Advance(by) = op {
                secs += by;
            }
            books.apply(at(secs), op, number as u32);
        }
        books.machine.flush();
        loop {
            let write = books.machine.poll_write(at(secs));
            books.in_flight.extend(write.into_iter().map(|write| (write.id, write)));
            books.check();
            let Some(id) = books.in_flight.keys().next().copied() else { break };
            books.written(at(secs), id, EventWriteOutcome::Done);
        }
        prop_assert_eq!(books.machine.pending_and_len().0, 0);
        prop_assert_eq!(books.accepted, books.settled);
        prop_assert!(books.machine.pending_and_len().1 <= capacity);
    }
}
