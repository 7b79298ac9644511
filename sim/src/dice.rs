//! Drawing from a seeded generator.

use std::time::Duration;

use informer_core::Rng;

/// What the simulation draws.
pub(crate) trait Dice {
    /// True this many times in a hundred.
    fn chance(&mut self, percent: u64) -> bool;
    /// A number in `low..=high`.
    fn range(&mut self, low: u64, high: u64) -> u64;
    /// A delay between so many milliseconds.
    fn millis(&mut self, low: u64, high: u64) -> Duration;
    /// One of these.
    fn pick<T: Copy>(&mut self, from: &[T]) -> T;
}

impl Dice for Rng {
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.range(low * 1_000, high * 1_000))
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
