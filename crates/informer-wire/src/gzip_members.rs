//! Decodes gzip as it arrives, a member an event if need be.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{WireError, WireErrorKind};
use crate::limits::Limits;

/// Decodes a gzip body, pushed as it arrives, that may consist of any number of members.
///
/// API servers compress a long list as one member, and since 1.37 each event of a watch as a member of its
/// own: decoders that stop after the first member, or wait for the end, lose or delay events. Here all output
/// the pushed bytes allow comes out, within a member too. Checksums and lengths are verified at each member's
/// end: what was handed out before was not yet verified.
///
/// Memory held: the chunks not yet read, one piece of output of at most 32 KiB, and the decoder's 48 KiB or
/// so. Members that decode to nothing cost no output. After an error every call returns that error.
///
/// # Bombs
///
/// Output is taken piece by piece, so a bomb costs time, not memory; what reads the output has limits of its
/// own. Time is bounded by `gzip_ratio` and `gzip_slack_bytes`: an account that starts full of slack, gains
/// `gzip_ratio` bytes for each compressed byte (never beyond the slack), and pays for each decoded one. So
/// over any stretch of the stream the output is at most ratio × input + slack. `member_bytes` bounds a single
/// member.
///
/// ```
/// use std::io::Write as _;
/// use bytes::Bytes;
/// use flate2::{Compression, write::GzEncoder};
/// use informer_wire::{GzipMembers, Limits};
///
/// let mut body = Vec::new();
/// for event in ["one\n", "two\n"] {
///     let mut member = GzEncoder::new(&mut body, Compression::fast());
///     member.write_all(event.as_bytes())?;
///     member.finish()?;
/// }
/// let mut gzip = GzipMembers::new(Limits::default());
/// gzip.push(Bytes::from(body));
/// let mut text = Vec::new();
/// while let Some(decoded) = gzip.next_chunk()? {
///     text.extend_from_slice(&decoded);
/// }
/// gzip.finish()?;
/// assert_eq!(text, b"one\ntwo\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GzipMembers {
    limits: Limits,
    chunks: VecDeque<Bytes>,
    /// Decoder of the member that is being read; none between members.
    member: Option<Decompress>,
    /// The last piece was full: the decoder may have more without more input.
    more: bool,
    /// Compressed bytes read.
    read: u64,
    /// Decoded bytes that may still come without more input.
    allowance: u64,
    failed: Option<WireError>,
}

/// Room for three typical events or a slice of a list; small enough to stay in a processor's nearer caches.
const PIECE: usize = 32 << 10;

/// Window size (as a power of two) that every gzip encoder stays within.
const WINDOW_BITS: u8 = 15;

impl GzipMembers {
    /// Decodes with the given limits (`member_bytes`, `gzip_ratio` and `gzip_slack_bytes` are used).
    pub fn new(limits: Limits) -> Self {
        Self {
            allowance: limits.gzip_slack_bytes,
            limits,
            chunks: VecDeque::new(),
            member: None,
            more: false,
            read: 0,
            failed: None,
        }
    }

    /// Adds the next compressed bytes. Take all output before pushing more: what is pushed is kept until
    /// then.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() && self.failed.is_none() {
            self.chunks.push_back(chunk);
        }
    }

    /// The next decoded bytes, at most 32 KiB and never empty; `None` when more input is needed.
    ///
    /// # Errors
    ///
    /// `BadGzip` for what is not gzip, is damaged or fails its checksum; `RatioTooHigh` and `OutputTooLong`.
    pub fn next_chunk(&mut self) -> Result<Option<Bytes>, WireError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let chunk = self.decode().map_err(|kind| self.error(kind));
        if let Err(error) = &chunk {
            self.failed = Some(error.clone());
            self.chunks.clear();
            self.member = None;
        }
        chunk
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// `Truncated` within a member, `Undrained` if output was left to take; an earlier error again.
    pub fn finish(mut self) -> Result<(), WireError> {
        if self.next_chunk()?.is_some() {
            return Err(self.error(WireErrorKind::Undrained));
        }
        match self.member {
            Some(_) => Err(self.error(WireErrorKind::Truncated)),
            None => Ok(()),
        }
    }

    fn decode(&mut self) -> Result<Option<Bytes>, WireErrorKind> {
        let mut piece = Vec::new();
        while piece.is_empty() && (self.more || !self.chunks.is_empty()) {
            if piece.capacity() == 0 {
                piece.reserve_exact(PIECE);
            }
            self.decode_piece(&mut piece)?;
        }
        Ok(if piece.is_empty() { None } else { Some(Bytes::from(piece)) })
    }

    /// Decodes from the first chunk, until it or the piece or the member ends.
    fn decode_piece(&mut self, piece: &mut Vec<u8>) -> Result<(), WireErrorKind> {
        let input = self.chunks.front().map_or(&[][..], |chunk| &chunk[..]);
        let member = self.member.get_or_insert_with(|| Decompress::new_gzip(WINDOW_BITS));
        let (in_before, out_before) = (member.total_in(), member.total_out());
        let status =
            member.decompress_vec(input, piece, FlushDecompress::Sync).map_err(|_| WireErrorKind::BadGzip)?;
        let (taken, given) = (member.total_in() - in_before, member.total_out() - out_before);
        if member.total_out() > self.limits.member_bytes {
            return Err(WireErrorKind::OutputTooLong { limit: self.limits.member_bytes });
        }
        if status == Status::StreamEnd {
            self.member = None;
            self.more = false;
        } else {
            self.more = piece.len() == piece.capacity();
            if taken == 0 && given == 0 && !input.is_empty() {
                // The decoder has input and room and does nothing: it never will.
                return Err(WireErrorKind::BadGzip);
            }
        }
        self.take_input(taken);
        self.pay(taken, given)
    }

    fn take_input(&mut self, taken: u64) {
        self.read += taken;
        if let Some(chunk) = self.chunks.front_mut() {
            chunk.advance(taken as usize);
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    fn pay(&mut self, taken: u64, given: u64) -> Result<(), WireErrorKind> {
        let gained = taken.saturating_mul(u64::from(self.limits.gzip_ratio));
        // Gain and pay are one step: a call's own input pays for its own output.
        let balance = self.allowance.saturating_add(gained);
        let left = balance
            .checked_sub(given)
            .ok_or(WireErrorKind::RatioTooHigh { limit: self.limits.gzip_ratio })?;
        self.allowance = left.min(self.limits.gzip_slack_bytes);
        Ok(())
    }

    fn error(&self, kind: WireErrorKind) -> WireError {
        WireError::at(0, kind).within("gzip").shifted(self.read)
    }
}
