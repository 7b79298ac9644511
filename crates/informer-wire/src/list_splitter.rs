//! Cuts a list body into the elements of its `items`.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::cursor::{ObjectCursor, text_at};
use crate::error::{WireError, WireErrorKind};
use crate::limits::Limits;
use crate::text;
use crate::value::{ValueScanner, is_space};

/// Splits a list body, pushed as it arrives, into the raw JSON of its items.
///
/// Keys may stand in any order, the body may be indented, `items` may be absent, null or empty; keys called
/// `items` or `metadata` elsewhere mean nothing. An element may be any JSON value: what is no object fails
/// when it is scanned, without failing the list. An item that lies within one chunk is a slice of it and
/// keeps the chunk alive: decode it, then drop it.
///
/// Memory held: the chunks not yet read, one unfinished item of at most `item_bytes` (its buffer doubles as
/// it grows, so up to twice that), and the list's metadata of at most `metadata_bytes`. Other top-level
/// values are passed over without being held.
///
/// A body that is no list (a Status, a Table, a stray answer of a proxy) has no items: look at
/// [`kind`](Self::kind) or [`ListEnd::kind`] before believing that everything is gone.
///
/// After an error every call returns that error.
///
/// ```
/// use bytes::Bytes;
/// use informer_wire::{Limits, ListSplitter};
///
/// let mut list = ListSplitter::new(Limits::default());
/// let mut items = Vec::new();
/// for chunk in [r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"ite"#, r#"ms":[{"a":1},{"b":2}]}"#]
/// { list.push(Bytes::from(chunk)); while let Some(item) = list.next_item()? { items.push(item); } } let end
/// = list.finish()?; assert_eq!(items, [r#"{"a":1}"#, r#"{"b":2}"#]);
/// assert_eq!(end.resource_version.as_deref(), Some("7"));
/// # Ok::<(), informer_wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct ListSplitter {
    limits: Limits,
    chunks: VecDeque<Bytes>,
    chunk: Bytes,
    /// Offset in `chunk` of the next byte to read.
    at: usize,
    /// Bytes of the body before `chunk`.
    chunk_start: u64,
    expect: Expect,
    reading: Option<Reading>,
    /// The captured part of `reading` that stood in chunks that are gone.
    carry: Vec<u8>,
    /// The top-level key whose value comes next.
    key: Key,
    seen: u8,
    metadata_start: u64,
    metadata: Bytes,
    end: ListEnd,
    failed: Option<WireError>,
}

/// What a list says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListEnd {
    /// `metadata.resourceVersion`, unless absent or empty.
    pub resource_version: Option<String>,
    /// `metadata.continue`: there is another page.
    pub continue_token: Option<String>,
    /// `metadata.remainingItemCount`: how many items the other pages have, if the server knows.
    pub remaining_item_count: Option<u64>,
    /// Top-level `kind`: `PodList`; or `Status`, `Table` for what is no list.
    pub kind: Option<String>,
    /// Top-level `apiVersion`.
    pub api_version: Option<String>,
    /// How many items were split off.
    pub items: u64,
}

/// What may come next at the top level or between items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Object,
    FirstKey,
    Key,
    Colon,
    Value,
    CommaOrEnd,
    FirstItem,
    Item,
    CommaOrItemsEnd,
    End,
}

