//! Fields of packed objects that can be read without unpacking.

use std::sync::Arc;

use informer_wire::{JsonReader, WireError};

use crate::format::texts::TextsWriter;
use crate::raw_object::DecodeError;

/// JSON pointers, in the order in which their values are stored.
#[derive(Clone, Default)]
pub(super) struct Paths(Arc<[Path]>);

#[derive(Clone)]
struct Path {
    pointer: Box<str>,
    segments: Box<[Box<str>]>,
}

/// Before a value that is there, so that an empty one is not taken for none.
const THERE: char = '=';

impl Paths {
    /// These and one more.
    pub(super) fn with(&self, pointer: &str) -> Self {
        if self.position(pointer).is_some() {
            return self.clone();
        }
        // RFC 6901, 4: first ~1, then ~0.
        let segment = |segment: &str| segment.replace("~1", "/").replace("~0", "~").into();
        let segments = pointer.split('/').skip(1).map(segment).collect();
        let path = Path { pointer: pointer.into(), segments };
        Self(self.0.iter().cloned().chain([path]).collect())
    }

    pub(super) fn position(&self, pointer: &str) -> Option<usize> {
        self.0.iter().position(|path| &*path.pointer == pointer)
    }

    /// The values in an object's JSON.
    pub(super) fn read(&self, json: &[u8]) -> Result<Box<str>, DecodeError> {
        if self.0.is_empty() {
            return Ok(Box::default());
        }
        let mut writer = TextsWriter::new(Vec::new());
        for path in self.0.iter() {
            let value = find(json, &path.segments).map_err(|error| DecodeError::new(error.to_string()))?;
            writer.text(&value.map(|value| format!("{THERE}{value}")).unwrap_or_default());
        }
        Ok(writer.as_str().into())
    }
}

fn find(json: &[u8], segments: &[Box<str>]) -> Result<Option<String>, WireError> {
    let mut reader = JsonReader::new(json);
    for segment in segments {
        let found = match reader.peek() {
            Some(b'{') => find_key(&mut reader, segment)?,
            Some(b'[') => find_element(&mut reader, segment)?,
            _ => false,
        };
        if !found {
            return Ok(None);
        }
    }
    Ok(match reader.peek() {
        Some(b'"') => Some(reader.text()?.into_owned()),
        Some(b'{' | b'[' | b'n') => None,
        _ => std::str::from_utf8(reader.skip()?).ok().map(str::to_owned),
    })
}

fn find_key(reader: &mut JsonReader<'_>, wanted: &str) -> Result<bool, WireError> {
    reader.enter_object()?;
    while let Some(key) = reader.next_key()? {
        if key == wanted {
            return Ok(true);
        }
        reader.skip()?;
    }
    Ok(false)
}

fn find_element(reader: &mut JsonReader<'_>, wanted: &str) -> Result<bool, WireError> {
    let Ok(wanted) = wanted.parse::<usize>() else { return Ok(false) };
    reader.enter_array()?;
    for _ in 0..wanted {
        if !reader.next_element()? {
            return Ok(false);
        }
        reader.skip()?;
    }
    reader.next_element()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::format::texts::Texts;

    #[test]
    fn pointers_find_what_serde_json_finds() {
        let json = r#"{"spec":{"nodeName":"n1","a/b":{"m~n":""},"list":[{"x":1},true,-2.5e1,null,"é\n"]},"":{"":"empty"},"z":{}}"#;
        let value: Value = serde_json::from_str(json).unwrap();
        let pointers = [
            "/spec/nodeName",
            "/spec/a~1b/m~0n",
            "/spec/list/0/x",
            "/spec/list/1",
            "/spec/list/2",
            "/spec/list/3",
            "/spec/list/4",
            "/spec/list/5",
            "/spec/list/x",
            "/spec/list",
            "/spec/nodeName/x",
            "/none",
            "/z/z",
            "",
            "//",
            "/",
        ];
        let paths = pointers.iter().fold(Paths::default(), |paths, pointer| paths.with(pointer));
        assert_eq!(paths.with("/none").0.len(), pointers.len());
        let stored = paths.read(json.as_bytes()).unwrap();
        let mut stored = Texts::new(&stored);
        for pointer in pointers {
            let want = match value.pointer(pointer) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Number(_)) if pointer == "/spec/list/2" => Some("-2.5e1".to_owned()),
                Some(scalar @ (Value::Number(_) | Value::Bool(_))) => Some(scalar.to_string()),
                _ => None,
            };
            assert_eq!(stored.text().strip_prefix(THERE), want.as_deref(), "{pointer}");
        }
    }
}
