//! Bytes of the Kubernetes list and watch protocol, split into items.
//!
//! Everything here is pure and push-based: bytes go in as they arrive, items come out, and nothing ever holds
//! a whole list. No IO, no clock, no JSON library: a scanner reads the *structure* of JSON (brackets,
//! strings, keys) and leaves its validation to whoever decodes the pieces.
//!
//! ```text
//! socket ──► GzipMembers ──► WatchFrames ──► WatchEvent ──► ObjectMeta ──► managedFields cut ──► decoder
//!            (if encoded) └► ListSplitter ─────(items)──────────┘
//! ```
//!
//! * [`WatchFrames`] cuts a watch body into lines, [`WatchEvent`] a line into its type and its object.
//! * [`ListSplitter`] cuts a list body into the elements of its `items`.
//! * [`ObjectMeta`] reads key, uid, version, labels and owners without decoding the object.
//! * [`JsonReader`] reads the few values of an object that are wanted.
//! * [`cut_managed_fields`] removes what usually is the largest and least wanted part.
//! * [`GzipMembers`] decodes gzip in which every watch event may be a member of its own.
//!
//! # Bad input
//!
//! Bytes come from outside. Whatever they are, nothing here panics, recurses or grows beyond [`Limits`], and
//! no error tells a value of the body: a [`WireError`] has a kind, a place and a byte offset.
//!
//! # Memory
//!
//! A piece that lies within one pushed chunk is a slice of that chunk, and keeps all of it alive: decode it,
//! then drop it. Copy it (`Bytes::copy_from_slice`) to keep it.

mod cursor;
mod error;
mod glance;
mod gzip_members;
mod json_reader;
mod limits;
mod list_splitter;
mod managed_fields;
mod masks;
mod object_meta;
mod object_meta_values;
mod owner_references;
mod string_map;
mod structure;
mod text;
mod value;
mod watch_event;
mod watch_frames;

pub use error::{WireError, WireErrorKind};
pub use glance::Glance;
pub use gzip_members::GzipMembers;
pub use json_reader::JsonReader;
pub use limits::{DEPTH_LIMIT, Limits};
pub use list_splitter::{ListEnd, ListSplitter};
pub use managed_fields::cut_managed_fields;
pub use object_meta::{INITIAL_EVENTS_END, ObjectMeta};
pub use object_meta_values::Finalizers;
pub use owner_references::{OwnerReference, OwnerReferences};
pub use string_map::StringMap;
pub use watch_event::{EventKind, WatchEvent};
pub use watch_frames::WatchFrames;
