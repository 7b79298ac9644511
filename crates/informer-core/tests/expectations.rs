//! Expectations against a naive model: every event is kept, and the answer is worked out anew each time.

use std::time::Duration;

use informer_core::{Expectation, Expectations, Mono, Uid};
use proptest::prelude::*;

const TIMEOUT_NS: u64 = 10;

#[derive(Clone, Debug)]
enum Step {
    Create(u8, u64),
    Delete(u8, Vec<u8>),
    Created(u8),
    Deleted(u8, u8),
    Forget(u8),
    Check(u8),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..3_u8;
    let uid = 0..4_u8;
    prop_oneof![
        (key.clone(), 0..3_u64).prop_map(|(key, count)| Step::Create(key, count)),
        (key.clone(), prop::collection::vec(uid.clone(), 0..3))
            .prop_map(|(key, uids)| Step::Delete(key, uids)),
        key.clone().prop_map(Step::Created),
        (key.clone(), uid).prop_map(|(key, uid)| Step::Deleted(key, uid)),
        key.clone().prop_map(Step::Forget),
        key.prop_map(Step::Check),
        (0..7_u64).prop_map(Step::Pass),
    ]
}

fn uid(number: u8) -> Uid {
    Uid::new(&format!("uid-{number}"))
}

/// The history of one key since nothing was expected for it.
#[derive(Clone, Default)]
struct Model {
    creations: u64,
    deletions: Vec<u8>,
    last: Option<u64>,
}

impl Model {
    fn expect(&mut self, now: u64) {
        if self.last.is_some_and(|last| last + TIMEOUT_NS <= now) {
            *self = Self::default();
        }
        self.last = Some(now);
    }

    fn tidy(&mut self) {
        if self.creations == 0 && self.deletions.is_empty() {
            *self = Self::default();
        }
    }
}

proptest! {
    #[test]
    fn answers_are_those_of_the_model(steps in prop::collection::vec(step(), 0..60)) {
        let mut expectations = Expectations::new(Duration::from_nanos(TIMEOUT_NS));
        let mut models = vec![Model::default(); 3];
        let mut now = 0;
        for step in steps {
            match step {
                Step::Pass(ns) => now += ns,
                Step::Create(key, count) => {
                    expectations.expect_creations(Mono(now), key, count);
                    if count > 0 {
                        models[usize::from(key)].expect(now);
                        models[usize::from(key)].creations += count;
                    }
                }
                Step::Delete(key, uids) => {
                    expectations.expect_deletions(Mono(now), key, uids.iter().copied().map(uid));
                    let model = &mut models[usize::from(key)];
                    if !uids.is_empty() {
                        model.expect(now);
                    }
                    for one in uids {
                        if !model.deletions.contains(&one) {
                            model.deletions.push(one);
                        }
                    }
                }
                Step::Created(key) => {
                    let model = &mut models[usize::from(key)];
                    prop_assert_eq!(expectations.creation_observed(&key), model.creations > 0);
                    model.creations = model.creations.saturating_sub(1);
                    model.tidy();
                }
                Step::Deleted(key, one) => {
                    let model = &mut models[usize::from(key)];
                    let expected = model.deletions.contains(&one);
                    prop_assert_eq!(expectations.deletion_observed(&key, &uid(one)), expected);
                    model.deletions.retain(|&other| other != one);
                    model.tidy();
                }
                Step::Forget(key) => {
                    let model = std::mem::take(&mut models[usize::from(key)]);
                    prop_assert_eq!(expectations.forget(&key), model.last.is_some());
                }
                Step::Check(key) => {
                    let model = &mut models[usize::from(key)];
                    let answer = match model.last {
                        None => Expectation::Satisfied,
                        Some(last) if last + TIMEOUT_NS > now => {
                            Expectation::Pending { until: Mono(last + TIMEOUT_NS) }
                        }
                        Some(_) => {
                            *model = Model::default();
                            Expectation::Expired
                        }
                    };
                    prop_assert_eq!(expectations.check(Mono(now), &key), answer);
                }
            }
            prop_assert_eq!(expectations.len(), models.iter().filter(|model| model.last.is_some()).count());
        }
    }
}

#[test]
fn a_deletion_told_twice_counts_once() {
    let mut expectations = Expectations::new(Duration::from_secs(300));
    expectations.expect_deletions(Mono(0), "web", [uid(1), uid(2)]);
    assert!(expectations.deletion_observed(&"web", &uid(1)));
    assert!(!expectations.deletion_observed(&"web", &uid(1)));
    assert!(matches!(expectations.check(Mono(1), &"web"), Expectation::Pending { .. }));
    assert!(expectations.deletion_observed(&"web", &uid(2)));
    assert_eq!(expectations.check(Mono(1), &"web"), Expectation::Satisfied);
}
