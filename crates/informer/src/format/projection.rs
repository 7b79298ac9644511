//! Objects as a struct of the fields that somebody reads.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::DeserializeOwned;

use super::tags::{Pairs, Tags};
use super::{Format, Owner};
use crate::raw_object::{DecodeError, RawObject};

/// The fields of a resource `K` that `P` has: everything else is stepped over, neither parsed nor kept.
///
/// `P` is laid out like the object, with the fields that are read. Labels and owner references are kept beside it, so that
/// selectors and indices work as with [`Typed`](crate::Typed).
///
/// What is stepped over is not validated: an object with broken JSON in a field that `P` does not have is accepted.
///
/// ```
/// use informer::Projection;
/// use k8s_openapi::api::core::v1::Pod;
///
/// #[derive(serde::Deserialize)]
/// struct PodPhase {
///     spec: Spec,
///     status: Status,
/// }
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: Option<Box<str>>,
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Status {
///     phase: Box<str>,
/// }
///
/// let format = Projection::<Pod, PodPhase>::new();
/// ```
pub struct Projection<K, P>(PhantomData<fn() -> (K, P)>);

impl<K, P> Projection<K, P> {
    /// The format of `P`.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K, P> Default for Projection<K, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: 'static, P: DeserializeOwned + Send + Sync + 'static> Format for Projection<K, P> {
    type Value = Projected<P>;

    fn decode(&self, object: &mut RawObject<'_>) -> Result<Projected<P>, DecodeError> {
        let tags = Tags::of(object, |tags| tags.into())?;
        Ok(Projected { fields: object.decode_few()?, tags })
    }

    fn label<'v>(value: &'v Projected<P>, name: &str) -> Option<&'v str> {
        value.labels().get(name)
    }

    fn owners(value: &Projected<P>) -> Vec<Owner<'_>> {
        value.owner_references()
    }

    fn same_labels(one: &Projected<P>, other: &Projected<P>) -> bool {
        one.labels() == other.labels()
    }
}

/// A cached [`Projection`]: reads like `P`, and has labels and owner references.
#[derive(Clone)]
pub struct Projected<P> {
    fields: P,
    tags: Box<str>,
}

impl<P> Projected<P> {
    /// The labels.
    pub fn labels(&self) -> Pairs<'_> {
        Tags::new(&self.tags).labels()
    }

    /// The owner references.
    pub fn owner_references(&self) -> Vec<Owner<'_>> {
        Tags::new(&self.tags).owners()
    }

    /// The fields, to be changed by a [transform](crate::InformerBuilder::transform).
    pub fn fields_mut(&mut self) -> &mut P {
        &mut self.fields
    }
}

impl<P> Deref for Projected<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.fields
    }
}

impl<P> fmt::Debug for Projected<P> {
    /// Without values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projected").field("labels", &self.labels()).finish_non_exhaustive()
    }
}
