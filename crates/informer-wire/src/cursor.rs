//! Walks the entries of one JSON object, or the elements of one array, in a complete text.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{WireError, WireErrorKind};
use crate::text;
use crate::value::{skip_space, value_end};

/// A place inside an object: before a key, or at a value.
///
/// `next_key` moves to the next value; then `skip` or `leave` must move past it.
#[derive(Debug, Clone)]
pub(crate) struct ObjectCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
    /// Levels the values of this object stand in.
    levels: u32,
}

impl<'a> ObjectCursor<'a> {
    /// Enters the object whose `{` is at `at`, `outer` levels deep.
    pub(crate) fn enter(bytes: &'a [u8], at: usize, outer: u32) -> Result<Self, WireError> {
        expect(bytes, at, b'{', "{")?;
        Ok(Self { bytes, at: at + 1, first: true, levels: outer + 1 })
    }

    /// The next key with the offset of its quote, or `None` at the end of the object.
    pub(crate) fn next_key(&mut self) -> Result<Option<(Cow<'a, str>, usize)>, WireError> {
        self.at = skip_space(self.bytes, self.at);
        match self.bytes.get(self.at) {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !self.first => self.at = skip_space(self.bytes, self.at + 1),
            Some(_) if !self.first => return Err(unexpected(self.at, ", or }")),
            _ => {}
        }
        self.first = false;
        let start = self.at;
        expect(self.bytes, start, b'"', "a key")?;
        let end = value_end(self.bytes, start, self.levels)?;
        let key = decode_text(self.bytes, start..end)?;
        let colon = skip_space(self.bytes, end);
        expect(self.bytes, colon, b':', ":")?;
        self.at = skip_space(self.bytes, colon + 1);
        Ok(Some((key, start)))
    }

    /// Moves past the value and returns where it stands.
    pub(crate) fn skip(&mut self) -> Result<Range<usize>, WireError> {
        let start = self.at;
        self.at = value_end(self.bytes, start, self.levels)?;
        Ok(start..self.at)
    }

    /// Enters the value, which is an object. Hand the cursor back to `leave`.
    pub(crate) fn child(&self) -> Result<Self, WireError> {
        Self::enter(self.bytes, self.at, self.levels)
    }

    /// Moves past the value a child has read to its end.
    pub(crate) fn leave(&mut self, child: &Self) {
        self.at = child.at;
    }

    /// Where the cursor stands: after `next_key` at the value, after its `None` behind the object.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The byte at which the value begins.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Moves past a value that is a string or null; null and the empty string are `None`, as Go has it.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<Cow<'a, str>>, WireError> {
        let span = self.skip()?;
        text_at(self.bytes, span, key)
    }
}

/// The string at `span`; null and the empty string are `None`.
pub(crate) fn text_at<'a>(
    bytes: &'a [u8],
    span: Range<usize>,
    key: &'static str,
) -> Result<Option<Cow<'a, str>>, WireError> {
    let start = span.start;
    match &bytes[span.clone()] {
        b"null" => Ok(None),
        [b'"', ..] => Ok(Some(decode_text(bytes, span)?).filter(|text| !text.is_empty())),
        _ => Err(WireError::at(start, WireErrorKind::WrongType { key, expected: "a string" })),
    }
}

/// A place before an element of an array.
#[derive(Debug, Clone)]
pub(crate) struct ArrayCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
    levels: u32,
}

impl<'a> ArrayCursor<'a> {
    /// Enters the array whose `[` is at `at`, `outer` levels deep.
    pub(crate) fn enter(bytes: &'a [u8], at: usize, outer: u32) -> Result<Self, WireError> {
        expect(bytes, at, b'[', "[")?;
        Ok(Self { bytes, at: at + 1, first: true, levels: outer + 1 })
    }

    /// Where the next element stands, or `None` at the end of the array.
    pub(crate) fn next_element(&mut self) -> Result<Option<Range<usize>>, WireError> {
        self.at = skip_space(self.bytes, self.at);
        match self.bytes.get(self.at) {
            Some(b']') => return Ok(None),
            Some(b',') if !self.first => self.at = skip_space(self.bytes, self.at + 1),
            Some(_) if !self.first => return Err(unexpected(self.at, ", or ]")),
            _ => {}
        }
        self.first = false;
        let start = self.at;
        self.at = value_end(self.bytes, start, self.levels)?;
        Ok(Some(start..self.at))
    }
}

/// Succeeds when nothing but whitespace follows `at`.
pub(crate) fn expect_end(bytes: &[u8], at: usize) -> Result<(), WireError> {
    let at = skip_space(bytes, at);
    if at < bytes.len() {
        return Err(WireError::at(at, WireErrorKind::TrailingBytes));
    }
    Ok(())
}

fn decode_text(bytes: &[u8], span: Range<usize>) -> Result<Cow<'_, str>, WireError> {
    text::decode(&bytes[span.start + 1..span.end - 1]).map_err(|error| error.shifted(span.start as u64 + 1))
}

#[inline]
fn expect(bytes: &[u8], at: usize, wanted: u8, expected: &'static str) -> Result<(), WireError> {
    match bytes.get(at) {
        Some(&byte) if byte == wanted => Ok(()),
        Some(_) => Err(unexpected(at, expected)),
        None => Err(WireError::at(bytes.len(), WireErrorKind::Truncated)),
    }
}

#[cold]
fn unexpected(at: usize, expected: &'static str) -> WireError {
    WireError::at(at, WireErrorKind::Unexpected { expected })
}
