//! What packing saves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::training::Packer;

#[derive(Default)]
pub(super) struct Counters {
    objects: AtomicU64,
    bytes: AtomicU64,
    packed_bytes: AtomicU64,
    trained: AtomicU64,
    damaged: AtomicU64,
}

impl Counters {
    pub(super) fn packed(&self, bytes: usize, packed: usize) {
        self.objects.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.packed_bytes.fetch_add(packed as u64, Ordering::Relaxed);
    }

    pub(super) fn trained(&self) {
        self.trained.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts of one [`Packed`](crate::Packed) format since it was made.
#[derive(Clone)]
pub struct PackedStats {
    packer: Arc<Packer>,
}

impl PackedStats {
    pub(super) fn new(packer: Arc<Packer>) -> Self {
        Self { packer }
    }

    /// Versions of objects that were packed.
    pub fn objects(&self) -> u64 {
        self.read(|counters| &counters.objects)
    }

    /// Their bytes, without managedFields.
    pub fn bytes(&self) -> u64 {
        self.read(|counters| &counters.bytes)
    }

    /// The bytes they were compressed to.
    pub fn packed_bytes(&self) -> u64 {
        self.read(|counters| &counters.packed_bytes)
    }

    /// Dictionaries that were trained and found better than what was in use.
    pub fn dictionaries(&self) -> u64 {
        self.read(|counters| &counters.trained)
    }

    /// Reads that found an object [damaged](crate::DecodeError::is_damaged). Not zero means faulty memory.
    pub fn damaged(&self) -> u64 {
        self.read(|counters| &counters.damaged)
    }

    fn read(&self, counter: impl Fn(&Counters) -> &AtomicU64) -> u64 {
        counter(&self.packer.counters).load(Ordering::Relaxed)
    }
}
