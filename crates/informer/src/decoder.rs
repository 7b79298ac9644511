//! Raw items to decoded ones: identify, skip what is known, cut, decode, transform, index.

use std::convert::identity;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use informer_core::reflector::{Input, ListItem, WatchEvent};
use informer_core::{Identity, IndexValues, Item, Object, ObjectKey, ResourceVersion, Uid};
use informer_wire::{EventKind, Glance, ObjectMeta};

use crate::failure;
use crate::index::IndexRegistry;
use crate::list_watch::BoxError;
use crate::raw_object::{DecodeError, RawObject};
use crate::scratch::Scratch;
use crate::store::StoreShared;

/// Changes an object before anybody sees it.
pub(crate) type Transform<V> = Arc<dyn Fn(&mut V) -> Result<(), BoxError> + Send + Sync>;
/// `Format::decode`, without the format's type.
pub(crate) type Decode<V> = Arc<dyn Fn(&mut RawObject<'_>) -> Result<V, DecodeError> + Send + Sync>;

/// A message of ours for an object is cut here.
const MAX_REASON_BYTES: usize = 256;

/// What one informer does to each item, shared by the threads that do it.
pub(crate) struct Decoder<V> {
    pub(crate) decode: Decode<V>,
    pub(crate) transform: Option<Transform<V>>,
    pub(crate) keep_managed_fields: bool,
    pub(crate) indexes: Arc<IndexRegistry<V>>,
    pub(crate) store: Arc<StoreShared<V>>,
}

/// A line of a watch or an item of a list, split off but not looked into.
pub(crate) enum RawItem {
    Listed(Bytes),
    Event(informer_wire::WatchEvent),
    /// A line that is no event.
    Malformed(Arc<str>),
}

impl RawItem {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Listed(bytes) => bytes.len(),
            Self::Event(event) => event.object.len(),
            Self::Malformed(_) => 0,
        }
    }

    /// Past this one, events bring changes: an "unchanged" one would be a lie of the server's, to be looked at.
    pub(crate) fn ends_initial_events(&self) -> bool {
        matches!(self, Self::Event(event) if event.kind == EventKind::Bookmark)
    }
}

/// A batch whose values are decoded, and whose objects are yet to be made.
///
/// A lookup compares an object's key and counts a reference to it. Were key and object allocated right after the value,
/// every lookup would touch a page of memory of its own, somewhere between the values. So they are allocated together
/// for a batch, and mostly by another thread than the values: allocators give each thread memory of its own.
pub(crate) struct Batch<V> {
    parts: Parts<V>,
    /// Namespaces and names of the objects, one after the other.
    names: String,
}

enum Parts<V> {
    Listed(Vec<Part<V, ListItem<V>>>),
    Events(Vec<Part<V, WatchEvent<V>>>),
}

enum Part<V, T> {
    Whole(T),
    Decoded(Decoded<V>, fn(ListItem<V>) -> T),
}

/// A value, and what its object will be made of.
struct Decoded<V> {
    namespace_len: usize,
    name_len: usize,
    uid: Uid,
    version: ResourceVersion,
    value: Arc<V>,
    index_values: IndexValues,
}

impl<V> Batch<V> {
    /// Makes the objects.
    pub(crate) fn assemble(self) -> Input<V> {
        match self.parts {
            Parts::Listed(parts) => Input::Items(assemble(parts, &self.names)),
            Parts::Events(parts) => Input::Events(assemble(parts, &self.names)),
        }
    }
}

fn assemble<V, T>(parts: Vec<Part<V, T>>, mut names: &str) -> Vec<T> {
    let parts = parts.into_iter().map(|part| match part {
        Part::Whole(whole) => whole,
        Part::Decoded(decoded, wrap) => {
            let Decoded { namespace_len, name_len, uid, version, value, index_values } = decoded;
            let (namespace, rest) = names.split_at(namespace_len);
            let (name, rest) = rest.split_at(name_len);
            names = rest;
            let key = ObjectKey::new(namespace, name);
            wrap(ListItem::Decoded(Item {
                object: Arc::new(Object { key, uid, version, value }),
                index_values,
            }))
        }
    });
    parts.collect()
}

