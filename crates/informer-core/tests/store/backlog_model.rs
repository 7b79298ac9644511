//! Random histories through a backlog: what comes out means what went in.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::{
    ApplyOptions, Backlog, BacklogOptions, Indexer, LastState, Notification, ObjectKey, Overflow,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::helpers::{Obj, View};
use crate::indexer_model::{Maker, Op, ops};

/// What a handler with a selector is told: objects enter its sight and leave it.
#[derive(Default)]
struct Filter {
    hides: Option<u32>,
    seen: Vec<ObjectKey>,
}

impl Filter {
    fn shows(&self, object: &Obj) -> bool {
        self.hides.is_none_or(|hides| *object.value % 3 != hides)
    }

    fn pass(&mut self, told: Notification<u32>) -> Option<Notification<u32>> {
        let passed = match told {
            Notification::Updated { old, new } => match (self.shows(&old), self.shows(&new)) {
                (true, true) => Some(Notification::Updated { old, new }),
                (false, true) => Some(Notification::Added { object: new, in_initial_list: false }),
                (true, false) => {
                    Some(Notification::Deleted { key: old.key.clone(), last_state: LastState::Known(old) })
                }
                (false, false) => None,
            },
            Notification::Deleted { ref key, .. } => self.seen.contains(key).then_some(told),
            Notification::Added { ref object, .. } | Notification::Resync { ref object } => {
                self.shows(object).then_some(told)
            }
            marker => Some(marker),
        };
        match &passed {
            Some(Notification::Added { object, .. }) => self.seen.push(object.key.clone()),
            Some(Notification::Deleted { key, .. }) => self.seen.retain(|seen| seen != key),
            _ => {}
        }
        passed
    }
}

/// The states of each object in the order in which they were told.
type States = BTreeMap<ObjectKey, Vec<Arc<Obj>>>;

fn note(states: &mut States, told: &Notification<u32>) {
    if let Notification::Added { object, .. } | Notification::Updated { new: object, .. } = told {
        states.entry(object.key.clone()).or_default().push(Arc::clone(object));
    }
}

fn is_subsequence(part: &[Arc<Obj>], whole: &[Arc<Obj>]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|one| whole.any(|other| Arc::ptr_eq(one, other)))
}

struct Run {
    store: Indexer<u32>,
    maker: Maker,
    filter: Filter,
    backlog: Backlog<u32>,
    pushed: View,
    popped: View,
    states_pushed: States,
    states_popped: States,
    counts: (u64, u64),
}

impl Run {
    fn push(&mut self, ops: &[Op], options: ApplyOptions) {
        let mut batch = Vec::new();
        for op in ops {
            let Some(delta) = self.maker.delta(op, &self.store) else { continue };
            batch.extend(
                self.store.apply([delta], options).into_iter().filter_map(|told| self.filter.pass(told)),
            );
        }
        for told in &batch {
            self.pushed.see(told);
            note(&mut self.states_pushed, told);
        }
        self.counts.0 += batch.len() as u64;
        self.backlog.push(batch.into());
        if self.backlog.is_conflated() {
            let bound = self.popped.objects.len() + self.pushed.objects.len() + 2;
            assert!(self.backlog.len() <= bound, "{} wait, {bound} may", self.backlog.len());
        }
    }

    fn pop(&mut self) -> bool {
        let Some(batch) = self.backlog.pop() else { return false };
        for told in batch.iter() {
            self.popped.see(told);
            note(&mut self.states_popped, told);
        }
        self.counts.1 += batch.len() as u64;
        true
    }

    fn check_end(&mut self) {
        while self.pop() {}
        assert_eq!(self.popped.synced, self.pushed.synced);
        assert_eq!(self.popped.relisted, self.pushed.relisted);
        assert_eq!(self.popped.objects.len(), self.pushed.objects.len());
        for (key, object) in &self.pushed.objects {
            assert!(Arc::ptr_eq(&self.popped.objects[key], object), "{key}: not the last state");
        }
        for (key, states) in &self.states_popped {
            assert!(is_subsequence(states, &self.states_pushed[key]), "{key}: out of order");
        }
        assert_eq!(self.counts.0 - self.counts.1, self.backlog.counters().merged);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_comes_out_means_what_went_in(
        steps in vec((ops(6), prop::bool::weighted(0.3)), 0..40),
        limit in 0..8usize,
        hides in proptest::option::of(0..3u32),
        split_recreated in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let options = ApplyOptions { split_recreated, in_initial_list: false };
        let mut run = Run {
            store: Indexer::new(seed),
            maker: Maker::default(),
            filter: Filter { hides, ..Filter::default() },
            backlog: Backlog::new(BacklogOptions { limit, overflow: Overflow::Conflate }, seed),
            pushed: View::default(),
            popped: View::default(),
            states_pushed: States::new(),
            states_popped: States::new(),
            counts: (0, 0),
        };
        for (ops, pop) in &steps {
            run.push(ops, options);
            if *pop {
                run.pop();
            }
        }
        run.check_end();
    }
}

/// Many objects and few: pieces, merging between them, and a last word on every object.
#[test]
fn slow_handler_of_a_large_store_sees_the_last_state_of_everything() {
    let mut rng = informer_core::Rng::new(11);
    let mut backlog = Backlog::new(BacklogOptions { limit: 50, overflow: Overflow::Conflate }, 5);
    let mut stored: BTreeMap<ObjectKey, Arc<Obj>> = BTreeMap::new();
    let mut view = View::default();
    for step in 1..30_000u32 {
        let new = crate::helpers::object(&format!("n/{}", rng.below(1500)), "u", &step.to_string(), step);
        let told = match (stored.get(&new.key).cloned(), rng.below(4)) {
            (Some(old), 0) => {
                stored.remove(&old.key);
                Notification::Deleted { key: old.key.clone(), last_state: LastState::Known(old) }
            }
            (old, _) => {
                stored.insert(new.key.clone(), Arc::clone(&new));
                match old {
                    Some(old) => Notification::Updated { old, new },
                    None => Notification::Added { object: new, in_initial_list: false },
                }
            }
        };
        backlog.push(vec![told].into());
        assert!(!backlog.is_conflated() || backlog.len() <= stored.len() + view.objects.len());
        if rng.below(600) == 0 {
            backlog.pop().iter().flat_map(|batch| batch.iter()).for_each(|told| view.see(told));
        }
    }
    while let Some(batch) = backlog.pop() {
        batch.iter().for_each(|told| view.see(told));
    }
    assert!(view.objects.iter().eq_by_pointer(&stored));
    assert!(backlog.counters().conflations > 0);
}

/// Equality of maps whose values are told apart by where they are.
trait EqByPointer<'a>: Iterator<Item = (&'a ObjectKey, &'a Arc<Obj>)> + Sized {
    fn eq_by_pointer(self, other: &BTreeMap<ObjectKey, Arc<Obj>>) -> bool {
        self.map(|(key, object)| (key, Arc::as_ptr(object)))
            .eq(other.iter().map(|(key, object)| (key, Arc::as_ptr(object))))
    }
}

impl<'a, I: Iterator<Item = (&'a ObjectKey, &'a Arc<Obj>)>> EqByPointer<'a> for I {}
