//! A queue that is clear more than efficient: lists, searched from the front; and both queues side by side.

use std::time::Duration;

use informer_core::{Added, ItemExponential, KeyId, Mono, Priority, WorkQueue, WorkQueueOptions};

pub(crate) const BASE: Duration = Duration::from_millis(5);
pub(crate) const CAP: Duration = Duration::from_secs(1000);

/// What a test does to both queues. Keys, priorities and delays are small numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Add(u8, i8),
    AddAfter(u8, Duration, i8),
    ReplaceDelay(u8, Duration, i8),
    ForgetDelayed(u8),
    RateLimited(u8, i8),
    Forget(u8),
    Pop,
    /// The so-manieth of the keys that are being processed; if there are not as many, a key that is not.
    Done(usize),
    Advance(Duration),
    ShutDown,
    Intern(u8),
    Release(u8),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Naive {
    /// In order of arrival.
    waiting: Vec<(u8, i8)>,
    /// In order of arrival.
    delayed: Vec<(u8, i8, Mono)>,
    pub(crate) processing: Vec<u8>,
    again: Vec<(u8, i8)>,
    failures: Vec<(u8, u32)>,
    now: Mono,
    by_priority: u32,
    oldest_every: u32,
    shut_down: bool,
    ignored: u64,
    adds: u64,
}

impl Naive {
    fn new(oldest_every: u32) -> Self {
        Self { oldest_every, ..Self::default() }
    }

    fn add(&mut self, key: u8, priority: i8) -> Added {
        if self.shut_down {
            self.ignored += 1;
            return Added::Ignored;
        }
        if let Some(merged) = self.merge(key, priority) {
            return merged;
        }
        let before = self.cancel(key);
        self.wait(key, before.map_or(priority, |(before, _)| before.max(priority)));
        Added::Queued
    }

    /// If the key waits already, at most its priority changes.
    fn merge(&mut self, key: u8, priority: i8) -> Option<Added> {
        if let Some(again) = self.again.iter_mut().find(|(own, _)| *own == key) {
            again.1 = again.1.max(priority);
            return Some(Added::Merged);
        }
        let position = self.waiting.iter().position(|(own, _)| *own == key)?;
        if self.waiting[position].1 < priority {
            self.waiting.remove(position);
            self.waiting.push((key, priority));
        }
        Some(Added::Merged)
    }

    fn wait(&mut self, key: u8, priority: i8) {
        self.adds += 1;
        let list = if self.processing.contains(&key) { &mut self.again } else { &mut self.waiting };
        list.push((key, priority));
    }

    fn cancel(&mut self, key: u8) -> Option<(i8, Mono)> {
        let position = self.delayed.iter().position(|(own, ..)| *own == key)?;
        let (_, priority, due) = self.delayed.remove(position);
        Some((priority, due))
    }

    fn add_after(&mut self, key: u8, delay: Duration, priority: i8, replace: bool) -> Added {
        if delay.is_zero() || self.shut_down {
            return self.add(key, priority);
        }
        if let Some(merged) = self.merge(key, priority) {
            return merged;
        }
        let due = self.now.after(delay);
        if let Some(own) = self.delayed.iter_mut().find(|(own, ..)| *own == key) {
            own.1 = own.1.max(priority);
            if own.2 <= due && !replace {
                return Added::Merged;
            }
        }
        let before = self.cancel(key);
        self.delayed.push((key, before.map_or(priority, |(before, _)| before.max(priority)), due));
        Added::Delayed
    }

    pub(crate) fn num_requeues(&self, key: u8) -> u32 {
        self.failures.iter().find(|(own, _)| *own == key).map_or(0, |(_, count)| *count)
    }

    fn add_rate_limited(&mut self, key: u8, priority: i8) -> Added {
        if self.shut_down {
            return self.add(key, priority);
        }
        let failures = self.num_requeues(key);
        self.failures.retain(|(own, _)| *own != key);
        self.failures.push((key, failures + 1));
        let delay =
            1_u32.checked_shl(failures).and_then(|factor| BASE.checked_mul(factor)).unwrap_or(CAP).min(CAP);
        self.add_after(key, delay, priority, false)
    }

    fn pop(&mut self) -> Option<(u8, i8)> {
        let first = |priority: i8| move |(_, own): &(u8, i8)| *own == priority;
        let highest = self.waiting.iter().map(|(_, priority)| *priority).max()?;
        let mut position = self.waiting.iter().position(first(highest)).unwrap();
        if self.oldest_every > 0 && self.waiting.iter().any(|(_, priority)| *priority != highest) {
            self.by_priority += 1;
            if self.by_priority >= self.oldest_every {
                self.by_priority = 0;
                position = 0;
            }
        }
        let taken = self.waiting.remove(position);
        self.processing.push(taken.0);
        Some(taken)
    }

    fn done(&mut self, key: u8) -> bool {
        let Some(position) = self.processing.iter().position(|own| *own == key) else { return false };
        self.processing.remove(position);
        if let Some(position) = self.again.iter().position(|(own, _)| *own == key) {
            let again = self.again.remove(position);
            self.waiting.push(again);
        }
        true
    }

    fn advance(&mut self, delay: Duration) {
        self.now = self.now.after(delay);
        while let Some(&(key, priority, _)) =
            self.delayed.iter().filter(|(.., due)| *due <= self.now).min_by_key(|(.., due)| *due)
        {
            self.cancel(key);
            self.wait(key, priority);
        }
    }

