//! One part of the library doing one thing a number of times, for valgrind to count and for criterion to time.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::ValueEnum;
use informer_core::{
    ApplyOptions, Backlog, BacklogOptions, Batch, Delta, DeltaFifo, IndexValues, Indexer, Item, Notification,
    Object, ObjectKey, ResourceVersion, Uid,
};
use informer_wire::{Limits, ListSplitter, ObjectMeta};
use k8s_openapi::api::core::v1::Pod;

use crate::{Collection, Kind};

/// What can be repeated.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Part {
    /// Splits a list into items, as chunks arrive.
    Splitter,
    /// Finds an object's metadata and copies it without managedFields.
    Scan,
    /// Decodes a Pod.
    Decode,
    /// Pushes a delta, and drains a hundred of them at once.
    Fifo,
    /// Applies updates to a store of a thousand objects with two indexes, a hundred at once.
    Indexer,
    /// Hands batches of a hundred notifications to 64 handlers; an operation is one notification of one handler.
    FanOut,
}

/// Objects that are there.
const OBJECTS: usize = 1_000;

/// Deltas that are dealt with at once: what a busy stream brings.
const BATCH: usize = 100;
const HANDLERS: usize = 64;
const CHUNK_BYTES: usize = 64 << 10;
const SEED: u64 = 1;

impl Part {
    /// What is done at once, in operations: less is not measured.
    pub fn unit(self) -> usize {
        match self {
            Self::Splitter | Self::Scan | Self::Decode => 1,
            Self::Fifo | Self::Indexer => BATCH,
            Self::FanOut => BATCH * HANDLERS,
        }
    }

    /// Does so many operations, and says how long they took, the set-up left out.
    ///
    /// The set-up does not depend on that number, so that the difference of two counts of instructions is that of the operations
    /// alone. No random seed: the same instructions in every run. [`Part::Indexer`] does 6,000 operations at most.
    pub fn run(self, operations: usize) -> Duration {
        match self {
            Self::Splitter => splitter(operations),
            Self::Scan => scan(operations),
            Self::Decode => decode(operations),
            Self::Fifo => fifo(operations),
            Self::Indexer => indexer(operations),
            Self::FanOut => fan_out(operations),
        }
    }
}

/// Generated Pods, as a list has them.
fn pods() -> Vec<Vec<u8>> {
    let collection = Collection::new(Kind::Pod5k, BATCH, BATCH);
    let pod = |number| {
        let mut bytes = Vec::new();
        collection.write(number, number as u64 + 1, true, &mut bytes);
        bytes
    };
    (0..BATCH).map(pod).collect()
}

fn splitter(operations: usize) -> Duration {
    let mut items = pods().join(&b',');
    items.push(b',');
    let head = &br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#[..];
    let mut splitter = ListSplitter::new(Limits::default());
    splitter.push(Bytes::from_static(head));
    let chunks: Vec<Bytes> = items.chunks(CHUNK_BYTES).map(Bytes::copy_from_slice).collect();
    let mut split = 0;
    let started = Instant::now();
    for chunk in chunks.iter().cycle() {
        if split >= operations {
            break;
        }
        splitter.push(chunk.clone());
        while let Some(item) = splitter.next_item().expect("it is a list") {
            black_box(item);
            split += 1;
        }
    }
    started.elapsed()
}

fn scan(operations: usize) -> Duration {
    let pods = pods();
    let mut scratch = Vec::new();
    let started = Instant::now();
    for pod in pods.iter().cycle().take(operations) {
        scratch.clear();
        let meta = ObjectMeta::scan(pod).expect("it is an object");
        meta.extend_without_managed_fields(&mut scratch);
        black_box(&scratch);
    }
    started.elapsed()
}

