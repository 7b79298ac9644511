//! Takes one watch line apart: its type and the bytes of its object.

use bytes::Bytes;

use crate::cursor::{ObjectCursor, expect_end, text_at};
use crate::error::{WireError, WireErrorKind};
use crate::value::skip_space;

/// One line of a watch.
///
/// ```
/// use bytes::Bytes;
/// use informer_wire::{EventKind, WatchEvent};
///
/// let line = Bytes::from_static(br#"{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#);
/// let event = WatchEvent::parse(&line)?;
/// assert_eq!(event.kind, EventKind::Deleted);
/// assert_eq!(&event.object[..], br#"{"metadata":{"name":"a"}}"#);
/// # Ok::<(), informer_wire::WireError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// The object's bytes, a slice of the line: a JSON object, or `null`. For [`EventKind::Error`] a Status;
    /// for [`EventKind::Bookmark`] an object of the watched kind with little more than a resource version.
    pub object: Bytes,
}

/// The `type` of a watch event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
    /// `BOOKMARK`
    Bookmark,
    /// `ERROR`
    Error,
    /// A type we do not know, cut to its first 64 characters: to be passed over, not to be failed for.
    Unknown(String),
}

/// Enough to recognise a type of a later protocol, too little to fill a log.
const UNKNOWN_CHARS: usize = 64;

impl EventKind {
    fn from_wire(text: &str) -> Self {
        match text {
            "ADDED" => Self::Added,
            "MODIFIED" => Self::Modified,
            "DELETED" => Self::Deleted,
            "BOOKMARK" => Self::Bookmark,
            "ERROR" => Self::Error,
            _ => Self::Unknown(text.chars().take(UNKNOWN_CHARS).collect()),
        }
    }
}

impl WatchEvent {
    /// Finds type and object, in either order; other keys are passed over. The object is not decoded.
    ///
    /// # Errors
    ///
    /// What is not the structure of one JSON object; `MissingKey`, `WrongType` or `DuplicateKey` for `type`
    /// and `object`. Offsets count from the start of the line.
    pub fn parse(line: &Bytes) -> Result<Self, WireError> {
        parse(line).map_err(|error| error.within("watch event"))
    }

    /// What [`parse`](Self::parse) finds, if the line looks as servers write it, without looking for the end of the object: that
    /// takes as long as a scan of the object, which is what comes next.
    ///
    /// Only for ADDED, MODIFIED and DELETED. The guess is right if [`ObjectMeta::scan`](crate::ObjectMeta::scan) can read the
    /// object; if it cannot, `parse` may still find another. (`parse` wants one level less of nesting.)
    ///
    /// ```
    /// use bytes::Bytes;
    /// use informer_wire::{ObjectMeta, WatchEvent};
    ///
    /// let line = Bytes::from_static(br#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#);
    /// assert_eq!(WatchEvent::guess(&line), WatchEvent::parse(&line).ok());
    ///
    /// let line = Bytes::from_static(br#"{"type":"ADDED","object":{"metadata":{"name":"a"}},"more":{}}"#);
    /// assert!(ObjectMeta::scan(&WatchEvent::guess(&line).unwrap().object).is_err());
    /// ```
    pub fn guess(line: &Bytes) -> Option<Self> {
        let rest = line.strip_prefix(br#"{"type":""#)?.strip_suffix(b"}")?;
        let usual = [
            (EventKind::Added, &b"ADDED"[..]),
            (EventKind::Modified, b"MODIFIED"),
            (EventKind::Deleted, b"DELETED"),
        ];
        let (kind, rest) =
            usual.into_iter().find_map(|(kind, text)| Some((kind, rest.strip_prefix(text)?)))?;
        let object = rest.strip_prefix(br#"","object":"#)?;
        object.starts_with(b"{").then(|| Self { kind, object: line.slice_ref(object) })
    }
}

fn parse(line: &Bytes) -> Result<WatchEvent, WireError> {
    let mut cursor = ObjectCursor::enter(line, skip_space(line, 0), 0)?;
    let (mut kind, mut object) = (None, None);
    while let Some((key, at)) = cursor.next_key()? {
        let twice = |key| WireError::at(at, WireErrorKind::DuplicateKey { key });
        match &*key {
            "type" => {
                let value = text_at(line, cursor.skip()?, "type")?;
                let value = value.ok_or(WireError::at(at, WireErrorKind::MissingKey { key: "type" }))?;
                if kind.replace(EventKind::from_wire(&value)).is_some() {
                    return Err(twice("type"));
                }
            }
            "object" => {
                let value = cursor.skip()?;
                if line[value.start] != b'{' && &line[value.clone()] != b"null" {
                    let kind = WireErrorKind::WrongType { key: "object", expected: "an object" };
                    return Err(WireError::at(value.start, kind));
                }
                if object.replace(line.slice(value)).is_some() {
                    return Err(twice("object"));
                }
            }
            _ => {
                cursor.skip()?;
            }
        }
    }
    expect_end(line, cursor.at())?;
    let missing = |key| WireError::at(line.len(), WireErrorKind::MissingKey { key });
    Ok(WatchEvent { kind: kind.ok_or(missing("type"))?, object: object.ok_or(missing("object"))? })
}
