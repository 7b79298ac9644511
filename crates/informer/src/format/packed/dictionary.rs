//! Compression with and without a dictionary, and the memory it is done in.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::FixedState;
use zstd_safe::{CCtx, CDict, DCtx, DDict};

use super::PackedBytes;
use super::paths::Paths;
use super::stats::Counters;
use crate::raw_object::DecodeError;

/// With a dictionary level 3 takes twice the time (13 µs for a Pod of 6 KB, against 6.5) for less than 1 % of the size.
const LEVEL: i32 = 1;
/// For objects of some kilobytes; twice that makes them no smaller.
const DICTIONARY_BYTES: usize = 32 << 10;
/// Idle contexts that are kept, each some 250 KB: as many as can be busy at once on all but the largest machines.
const MAX_IDLE: usize = 8;
/// A buffer that has grown beyond this is not kept.
const MAX_IDLE_BYTES: usize = 256 << 10;

/// What is needed to read what was compressed with one dictionary, or with none.
pub(super) struct Dictionary {
    reader: Option<DDict<'static>>,
    pub(super) paths: Paths,
    pub(super) counters: Arc<Counters>,
}

/// The dictionary in use: that, and what is needed to write.
pub(super) struct Writer {
    writer: Option<CDict<'static>>,
    pub(super) dictionary: Arc<Dictionary>,
}

impl Writer {
    /// Compresses without a dictionary.
    pub(super) fn plain(paths: Paths, counters: Arc<Counters>) -> Self {
        Self { writer: None, dictionary: Arc::new(Dictionary { reader: None, paths, counters }) }
    }

    /// Compresses with a dictionary trained on these samples; `None` if they are too few or too alike to train one.
    pub(super) fn train(&self, samples: &[u8], lengths: &[usize]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(DICTIONARY_BYTES);
        zstd_safe::train_from_buffer(&mut bytes, samples, lengths).ok()?;
        let dictionary = Dictionary {
            reader: Some(DDict::try_create(&bytes)?),
            paths: self.dictionary.paths.clone(),
            counters: Arc::clone(&self.dictionary.counters),
        };
        Some(Self { writer: Some(CDict::try_create(&bytes, LEVEL)?), dictionary: Arc::new(dictionary) })
    }

    /// Compresses one object.
    pub(super) fn pack(&self, object: &[u8]) -> Result<PackedBytes, DecodeError> {
        let len = u32::try_from(object.len()).map_err(|_| DecodeError::new("longer than 4 GiB"))?;
        let bytes = with_context(|context| {
            let Context { compressor, buffer, .. } = context;
            let compressor = compressor.get_or_insert_with(CCtx::create);
            buffer.clear();
            buffer.reserve(zstd_safe::compress_bound(object.len()));
            let done = match &self.writer {
                Some(dictionary) => compressor.compress_using_cdict(buffer, object, dictionary),
                None => compressor.compress(buffer, object, LEVEL),
            };
            // There is room enough, so only memory can be lacking.
            done.map(|_| Box::from(buffer.as_slice()))
                .map_err(|_code| DecodeError::new("cannot be compressed"))
        })?;
        Ok(PackedBytes { bytes, dictionary: Arc::clone(&self.dictionary), len, sum: sum(object) })
    }
}

impl PackedBytes {
    /// Lets `read` have the original, in a buffer it may overwrite, and the means to fill it again.
    pub(super) fn unpack<T>(
        &self,
        read: impl FnOnce(&mut Vec<u8>, &mut dyn FnMut(&mut Vec<u8>)) -> T,
    ) -> Result<T, DecodeError> {
        with_context(|context| {
            let Context { decompressor, buffer, .. } = context;
            let decompressor = decompressor.get_or_insert_with(DCtx::create);
            if !self.fill(decompressor, buffer) {
                self.dictionary.counters.damaged();
                return Err(DecodeError::damaged());
            }
            Ok(read(buffer, &mut |buffer| {
                self.fill(decompressor, buffer);
            }))
        })
    }

    /// Whether the buffer now holds the original.
    fn fill(&self, decompressor: &mut DCtx<'static>, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        buffer.reserve(self.len as usize);
        let done = match &self.dictionary.reader {
            Some(dictionary) => decompressor.decompress_using_ddict(buffer, &self.bytes, dictionary),
            None => decompressor.decompress(buffer, &self.bytes),
        };
        done.is_ok() && buffer.len() == self.len as usize && sum(buffer) == self.sum
    }
}

/// Seen by this process only, so it need not be the same everywhere.
fn sum(object: &[u8]) -> u32 {
    FixedState::with_seed(0).hash_one(object) as u32
}

#[derive(Default)]
struct Context {
    compressor: Option<CCtx<'static>>,
    decompressor: Option<DCtx<'static>>,
    buffer: Vec<u8>,
}

static IDLE: Mutex<Vec<Context>> = Mutex::new(Vec::new());

/// Taken out and put back, so that users' code may panic, or read another object meanwhile.
fn with_context<T>(work: impl FnOnce(&mut Context) -> T) -> T {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut context = idle().pop().unwrap_or_default();
    let done = work(&mut context);
    if context.buffer.capacity() > MAX_IDLE_BYTES {
        // The compressor's own memory has grown with it.
        return done;
    }
    let mut idle = idle();
    if idle.len() < MAX_IDLE {
        idle.push(context);
    }
    done
}
