//! Labels and annotations, read where they stand.

use std::borrow::Cow;

use crate::cursor::{ObjectCursor, text_at};
use crate::error::{WireError, WireErrorKind};

/// The entries of `metadata.labels` or `metadata.annotations`, decoded one by one in the order of the bytes.
///
/// Yields nothing when the map is absent or null. A null value is the empty string. A key that stands twice
/// is yielded twice: the last one counts, as in a map. After an error nothing more is yielded.
///
/// ```
/// use informer_wire::ObjectMeta;
///
/// let meta = ObjectMeta::scan(br#"{"metadata":{"name":"a","labels":{"app":"web","tier":"cache"}}}"#)?;
/// let labels = meta.labels().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(labels, [("app".into(), "web".into()), ("tier".into(), "cache".into())]);
/// # Ok::<(), informer_wire::WireError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StringMap<'a> {
    bytes: &'a [u8],
    state: State<'a>,
    words: &'static MapWords,
}

type Entry<'a> = (Cow<'a, str>, Cow<'a, str>);

#[derive(Debug, Clone)]
enum State<'a> {
    Unread(usize),
    Within(ObjectCursor<'a>),
    Done,
}

/// How one kind of map is spoken of in errors.
#[derive(Debug)]
pub(crate) struct MapWords {
    pub(crate) place: &'static str,
    pub(crate) value: &'static str,
}

pub(crate) const LABELS: MapWords = MapWords { place: "labels", value: "label" };
pub(crate) const ANNOTATIONS: MapWords = MapWords { place: "annotations", value: "annotation" };

impl<'a> StringMap<'a> {
    pub(crate) fn new(bytes: &'a [u8], start: Option<usize>, words: &'static MapWords) -> Self {
        Self { bytes, state: start.map_or(State::Done, State::Unread), words }
    }

    fn read(&mut self) -> Result<Option<Entry<'a>>, WireError> {
        if let State::Unread(start) = self.state {
            if self.bytes[start] != b'{' {
                let kind = WireErrorKind::WrongType { key: self.words.place, expected: "an object" };
                return Err(WireError::at(start, kind));
            }
            // The map stands two levels deep: in metadata, in the object.
            self.state = State::Within(ObjectCursor::enter(self.bytes, start, 2)?);
        }
        let State::Within(cursor) = &mut self.state else {
            return Ok(None);
        };
        let Some((key, _)) = cursor.next_key()? else {
            return Ok(None);
        };
        let value = text_at(self.bytes, cursor.skip()?, self.words.value)?;
        Ok(Some((key, value.unwrap_or_default())))
    }
}

impl<'a> Iterator for StringMap<'a> {
    type Item = Result<(Cow<'a, str>, Cow<'a, str>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.read().map_err(|error| error.within(self.words.place)).transpose();
        if !matches!(entry, Some(Ok(_))) {
            self.state = State::Done;
        }
        entry
    }
}
