//! Objects without anything but their metadata.

use std::fmt;

use informer_wire::{ObjectMeta, WireError};

use super::tags::{Pairs, read_owners, write_map, write_owners, written};
use super::texts::{Texts, TextsWriter};
use super::{Format, Owner};
use crate::raw_object::{DecodeError, RawObject};

/// Only an object's metadata, in one allocation: a fifth of kube's `PartialObjectMeta`.
///
/// Name, namespace, uid and version are in the [`Object`](crate::Object) around it. Each read walks over what is stored
/// before what is asked for, some nanoseconds for each label and annotation.
#[derive(Clone, PartialEq, Eq)]
#[doc(alias = "PartialObjectMetadata")]
pub struct Metadata {
    /// Labels, owners, annotations, finalizers, creation, deletion.
    texts: Box<str>,
    generation: Option<i64>,
}

impl Metadata {
    /// Labels.
    pub fn labels(&self) -> Pairs<'_> {
        self.read().labels
    }

    /// Owner references.
    pub fn owner_references(&self) -> Vec<Owner<'_>> {
        self.read().owners
    }

    /// Annotations.
    pub fn annotations(&self) -> Pairs<'_> {
        self.read().annotations
    }

    /// Finalizers.
    pub fn finalizers(&self) -> Vec<&str> {
        self.read().finalizers
    }

    /// Creation time, as the server wrote it (RFC 3339).
    pub fn creation_timestamp(&self) -> Option<&str> {
        Some(self.read().creation).filter(|time| !time.is_empty())
    }

    /// When deletion was asked for, as the server wrote it (RFC 3339).
    pub fn deletion_timestamp(&self) -> Option<&str> {
        Some(self.read().deletion).filter(|time| !time.is_empty())
    }

    /// Generation of the desired state.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Keeps only these labels: for a [transform](crate::InformerBuilder::transform) that saves memory. Selectors do not
    /// see the others any more.
    pub fn retain_labels(&mut self, keep: impl FnMut(&str, &str) -> bool) {
        self.retain(keep, |_, _| true);
    }

    /// Keeps only these annotations: for a [transform](crate::InformerBuilder::transform) that saves memory.
    ///
    /// ```
    /// # use informer::{InformerBuilder, Metadata};
    /// # fn example(informer: InformerBuilder<Metadata>) -> InformerBuilder<Metadata> {
    /// informer.transform(|object| object.retain_annotations(|name, _| name.starts_with("example.dev/")))
    /// # }
    /// ```
    pub fn retain_annotations(&mut self, keep: impl FnMut(&str, &str) -> bool) {
        self.retain(|_, _| true, keep);
    }

    fn retain(
        &mut self,
        labels: impl FnMut(&str, &str) -> bool,
        annotations: impl FnMut(&str, &str) -> bool,
    ) {
        let mut writer = TextsWriter::new(Vec::new());
        let mut texts = Texts::new(&self.texts);
        Pairs::read(&mut texts).write(&mut writer, labels);
        let before_owners = texts.rest();
        read_owners(&mut texts);
        writer.raw(&before_owners[..before_owners.len() - texts.rest().len()]);
        Pairs::read(&mut texts).write(&mut writer, annotations);
        writer.raw(texts.rest());
        self.texts = writer.as_str().into();
    }

    fn read(&self) -> Parts<'_> {
        let mut texts = Texts::new(&self.texts);
        let labels = Pairs::read(&mut texts);
        let owners = read_owners(&mut texts);
        let annotations = Pairs::read(&mut texts);
        let finalizers = (0..texts.number()).map(|_| texts.text()).collect();
        Parts { labels, owners, annotations, finalizers, creation: texts.text(), deletion: texts.text() }
    }
}

struct Parts<'v> {
    labels: Pairs<'v>,
    owners: Vec<Owner<'v>>,
    annotations: Pairs<'v>,
    finalizers: Vec<&'v str>,
    creation: &'v str,
    deletion: &'v str,
}

impl fmt::Debug for Metadata {
    /// Names of labels, annotations and finalizers, without values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { labels, owners, annotations, finalizers, creation, deletion } = self.read();
        f.debug_struct("Metadata")
            .field("labels", &labels)
            .field("annotations", &annotations)
            .field("owner_references", &owners)
            .field("finalizers", &finalizers)
            .field("creation_timestamp", &creation)
            .field("deletion_timestamp", &deletion)
            .field("generation", &self.generation)
            .finish()
    }
}

/// The format of [`Metadata`].
#[derive(Clone, Copy, Debug, Default)]
pub struct MetadataOnly;

impl Format for MetadataOnly {
    type Value = Metadata;

    fn decode(&self, object: &mut RawObject<'_>) -> Result<Metadata, DecodeError> {
        let generation = object.meta.generation().map_err(|error| DecodeError::new(error.to_string()))?;
        let texts = written(object, write, |texts| texts.into())?;
        Ok(Metadata { texts, generation })
    }

    fn label<'v>(value: &'v Metadata, name: &str) -> Option<&'v str> {
        Pairs::read(&mut Texts::new(&value.texts)).get(name)
    }

    fn owners(value: &Metadata) -> Vec<Owner<'_>> {
        value.owner_references()
    }

    fn generation(value: &Metadata) -> Option<i64> {
        value.generation()
    }

    fn same_labels(one: &Metadata, other: &Metadata) -> bool {
        one.labels() == other.labels()
    }

    fn same_annotations(one: &Metadata, other: &Metadata) -> bool {
        one.annotations() == other.annotations()
    }

    fn is_being_deleted(value: &Metadata) -> bool {
        value.deletion_timestamp().is_some()
    }
}

fn write(writer: &mut TextsWriter, meta: &ObjectMeta<'_>) -> Result<(), WireError> {
    write_map(writer, &meta.labels())?;
    write_owners(writer, meta)?;
    write_map(writer, &meta.annotations())?;
    let (begin, mut count) = (writer.count(), 0);
    for finalizer in meta.finalizers() {
        writer.text(&finalizer?);
        count += 1;
    }
    writer.set_count(begin, count);
    writer.text(&meta.creation_timestamp()?.unwrap_or_default());
    writer.text(&meta.deletion_timestamp()?.unwrap_or_default());
    Ok(())
}
