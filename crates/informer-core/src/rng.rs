//! Randomness as a value: a seeded generator that each machine owns.

use std::time::Duration;

/// A small seeded generator (SplitMix64) for jitter; not for secrets.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator whose whole future is determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`, or 0 if `bound` is 0. Slightly biased for huge bounds, which jitter forgives.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// A duration uniform in `[low, high)`, or `low` if the range is empty.
    pub fn duration(&mut self, low: Duration, high: Duration) -> Duration {
        let span_ns = high.saturating_sub(low).as_nanos();
        let span_ns = u64::try_from(span_ns).unwrap_or(u64::MAX);
        low.saturating_add(Duration::from_nanos(self.below(span_ns)))
    }
}