impl<V: Send + Sync + 'static> Decoder<V> {
    /// A batch of a list's items.
    pub(crate) fn list(&self, items: Vec<RawItem>, scratch: &mut Scratch) -> Batch<V> {
        let mut names = String::new();
        let parts = items.into_iter().map(|item| match item {
            RawItem::Listed(bytes) => self.part(&bytes, true, scratch, &mut names, identity),
            RawItem::Event(event) => self.part(&event.object, true, scratch, &mut names, identity),
            RawItem::Malformed(reason) => Part::Whole(ListItem::Unreadable(reason)),
        });
        Batch { parts: Parts::Listed(parts.collect()), names }
    }

    /// A batch of a watch's lines; `initial` while the initial events of a WatchList come, which may be known already.
    pub(crate) fn events(&self, items: Vec<RawItem>, mut initial: bool, scratch: &mut Scratch) -> Batch<V> {
        let mut names = String::new();
        let parts = items.into_iter().map(|item| {
            let part = match &item {
                RawItem::Event(event) => self.event(event, initial, scratch, &mut names),
                RawItem::Malformed(reason) => Part::Whole(WatchEvent::Malformed(Arc::clone(reason))),
                RawItem::Listed(_) => unreachable!("a watch has events"),
            };
            initial &= !item.ends_initial_events();
            part
        });
        Batch { parts: Parts::Events(parts.collect()), names }
    }

    fn event(
        &self,
        event: &informer_wire::WatchEvent,
        initial: bool,
        scratch: &mut Scratch,
        names: &mut String,
    ) -> Part<V, WatchEvent<V>> {
        Part::Whole(match &event.kind {
            EventKind::Added => return self.part(&event.object, initial, scratch, names, WatchEvent::Added),
            EventKind::Modified => {
                return self.part(&event.object, initial, scratch, names, WatchEvent::Modified);
            }
            EventKind::Deleted => {
                return self.part(&event.object, false, scratch, names, WatchEvent::Deleted);
            }
            EventKind::Bookmark => bookmark(&event.object),
            EventKind::Error => WatchEvent::Error(match serde_json::from_slice(&event.object) {
                Ok(status) => failure::from_status(&status, None),
                Err(_) => failure::from_status(&serde_json::Value::Null, None),
            }),
            kind => WatchEvent::Unknown {
                kind: if let EventKind::Unknown(kind) = kind { kind.clone() } else { format!("{kind:?}") },
                version: ObjectMeta::scan_unnamed(&event.object)
                    .ok()
                    .and_then(|meta| meta.resource_version().map(ResourceVersion::new)),
            },
        })
    }

    fn part<T>(
        &self,
        bytes: &[u8],
        may_be_known: bool,
        scratch: &mut Scratch,
        names: &mut String,
        wrap: fn(ListItem<V>) -> T,
    ) -> Part<V, T> {
        match self.decode(bytes, may_be_known, scratch, names) {
            Ok(decoded) => Part::Decoded(decoded, wrap),
            Err(item) => Part::Whole(wrap(item)),
        }
    }

    /// The value, or what the item is if it has none.
    fn decode(
        &self,
        bytes: &[u8],
        may_be_known: bool,
        scratch: &mut Scratch,
        names: &mut String,
    ) -> Result<Decoded<V>, ListItem<V>> {
        if may_be_known && let Some(identity) = self.known(bytes) {
            return Err(ListItem::Unchanged(identity));
        }
        let meta = ObjectMeta::scan(bytes).map_err(|error| ListItem::Unreadable(error.to_string().into()))?;
        let (namespace, name) = (meta.namespace().unwrap_or_default(), meta.name());
        let uid = Uid::new(meta.uid().unwrap_or_default());
        let version = ResourceVersion::new(meta.resource_version().unwrap_or_default());
        scratch.make_room(bytes.len());
        let mut raw = RawObject {
            bytes,
            meta: &meta,
            keep_managed_fields: self.keep_managed_fields,
            scratch: &mut scratch.bytes,
            buffers: &mut scratch.buffers,
        };
        match self.value(&mut raw) {
            Err(error) => {
                let identity = Identity { key: ObjectKey::new(namespace, name), uid, version };
                Err(ListItem::Undecodable(identity, bounded(&error.to_string())))
            }
            Ok(value) => {
                let value = Arc::new(value);
                names.push_str(namespace);
                names.push_str(name);
                Ok(Decoded {
                    namespace_len: namespace.len(),
                    name_len: name.len(),
                    uid,
                    version,
                    index_values: self.indexes.values((namespace, name), &value),
                    value,
                })
            }
        }
    }

    /// The object's identity, if this very version is stored: then nothing more is read of it, and nothing is allocated.
    fn known(&self, bytes: &[u8]) -> Option<Identity> {
        if self.store.read().is_empty() {
            return None;
        }
        let Glance { namespace, name, uid, resource_version, .. } = Glance::at(bytes)?;
        let store = self.store.read();
        let stored = store.known(&namespace, &name)?;
        let same = stored.uid == Uid::new(&uid) && stored.version == ResourceVersion::new(&resource_version);
        same.then(|| Identity {
            key: stored.key.clone(),
            uid: stored.uid.clone(),
            version: stored.version.clone(),
        })
    }

    /// Users' code runs here: what it panics with is an error of this object alone.
    fn value(&self, raw: &mut RawObject<'_>) -> Result<V, DecodeError> {
        catch_unwind(AssertUnwindSafe(|| {
            let mut value = (self.decode)(raw)?;
            if let Some(transform) = &self.transform {
                transform(&mut value).map_err(|error| DecodeError::new(format!("transform: {error}")))?;
            }
            Ok(value)
        }))
        // Without the panic's message, which may quote the object (`assert_eq!` does); the panic hook has shown it.
        .unwrap_or_else(|_panic| Err(DecodeError::new("decoding or the transform panicked")))
    }
}

fn bookmark<V>(object: &[u8]) -> WatchEvent<V> {
    let read = || {
        let meta = ObjectMeta::scan_unnamed(object)?;
        let version = meta.resource_version().map(ResourceVersion::new);
        Ok::<_, informer_wire::WireError>((version, meta.is_initial_events_end()?))
    };
    match read() {
        Ok((Some(version), initial_events_end)) => WatchEvent::Bookmark { version, initial_events_end },
        Ok((None, _)) => WatchEvent::Malformed("a bookmark without a version".into()),
        Err(error) => WatchEvent::Malformed(error.to_string().into()),
    }
}

fn bounded(reason: &str) -> Arc<str> {
    let mut end = reason.len().min(MAX_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().into()
}
