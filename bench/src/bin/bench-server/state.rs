//! What is at which version: a number for each object, and the log of changes.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use informer_bench::Collection;
use tokio::sync::watch;

/// The collection and its history.
pub(crate) struct Server {
    pub(crate) collection: Collection,
    history: Mutex<History>,
    /// Says when the history has grown.
    grown: watch::Sender<()>,
}

#[derive(Debug)]
struct History {
    /// The version of each object: at first, of number `n` it is `n + 1`.
    versions: Vec<u64>,
    /// The objects that were changed, from the first change on: the change at `i` made version `len + 1 + i`.
    changes: Vec<u32>,
    /// Versions before this one are forgotten.
    oldest: u64,
    /// Counts the times at which all watches were ended.
    epoch: u64,
    watches: usize,
}

/// What a watch sends next.
pub(crate) enum Next {
    /// These objects at these versions.
    Changes(Vec<(usize, u64)>),
    /// Nothing yet.
    Wait,
    /// The watch is over.
    End,
}

impl Server {
    pub(crate) fn new(collection: Collection) -> Self {
        let versions = (1..=collection.len() as u64).collect();
        let history = History { versions, changes: Vec::new(), oldest: 0, epoch: 0, watches: 0 };
        Self { collection, history: Mutex::new(history), grown: watch::Sender::new(()) }
    }

    /// The newest version.
    pub(crate) fn version(&self) -> u64 {
        self.history().version()
    }

    /// The version now, and those of some objects.
    pub(crate) fn versions(&self, range: Range<usize>) -> (u64, Vec<u64>) {
        let history = self.history();
        (history.version(), history.versions[range].to_vec())
    }

    /// Whether changes after this version are remembered.
    pub(crate) fn remembers(&self, version: u64) -> bool {
        let history = self.history();
        version >= history.oldest && version <= history.version()
    }

    /// Changes `count` objects, spread over all of them, the last object last. Returns the version made by that.
    pub(crate) fn change(&self, count: usize) -> u64 {
        let version = self.history().change(count);
        self.grown.send_replace(());
        version
    }

    /// Changes objects unseen, ends every watch, and forgets the versions before.
    pub(crate) fn lose_versions(&self, count: usize) -> u64 {
        let mut history = self.history();
        let version = history.change(count);
        history.oldest = version;
        history.epoch += 1;
        drop(history);
        self.grown.send_replace(());
        version
    }

    pub(crate) fn watches(&self) -> usize {
        self.history().watches
    }

    /// Counts a watch until the guard is dropped; the number is the epoch that it belongs to.
    pub(crate) fn open_watch(&self) -> u64 {
        let mut history = self.history();
        history.watches += 1;
        history.epoch
    }

    pub(crate) fn close_watch(&self) {
        self.history().watches -= 1;
    }

    /// The changes after a version, at most `limit`.
    pub(crate) fn next(&self, after: u64, epoch: u64, limit: usize) -> Next {
        let history = self.history();
        if history.epoch != epoch {
            return Next::End;
        }
        let first = history.versions.len() as u64;
        let skip = after.saturating_sub(first) as usize;
        let changes = history.changes.iter().enumerate().skip(skip).take(limit);
        let changes: Vec<_> = changes.map(|(at, number)| (*number as usize, first + 1 + at as u64)).collect();
        if changes.is_empty() { Next::Wait } else { Next::Changes(changes) }
    }

    /// Wakes up whenever the history has grown.
    pub(crate) fn growth(&self) -> watch::Receiver<()> {
        self.grown.subscribe()
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn version(&self) -> u64 {
        (self.versions.len() + self.changes.len()) as u64
    }

    fn change(&mut self, count: usize) -> u64 {
        let len = self.versions.len();
        for at in 0..count.min(usize::MAX / len.max(1)) {
            if len == 0 {
                break;
            }
            // Evenly spread, each once in a round; the last object is the last to change.
            let stride = (len / count.max(1)).max(1);
            let number = if at + 1 == count { len - 1 } else { (at * stride) % len };
            self.changes.push(u32::try_from(number).expect("fewer than 4 G objects"));
            let version = self.version();
            self.versions[number] = version;
        }
        self.version()
    }
}
