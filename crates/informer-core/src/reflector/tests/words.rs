//! Objects, events and outputs as short words.
//!
//! An object is `name@version`; `~` before it means undecodable, `=` unchanged; `!` alone is an item that cannot be
//! identified.

use std::sync::Arc;

use super::super::{ListItem, Request, Trouble, WatchEvent};
use crate::{Delta, Entry, Identity, Item, Object, ObjectKey, ResourceVersion, Uid};

pub(super) fn identity(text: &str) -> Identity {
    let (name, version) = text.split_once('@').expect("an object is name@version");
    Identity {
        key: ObjectKey::new("", name),
        uid: Uid::new(&format!("uid-of-{name}")),
        version: ResourceVersion::new(version),
    }
}

pub(super) fn item(text: &str) -> ListItem<u64> {
    match text.split_at(1) {
        ("~", rest) => ListItem::Undecodable(identity(rest), "bad field".into()),
        ("=", rest) => ListItem::Unchanged(object(rest)),
        ("!", _) => ListItem::Unreadable("no name".into()),
        _ => ListItem::Decoded(Item { object: object(text), index_values: Default::default() }),
    }
}

fn object(text: &str) -> Arc<Object<u64>> {
    let Identity { key, uid, version } = identity(text);
    Arc::new(Object { key, uid, version, value: Arc::new(0) })
}

pub(super) fn items(text: &str) -> Vec<ListItem<u64>> {
    text.split_whitespace().map(item).collect()
}

pub(super) fn added(text: &str) -> WatchEvent<u64> {
    WatchEvent::Added(item(text))
}

pub(super) fn modified(text: &str) -> WatchEvent<u64> {
    WatchEvent::Modified(item(text))
}

pub(super) fn deleted(text: &str) -> WatchEvent<u64> {
    WatchEvent::Deleted(item(text))
}

pub(super) fn bookmark(version: &str) -> WatchEvent<u64> {
    WatchEvent::Bookmark { version: ResourceVersion::new(version), initial_events_end: false }
}

pub(super) fn end_bookmark(version: &str) -> WatchEvent<u64> {
    WatchEvent::Bookmark { version: ResourceVersion::new(version), initial_events_end: true }
}

pub(super) fn unknown(kind: &str, version: &str) -> WatchEvent<u64> {
    WatchEvent::Unknown { kind: kind.to_owned(), version: Some(ResourceVersion::new(version)) }
}

pub(super) fn say_request(request: &Request) -> String {
    let mut words = Vec::new();
    match request {
        Request::List(list) => {
            words.push("LIST".to_owned());
            words.extend(list.version.as_ref().map(|version| format!("rv={version}")));
            words.extend(list.page_size.map(|size| format!("limit={size}")));
            words.extend(list.continue_token.as_ref().map(|token| format!("continue={token}")));
        }
        Request::Watch(watch) => {
            words.push(if watch.initial_events { "WATCHLIST" } else { "WATCH" }.to_owned());
            words.extend(watch.version.as_ref().map(|version| format!("rv={version}")));
        }
    }
    words.join(" ")
}

fn say_identity(identity: &Identity) -> String {
    format!("{}@{}", identity.key, identity.version)
}

fn say_item(item: &Item<u64>) -> String {
    format!("{}@{}", item.object.key, item.object.version)
}

pub(super) fn say_delta(delta: &Delta<u64>) -> String {
    match delta {
        Delta::Added(item) => format!("Added {}", say_item(item)),
        Delta::Updated(item) => format!("Updated {}", say_item(item)),
        Delta::Deleted(deletion) => {
            let state = if deletion.last_state.is_some() { "" } else { " (unknown)" };
            format!("Deleted {}{state}", say_identity(&deletion.identity))
        }
        Delta::Undecodable(identity) => format!("Undecodable {}", say_identity(identity)),
        Delta::Bookmark(version) => format!("Bookmark {version}"),
        Delta::ReplacedAll(all) => {
            let entries: Vec<_> = all
                .entries
                .iter()
                .map(|entry| match entry {
                    Entry::Object(item) => say_item(item),
                    Entry::Unchanged(object) => format!("={}", say_identity(&Identity::of(object))),
                    Entry::Undecodable(identity) => format!("~{}", say_identity(identity)),
                })
                .collect();
            let complete = if all.complete { "" } else { " incomplete" };
            format!("ReplacedAll {} [{}]{complete}", all.version, entries.join(" "))
        }
        Delta::Replaced(_) | Delta::Sync(_) | Delta::SyncAll => panic!("a reflector never emits {delta:?}"),
    }
}

pub(super) fn say_trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::RequestFailed { request, failure, .. } => {
            format!("RequestFailed {request} {:?}", failure.kind)
        }
        other => format!("{other:?}"),
    }
}
