//! One handler: its backlog, its pace, and what it makes of what it hears.

use std::sync::Arc;

use informer_core::{Backlog, BacklogOptions, HandlerId, Mono, Notification, Overflow, Rng};

use crate::checkers::{Checker, Court, HandlerView, Hearing};
use crate::dice::Dice;
use crate::load::Load;
use crate::mutant::Mutant;
use crate::plan::HandlerPlan;
use crate::value::Value;

pub(crate) type Batch = informer_core::Batch<Value>;

/// A handler as the shell has it, with a view that judges.
pub(crate) struct Handler {
    pub(crate) id: HandlerId,
    pub(crate) plan: HandlerPlan,
    pub(crate) backlog: Backlog<Value>,
    pub(crate) view: HandlerView,
    /// When it takes the next batch, if there is one.
    pub(crate) reads_at: Mono,
    /// Pushed since it was last asked whether it is full.
    burst: usize,
    mutant: Option<Mutant>,
}

impl Handler {
    pub(crate) fn new(id: HandlerId, plan: HandlerPlan, view: HandlerView, mutant: Option<Mutant>) -> Self {
        let limit = if mutant == Some(Mutant::LongBacklog) {
            plan.backlog.limit * 20 + 20
        } else {
            plan.backlog.limit
        };
        let backlog = Backlog::new(BacklogOptions { limit, ..plan.backlog }, 1);
        Self { id, plan, backlog, view, reads_at: Mono(0), burst: 0, mutant }
    }

    pub(crate) fn push(&mut self, now: Mono, rng: &mut Rng, batch: Batch) {
        if self.backlog.is_empty() {
            self.reads_at = now.after(rng.millis(self.plan.pace.0, self.plan.pace.1));
        }
        self.burst += batch.len();
        for batch in self.mutate(rng, batch) {
            self.backlog.push(batch);
        }
    }

    /// Whether everybody has to wait for it; asked before each input.
    pub(crate) fn is_full(&self) -> bool {
        self.backlog.is_full()
    }

    pub(crate) fn begin_burst(&mut self) {
        self.burst = 0;
    }

    /// Judges the length of the backlog.
    pub(crate) fn check_length(&self, stored: usize, largest_batch: usize, court: &mut Court) {
        let limit = self.plan.backlog.limit;
        let bound = match self.plan.backlog.overflow {
            // Two markers beside the objects.
            _ if self.backlog.is_conflated() => (self.view.held.len() + stored + 2).max(limit),
            // The oldest batch does not count, and what one turn brings comes on top.
            Overflow::Block => limit + largest_batch + self.burst,
            _ => limit + largest_batch,
        };
        let len = self.backlog.len();
        let conflated = self.backlog.is_conflated();
        court.require(len <= bound, Checker::Bounded, || {
            format!("{len} wait, {bound} may, limit {limit}, conflated {conflated}")
        });
    }

    /// Takes one batch and takes it in.
    pub(crate) fn read(&mut self, now: Mono, rng: &mut Rng, load: &mut Load, hearing: &mut Hearing<'_>) {
        self.reads_at = now.after(rng.millis(self.plan.pace.0, self.plan.pace.1));
        if let Some(batch) = self.backlog.pop() {
            load.add("notifications", batch.len() as u64);
            batch.iter().for_each(|notification| self.view.hear(notification, hearing));
        }
    }

    fn mutate(&self, rng: &mut Rng, batch: Batch) -> Vec<Batch> {
        let Some(mutant) = self.mutant else { return vec![batch] };
        let mut list = batch.to_vec();
        match mutant {
            Mutant::DropsDeliver if rng.chance(10) => return Vec::new(),
            Mutant::DeliversTwice if rng.chance(10) => return vec![Arc::clone(&batch), batch],
            Mutant::SwapsNotifications => {
                let same = |at: usize| list[at].key().is_some() && list[at].key() == list[at - 1].key();
                if let Some(at) = (1..list.len()).rev().find(|&at| same(at)) {
                    list.swap(at - 1, at);
                }
            }
            Mutant::DropsAdded => {
                list.retain(|told| !matches!(told, Notification::Added { .. }) || rng.chance(80))
            }
            Mutant::SyncedFirst => {
                if let Some(at) = list.iter().position(|told| matches!(told, Notification::Synced { .. })) {
                    list[..=at].rotate_right(1);
                }
            }
            Mutant::WrongOld => {
                for told in &mut list {
                    if let Notification::Updated { old, new } = told {
                        *old = Arc::clone(new);
                    }
                }
            }
            _ => {}
        }
        vec![list.into()]
    }
}
