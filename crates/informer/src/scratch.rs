//! The memory that decoding needs for the length of one object.

use std::cell::Cell;
use std::hint::black_box;

/// Buffers larger than this are given back: the one large object may never come again.
const KEPT_BYTES: usize = 1 << 20;

/// What [`Scratch::make_room`] asks for: just below the size at which glibc's malloc maps memory of its own instead.
const ROOM_BYTES: usize = 120 << 10;
/// And how often: JSON grows to about four times its size when decoded into wide types.
const ROOM_FOR_BYTES: usize = 24 << 10;

/// What the parser needs besides its input.
#[cfg(feature = "simd")]
pub(crate) type ParserBuffers = simd_json::Buffers;
/// serde_json needs none.
#[cfg(not(feature = "simd"))]
pub(crate) type ParserBuffers = ();

/// What decoding writes into; used again for the next object.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Bytes decoded since room was made.
    decoded: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) buffers: ParserBuffers,
}

impl Scratch {
    /// Lends the thread's own: an informer that has nothing to decode holds no buffers, and those of a thread serve all.
    pub(crate) fn with<T>(use_it: impl FnOnce(&mut Self) -> T) -> T {
        thread_local! {
            static OWN: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
        }
        // Taken, not borrowed: whoever decodes something while decoding gets another.
        let mut scratch = OWN.take().unwrap_or_default();
        let result = use_it(&mut scratch);
        if scratch.bytes.capacity() <= KEPT_BYTES {
            OWN.set(Some(scratch));
        }
        result
    }

    /// Lets the allocator grow in one step for what will be decoded from `bytes` bytes and some more.
    ///
    /// On threads other than the main one glibc's heap grows by as many pages as the one allocation needs, each time by a
    /// system call that locks the whole address space: several for each object. Asking for more and giving it back at once
    /// leaves the room, untouched, at the top of the heap. Other allocators lose nothing by it.
    pub(crate) fn make_room(&mut self, bytes: usize) {
        self.decoded += bytes;
        if self.decoded >= ROOM_FOR_BYTES {
            self.decoded = 0;
            drop(black_box(Vec::<u8>::with_capacity(ROOM_BYTES)));
        }
    }
}
