//! serde over a reader that parses what is asked for and steps over the rest.
//!
//! What is accepted here has the value that serde_json would give it, if it is valid JSON. Whatever is not accepted, or not
//! understood (serde_json's private protocols for raw values and big numbers), is an error without a message: the caller then
//! asks serde_json, which also has the better words.

use std::borrow::Cow;
use std::fmt;

use informer_wire::{JsonReader, WireError};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The value of the JSON in `bytes`.
pub(crate) fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, NotRead> {
    let mut json = JsonReader::new(bytes);
    let value = T::deserialize(Value(&mut json))?;
    json.end()?;
    Ok(value)
}

/// It is for serde_json to say why.
#[derive(Debug)]
pub(crate) struct NotRead;

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not read")
    }
}

impl std::error::Error for NotRead {}

impl de::Error for NotRead {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

impl From<WireError> for NotRead {
    fn from(_error: WireError) -> Self {
        Self
    }
}

/// The value that comes next.
struct Value<'r, 'de>(&'r mut JsonReader<'de>);

impl<'de> Value<'_, 'de> {
    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        visit_text(self.0.text()?, visitor)
    }

    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        let text = std::str::from_utf8(self.0.skip()?).map_err(|_| NotRead)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.is_empty()
            && (digits.len() == 1 || !digits.starts_with('0'));
        if whole {
            if digits.len() == text.len()
                && let Ok(number) = text.parse()
            {
                return visitor.visit_u64(number);
            }
            // "-0" is a float, to keep its sign.
            if digits != "0"
                && let Ok(number) = text.parse()
            {
                return visitor.visit_i64(number);
            }
        }
        visitor.visit_f64(serde_json::from_str(text).map_err(|_| NotRead)?)
    }

    fn word<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        match self.0.skip()? {
            b"true" => visitor.visit_bool(true),
            b"false" => visitor.visit_bool(false),
            b"null" => visitor.visit_unit(),
            _ => Err(NotRead),
        }
    }
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, NotRead> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

impl<'de> de::Deserializer<'de> for Value<'_, 'de> {
    type Error = NotRead;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        match self.0.peek() {
            Some(b'"') => self.text(visitor),
            Some(b'{') => {
                self.0.enter_object()?;
                let mut entries = Entries(self.0, true);
                let value = visitor.visit_map(&mut entries)?;
                // A visitor that stops early has read what it does not understand.
                if entries.1 { Err(NotRead) } else { Ok(value) }
            }
            Some(b'[') => {
                self.0.enter_array()?;
                let mut elements = Elements(self.0, true);
                let value = visitor.visit_seq(&mut elements)?;
                if elements.1 && elements.0.next_element()? { Err(NotRead) } else { Ok(value) }
            }
            Some(b'-' | b'0'..=b'9') => self.number(visitor),
            _ => self.word(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        match self.0.peek() {
            Some(b'n') => match self.0.skip()? {
                b"null" => visitor.visit_none(),
                _ => Err(NotRead),
            },
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotRead> {
        if name.starts_with("$serde_json::private") {
            return Err(NotRead);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotRead> {
        match self.0.peek() {
            Some(b'"') => visitor.visit_enum(self.0.text()?.into_deserializer()),
            // Variants with contents are rare in Kubernetes: serde_json reads them.
            _ => Err(NotRead),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        self.text(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, NotRead> {
        Err(NotRead)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, NotRead> {
        Err(NotRead)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        self.0.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// The entries of an object, and whether some may be left.
struct Entries<'r, 'de>(&'r mut JsonReader<'de>, bool);

impl<'de> de::MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = NotRead;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, NotRead> {
        match self.0.next_key()? {
            Some(key) => seed.deserialize(Key(key)).map(Some),
            None => {
                self.1 = false;
                Ok(None)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, NotRead> {
        seed.deserialize(Value(self.0))
    }
}

/// The elements of an array, and whether some may be left.
struct Elements<'r, 'de>(&'r mut JsonReader<'de>, bool);

impl<'de> de::SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = NotRead;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, NotRead> {
        if !self.1 || !self.0.next_element()? {
            self.1 = false;
            return Ok(None);
        }
        seed.deserialize(Value(self.0)).map(Some)
    }
}

/// A key of an object.
struct Key<'de>(Cow<'de, str>);

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = NotRead;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        visit_text(self.0, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotRead> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotRead> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotRead> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
