//! Every small history: no order of few operations makes the queue differ from the naive one.

use std::time::Duration;

use crate::naive::{Both, Op};

/// Two ticks of the wheel; and one that comes down a level first.
const SOON: Duration = Duration::from_millis(2);
const LATER: Duration = Duration::from_millis(100);

/// What may come next.
const OPS: [Op; 11] = [
    Op::Add(0, 0),
    Op::Add(1, 0),
    Op::Add(2, 0),
    Op::Add(0, 1),
    Op::AddAfter(0, SOON, 0),
    Op::AddAfter(1, LATER, 1),
    Op::Pop,
    Op::Done(0),
    Op::Done(1),
    Op::Advance(SOON),
    Op::ShutDown,
];

/// Does everything that can be done in so many steps; says how many histories that were.
fn explore(both: &Both, depth: usize) -> u64 {
    if depth == 0 {
        return 1;
    }
    let mut histories = 0;
    for op in OPS {
        let mut next = both.clone();
        next.answer(op);
        next.compare_sizes();
        // What changed nothing need not be followed: everything that could come after it is tried without it.
        if next.naive != both.naive {
            histories += explore(&next, depth - 1);
        }
    }
    histories
}

#[test]
fn every_history_of_six_steps_is_the_naive_queues() {
    // Every second key goes by age, so that both kinds of turn come up in so few steps.
    let histories = explore(&Both::new(2), 6);
    assert!(histories > 100_000, "{histories}");
}

#[test]
fn every_history_of_five_steps_without_ageing_is_the_naive_queues() {
    let histories = explore(&Both::new(0), 5);
    assert!(histories > 10_000, "{histories}");
}
