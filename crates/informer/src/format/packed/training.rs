//! When a dictionary is trained, and on what.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use super::PackedBytes;
use super::dictionary::{Dictionary, Writer};
use super::paths::Paths;
use super::stats::Counters;
use crate::raw_object::DecodeError;

/// A dictionary is trained on so many objects, or on fewer if they are this large together.
const SAMPLES: usize = 128;
const SAMPLES_BYTES: usize = 1 << 20;
/// Of a large object this much is a sample, so that it does not stand for all.
const SAMPLE_BYTES: usize = 64 << 10;
/// The last of so many samples are not trained on, but used to see whether training has helped.
const HELD_OUT: usize = 8;
/// So many objects are watched before it is judged how well the dictionary does.
const WINDOW: u32 = 4_096;
/// It stops paying when objects take half as much again as they did in its first window.
const WORSE_PERCENT: u64 = 150;
/// A new one is taken if it makes the samples smaller by a tenth at least.
const BETTER_PERCENT: u64 = 90;
/// Dictionaries that objects may still refer to; each takes some 60 KB. Past this there is no retraining until some are gone.
const MAX_ALIVE: usize = 8;

/// Compresses objects, and finds the dictionary to do it with.
pub(super) struct Packer {
    current: RwLock<Arc<Writer>>,
    training: Mutex<Training>,
    /// Whether nobody need look at `training` for the first dictionary.
    begun: AtomicBool,
    pub(super) counters: Arc<Counters>,
}

struct Training {
    state: State,
    alive: Vec<Weak<Dictionary>>,
}

enum State {
    Collecting(Samples),
    /// A thread is at it.
    Busy,
    Watching {
        window: Window,
        paid: Option<u64>,
    },
}

#[derive(Default)]
struct Samples {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

#[derive(Default)]
struct Window {
    objects: u32,
    bytes: u64,
    packed: u64,
}

impl Packer {
    pub(super) fn new() -> Self {
        Self::with_paths(Paths::default())
    }

    pub(super) fn with_paths(paths: Paths) -> Self {
        let counters = Arc::new(Counters::default());
        Self {
            current: RwLock::new(Arc::new(Writer::plain(paths, Arc::clone(&counters)))),
            training: Mutex::new(Training {
                state: State::Collecting(Samples::default()),
                alive: Vec::new(),
            }),
            begun: AtomicBool::new(false),
            counters,
        }
    }

    /// Compresses one object. Now and then the caller trains the first dictionary, which takes some 50 ms; the others are
    /// trained by threads of their own.
    pub(super) fn pack(packer: &Arc<Self>, object: &[u8]) -> Result<PackedBytes, DecodeError> {
        if !packer.begun.load(Ordering::Acquire) {
            // Whoever comes while the first dictionary is trained waits for it: plain objects take four times the memory.
            drop(packer.training());
        }
        let packed = packer.writer().pack(object)?;
        packer.counters.packed(object.len(), packed.bytes.len());
        let mut training = packer.training();
        if let Some(samples) = training.observe(object, packed.bytes.len()) {
            if packer.begun.load(Ordering::Acquire) {
                training.state = State::Busy;
                drop(training);
                let packer = Arc::clone(packer);
                std::thread::spawn(move || {
                    let trained = packer.better(&samples);
                    packer.training().take(&packer, trained);
                });
            } else {
                let trained = packer.better(&samples);
                training.take(packer, trained);
                packer.begun.store(true, Ordering::Release);
            }
        }
        Ok(packed)
    }

    /// A dictionary of these samples, if it is better than the one in use.
    fn better(&self, samples: &Samples) -> Option<Writer> {
        let used = self.writer();
        let held_out = samples.lengths.len() - samples.lengths.len() / HELD_OUT;
        let (lengths, bytes) = (&samples.lengths[..held_out], samples.lengths[..held_out].iter().sum());
        let new = used.train(&samples.bytes[..bytes], lengths)?;
        let total = |writer: &Writer| -> Option<u64> {
            let packed = |sample| Some(writer.pack(sample).ok()?.bytes.len() as u64);
            samples.iter().skip(held_out).map(packed).sum()
        };
        (total(&new)? * 100 <= total(&used)? * BETTER_PERCENT).then_some(new)
    }

    fn writer(&self) -> Arc<Writer> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn training(&self) -> MutexGuard<'_, Training> {
        self.training.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Training {
    /// Samples to train on, if it is time to.
    fn observe(&mut self, object: &[u8], packed: usize) -> Option<Samples> {
        match &mut self.state {
            State::Busy => {}
            State::Collecting(samples) => {
                samples.add(object);
                if samples.are_enough() {
                    return Some(std::mem::take(samples));
                }
            }
            State::Watching { window, paid } => {
                window.add(object.len(), packed);
                if window.objects == WINDOW {
                    let share = std::mem::take(window).share();
                    let paid = *paid.get_or_insert(share);
                    if share * 100 > paid * WORSE_PERCENT && self.has_room() {
                        self.state = State::Collecting(Samples::default());
                    }
                }
            }
        }
        None
    }

    /// Ends a training. Whether or not it has helped, what objects take from now on is what the next windows compare with.
    fn take(&mut self, packer: &Packer, trained: Option<Writer>) {
        self.state = State::Watching { window: Window::default(), paid: None };
        if let Some(writer) = trained {
            self.alive.push(Arc::downgrade(&writer.dictionary));
            packer.counters.trained();
            *packer.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(writer);
        }
    }

    fn has_room(&mut self) -> bool {
        self.alive.retain(|dictionary| dictionary.strong_count() > 0);
        self.alive.len() < MAX_ALIVE
    }
}

impl Samples {
    fn add(&mut self, object: &[u8]) {
        let sample = &object[..object.len().min(SAMPLE_BYTES)];
        self.bytes.extend_from_slice(sample);
        self.lengths.push(sample.len());
    }

    fn are_enough(&self) -> bool {
        self.lengths.len() >= SAMPLES || self.bytes.len() >= SAMPLES_BYTES
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        self.lengths.iter().map(move |length| {
            at += length;
            &self.bytes[at - length..at]
        })
    }
}

impl Window {
    fn add(&mut self, bytes: usize, packed: usize) {
        self.objects += 1;
        self.bytes += bytes as u64;
        self.packed += packed as u64;
    }

    /// Packed bytes for each 10,000 of the original.
    fn share(&self) -> u64 {
        self.packed * 10_000 / self.bytes.max(1)
    }
}