/// A value that has been read in part.
#[derive(Debug)]
struct Reading {
    scanner: ValueScanner,
    what: Captured,
    start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Captured {
    Key,
    Value,
    Item,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Items = 1,
    Metadata = 2,
    Kind = 4,
    ApiVersion = 8,
    Other = 0,
}

impl ListSplitter {
    /// Splits with the given limits (`item_bytes` and `metadata_bytes` are used).
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            chunks: VecDeque::new(),
            chunk: Bytes::new(),
            at: 0,
            chunk_start: 0,
            expect: Expect::Object,
            reading: None,
            carry: Vec::new(),
            key: Key::Other,
            seen: 0,
            metadata_start: 0,
            metadata: Bytes::new(),
            end: ListEnd::default(),
            failed: None,
        }
    }

    /// Adds the next bytes of the body. Take all items before pushing more: what is pushed is kept until
    /// then.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() && self.failed.is_none() {
            self.chunks.push_back(chunk);
        }
    }

    /// The raw JSON of the next element of `items`; `None` when more bytes are needed.
    ///
    /// # Errors
    ///
    /// `TooLong`, `TooDeep`, or what is not the structure of one JSON object with an array, or null, for
    /// `items`.
    pub fn next_item(&mut self) -> Result<Option<Bytes>, WireError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let item = self.read();
        if let Err(error) = &item {
            self.failed = Some(error.clone());
            self.chunks.clear();
            self.chunk = Bytes::new();
            self.carry = Vec::new();
            self.metadata = Bytes::new();
        }
        item
    }

    /// Top-level `kind`, once it has been read: servers send it first.
    pub fn kind(&self) -> Option<&str> {
        self.end.kind.as_deref()
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// `Truncated` if the body is not complete, `Undrained` if items were left to take, and what is wrong
    /// with the list's metadata.
    pub fn finish(mut self) -> Result<ListEnd, WireError> {
        if self.next_item()?.is_some() {
            return Err(self.error(WireErrorKind::Undrained));
        }
        if self.expect != Expect::End {
            return Err(self.error(WireErrorKind::Truncated));
        }
        if !self.metadata.is_empty() {
            read_metadata(&self.metadata, &mut self.end)
                .map_err(|error| error.within("list metadata").shifted(self.metadata_start))?;
        }
        Ok(self.end)
    }

    fn read(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            if self.at == self.chunk.len() && !self.load() {
                return Ok(None);
            }
            if self.reading.is_some() {
                if let Some(item) = self.read_on()? {
                    return Ok(Some(item));
                }
            } else if is_space(self.chunk[self.at]) {
                self.at += 1;
            } else {
                self.read_byte()?;
            }
        }
    }

    fn load(&mut self) -> bool {
        let Some(next) = self.chunks.pop_front() else {
            // Do not keep a chunk alive for having read it.
            self.chunk_start += self.chunk.len() as u64;
            self.chunk = Bytes::new();
            self.at = 0;
            return false;
        };
        self.chunk_start += self.chunk.len() as u64;
        self.chunk = next;
        self.at = 0;
        true
    }

    /// Reads one byte that is not whitespace and stands outside of keys and values.
    fn read_byte(&mut self) -> Result<(), WireError> {
        let byte = self.chunk[self.at];
        let (next, expected) = match (self.expect, byte) {
            (Expect::Object, b'{') => (Expect::FirstKey, ""),
            (Expect::Object, _) => (Expect::End, "{"),
            (Expect::FirstKey, b'}') | (Expect::CommaOrEnd, b'}') => (Expect::End, ""),
            (Expect::FirstKey | Expect::Key, b'"') => return self.begin(Captured::Key),
            (Expect::FirstKey | Expect::Key, _) => (Expect::End, "a key"),
            (Expect::Colon, b':') => (Expect::Value, ""),
            (Expect::Colon, _) => (Expect::End, ":"),
            (Expect::Value, b'[') if self.key == Key::Items => (Expect::FirstItem, ""),
            (Expect::Value, _) if self.key == Key::Other => return self.begin(Captured::Nothing),
            (Expect::Value, _) => return self.begin(Captured::Value),
            (Expect::CommaOrEnd, b',') => (Expect::Key, ""),
            (Expect::CommaOrEnd, _) => (Expect::End, ", or }"),
            (Expect::FirstItem, b']') | (Expect::CommaOrItemsEnd, b']') => (Expect::CommaOrEnd, ""),
            (Expect::FirstItem | Expect::Item, _) => return self.begin(Captured::Item),
            (Expect::CommaOrItemsEnd, b',') => (Expect::Item, ""),
            (Expect::CommaOrItemsEnd, _) => (Expect::End, ", or ]"),
            (Expect::End, _) => return Err(self.error(WireErrorKind::TrailingBytes)),
        };
        if !expected.is_empty() {
            return Err(self.error(WireErrorKind::Unexpected { expected }));
        }
        self.expect = next;
        self.at += 1;
        Ok(())
    }

    fn begin(&mut self, what: Captured) -> Result<(), WireError> {
        // An item is a document of its own, everything else stands in the list's object.
        let outer = u32::from(what != Captured::Item);
        let scanner = ValueScanner::new(self.chunk[self.at], outer).map_err(|kind| self.error(kind))?;
        self.reading = Some(Reading { scanner, what, start: self.offset() });
        Ok(())
    }

    /// Reads on in a key or value; returns it if it is an item and complete.
    fn read_on(&mut self) -> Result<Option<Bytes>, WireError> {
        let Some(reading) = &mut self.reading else {
            return Ok(None);
        };
        let (what, start) = (reading.what, reading.start);
        let place = if what == Captured::Item { "list item" } else { "list" };
        let limit = match what {
            Captured::Item => self.limits.item_bytes,
            Captured::Key | Captured::Value => self.limits.metadata_bytes,
            Captured::Nothing => usize::MAX,
        };
        let base = self.chunk_start + self.at as u64;
        let rest = &self.chunk[self.at..];
        // No further than one byte past the limit: which error comes first must not depend on the chunks.
        let room = (limit - self.carry.len()).saturating_add(1).min(rest.len());
        let rest = &rest[..room];
        let end = reading.scanner.advance(rest).map_err(|error| error.within(place).shifted(base))?;
        let len = end.unwrap_or(rest.len());
        if len > limit - self.carry.len() {
            return Err(WireError::at(0, WireErrorKind::TooLong { limit }).within(place).shifted(start));
        }
        if what != Captured::Nothing && (end.is_none() || !self.carry.is_empty()) {
            self.carry.extend_from_slice(&rest[..len]);
        }
        let from = self.at;
        self.at += len;
        if end.is_none() {
            return Ok(None);
        }
        self.reading = None;
        let captured = if self.carry.is_empty() {
            self.chunk.slice(from..self.at)
        } else {
            Bytes::from(std::mem::take(&mut self.carry))
        };
        self.complete(what, captured, start)
    }

    fn complete(&mut self, what: Captured, bytes: Bytes, start: u64) -> Result<Option<Bytes>, WireError> {
        let placed = |error: WireError| error.within("list").shifted(start);
        match what {
            Captured::Item => {
                self.expect = Expect::CommaOrItemsEnd;
                self.end.items += 1;
                return Ok(Some(bytes));
            }
            Captured::Key => {
                self.expect = Expect::Colon;
                self.key = self.known_key(&bytes).map_err(placed)?;
            }
            Captured::Value => {
                self.expect = Expect::CommaOrEnd;
                self.known_value(&bytes, start).map_err(placed)?;
            }
            Captured::Nothing => self.expect = Expect::CommaOrEnd,
        }
        Ok(None)
    }

    fn known_key(&mut self, quoted: &[u8]) -> Result<Key, WireError> {
        let key = text::decode(&quoted[1..quoted.len() - 1]).map_err(|error| error.shifted(1))?;
        let (key, name) = match &*key {
            "items" => (Key::Items, "items"),
            "metadata" => (Key::Metadata, "metadata"),
            "kind" => (Key::Kind, "kind"),
            "apiVersion" => (Key::ApiVersion, "apiVersion"),
            _ => (Key::Other, ""),
        };
        if self.seen & key as u8 != 0 {
            return Err(WireError::at(0, WireErrorKind::DuplicateKey { key: name }));
        }
        self.seen |= key as u8;
        Ok(key)
    }

    fn known_value(&mut self, value: &[u8], start: u64) -> Result<(), WireError> {
        let wrong = |key, expected| Err(WireError::at(0, WireErrorKind::WrongType { key, expected }));
        let null = value == b"null";
        match self.key {
            Key::Items if !null => return wrong("items", "an array"),
            Key::Metadata if !null && value[0] != b'{' => return wrong("metadata", "an object"),
            Key::Metadata if !null => {
                // Copied, so that it does not keep its chunk alive until the end.
                self.metadata = Bytes::copy_from_slice(value);
                self.metadata_start = start;
            }
            Key::Kind => self.end.kind = owned_text(value, 0..value.len(), "kind")?,
            Key::ApiVersion => self.end.api_version = owned_text(value, 0..value.len(), "apiVersion")?,
            Key::Items | Key::Metadata | Key::Other => {}
        }
        Ok(())
    }

    fn offset(&self) -> u64 {
        self.chunk_start + self.at as u64
    }

    fn error(&self, kind: WireErrorKind) -> WireError {
        WireError::at(0, kind).within("list").shifted(self.offset())
    }
}

