//! Growing, jittered delays between attempts that fail.

use std::time::Duration;

use crate::Rng;

/// How a [`Backoff`] grows.
///
/// The defaults are client-go's: 800 ms, doubled up to 30 s, each delay drawn from `[d, 2d)`. In the steady state of
/// an outage that is one attempt every 30 to 60 s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BackoffOptions {
    /// The first delay, before jitter.
    pub initial: Duration,
    /// By what each delay exceeds the one before; below 1 (or not a number) counts as 1.
    pub factor: f64,
    /// The longest delay, before jitter.
    pub cap: Duration,
    /// A delay `d` is drawn from `[d, d + jitter * d)`; below 0 (or not a number) counts as 0.
    pub jitter: f64,
}

impl Default for BackoffOptions {
    fn default() -> Self {
        Self { initial: Duration::from_millis(800), factor: 2.0, cap: Duration::from_secs(30), jitter: 1.0 }
    }
}

/// Jittered exponential back-off that its owner resets when things are healthy again.
///
/// It never resets by itself: an outage of a day ends with the same delay as one of ten minutes. No sequence of calls
/// overflows or panics.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{Backoff, BackoffOptions, Rng};
///
/// let mut rng = Rng::new(1);
/// let mut backoff = Backoff::new(BackoffOptions { jitter: 0.0, ..BackoffOptions::default() });
/// assert_eq!(backoff.next_delay(&mut rng), Duration::from_millis(800));
/// assert_eq!(backoff.next_delay(&mut rng), Duration::from_millis(1600));
/// backoff.reset();
/// assert_eq!(backoff.next_delay(&mut rng), Duration::from_millis(800));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    options: BackoffOptions,
    /// The next delay before jitter.
    base: Duration,
}

impl Backoff {
    /// A back-off that starts at its initial delay.
    pub fn new(options: BackoffOptions) -> Self {
        Self { base: options.initial.min(options.cap), options }
    }

    /// The delay before the next attempt; the one after that is longer.
    pub fn next_delay(&mut self, rng: &mut Rng) -> Duration {
        let delay = jittered(self.base, self.options.jitter, rng);
        self.base = scaled(self.base, self.options.factor.max(1.0)).min(self.options.cap);
        delay
    }

    /// A delay as long as they get, without growing.
    pub fn cap_delay(&self, rng: &mut Rng) -> Duration {
        jittered(self.options.cap, self.options.jitter, rng)
    }

    /// Starts again at the initial delay: things are healthy.
    pub fn reset(&mut self) {
        self.base = self.options.initial.min(self.options.cap);
    }

    /// The longest delay, before jitter.
    pub fn cap(&self) -> Duration {
        self.options.cap
    }
}

fn jittered(base: Duration, jitter: f64, rng: &mut Rng) -> Duration {
    // `max` also turns NaN into 0.
    rng.duration(base, base.saturating_add(scaled(base, jitter.max(0.0))))
}

/// `duration * factor`, at most `Duration::MAX`.
fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap_and_are_jittered_in_d_to_2d() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut backoff = Backoff::new(BackoffOptions::default());
            for base_ms in [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000] {
                let delay = backoff.next_delay(&mut rng);
                let base = Duration::from_millis(base_ms);
                assert!(delay >= base && delay < base * 2, "seed {seed}: {delay:?} for {base:?}");
            }
        }
    }

    #[test]
    fn reset_starts_again_at_the_initial_delay() {
        let mut rng = Rng::new(7);
        let mut backoff = Backoff::new(BackoffOptions::default());
        for _ in 0..100 {
            backoff.next_delay(&mut rng);
        }
        backoff.reset();
        assert!(backoff.next_delay(&mut rng) < Duration::from_millis(1_600));
    }

    #[test]
    fn hostile_options_neither_panic_nor_overflow() {
        let extremes = [0.0, -1.0, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let durations = [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(1), Duration::MAX];
        let mut rng = Rng::new(3);
        for factor in extremes {
            for jitter in extremes {
                for initial in durations {
                    for cap in durations {
                        let mut backoff = Backoff::new(BackoffOptions { initial, factor, cap, jitter });
                        for _ in 0..70 {
                            assert!(backoff.next_delay(&mut rng) >= initial.min(cap));
                        }
                        assert!(backoff.cap_delay(&mut rng) >= cap);
                    }
                }
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_delays() {
        let delays = |seed| {
            let (mut rng, mut backoff) = (Rng::new(seed), Backoff::new(BackoffOptions::default()));
            (0..20).map(|_| backoff.next_delay(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(delays(5), delays(5));
        assert_ne!(delays(5), delays(6));
    }
}
