//! Labels and owner references in one small allocation.

use std::collections::BTreeMap;
use std::fmt;

use informer_wire::{ObjectMeta, StringMap, WireError};

use super::Owner;
use super::texts::{Texts, TextsWriter};
use crate::raw_object::{DecodeError, RawObject};

/// Sorted names and values.
#[derive(Clone, Copy)]
pub struct Pairs<'v> {
    count: usize,
    texts: Texts<'v>,
}

impl<'v> Pairs<'v> {
    /// The value of this name. Linear in the number of names.
    pub fn get(&self, name: &str) -> Option<&'v str> {
        self.iter()
            .take_while(|(other, _)| *other <= name)
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'v str, &'v str)> + use<'v> {
        let mut texts = self.texts;
        (0..self.count).map(move |_| (texts.text(), texts.text()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn read(texts: &mut Texts<'v>) -> Self {
        let pairs = Self { count: texts.number(), texts: *texts };
        for _ in 0..pairs.count {
            let _ = (texts.text(), texts.text());
        }
        pairs
    }

    /// Writes the pairs that are to be kept; they are sorted.
    pub(super) fn write(self, writer: &mut TextsWriter, mut keep: impl FnMut(&str, &str) -> bool) {
        let kept: Vec<_> = self.iter().filter(|(name, value)| keep(name, value)).collect();
        writer.number(kept.len());
        for (name, value) in kept {
            writer.text(name);
            writer.text(value);
        }
    }
}

impl PartialEq for Pairs<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Pairs<'_> {}

impl fmt::Debug for Pairs<'_> {
    /// Without the values, which may be secret: an annotation can hold the last applied configuration of a Secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// Writes labels or annotations as they stand in the object; they are sorted there, unless a server is peculiar.
pub(super) fn write_map(writer: &mut TextsWriter, map: &StringMap<'_>) -> Result<(), WireError> {
    let begin = writer.count();
    let mut last = None;
    let (mut count, mut sorted) = (0, true);
    for pair in map.clone() {
        let (name, value) = pair?;
        count += 1;
        sorted &= last.as_ref().is_none_or(|last| *last < name);
        writer.text(&name);
        writer.text(&value);
        last = Some(name);
    }
    writer.set_count(begin, count);
    if !sorted {
        // Of a name that stands twice the last value counts.
        let pairs: BTreeMap<_, _> = map.clone().collect::<Result<_, _>>()?;
        writer.truncate(begin);
        writer.number(pairs.len());
        for (name, value) in &pairs {
            writer.text(name);
            writer.text(value);
        }
    }
    Ok(())
}

const CONTROLLER: usize = 1;
const BLOCK_OWNER_DELETION: usize = 2;

pub(super) fn write_owners(writer: &mut TextsWriter, meta: &ObjectMeta<'_>) -> Result<(), WireError> {
    let (begin, mut count) = (writer.count(), 0);
    for owner in meta.owner_references() {
        let owner = owner?;
        count += 1;
        for text in [&owner.api_version, &owner.kind, &owner.name, &owner.uid] {
            writer.text(text);
        }
        let block = if owner.block_owner_deletion { BLOCK_OWNER_DELETION } else { 0 };
        writer.number(if owner.controller { CONTROLLER | block } else { block });
    }
    writer.set_count(begin, count);
    Ok(())
}

/// Reads past owner references and yields them.
pub(super) fn read_owners<'v>(texts: &mut Texts<'v>) -> Vec<Owner<'v>> {
    let count = texts.number();
    let mut owner = || {
        let (api_version, kind) = (texts.text(), texts.text());
        let (name, uid) = (texts.text(), texts.text());
        let flags = texts.number();
        Owner {
            api_version,
            kind,
            name,
            uid,
            controller: flags & CONTROLLER != 0,
            block_owner_deletion: flags & BLOCK_OWNER_DELETION != 0,
        }
    };
    (0..count).map(|_| owner()).collect()
}

/// Labels and owner references: what selectors and controllers ask of an object whatever its format.
#[derive(Clone, Copy)]
pub(crate) struct Tags<'v>(&'v str);

impl<'v> Tags<'v> {
    /// What [`of`](Self::of) has made.
    pub(crate) fn new(stored: &'v str) -> Self {
        Self(stored)
    }

    /// Collects them from an object's bytes, for `store` to put away.
    pub(crate) fn of<T>(object: &mut RawObject<'_>, store: impl FnOnce(&str) -> T) -> Result<T, DecodeError> {
        written(
            object,
            |writer, meta| {
                write_map(writer, &meta.labels())?;
                write_owners(writer, meta)
            },
            store,
        )
    }

    pub(crate) fn labels(self) -> Pairs<'v> {
        Pairs::read(&mut Texts::new(self.0))
    }

    pub(crate) fn owners(self) -> Vec<Owner<'v>> {
        let mut texts = Texts::new(self.0);
        Pairs::read(&mut texts);
        read_owners(&mut texts)
    }
}

/// Writes strings of an object into its scratch buffer, from which they are stored.
pub(super) fn written<T>(
    object: &mut RawObject<'_>,
    write: impl FnOnce(&mut TextsWriter, &ObjectMeta<'_>) -> Result<(), WireError>,
    store: impl FnOnce(&str) -> T,
) -> Result<T, DecodeError> {
    object.scratch.clear();
    let mut writer = TextsWriter::new(std::mem::take(object.scratch));
    let stored = write(&mut writer, object.meta).map(|()| store(writer.as_str()));
    *object.scratch = writer.into_buffer();
    stored.map_err(|error| DecodeError::new(error.to_string()))
}
