//! The metadata that is neither identity nor a map: finalizers, times, generation.

use std::borrow::Cow;

use crate::error::{WireError, WireErrorKind};
use crate::json_reader::JsonReader;
use crate::object_meta::ObjectMeta;

/// Where the values of these begin, if they are there and not null.
#[derive(Debug, Clone, Default)]
pub(crate) struct RestOfMetadata {
    pub(crate) creation_timestamp: Option<usize>,
    pub(crate) deletion_timestamp: Option<usize>,
    pub(crate) finalizers: Option<usize>,
    pub(crate) generation: Option<usize>,
}

impl RestOfMetadata {
    /// The place for the start of this key's value, if the key is one of these.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Option<usize>> {
        match key {
            "creationTimestamp" => Some(&mut self.creation_timestamp),
            "deletionTimestamp" => Some(&mut self.deletion_timestamp),
            "finalizers" => Some(&mut self.finalizers),
            "generation" => Some(&mut self.generation),
            _ => None,
        }
    }
}

impl<'a> ObjectMeta<'a> {
    /// When the object was created, as the server wrote it (RFC 3339).
    ///
    /// # Errors
    ///
    /// If it is not a string.
    pub fn creation_timestamp(&self) -> Result<Option<Cow<'a, str>>, WireError> {
        self.text(self.rest.creation_timestamp, "creationTimestamp")
    }

    /// When deletion was asked for, as the server wrote it (RFC 3339).
    ///
    /// # Errors
    ///
    /// If it is not a string.
    pub fn deletion_timestamp(&self) -> Result<Option<Cow<'a, str>>, WireError> {
        self.text(self.rest.deletion_timestamp, "deletionTimestamp")
    }

    /// The generation of the desired state.
    ///
    /// # Errors
    ///
    /// If it is not a whole number.
    pub fn generation(&self) -> Result<Option<i64>, WireError> {
        let Some(start) = self.rest.generation else { return Ok(None) };
        let digits = JsonReader::new(&self.bytes[start..]).skip()?;
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.map(Some).ok_or_else(|| wrong_type(start, "generation", "a whole number"))
    }

    /// The finalizers, decoded one by one.
    pub fn finalizers(&self) -> Finalizers<'a> {
        match self.rest.finalizers {
            None => Finalizers { base: 0, state: State::Done },
            Some(start) => {
                Finalizers { base: start, state: State::Unread(JsonReader::new(&self.bytes[start..])) }
            }
        }
    }

    fn text(&self, start: Option<usize>, key: &'static str) -> Result<Option<Cow<'a, str>>, WireError> {
        let Some(start) = start else { return Ok(None) };
        let mut value = JsonReader::new(&self.bytes[start..]);
        if value.peek() != Some(b'"') {
            return Err(wrong_type(start, key, "a string"));
        }
        value.text().map(Some).map_err(|error| error.shifted(start as u64).within("object"))
    }
}

/// The elements of `metadata.finalizers`, decoded one by one.
///
/// Yields nothing when the array is absent or null. After an error nothing more is yielded.
#[derive(Debug, Clone)]
pub struct Finalizers<'a> {
    /// Where the array begins.
    base: usize,
    state: State<'a>,
}

#[derive(Debug, Clone)]
enum State<'a> {
    Unread(JsonReader<'a>),
    Within(JsonReader<'a>),
    Done,
}

impl<'a> Finalizers<'a> {
    fn read(&mut self) -> Result<Option<Cow<'a, str>>, WireError> {
        if let State::Unread(array) = &mut self.state {
            array.enter_array()?;
            self.state = State::Within(array.clone());
        }
        let State::Within(array) = &mut self.state else { return Ok(None) };
        if array.next_element()? { array.text().map(Some) } else { Ok(None) }
    }
}

impl<'a> Iterator for Finalizers<'a> {
    type Item = Result<Cow<'a, str>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let base = self.base as u64;
        let finalizer = self.read().map_err(|error| error.shifted(base).within("object")).transpose();
        if !matches!(finalizer, Some(Ok(_))) {
            self.state = State::Done;
        }
        finalizer
    }
}

fn wrong_type(start: usize, key: &'static str, expected: &'static str) -> WireError {
    WireError::at(start, WireErrorKind::WrongType { key, expected }).within("object")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(metadata: &str) -> ObjectMeta<'static> {
        let object = format!(r#"{{"metadata":{{"name":"a",{metadata}}}}}"#);
        ObjectMeta::scan(object.leak().as_bytes()).unwrap()
    }

    #[test]
    fn times_generation_and_finalizers_are_read_where_they_stand() {
        let meta = scan(
            r#""creationTimestamp":"2026-11-29T15:12:16Z","generation":-7,"finalizers":["a","b\n"],"deletionTimestamp":null"#,
        );
        assert_eq!(meta.creation_timestamp().unwrap().as_deref(), Some("2026-11-29T15:12:16Z"));
        assert_eq!((meta.deletion_timestamp(), meta.is_deleting()), (Ok(None), false));
        assert_eq!(meta.generation(), Ok(Some(-7)));
        assert_eq!(meta.finalizers().collect::<Result<Vec<_>, _>>().unwrap(), ["a", "b\n"]);
        let none = scan(r#""generation":null"#);
        assert_eq!((none.generation(), none.finalizers().count()), (Ok(None), 0));
    }

    #[test]
    fn other_types_are_errors_with_a_place() {
        let meta = scan(r#""creationTimestamp":1,"generation":1.5,"finalizers":["a",1]"#);
        assert_eq!(meta.creation_timestamp().unwrap_err().offset(), 44);
        assert!(meta.generation().is_err());
        let finalizers: Vec<_> = meta.finalizers().collect();
        assert_eq!((finalizers.len(), finalizers[0].is_ok(), finalizers[1].is_ok()), (2, true, false));
        assert!(scan(r#""finalizers":{}"#).finalizers().next().unwrap().is_err());
    }
}
