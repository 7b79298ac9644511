//! One object's bytes on the way to being decoded, and why they could not be.

use std::fmt;

use informer_wire::ObjectMeta;
use serde::de::DeserializeOwned;

use crate::on_demand;
use crate::scratch::ParserBuffers;

/// The JSON of one object, identified but not yet decoded.
pub struct RawObject<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) meta: &'a ObjectMeta<'a>,
    pub(crate) keep_managed_fields: bool,
    /// Reused from object to object: the SIMD parser writes into its input.
    pub(crate) scratch: &'a mut Vec<u8>,
    pub(crate) buffers: &'a mut ParserBuffers,
}

impl RawObject<'_> {
    /// The object as a `T`, without `metadata.managedFields` unless they are to be kept.
    ///
    /// # Errors
    /// If the JSON does not fit `T`.
    pub fn decode<T: DeserializeOwned>(&mut self) -> Result<T, DecodeError> {
        let Self { bytes, meta, keep_managed_fields, .. } = *self;
        fill(bytes, meta, keep_managed_fields, self.scratch);
        parse(self.scratch, self.buffers, &mut |scratch| fill(bytes, meta, keep_managed_fields, scratch))
    }

    /// The same for a `T` that has few of the object's fields: the others are stepped over, without being validated.
    ///
    /// # Errors
    /// If the JSON does not fit `T`.
    pub fn decode_few<T: DeserializeOwned>(&mut self) -> Result<T, DecodeError> {
        self.fill_scratch();
        on_demand::from_slice(self.scratch).or_else(|_not_read| {
            serde_json::from_slice(self.scratch).map_err(|error| DecodeError::from_serde(&error))
        })
    }

    /// The bytes as they came, managedFields and all.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    pub(crate) fn fill_scratch(&mut self) {
        fill(self.bytes, self.meta, self.keep_managed_fields, self.scratch);
    }
}

fn fill(bytes: &[u8], meta: &ObjectMeta<'_>, keep_managed_fields: bool, scratch: &mut Vec<u8>) {
    scratch.clear();
    if keep_managed_fields {
        scratch.extend_from_slice(bytes);
    } else {
        meta.extend_without_managed_fields(scratch);
    }
}

/// Decodes the JSON in a buffer, which is overwritten meanwhile, and may have to be filled with the same again.
#[cfg_attr(
    not(feature = "simd"),
    expect(unused_variables, clippy::ptr_arg, reason = "only simd-json writes")
)]
pub(crate) fn parse<T: DeserializeOwned>(
    json: &mut Vec<u8>,
    buffers: &mut ParserBuffers,
    refill: &mut dyn FnMut(&mut Vec<u8>),
) -> Result<T, DecodeError> {
    #[cfg(feature = "simd")]
    if let Ok(value) = simd_json::serde::from_slice_with_buffers(json, buffers) {
        return Ok(value);
    } else {
        // serde_json has the last word, and the better message. The SIMD parser has overwritten its input.
        refill(json);
    }
    serde_json::from_slice(json).map_err(|error| DecodeError::from_serde(&error))
}

/// Why an object could not be decoded. The text is free of the object's values, which may be secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    message: String,
    damaged: bool,
}

impl DecodeError {
    /// An error with this message, which must not contain values of the object.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), damaged: false }
    }

    #[cfg(feature = "packed")]
    pub(crate) fn damaged() -> Self {
        Self { message: "the packed object is damaged".into(), damaged: true }
    }

    /// Whether the object, when it was read from a packed cache, was not what had been put there: the memory is faulty.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// serde's messages quote the offending value: only what comes from the Rust type is kept.
    pub(crate) fn from_serde(error: &serde_json::Error) -> Self {
        let place = match error.column() {
            0 => String::new(),
            column => format!(" at byte {column} of line {}", error.line()),
        };
        let what = match error.classify() {
            serde_json::error::Category::Data => value_free(&error.to_string()),
            serde_json::error::Category::Syntax => "not valid JSON".into(),
            serde_json::error::Category::Eof => "ends too early".into(),
            serde_json::error::Category::Io => "cannot be read".into(),
        };
        Self::new(format!("{what}{place}"))
    }
}

/// Keeps of serde's standard sentences what the Rust type says, and drops what the data says.
fn value_free(message: &str) -> String {
    // These name only fields of the type.
    for safe in ["missing field `", "duplicate field `"] {
        if let Some(rest) = message.strip_prefix(safe)
            && let Some((field, _)) = rest.split_once('`')
        {
            return format!("{safe}{field}`");
        }
    }
    for kind in ["invalid type", "invalid value", "invalid length", "unknown variant", "unknown field"] {
        if message.starts_with(kind) {
            // The last one, since the value may contain these words; what follows is the type's own, but for the place.
            let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
            let expected = expected.map(|text| text.rsplit_once(" at line ").map_or(text, |(text, _)| text));
            return expected
                .map_or_else(|| kind.to_owned(), |expected| format!("{kind}, expected {expected}"));
        }
    }
    "the data does not fit the type".into()
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;

    use super::*;

    fn error_of(json: &str) -> String {
        DecodeError::from_serde(&serde_json::from_str::<Secret>(json).err().unwrap()).to_string()
    }

    #[test]
    fn messages_name_what_was_expected_and_never_the_value() {
        assert_eq!(
            error_of(r#"{"immutable":"hunter2"}"#),
            "invalid type, expected a boolean at byte 22 of line 1"
        );
        assert_eq!(
            error_of(r#"{"data":"hunter2, expected x"}"#),
            "invalid type, expected a map at byte 29 of line 1"
        );
        let hunted = error_of(r#"{"data":{"a":"hunter2!"}}"#);
        assert!(!hunted.contains("hunter2"), "{hunted}");
    }
}
