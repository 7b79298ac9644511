//! Raw items to decoded ones: identify, skip what is known, cut, decode, transform, index.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use informer_core::reflector::{ListItem, WatchEvent};
use informer_core::{Identity, Item, Object, ObjectKey, ResourceVersion, Uid};
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
    /// Where the object ends has been guessed; with the whole line.
    Guessed(informer_wire::WatchEvent, Bytes),
    /// A line that is no event.
    Malformed(Arc<str>),
}

impl RawItem {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Listed(bytes) => bytes.len(),
            Self::Event(event) | Self::Guessed(event, _) => event.object.len(),
            Self::Malformed(_) => 0,
        }
    }
}

impl<V: Send + Sync + 'static> Decoder<V> {
    /// One item of a list.
    pub(crate) fn item(&self, bytes: &[u8], scratch: &mut Scratch) -> ListItem<V> {
        self.identify(bytes, true, scratch)
    }

    /// One line of a watch of which we guessed where the object ends.
    pub(crate) fn guessed_event(
        &self,
        event: &informer_wire::WatchEvent,
        line: &Bytes,
        initial: bool,
        scratch: &mut Scratch,
    ) -> WatchEvent<V> {
        match self.event(event, initial, scratch) {
            WatchEvent::Added(ListItem::Unreadable(_))
            | WatchEvent::Modified(ListItem::Unreadable(_))
            | WatchEvent::Deleted(ListItem::Unreadable(_)) => match informer_wire::WatchEvent::parse(line) {
                Ok(event) => self.event(&event, initial, scratch),
                Err(error) => WatchEvent::Malformed(error.to_string().into()),
            },
            read => read,
        }
    }

    /// One line of a watch; `initial` while the initial events of a WatchList come, which may be known already.
    pub(crate) fn event(
        &self,
        event: &informer_wire::WatchEvent,
        initial: bool,
        scratch: &mut Scratch,
    ) -> WatchEvent<V> {
        match &event.kind {
            EventKind::Added => WatchEvent::Added(self.identify(&event.object, initial, scratch)),
            EventKind::Modified => WatchEvent::Modified(self.identify(&event.object, initial, scratch)),
            EventKind::Deleted => WatchEvent::Deleted(self.identify(&event.object, false, scratch)),
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
        }
    }

    fn identify(&self, bytes: &[u8], may_be_known: bool, scratch: &mut Scratch) -> ListItem<V> {
        if may_be_known && let Some(known) = self.known(bytes) {
            return ListItem::Unchanged(known);
        }
        let meta = match ObjectMeta::scan(bytes) {
            Ok(meta) => meta,
            Err(error) => return ListItem::Unreadable(error.to_string().into()),
        };
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
                ListItem::Undecodable(identity, bounded(&error.to_string()))
            }
            Ok(value) => {
                let value = Arc::new(value);
                // After the value, so that key and object lie side by side: a lookup needs both.
                let key = ObjectKey::new(namespace, name);
                let object = Arc::new(Object { key, uid, version, value });
                ListItem::Decoded(Item { index_values: self.indexes.values(&object), object })
            }
        }
    }

    /// The stored object, if it is of this very version: then nothing more is read of the bytes, and nothing is allocated.
    fn known(&self, bytes: &[u8]) -> Option<Arc<Object<V>>> {
        if self.store.read().is_empty() {
            return None;
        }
        let Glance { namespace, name, uid, resource_version, .. } = Glance::at(bytes)?;
        let store = self.store.read();
        let stored = store.known(&namespace, &name)?;
        let same = stored.uid == Uid::new(&uid) && stored.version == ResourceVersion::new(&resource_version);
        same.then(|| Arc::clone(stored))
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
