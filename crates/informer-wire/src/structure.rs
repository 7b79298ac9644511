//! Finds where a JSON object or array ends, 64 bytes at a time.
//!
//! Each block becomes bit masks (quotes, backslashes, opening and closing brackets), one bit a byte. Removing
//! escaped quotes and taking the running exclusive-or of the rest gives the bytes inside strings; what
//! remains of the brackets is counted, and walked one by one only where the value may end or become too deep.
//! The state between blocks is a few words, so a value may come in any number of pieces and nothing is
//! recursive.
//!
//! Brackets are counted, not paired: that the last one is of the kind of the first is checked, that all those
//! between are in order is left to the decoder. Pairing costs as much again as everything else here.

use crate::error::{WireError, WireErrorKind};
use crate::limits::DEPTH_LIMIT;
use crate::masks::{BLOCK, Masks};

/// The open brackets of a value that has been read in part.
#[derive(Debug, Clone)]
pub(crate) struct Nesting {
    depth: u32,
    /// [`DEPTH_LIMIT`] less the levels the value itself stands in.
    limit: u32,
    /// The bracket that ends the value.
    last: u8,
    in_string: bool,
    /// The next byte follows a backslash that is not itself escaped.
    escaped: bool,
}

impl Nesting {
    /// A value that begins with the bracket `first`, not read yet, and stands `outer` levels deep.
    pub(crate) fn new(first: u8, outer: u32) -> Self {
        let limit = DEPTH_LIMIT.saturating_sub(outer);
        // `{` and `}` are two apart in ASCII, and so are `[` and `]`.
        Self { depth: 0, limit, last: first + 2, in_string: false, escaped: false }
    }

    /// Reads on; the first byte ever given is the opening bracket. Returns the offset just after the closing
    /// bracket, or `None` when all of `bytes` belongs to the value and more must come.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, WireError> {
        let mut at = 0;
        let mut padded;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let (block, len) = match rest.first_chunk::<BLOCK>() {
                Some(block) => (block, BLOCK),
                None => {
                    padded = [b' '; BLOCK];
                    padded[..rest.len()].copy_from_slice(rest);
                    (&padded, rest.len())
                }
            };
            if let Some(end) = self.block(block, len).map_err(|error| error.shifted(at as u64))? {
                return Ok(Some(at + end));
            }
            at += len;
        }
        Ok(None)
    }

    /// Reads one block of which the first `len` bytes are input and the rest are spaces.
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK], len: usize) -> Result<Option<usize>, WireError> {
        let masks = Masks::of(block);
        let mut quotes = masks.quotes;
        if masks.backslashes != 0 || self.escaped {
            quotes &= !self.escaped_bytes(masks.backslashes, len);
        }
        let carried = if self.in_string { u64::MAX } else { 0 };
        let inside = running_xor(quotes) ^ carried;
        self.in_string = inside >> 63 == 1;
        self.levels(masks.opens & !inside, masks.closes & !inside, block)
    }

    /// Opens and closes levels; the offset after the bracket that closes the last one.
    #[inline]
    fn levels(&mut self, opens: u64, closes: u64, block: &[u8; BLOCK]) -> Result<Option<usize>, WireError> {
        let brackets = opens | closes;
        // Adding each opening bracket, moved up by one, to the runs of other bytes carries it through its run
        // and onto the next bracket. If that one closes, the two are a level that begins and ends here.
        let leaves = (opens << 1).wrapping_add(!brackets) & closes;
        let (opened, closed) = (opens.count_ones(), closes.count_ones());
        // Neither the end nor the limit can be in this block, in whatever order its levels come.
        if closed - leaves.count_ones() < self.depth && self.depth + opened <= self.limit {
            self.depth = self.depth + opened - closed;
            return Ok(None);
        }
        self.walk(brackets, block)
    }

    /// The same, bracket by bracket.
    fn walk(&mut self, mut brackets: u64, block: &[u8; BLOCK]) -> Result<Option<usize>, WireError> {
        while brackets != 0 {
            let at = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            let bracket = block[at % BLOCK];
            if matches!(bracket, b'{' | b'[') {
                if self.depth == self.limit {
                    return Err(WireError::at(at, WireErrorKind::TooDeep { limit: DEPTH_LIMIT }));
                }
                self.depth += 1;
                continue;
            }
            // The first byte opened a level and the value ends with the last: there is one to close.
            self.depth = self.depth.saturating_sub(1);
            if self.depth == 0 && bracket != self.last {
                return Err(WireError::at(at, WireErrorKind::MismatchedBracket));
            }
            if self.depth == 0 {
                return Ok(Some(at + 1));
            }
        }
        Ok(None)
    }

    /// The bytes that follow an unescaped backslash, as a mask; remembers whether the next block begins with
    /// one.
    #[cold]
    fn escaped_bytes(&mut self, backslashes: u64, len: usize) -> u64 {
        let mut escaped = u64::from(self.escaped);
        let mut rest = backslashes & !escaped;
        self.escaped = false;
        while rest != 0 {
            let next = rest.trailing_zeros() as usize + 1;
            rest &= rest - 1;
            if next == len {
                self.escaped = true;
                break;
            }
            escaped |= 1 << next;
            rest &= !(1 << next);
        }
        escaped
    }
}

