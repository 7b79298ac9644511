//! Random histories: the queue does what the naive queue does.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::naive::{Both, Op};

/// From less than a tick of the wheel to more than there is time.
fn delay() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..4_u64).prop_map(Duration::from_nanos),
        (0..2_000_000_u64).prop_map(Duration::from_nanos),
        (0..40_u64).prop_map(Duration::from_millis),
        (0..10_000_u64).prop_map(Duration::from_millis),
        (0..100_000_u64).prop_map(Duration::from_secs),
        Just(Duration::from_nanos(u64::MAX)),
        Just(Duration::MAX),
    ]
}

/// Often one of few, so that they are equal, or in order.
fn priority() -> impl Strategy<Value = i8> {
    prop_oneof![3 => Just(0), 2 => Just(-100), 1 => Just(1), 1 => any::<i8>()]
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..6_u8;
    prop_oneof![
        8 => (key.clone(), priority()).prop_map(|(key, priority)| Op::Add(key, priority)),
        5 => (key.clone(), delay(), priority()).prop_map(|(key, delay, priority)| Op::AddAfter(key, delay, priority)),
        2 => (key.clone(), delay(), priority()).prop_map(|(key, delay, priority)| Op::ReplaceDelay(key, delay, priority)),
        1 => key.clone().prop_map(Op::ForgetDelayed),
        3 => (key.clone(), priority()).prop_map(|(key, priority)| Op::RateLimited(key, priority)),
        1 => key.clone().prop_map(Op::Forget),
        9 => Just(Op::Pop),
        8 => (0..4_usize).prop_map(Op::Done),
        5 => prop_oneof![
            3 => (0..30_000_000_u64).prop_map(Duration::from_nanos),
            2 => (0..20_000_u64).prop_map(Duration::from_millis),
            1 => (0..200_000_u64).prop_map(Duration::from_secs),
        ].prop_map(Op::Advance),
        1 => key.clone().prop_map(Op::Intern),
        1 => key.prop_map(Op::Release),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_the_naive_queues(
        before in vec(op(), 0..150),
        after in vec(op(), 0..20),
        shut_down in any::<bool>(),
        oldest_every in 0..5_u32,
    ) {
        let mut both = Both::new(oldest_every);
        let end = shut_down.then_some(Op::ShutDown);
        for op in before.into_iter().chain(end).chain(after) {
            both.apply(op);
        }
    }
}