    pub(crate) fn shut_down(&mut self) {
        self.shut_down = true;
        self.delayed.clear();
    }
}

/// Both queues, which are told the same and must answer the same.
#[derive(Clone)]
pub(crate) struct Both {
    pub(crate) naive: Naive,
    real: WorkQueue<u8, ItemExponential>,
    /// In the order of the naive one's.
    processing: Vec<(u8, KeyId)>,
    interned: Vec<(u8, KeyId)>,
}

impl Both {
    pub(crate) fn new(oldest_every: u32) -> Self {
        let options = WorkQueueOptions { oldest_every, timings: true };
        Self {
            naive: Naive::new(oldest_every),
            real: WorkQueue::new(options, ItemExponential::new(BASE, CAP), 1),
            processing: Vec::new(),
            interned: Vec::new(),
        }
    }

    /// Does it and compares everything that can be seen.
    pub(crate) fn apply(&mut self, op: Op) {
        self.answer(op);
        self.compare_sizes();
        self.compare_keys();
        self.real.validate();
    }

    /// Does it and compares the answers.
    pub(crate) fn answer(&mut self, op: Op) {
        let now = self.naive.now;
        let (real, naive) = (&mut self.real, &mut self.naive);
        match op {
            Op::Add(key, priority) => {
                assert_eq!(real.key(key).add(Priority(priority)), naive.add(key, priority));
            }
            Op::AddAfter(key, delay, priority) => {
                let told = real.key(key).add_after(now, delay, Priority(priority));
                assert_eq!(told, naive.add_after(key, delay, priority, false));
            }
            Op::ReplaceDelay(key, delay, priority) => {
                let told = real.key(key).replace_delay(now, delay, Priority(priority));
                assert_eq!(told, naive.add_after(key, delay, priority, true));
            }
            Op::ForgetDelayed(key) => {
                let told = real.known(&key).is_some_and(|mut key| key.forget_delayed());
                assert_eq!(told, naive.cancel(key).is_some());
            }
            Op::RateLimited(key, priority) => {
                let told = real.key(key).add_rate_limited(now, Priority(priority));
                assert_eq!(told, naive.add_rate_limited(key, priority));
            }
            Op::Forget(key) => {
                real.key(key).forget();
                naive.failures.retain(|(own, _)| *own != key);
            }
            Op::Pop => self.pop(),
            Op::Done(number) => self.done(number),
            Op::Advance(delay) => {
                naive.advance(delay);
                real.advance(naive.now);
            }
            Op::ShutDown => {
                real.shut_down();
                naive.shut_down();
            }
            Op::Intern(key) => self.interned.push((key, real.intern(key))),
            Op::Release(key) => {
                if let Some(position) = self.interned.iter().position(|(own, _)| *own == key) {
                    assert!(real.release_interned(self.interned.remove(position).1));
                }
            }
        }
    }

    fn pop(&mut self) {
        let taken = self.real.pop();
        let told = taken.map(|taken| (*self.real.name(taken.id).unwrap(), taken.priority.0));
        assert_eq!(told, self.naive.pop());
        if let Some(taken) = taken {
            self.processing.push((told.unwrap().0, taken.id));
        }
    }

    fn done(&mut self, number: usize) {
        if number < self.processing.len() {
            let (key, id) = self.processing.remove(number);
            assert!(self.naive.done(key));
            assert_eq!(self.real.done(id), Ok(()));
            self.real.done(id).unwrap_err();
        } else if let Some((_, id)) =
            self.interned.iter().find(|(key, _)| !self.naive.processing.contains(key))
        {
            self.real.done(*id).unwrap_err();
        }
    }

    pub(crate) fn compare_sizes(&self) {
        let naive = &self.naive;
        let lens = (self.real.len(), self.real.delayed_len(), self.real.processing_len());
        assert_eq!(lens, (naive.waiting.len(), naive.delayed.len(), naive.processing.len()));
        let counters = self.real.counters();
        assert_eq!((counters.adds, counters.ignored), (naive.adds, naive.ignored));
        let due = naive.delayed.iter().map(|(.., due)| *due).min();
        assert!(self.real.next_wake() <= due && self.real.next_wake().is_some() == due.is_some());
        assert!(self.real.next_wake().is_none_or(|wake| wake > naive.now), "what is due has been handed on");
        let exhausted = naive.shut_down && naive.waiting.is_empty() && naive.again.is_empty();
        assert_eq!(self.real.is_exhausted(), exhausted);
        assert_eq!(self.real.is_drained(), exhausted && naive.processing.is_empty());
    }

    fn compare_keys(&mut self) {
        let naive = &self.naive;
        for (key, id) in &self.interned {
            assert_eq!(self.real.name(*id), Some(key));
        }
        let mut held: Vec<u8> = naive.waiting.iter().map(|(key, _)| *key).collect();
        held.extend(naive.delayed.iter().map(|(key, ..)| *key));
        held.extend(&naive.processing);
        held.extend(naive.failures.iter().map(|(key, _)| *key));
        held.extend(self.interned.iter().map(|(key, _)| *key));
        held.sort_unstable();
        held.dedup();
        assert_eq!(self.real.metrics().known, held.len(), "a key lives while something holds it");
        for key in held {
            let requeues = self.real.known(&key).expect("a held key is known").num_requeues();
            assert_eq!(requeues, self.naive.num_requeues(key));
        }
    }
}
