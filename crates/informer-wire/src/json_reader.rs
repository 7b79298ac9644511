//! Reads the values of a JSON text that are wanted, and steps over the others.

use std::borrow::Cow;

use crate::error::{WireError, WireErrorKind};
use crate::limits::DEPTH_LIMIT;
use crate::text;
use crate::value::{skip_space, value_end};

/// A place in a complete JSON text, moved forward by whoever knows what is wanted.
///
/// Of a value that is skipped only brackets and strings are looked at, 64 bytes at a time: that costs a tenth of parsing
/// it, and its insides are not validated. What is read is: its strings, the commas and colons around it.
///
/// Call [`next_key`](Self::next_key) after [`enter_object`](Self::enter_object), and
/// [`next_element`](Self::next_element) after [`enter_array`](Self::enter_array), until they answer no; after each yes
/// read, enter or skip one value. Other orders give errors, not panics.
///
/// ```
/// use informer_wire::JsonReader;
///
/// let mut json = JsonReader::new(br#"{"spec":{"large":[1,2,3]},"status":{"phase":"Running"}}"#);
/// json.enter_object()?;
/// assert_eq!(json.next_key()?.as_deref(), Some("spec"));
/// assert_eq!(json.skip()?, br#"{"large":[1,2,3]}"#);
/// assert_eq!(json.next_key()?.as_deref(), Some("status"));
/// json.enter_object()?;
/// assert_eq!(json.next_key()?.as_deref(), Some("phase"));
/// assert_eq!(json.text()?, "Running");
/// assert_eq!(json.next_key()?, None);
/// assert_eq!(json.next_key()?, None);
/// json.end()?;
/// # Ok::<(), informer_wire::WireError>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonReader<'a> {
    bytes: &'a [u8],
    at: usize,
    levels: u32,
    /// Whether the innermost object or array has just been entered.
    first: bool,
}

impl<'a> JsonReader<'a> {
    /// A reader before the one value that `bytes` holds.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: skip_space(bytes, 0), levels: 0, first: false }
    }

    /// The first byte of the value that comes next.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Where the reader stands.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Steps over the value and returns its bytes.
    ///
    /// # Errors
    /// If no value is here, or its brackets or quotes are not closed.
    #[inline]
    pub fn skip(&mut self) -> Result<&'a [u8], WireError> {
        let start = self.at;
        self.at = value_end(self.bytes, start, self.levels)?;
        self.first = false;
        Ok(&self.bytes[start..self.at])
    }

    /// Reads a string.
    ///
    /// # Errors
    /// If the value is none, or has bad escapes, control characters or invalid UTF-8.
    #[inline]
    pub fn text(&mut self) -> Result<Cow<'a, str>, WireError> {
        let start = self.at;
        self.expect(b'"', "a string")?;
        let raw = self.skip()?;
        text::decode(&raw[1..raw.len() - 1]).map_err(|error| error.shifted(start as u64 + 1))
    }

    /// Goes into the object that comes next.
    ///
    /// # Errors
    /// If none is here, or it stands too deep.
    #[inline]
    pub fn enter_object(&mut self) -> Result<(), WireError> {
        self.enter(b'{', "{")
    }

    /// Goes into the array that comes next.
    ///
    /// # Errors
    /// If none is here, or it stands too deep.
    #[inline]
    pub fn enter_array(&mut self) -> Result<(), WireError> {
        self.enter(b'[', "[")
    }

    /// The next key, its value being what comes next; `None` after the last one: the object is left.
    ///
    /// # Errors
    /// If a key, comma, colon or the end of the object is missing.
    #[inline]
    pub fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, WireError> {
        if !self.next(b'}', ", or }")? {
            return Ok(None);
        }
        let key = self.text()?;
        self.at = skip_space(self.bytes, self.at);
        self.expect(b':', ":")?;
        self.at = skip_space(self.bytes, self.at + 1);
        Ok(Some(key))
    }

    /// Whether another element comes next; if not, the array is left.
    ///
    /// # Errors
    /// If a comma or the end of the array is missing.
    #[inline]
    pub fn next_element(&mut self) -> Result<bool, WireError> {
        self.next(b']', ", or ]")
    }

    /// Checks that nothing follows.
    ///
    /// # Errors
    /// If anything but whitespace does, or an object or array has not been left.
    pub fn end(&self) -> Result<(), WireError> {
        let at = skip_space(self.bytes, self.at);
        match (at < self.bytes.len(), self.levels) {
            (true, _) => Err(WireError::at(at, WireErrorKind::TrailingBytes)),
            (false, 0) => Ok(()),
            (false, _) => Err(WireError::at(at, WireErrorKind::Truncated)),
        }
    }

    #[inline]
    fn enter(&mut self, bracket: u8, expected: &'static str) -> Result<(), WireError> {
        self.expect(bracket, expected)?;
        if self.levels == DEPTH_LIMIT {
            return Err(WireError::at(self.at, WireErrorKind::TooDeep { limit: DEPTH_LIMIT }));
        }
        self.at += 1;
        self.levels += 1;
        self.first = true;
        Ok(())
    }

    #[inline]
    fn next(&mut self, close: u8, expected: &'static str) -> Result<bool, WireError> {
        self.at = skip_space(self.bytes, self.at);
        let first = std::mem::replace(&mut self.first, false);
        match self.bytes.get(self.at) {
            Some(&byte) if byte == close => {
                self.at += 1;
                self.levels = self.levels.saturating_sub(1);
                Ok(false)
            }
            Some(b',') if !first => {
                self.at = skip_space(self.bytes, self.at + 1);
                Ok(true)
            }
            Some(_) if first => Ok(true),
            Some(_) => Err(WireError::at(self.at, WireErrorKind::Unexpected { expected })),
            None => Err(WireError::at(self.bytes.len(), WireErrorKind::Truncated)),
        }
    }

    #[inline]
    fn expect(&self, wanted: u8, expected: &'static str) -> Result<(), WireError> {
        match self.peek() {
            Some(byte) if byte == wanted => Ok(()),
            Some(_) => Err(WireError::at(self.at, WireErrorKind::Unexpected { expected })),
            None => Err(WireError::at(self.bytes.len(), WireErrorKind::Truncated)),
        }
    }
}
