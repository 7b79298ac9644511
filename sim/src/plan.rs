//! What one seed has in store: options, tempo, and which faults there are at all.

use std::sync::Arc;

use informer_core::reflector::{NotFoundPolicy, ReflectorOptions};
use informer_core::{ApplyOptions, BacklogOptions, InformerOptions, Overflow, Rng};

use crate::dice::Dice;
use crate::faults::Fault;
use crate::model_server::Namespace;

/// Milliseconds, from and to.
pub(crate) type Gap = (u64, u64);

/// Drawn once, before anything happens.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Steps before the faults stop.
    pub(crate) steps: u64,
    pub(crate) fault_percent: u64,
    /// Each seed has some faults only: so each meets its own consequences more often than its neighbours'.
    pub(crate) faults: Vec<Fault>,
    pub(crate) undecodable_percent: u64,
    pub(crate) writes: Gap,
    pub(crate) chaos: Gap,
    pub(crate) namespaces: Vec<Arc<str>>,
    pub(crate) informer: InformerOptions,
    pub(crate) reflector: ReflectorOptions,
    pub(crate) not_found: NotFoundPolicy,
    /// Whether the server may be restored from a backup.
    pub(crate) restores: bool,
    pub(crate) handlers: u64,
    pub(crate) indices: usize,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let share = rng.pick(&[15, 40, 100]);
        let faults = Fault::ALL.into_iter().filter(|_| rng.chance(share)).collect();
        let namespaces: &[&str] = match rng.below(10) {
            0 => &["a"],
            1 | 2 => &["a", "b"],
            3 => &["a", "b", "c"],
            _ => &[],
        };
        let not_found = rng.pick(&[
            NotFoundPolicy::Delete,
            NotFoundPolicy::Delete,
            NotFoundPolicy::Keep,
            NotFoundPolicy::Stop,
        ]);
        let apply = ApplyOptions { split_recreated: rng.chance(80), ..ApplyOptions::default() };
        Self {
            steps: rng.range(200, 1_000),
            fault_percent: rng.pick(&[0, 15, 40, 75]),
            faults,
            undecodable_percent: rng.pick(&[0, 0, 3, 10]),
            writes: rng.pick(&[(1, 100), (50, 1_500), (500, 5_000), (5_000, 120_000)]),
            chaos: rng.pick(&[(200, 4_000), (1_000, 60_000), (20_000, 200_000), (100_000, 1_000_000)]),
            namespaces: namespaces.iter().map(|&namespace| namespace.into()).collect(),
            informer: InformerOptions { apply },
            reflector: reflector_options(rng).not_found(not_found),
            not_found,
            restores: rng.chance(10),
            handlers: rng.range(0, 3),
            indices: rng.range(0, 2) as usize,
        }
    }

    /// The scopes of the informer.
    pub(crate) fn scopes(&self) -> Vec<Namespace> {
        if self.namespaces.is_empty() {
            vec![None]
        } else {
            self.namespaces.iter().cloned().map(Some).collect()
        }
    }
}

fn reflector_options(rng: &mut Rng) -> ReflectorOptions {
    let options = ReflectorOptions::new().watch_list(rng.chance(60)).consistent_first_list(rng.chance(20));
    if rng.chance(40) { options.page_size(rng.range(1, 6) as u32) } else { options }
}

/// How one handler behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerPlan {
    pub(crate) backlog: BacklogOptions,
    /// How long it takes over a batch.
    pub(crate) pace: Gap,
    pub(crate) resync_s: Option<u64>,
}

impl HandlerPlan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let overflow = match rng.below(10) {
            0 => Overflow::Disconnect,
            1 | 2 => Overflow::Block,
            _ => Overflow::Conflate,
        };
        let limit = rng.pick(&[0, 1, 3, 10, 30, 1_000]);
        // One that blocks everybody is at least not asleep.
        let pace = match overflow {
            Overflow::Block => rng.pick(&[(0, 5), (10, 400)]),
            _ => rng.pick(&[(0, 5), (10, 400), (500, 5_000), (5_000, 60_000)]),
        };
        let resync_s = rng.chance(20).then(|| rng.range(1, 60));
        Self { backlog: BacklogOptions { limit, overflow }, pace, resync_s }
    }
}
