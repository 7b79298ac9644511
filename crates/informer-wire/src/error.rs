//! What can be wrong with bytes from the wire, told without any of them.

use std::fmt;

/// Bytes that could not be split, scanned or decompressed.
///
/// Holds a [kind](WireErrorKind), a place ("list item") and a byte offset, never a byte of the body: it may
/// be logged even if the body is a Secret.
///
/// ```
/// use informer_wire::{ObjectMeta, WireErrorKind};
///
/// let error = ObjectMeta::scan(br#"{"metadata":{"name":7}}"#).unwrap_err();
/// assert_eq!(error.kind(), WireErrorKind::WrongType { key: "name", expected: "a string" });
/// assert_eq!(error.to_string(), "object at byte 20: name is not a string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    kind: WireErrorKind,
    place: &'static str,
    offset: u64,
}

impl std::error::Error for WireError {}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.place, self.offset, self.kind)
    }
}

impl WireError {
    /// An error at `offset`, as yet without a place.
    pub(crate) fn at(offset: usize, kind: WireErrorKind) -> Self {
        Self { kind, place: "JSON", offset: offset as u64 }
    }

    /// The same error, found while reading `place`.
    pub(crate) fn within(mut self, place: &'static str) -> Self {
        self.place = place;
        self
    }

    /// The same error in a slice that began at `base` of what the caller knows.
    pub(crate) fn shifted(mut self, base: u64) -> Self {
        self.offset += base;
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> WireErrorKind {
        self.kind
    }

    /// Where it was found, as one of a few fixed words: `watch line`, `watch event`, `list`, `list item`,
    /// `list metadata`, `object`, `labels`, `annotations`, `ownerReferences`, `gzip`.
    pub fn place(&self) -> &'static str {
        self.place
    }

    /// Offset in bytes: from the start of the stream for what is pushed ([`WatchFrames`](crate::WatchFrames),
    /// [`ListSplitter`](crate::ListSplitter), [`GzipMembers`](crate::GzipMembers): of the compressed bytes),
    /// from the start of the slice for what is scanned.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether a bound of ours was passed: the input may be well-formed, but asking again will not help.
    pub fn is_limit(&self) -> bool {
        use WireErrorKind::*;
        matches!(self.kind, TooLong { .. } | TooDeep { .. } | OutputTooLong { .. } | RatioTooHigh { .. })
    }

    /// Whether the input merely stopped too early, as when a connection breaks: asking again may help.
    pub fn is_truncated(&self) -> bool {
        self.kind == WireErrorKind::Truncated
    }

    /// Whether the input contradicts itself or the protocol: neither too large nor too short.
    pub fn is_malformed(&self) -> bool {
        !self.is_limit() && !self.is_truncated() && self.kind != WireErrorKind::Undrained
    }
}

/// The kinds of [`WireError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireErrorKind {
    /// A line, an item, a list's metadata or a top-level key is longer than allowed.
    #[error("longer than the limit of {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// Objects and arrays are nested deeper than allowed.
    #[error("nested deeper than the limit of {limit} levels")]
    TooDeep {
        /// The limit in levels.
        limit: u32,
    },
    /// One gzip member decodes to more than allowed.
    #[error("a member is longer than the limit of {limit} decoded bytes")]
    OutputTooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// Compressed bytes expand more than allowed.
    #[error("expands more than the limit of {limit}:1")]
    RatioTooHigh {
        /// Decoded bytes for each compressed one.
        limit: u32,
    },
    /// The input ended before what it began was complete.
    #[error("ends too early")]
    Truncated,
    /// Another byte than this was expected.
    #[error("{expected} expected")]
    Unexpected {
        /// What would have been right.
        expected: &'static str,
    },
    /// Something other than whitespace follows the end.
    #[error("followed by other bytes")]
    TrailingBytes,
    /// A value that begins as an object and ends with `]`, or as an array with `}`.
    #[error("brackets do not match")]
    MismatchedBracket,
    /// A key that must be unique stands twice: which one is meant is not ours to guess.
    #[error("{key} stands twice")]
    DuplicateKey {
        /// The key.
        key: &'static str,
    },
    /// A key that is needed is absent, null or empty.
    #[error("{key} is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A value is of another JSON type than this key has.
    #[error("{key} is not {expected}")]
    WrongType {
        /// The key, or `label`, `annotation`, `item` and the like for an element.
        key: &'static str,
        /// The type it should have.
        expected: &'static str,
    },
    /// A string with bad escapes, control characters or invalid UTF-8.
    #[error("a string has {problem}")]
    BadText {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Not gzip, or damaged gzip.
    #[error("damaged or not gzip")]
    BadGzip,
    /// `finish` was called while items were still waiting to be taken: a mistake of the caller's.
    #[error("finished before all items were taken")]
    Undrained,
}
