//! A clock that runs at a rate of its own.

use informer_core::Mono;

/// Rates are in millionths of real time.
pub(crate) const REAL_RATE: u64 = 1_000_000;

/// Turns real time into local time and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) offset_ns: u64,
    pub(crate) rate: u64,
}

impl Clock {
    /// What the clock shows.
    pub(crate) fn local(&self, real: Mono) -> Mono {
        Mono(self.offset_ns + scale(real.0, self.rate, REAL_RATE))
    }

    /// The first instant at which the clock shows this, or more.
    pub(crate) fn real(&self, local: Mono) -> Mono {
        let guess = scale(local.0.saturating_sub(self.offset_ns), REAL_RATE, self.rate);
        let mut real = Mono(guess);
        while self.local(real) < local {
            real.0 += 1;
        }
        real
    }
}

fn scale(value: u64, by: u64, over: u64) -> u64 {
    (u128::from(value) * u128::from(by) / u128::from(over)) as u64
}
