//! The objects' value, and what the index functions say of it.

use std::ops::Range;
use std::sync::Arc;

use informer_core::IndexValues;

use crate::mutant::Mutant;

/// What an object is to the simulation: its own identity, so that the checkers need not trust the envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    pub(crate) uid: u64,
    pub(crate) version: u64,
    pub(crate) content: u64,
}

pub(crate) fn uid_text(uid: u64) -> String {
    format!("u{uid}")
}

/// What one index function says: one value, several, or sometimes none.
pub(crate) fn values(value: &Value, index: usize) -> Box<[Arc<str>]> {
    let content = value.content;
    match index {
        0 => [format!("m{}", content % 3).into()].into(),
        1 if content.is_multiple_of(4) => [].into(),
        1 => [format!("a{}", content % 2).into(), format!("b{}", content % 5).into()].into(),
        _ => [format!("i{index}-{}", content % 4).into()].into(),
    }
}

/// What these index functions say.
pub(crate) fn index_values(value: &Value, indices: Range<usize>, mutant: Option<Mutant>) -> IndexValues {
    let wrong = mutant == Some(Mutant::WrongIndexValues) && value.version.is_multiple_of(5);
    let value = Value { content: value.content + u64::from(wrong), ..*value };
    indices.map(|index| values(&value, index)).collect()
}
