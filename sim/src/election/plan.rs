//! What one seed has in store: durations, clocks, tempo, and how much goes wrong.

use std::time::Duration;

use informer_core::Rng;

use super::clock::REAL_RATE;
use crate::dice::Dice;
use crate::plan::Gap;

/// How far the clocks' rates lie apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Skew {
    /// By less than lease duration / renew deadline: what election promises to bear.
    #[default]
    Below,
    /// By more than that: what it cannot bear.
    Above,
}

/// Drawn once, before anything happens.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
    pub(crate) release: bool,
    pub(crate) stop_timeout: Duration,
    pub(crate) processes: usize,
    /// The clock rate of each.
    pub(crate) rates: Vec<u64>,
    /// Until when things go wrong.
    pub(crate) chaos_ends: Duration,
    pub(crate) chaos: Gap,
    pub(crate) fault_percent: u64,
    /// Nothing happens but that leaders die or stop in the worst moment, just after a write, with one other to follow: the
    /// bounds on time are met as closely as they can be.
    pub(crate) sharp: bool,
    /// The longest way of a request, or of an answer, that is not at fault.
    pub(crate) way: Duration,
    /// How long the work takes to stop when told to.
    pub(crate) stopping_ms: Gap,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng, skew: Skew) -> Self {
        // (lease duration, renew deadline, retry period) in milliseconds: client-go's first.
        let durations = [
            (15_000, 10_000, 2_000),
            (15_000, 10_000, 2_000),
            (60_000, 15_000, 5_000),
            (137_000, 107_000, 26_000),
            (4_000, 2_600, 2_000),
        ];
        let (lease_ms, renew_ms, retry_ms) = rng.pick(&durations);
        let sharp = skew == Skew::Below && rng.chance(25);
        let processes = if sharp { 2 } else { rng.range(2, 5) as usize };
        let ratio = REAL_RATE * lease_ms / renew_ms;
        let rates = (0..processes).map(|position| match skew {
            Skew::Below if sharp => REAL_RATE,
            Skew::Below if rng.chance(50) => rng.pick(&[REAL_RATE, ratio - 1]),
            Skew::Below => rng.range(REAL_RATE, ratio - 1),
            Skew::Above if position == 0 => REAL_RATE,
            Skew::Above => ratio + ratio / 4,
        });
        Self {
            rates: rates.collect(),
            lease_duration: Duration::from_millis(lease_ms),
            renew_deadline: Duration::from_millis(renew_ms),
            retry_period: Duration::from_millis(retry_ms),
            release: rng.chance(70),
            stop_timeout: Duration::from_millis(rng.range(1_000, 20_000)),
            processes,
            chaos_ends: Duration::from_millis(lease_ms * rng.range(6, 18)),
            chaos: rng.pick(&[
                (lease_ms / 20, lease_ms / 2),
                (lease_ms / 2, lease_ms * 3),
                (lease_ms * 2, lease_ms * 6),
            ]),
            fault_percent: if sharp { 0 } else { rng.pick(&[0, 0, 5, 20, 50]) },
            sharp,
            way: Duration::from_millis(retry_ms) / 20,
            stopping_ms: rng.pick(&[(0, 1), (10, 2_000), (1_000, 30_000)]),
        }
    }

    /// A request and its answer, when nothing is wrong.
    pub(crate) fn request(&self) -> Duration {
        self.way * 2
    }
}
