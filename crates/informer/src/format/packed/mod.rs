//! Objects that are compressed until somebody reads them.

mod dictionary;
mod lister;
mod paths;
mod shared_texts;
mod stats;
mod training;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

pub use lister::{PackedLister, ReadError};
pub use stats::PackedStats;

use self::dictionary::Dictionary;
use self::paths::Paths;
use self::shared_texts::SharedTexts;
use self::training::Packer;
use super::tags::{Pairs, Tags};
use super::texts::Texts;
use super::{Format, Owner};
use crate::raw_object::{DecodeError, RawObject, parse};
use crate::scratch::ParserBuffers;

/// Objects of the resource `K`, compressed until they are read: a tenth of the bytes they came as.
///
/// Compression uses a dictionary that is trained on the first objects, and again when it stops paying. Nothing is decoded
/// to be stored: labels and owner references are kept readable beside the compressed bytes, and so are the values at
/// the [fields](Self::field) that are named, for indices. Handlers get [`PackedObject`]s, which decode when asked to; a
/// [`PackedLister`] reads `Arc<K>`s.
///
/// That an object does not fit `K` therefore shows when it is read, not when it comes.
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = TestServer::builder().create_namespaces(true).build();
/// # server.create("pods", serde_json::json!({"metadata": {"name": "web-0", "namespace": "team-a", "labels": {"app": "web"}},
/// #     "spec": {"nodeName": "node-7", "containers": [{"name": "web", "image": "web:1"}]}}))?;
/// # let client = kube::Client::new(server.clone(), "default");
/// use std::time::Duration;
/// use informer::{Packed, PackedObject, ResourceListWatch, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let format = Packed::<Pod>::new().field("/spec/nodeName");
/// let pods = SharedInformer::builder(ResourceListWatch::of::<Pod>(client), format).build()?;
/// let by_node = pods.add_index("node", |pod: &PackedObject<Pod>| pod.field("/spec/nodeName").map(str::to_owned));
/// pods.start();
/// pods.wait_for_sync(Duration::from_secs(10)).await?;
///
/// let pod = pods.decoded().namespace("team-a").get("web-0")?.expect("it was listed"); // Arc<Pod>
/// assert_eq!(pod.spec.as_ref().unwrap().containers[0].name, "web");
/// let packed = &by_node.get("node-7")[0]; // Arc<PackedObject<Pod>>
/// assert_eq!(packed.labels().get("app"), Some("web"));
/// assert_eq!(packed.decode()?, *pod);
/// # pods.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct Packed<K> {
    packer: Arc<Packer>,
    tags: SharedTexts,
    paths: Paths,
    resource: PhantomData<fn() -> K>,
}

impl<K> Packed<K> {
    /// The format of `K`, with nothing readable but labels and owner references.
    pub fn new() -> Self {
        Self {
            packer: Arc::new(Packer::new()),
            tags: SharedTexts::new(),
            paths: Paths::default(),
            resource: PhantomData,
        }
    }

    /// Keeps the value at this JSON pointer (RFC 6901) readable: `/spec/nodeName`. Costs its length in memory for each object.
    pub fn field(mut self, pointer: &str) -> Self {
        self.paths = self.paths.with(pointer);
        self.packer = Arc::new(Packer::with_paths(self.paths.clone()));
        self
    }

    /// What packing saves, now and later.
    pub fn stats(&self) -> PackedStats {
        PackedStats::new(Arc::clone(&self.packer))
    }
}

impl<K> Default for Packed<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> Format for Packed<K> {
    type Value = PackedObject<K>;

    fn decode(&self, object: &mut RawObject<'_>) -> Result<PackedObject<K>, DecodeError> {
        let tags = Tags::of(object, |tags| self.tags.share(tags))?;
        object.fill_scratch();
        let fields = self.paths.read(object.scratch)?;
        let packed = Packer::pack(&self.packer, object.scratch)?;
        Ok(PackedObject { packed, tags, fields, resource: PhantomData })
    }

    fn label<'v>(value: &'v PackedObject<K>, name: &str) -> Option<&'v str> {
        value.labels().get(name)
    }

    fn owners(value: &PackedObject<K>) -> Vec<Owner<'_>> {
        value.owner_references()
    }

    fn same_labels(one: &PackedObject<K>, other: &PackedObject<K>) -> bool {
        one.labels() == other.labels()
    }
}

/// A compressed object: what is cached and handed to handlers by an informer of [`Packed`] objects.
///
/// Nobody can change it once it is made, and it holds the dictionary it was made with; a checksum of what went in is
/// compared at each read all the same, so that even a fault of the memory is an error and not a wrong object.
pub struct PackedObject<K> {
    packed: PackedBytes,
    /// Labels and owners; objects of one owner have them in common.
    tags: Arc<str>,
    /// The values of named fields, in their order.
    fields: Box<str>,
    resource: PhantomData<fn() -> K>,
}

/// What one object was compressed to.
struct PackedBytes {
    bytes: Box<[u8]>,
    dictionary: Arc<Dictionary>,
    /// Length and checksum of the original.
    len: u32,
    sum: u32,
}

impl<K: DeserializeOwned> PackedObject<K> {
    /// The object. Costs 3 µs for decompression, and what decoding it costs: nothing is cached.
    ///
    /// # Errors
    /// If it does not fit `K`, or [is damaged](DecodeError::is_damaged).
    pub fn decode(&self) -> Result<K, DecodeError> {
        self.packed.unpack(|buffer, refill| parse(buffer, &mut ParserBuffers::default(), refill))?
    }
}

impl<K> PackedObject<K> {
    /// The labels.
    pub fn labels(&self) -> Pairs<'_> {
        Tags::new(&self.tags).labels()
    }

    /// The owner references.
    pub fn owner_references(&self) -> Vec<Owner<'_>> {
        Tags::new(&self.tags).owners()
    }

    /// The value at a pointer that was [named](Packed::field), if the object has one: strings as they are, numbers and
    /// booleans as JSON writes them. Objects, arrays and null count as absent.
    pub fn field(&self, pointer: &str) -> Option<&str> {
        let position = self.packed.dictionary.paths.position(pointer)?;
        let mut fields = Texts::new(&self.fields);
        for _ in 0..position {
            fields.text();
        }
        // One byte before the value tells an empty string from none.
        fields.text().get(1..)
    }

    /// The object's JSON without managedFields.
    ///
    /// # Errors
    /// If it [is damaged](DecodeError::is_damaged).
    pub fn json(&self) -> Result<Vec<u8>, DecodeError> {
        self.packed.unpack(|buffer, _| buffer.clone())
    }

    /// Bytes this takes when compressed, without labels, owners and fields.
    pub fn packed_len(&self) -> usize {
        self.packed.bytes.len()
    }
}

impl<K> fmt::Debug for PackedObject<K> {
    /// Names of labels and lengths: the rest may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedObject")
            .field("labels", &self.labels())
            .field("len", &self.packed.len)
            .field("packed_len", &self.packed.bytes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