/// Bit i of the answer is the exclusive-or of bits 0 to i.
#[inline]
fn running_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ bits << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, a byte at a time.
    fn naive_end(bytes: &[u8], limit: u32) -> Result<Option<usize>, (usize, WireErrorKind)> {
        let (mut depth, mut in_string, mut escaped) = (0u32, false, false);
        for (at, &byte) in bytes.iter().enumerate() {
            // Outside of a string a backslash is no JSON; what it does there only has to be the same every
            // time.
            let was_escaped = std::mem::take(&mut escaped);
            if byte == b'\\' {
                escaped = !was_escaped;
            } else if byte == b'"' {
                in_string ^= !was_escaped;
            } else if !in_string && (byte == b'{' || byte == b'[') {
                depth += 1;
                if depth > limit {
                    return Err((at, WireErrorKind::TooDeep { limit: DEPTH_LIMIT }));
                }
            } else if !in_string && (byte == b'}' || byte == b']') {
                depth -= 1;
                if depth == 0 && (byte == b'}') != (bytes[0] == b'{') {
                    return Err((at, WireErrorKind::MismatchedBracket));
                }
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            }
        }
        Ok(None)
    }

    fn end_in_pieces(bytes: &[u8], len: usize, outer: u32) -> Result<Option<usize>, (usize, WireErrorKind)> {
        let mut nesting = Nesting::new(bytes[0], outer);
        for (i, piece) in bytes.chunks(len).enumerate() {
            let end = nesting.advance(piece);
            if let Some(end) = end.map_err(|error| (i * len + error.offset() as usize, error.kind()))? {
                return Ok(Some(i * len + end));
            }
        }
        Ok(None)
    }

    #[test]
    fn any_soup_of_brackets_ends_where_a_byte_loop_ends() {
        // A linear congruential generator: the same soups on every run.
        let mut seed = 1u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        let soups: [&[u8]; 5] =
            [b"[]{}", b"[[]{{} ", b"{}[]\"\\ a", b"[[[{{{]}\"xxxxxxxxxxxxxxx", b"[{}{}{}{}]xx"];
        let (mut ends, mut errors) = (0, 0);
        for round in 0..20_000u64 {
            let soup = soups[(round % 5) as usize];
            let mut bytes = vec![if below(2) == 0 { b'[' } else { b'{' }];
            for _ in 0..below(400) {
                bytes.push(soup[below(soup.len() as u64) as usize]);
            }
            let outer = [0, 100, 120, 127][below(4) as usize];
            let want = naive_end(&bytes, DEPTH_LIMIT - outer);
            ends += u32::from(matches!(want, Ok(Some(_))));
            errors += u32::from(want.is_err());
            for len in [bytes.len(), 1 + below(70) as usize, 1 + below(200) as usize] {
                assert_eq!(end_in_pieces(&bytes, len, outer), want, "{} by {len}", bytes.escape_ascii());
            }
        }
        assert!(ends > 1_000 && errors > 1_000, "{ends} ends, {errors} errors");
    }

    #[test]
    fn ends_where_a_byte_loop_ends_at_every_alignment_and_split() {
        let texts: [&[u8]; 4] = [
            br#"{"a":[1,{"b":"}]\"\\"},"\\\\\""],"c\\":{}}tail"#,
            br#"["\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"]","x"]]"#,
            br#"[[],{},[{}],"[[[[[[{{{{",{"x":"\"}"}]"#,
            br#"{"long":"................................................................\"......................"}"#,
        ];
        for text in texts {
            for pad in 0..66 {
                let mut bytes = vec![b'['];
                bytes.resize(pad + 1, b' ');
                bytes.extend_from_slice(text);
                bytes.push(b']');
                let want = naive_end(&bytes, DEPTH_LIMIT).unwrap();
                for split in 1..bytes.len() {
                    let mut nesting = Nesting::new(b'[', 0);
                    let mut end = nesting.advance(&bytes[..split]).unwrap();
                    if end.is_none() {
                        end = nesting.advance(&bytes[split..]).unwrap().map(|end| end + split);
                    }
                    assert_eq!(end, want, "pad {pad}, split {split}");
                }
            }
        }
    }

    #[test]
    fn depth_is_bounded_and_the_last_bracket_must_match_the_first() {
        let deep = |levels: usize| {
            let mut bytes = vec![b'['; levels];
            bytes.extend(vec![b']'; levels]);
            bytes
        };
        assert_eq!(Nesting::new(b'[', 0).advance(&deep(128)).unwrap(), Some(256));
        let error = Nesting::new(b'[', 0).advance(&deep(1_000_000)).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (WireErrorKind::TooDeep { limit: 128 }, 128));
        assert!(Nesting::new(b'[', 1).advance(&deep(128)).is_err());
        assert_eq!(
            Nesting::new(b'[', 0).advance(b"[{]}").unwrap_err().kind(),
            WireErrorKind::MismatchedBracket
        );
    }
}