/// As the typed format does it: cut, then parsed by the SIMD parser into the k8s-openapi type.
fn decode(operations: usize) -> Duration {
    let pods = pods();
    let mut scratch = Vec::new();
    let started = Instant::now();
    for pod in pods.iter().cycle().take(operations) {
        scratch.clear();
        ObjectMeta::scan(pod).expect("it is an object").extend_without_managed_fields(&mut scratch);
        let pod: Pod = simd_json::serde::from_slice(&mut scratch).expect("it is a Pod");
        black_box(pod);
    }
    started.elapsed()
}

fn item(number: usize, version: u64) -> Item<u64> {
    let key = ObjectKey::new(&format!("team-{}", number / 50), &format!("web-{number:05}"));
    let uid = Uid::new(&format!("ebbfc665-3393-49c4-93f5-{number:012}"));
    let object = Object { key, uid, version: ResourceVersion::from(version), value: Arc::new(version) };
    let values = [format!("node-{}", number % 30), format!("app-{}", number % 40)];
    let index_values = values.map(|value| [value]).into_iter().collect();
    Item { object: Arc::new(object), index_values }
}

/// Updates of all objects at one version after the other, made before anything is counted as an operation would be:
/// their number does not depend on the operations, so that it cancels.
fn updates() -> Vec<Vec<Item<u64>>> {
    let round = |version: u64| {
        let numbers: Vec<usize> = (0..OBJECTS).collect();
        numbers
            .chunks(BATCH)
            .map(|numbers| numbers.iter().map(|number| item(*number, version)).collect())
            .collect::<Vec<Vec<_>>>()
    };
    (2..8).flat_map(round).collect()
}

/// Without index values, whose copies would cost more than the queue.
fn bare(item: Item<u64>) -> Item<u64> {
    Item { index_values: IndexValues::default(), ..item }
}

fn fifo(operations: usize) -> Duration {
    let updates: Vec<Vec<_>> =
        updates().into_iter().map(|batch| batch.into_iter().map(bare).collect()).collect();
    let mut fifo = DeltaFifo::new();
    let started = Instant::now();
    for batch in updates.iter().cycle().take(operations.div_ceil(BATCH)) {
        for item in batch {
            fifo.push(Delta::Updated(item.clone()));
        }
        black_box(fifo.drain());
        fifo.processed();
    }
    started.elapsed()
}

fn indexer(operations: usize) -> Duration {
    let updates = updates();
    let mut indexer = Indexer::new(SEED);
    indexer.add_index();
    indexer.add_index();
    let added: Vec<_> = (0..OBJECTS).map(|number| item(number, 1)).collect();
    // Or else the end of each object would be counted too.
    let kept = |item: &Item<u64>| Arc::clone(&item.object);
    let objects: Vec<_> = added.iter().chain(updates.iter().flatten()).map(kept).collect();
    indexer.apply(added.into_iter().map(Delta::Added), ApplyOptions::default());
    let updates: Vec<Vec<_>> =
        updates.into_iter().map(|batch| batch.into_iter().map(Delta::Updated).collect()).collect();
    let started = Instant::now();
    for batch in updates.into_iter().take(operations.div_ceil(BATCH)) {
        black_box(indexer.apply(batch, ApplyOptions::default()));
    }
    let took = started.elapsed();
    black_box(objects);
    took
}

fn fan_out(operations: usize) -> Duration {
    let updated = |number| {
        let (old, new) = (item(number, 1).object, item(number, 2).object);
        Notification::Updated { old, new }
    };
    let batch: Batch<u64> = Arc::new((0..BATCH).map(updated).collect());
    let mut handlers: Vec<_> = (0..HANDLERS).map(|_| Backlog::new(BacklogOptions::default(), SEED)).collect();
    let started = Instant::now();
    for _ in 0..operations.div_ceil(BATCH * HANDLERS) {
        for handler in &mut handlers {
            handler.push(Arc::clone(&batch));
        }
        for handler in &mut handlers {
            while let Some(batch) = handler.pop() {
                // What a handler's turn does with it: looks at each.
                for notification in &*batch {
                    black_box(notification);
                }
            }
        }
    }
    started.elapsed()
}
