//! Finds where any JSON value ends, in one piece or in many.

use memchr::memchr2;

use crate::error::{WireError, WireErrorKind};
use crate::structure::Nesting;

/// A JSON value that has been read in part.
#[derive(Debug, Clone)]
pub(crate) enum ValueScanner {
    /// An object or array.
    Composite(Nesting),
    /// A string: whether its opening quote has been read, whether the next byte is escaped.
    Text { opened: bool, escaped: bool },
    /// A number, `true`, `false` or `null`.
    Scalar,
}

impl ValueScanner {
    /// A scanner for the value that begins with `first`, which is not read yet, `outer` levels deep.
    #[inline]
    pub(crate) fn new(first: u8, outer: u32) -> Result<Self, WireErrorKind> {
        match first {
            b'{' | b'[' => Ok(Self::Composite(Nesting::new(first, outer))),
            b'"' => Ok(Self::Text { opened: false, escaped: false }),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Ok(Self::Scalar),
            _ => Err(WireErrorKind::Unexpected { expected: "a value" }),
        }
    }

    /// Reads on. Returns the offset just after the value, or `None` when all of `bytes` belongs to it and
    /// more may come. Only a scalar can be complete without our knowing: its end shows by the byte after it.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, WireError> {
        match self {
            Self::Composite(nesting) => nesting.advance(bytes),
            Self::Text { opened, escaped } => Ok(text_end(bytes, opened, escaped)),
            Self::Scalar => Ok(bytes.iter().position(|&byte| !is_scalar(byte))),
        }
    }
}

fn text_end(bytes: &[u8], opened: &mut bool, escaped: &mut bool) -> Option<usize> {
    let mut at = usize::from(!*opened && !bytes.is_empty());
    *opened |= at == 1;
    if *escaped && at < bytes.len() {
        *escaped = false;
        at += 1;
    }
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..)?) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return Some(at);
        }
        if at == bytes.len() {
            *escaped = true;
        }
        at += 1;
    }
    None
}

fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The end of the value at `at` of a complete text, `outer` levels deep.
#[inline]
pub(crate) fn value_end(bytes: &[u8], at: usize, outer: u32) -> Result<usize, WireError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(&first) = rest.first() else {
        return Err(WireError::at(bytes.len(), WireErrorKind::Truncated));
    };
    let mut scanner = ValueScanner::new(first, outer).map_err(|kind| WireError::at(at, kind))?;
    match scanner.advance(rest).map_err(|error| error.shifted(at as u64))? {
        Some(len) => Ok(at + len),
        None if matches!(scanner, ValueScanner::Scalar) => Ok(bytes.len()),
        None => Err(WireError::at(bytes.len(), WireErrorKind::Truncated)),
    }
}

/// The first offset at or after `at` that is not JSON whitespace; the length of `bytes` if there is none.
#[inline]
pub(crate) fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    // Compact bodies have no whitespace at all.
    match rest.first() {
        Some(&byte) if is_space(byte) => {
            at + rest.iter().position(|&byte| !is_space(byte)).unwrap_or(rest.len())
        }
        _ => at,
    }
}

#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_the_same_quote_however_they_are_split() {
        let text = br#""a\\\"\\"x"#;
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut scanner = ValueScanner::new(b'"', 0).unwrap();
                let (mut at, mut end) = (0, None);
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    if end.is_none() {
                        end = scanner.advance(piece).unwrap().map(|len| at + len);
                    }
                    at += piece.len();
                }
                assert_eq!(end, Some(9), "split at {first} and {second}");
            }
        }
    }

    #[test]
    fn unfinished_values_are_truncated_but_scalars_may_end_the_text() {
        assert_eq!(value_end(b"  12.5e-3", 2, 0).unwrap(), 9);
        assert_eq!(value_end(b"null,", 0, 0).unwrap(), 4);
        for text in [&b"\"abc"[..], b"\"abc\\\"", b"{\"a\":1", b"[", b""] {
            assert!(value_end(text, 0, 0).unwrap_err().is_truncated());
        }
    }
}
