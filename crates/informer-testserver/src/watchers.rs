//! The open watches of one table: who is to be woken, and what tests want to push into their streams.

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use bytes::Bytes;

/// Something pushed into an open watch from code.
#[derive(Debug, Clone)]
pub(crate) enum Push {
    Raw(Bytes),
    Bookmark,
    End,
    Reset,
    Stall,
}

#[derive(Debug, Default)]
struct Slot {
    waker: Option<Waker>,
    pushes: VecDeque<Push>,
}

/// The open watches of one table, by number.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    slots: BTreeMap<u64, Slot>,
}

impl Watchers {
    pub(crate) fn add(&mut self, id: u64) {
        self.slots.insert(id, Slot::default());
    }

    pub(crate) fn remove(&mut self, id: u64) {
        self.slots.remove(&id);
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn wait(&mut self, id: u64, waker: &Waker) {
        if let Some(slot) = self.slots.get_mut(&id) {
            match &mut slot.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
    }

    pub(crate) fn next_push(&mut self, id: u64) -> Option<Push> {
        self.slots.get_mut(&id)?.pushes.pop_front()
    }

    pub(crate) fn push_all(&mut self, push: &Push) {
        for slot in self.slots.values_mut() {
            slot.pushes.push_back(push.clone());
        }
        self.wake_all();
    }

    pub(crate) fn wake_all(&mut self) {
        for slot in self.slots.values_mut() {
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }
}