fn read_metadata(bytes: &[u8], end: &mut ListEnd) -> Result<(), WireError> {
    let mut cursor = ObjectCursor::enter(bytes, 0, 1)?;
    let mut seen = [false; 3];
    while let Some((key, at)) = cursor.next_key()? {
        let (index, name) = match &*key {
            "resourceVersion" => (0, "resourceVersion"),
            "continue" => (1, "continue"),
            "remainingItemCount" => (2, "remainingItemCount"),
            _ => {
                cursor.skip()?;
                continue;
            }
        };
        if std::mem::replace(&mut seen[index], true) {
            return Err(WireError::at(at, WireErrorKind::DuplicateKey { key: name }));
        }
        let value = cursor.skip()?;
        match index {
            0 => end.resource_version = owned_text(bytes, value, name)?,
            1 => end.continue_token = owned_text(bytes, value, name)?,
            _ => end.remaining_item_count = count_at(bytes, value, name)?,
        }
    }
    Ok(())
}

fn owned_text(
    bytes: &[u8],
    span: std::ops::Range<usize>,
    key: &'static str,
) -> Result<Option<String>, WireError> {
    Ok(text_at(bytes, span, key)?.map(|text| text.into_owned()))
}

fn count_at(bytes: &[u8], span: std::ops::Range<usize>, key: &'static str) -> Result<Option<u64>, WireError> {
    let value = &bytes[span.clone()];
    if value == b"null" {
        return Ok(None);
    }
    let count = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
    let kind = WireErrorKind::WrongType { key, expected: "a count" };
    count.ok_or(WireError::at(span.start, kind)).map(Some)
}
