//! Cuts a watch body into its lines.

use std::collections::VecDeque;

use bytes::Bytes;
use memchr::memchr;

use crate::error::{WireError, WireErrorKind};
use crate::limits::Limits;
use crate::value::is_space;

/// Splits a watch body, pushed as it arrives, into lines of one event each.
///
/// Blank lines are skipped (some proxies send them to keep a connection alive) and a carriage return before
/// the newline is dropped. A line that lies within one chunk is a slice of it. Memory held: the chunks not
/// yet read, and one unfinished line of at most `line_bytes` (its buffer doubles as it grows, so up to twice
/// that).
///
/// After an error every call returns that error.
///
/// ```
/// use bytes::Bytes;
/// use informer_wire::{Limits, WatchFrames};
///
/// let mut frames = WatchFrames::new(Limits::default());
/// frames.push(Bytes::from_static(b"{\"type\":\"ADDED\"}\n{\"ty"));
/// assert_eq!(frames.next_frame()?.as_deref(), Some(&b"{\"type\":\"ADDED\"}"[..]));
/// assert_eq!(frames.next_frame()?, None);
/// assert_eq!(frames.finish(), 4);
/// # Ok::<(), informer_wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct WatchFrames {
    limits: Limits,
    chunks: VecDeque<Bytes>,
    /// The line begun in chunks that are gone; never holds a newline.
    carry: Vec<u8>,
    /// Bytes of the stream before the line that is being read.
    line_start: u64,
    failed: Option<WireError>,
}

impl WatchFrames {
    /// Splits with the given limits (`line_bytes` is used).
    pub fn new(limits: Limits) -> Self {
        Self { limits, chunks: VecDeque::new(), carry: Vec::new(), line_start: 0, failed: None }
    }

    /// Adds the next bytes of the body. Take all frames before pushing more: what is pushed is kept until
    /// then.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() && self.failed.is_none() {
            self.chunks.push_back(chunk);
        }
    }

    /// The next complete line, without its newline; `None` when more bytes are needed.
    ///
    /// # Errors
    ///
    /// `TooLong` as soon as a line, finished or not, has passed `line_bytes`.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, WireError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let frame = self.read();
        if let Err(error) = &frame {
            self.failed = Some(error.clone());
            self.chunks.clear();
            self.carry = Vec::new();
        }
        frame
    }

    /// Ends the stream and returns how many bytes of an unfinished line are dropped; 0 if they are all
    /// whitespace.
    ///
    /// A line without its newline is never an event, even if it looks complete: whoever watches again from
    /// the last version receives it again. Lines not taken before count as dropped too; after an error the
    /// answer is 0.
    pub fn finish(self) -> usize {
        let mut rest = self.carry.iter().chain(self.chunks.iter().flatten());
        if rest.clone().all(|&byte| is_space(byte)) {
            return 0;
        }
        rest.by_ref().count()
    }

    fn read(&mut self) -> Result<Option<Bytes>, WireError> {
        while let Some(chunk) = self.chunks.front_mut() {
            let newline = memchr(b'\n', chunk);
            let len = self.carry.len() + newline.unwrap_or(chunk.len());
            if len > self.limits.line_bytes {
                let kind = WireErrorKind::TooLong { limit: self.limits.line_bytes };
                return Err(WireError::at(0, kind).within("watch line").shifted(self.line_start));
            }
            let Some(newline) = newline else {
                self.carry.extend_from_slice(chunk);
                self.chunks.pop_front();
                continue;
            };
            let mut line = chunk.split_to(newline + 1);
            line.truncate(newline);
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
            if !self.carry.is_empty() {
                self.carry.extend_from_slice(&line);
                line = Bytes::from(std::mem::take(&mut self.carry));
            }
            self.line_start += len as u64 + 1;
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if !line.iter().all(|&byte| is_space(byte)) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}
