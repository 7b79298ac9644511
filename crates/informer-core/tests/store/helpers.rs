//! Short ways to write objects and deltas, and a handler that believes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::{
    Deletion, Delta, Identity, Item, LastState, Notification, Object, ObjectKey, ResourceVersion, Uid,
};

pub(crate) type Obj = Object<u32>;

pub(crate) fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// An object whose value says which one it is.
pub(crate) fn object(name: &str, uid: &str, version: &str, value: u32) -> Arc<Obj> {
    Arc::new(Object {
        key: key(name),
        uid: Uid::new(uid),
        version: ResourceVersion::new(version),
        value: Arc::new(value),
    })
}

/// With uid "u" and a value equal to the version.
pub(crate) fn simple(name: &str, version: u32) -> Arc<Obj> {
    object(name, "u", &version.to_string(), version)
}

pub(crate) fn plain(object: &Arc<Obj>) -> Item<u32> {
    Item { object: Arc::clone(object), index_values: Default::default() }
}

/// An item with values under each index, by position.
pub(crate) fn indexed(object: &Arc<Obj>, values: &[&[&str]]) -> Item<u32> {
    Item { object: Arc::clone(object), index_values: values.iter().copied().collect() }
}

pub(crate) fn added(name: &str, version: u32) -> Delta<u32> {
    Delta::Added(plain(&simple(name, version)))
}

pub(crate) fn updated(name: &str, version: u32) -> Delta<u32> {
    Delta::Updated(plain(&simple(name, version)))
}

/// With the final state, whose value is the version.
pub(crate) fn deleted(name: &str, version: u32) -> Delta<u32> {
    let last = simple(name, version);
    Delta::Deleted(Deletion { identity: identity(&last), last_state: Some(last) })
}

pub(crate) fn identity(object: &Obj) -> Identity {
    Identity { key: object.key.clone(), uid: object.uid.clone(), version: object.version.clone() }
}

pub(crate) fn describe_object(object: &Obj) -> String {
    format!("{object:?}#{}", object.value)
}

fn describe_state(state: &LastState<u32>) -> String {
    match state {
        LastState::Known(object) => format!("known {}", describe_object(object)),
        LastState::Stale(object) => format!("stale {}", describe_object(object)),
        LastState::Unknown => "unknown".into(),
    }
}

/// Everything about a notification, the objects' values included.
pub(crate) fn describe(notification: &Notification<u32>) -> String {
    match notification {
        Notification::Added { object, in_initial_list: false } => {
            format!("added {}", describe_object(object))
        }
        Notification::Added { object, .. } => format!("initial {}", describe_object(object)),
        Notification::Updated { old, new } => {
            format!("updated {} -> {}", describe_object(old), describe_object(new))
        }
        Notification::Deleted { key, last_state } => format!("deleted {key} {}", describe_state(last_state)),
        Notification::Resync { object } => format!("resync {}", describe_object(object)),
        Notification::Synced { version } => format!("synced {version}"),
        Notification::Relisted { version } => format!("relisted {version}"),
        other => panic!("unknown notification {other:?}"),
    }
}

pub(crate) fn describe_all(notifications: &[Notification<u32>]) -> Vec<String> {
    notifications.iter().map(describe).collect()
}

/// One word a notification, with the value of the newest object: `A5`, `I5`, `U5`, `D5`, `D?`, `R5`, `S`, `L`.
pub(crate) fn short(notifications: &[Notification<u32>]) -> String {
    let words: Vec<String> = notifications
        .iter()
        .map(|notification| match notification {
            Notification::Added { object, in_initial_list: false } => format!("A{}", object.value),
            Notification::Added { object, .. } => format!("I{}", object.value),
            Notification::Updated { new, .. } => format!("U{}", new.value),
            Notification::Deleted { last_state: LastState::Known(object), .. } => {
                format!("D{}", object.value)
            }
            Notification::Deleted { last_state: LastState::Stale(object), .. } => {
                format!("D?{}", object.value)
            }
            Notification::Deleted { .. } => "D?".into(),
            Notification::Resync { object } => format!("R{}", object.value),
            Notification::Synced { .. } => "S".into(),
            Notification::Relisted { .. } => "L".into(),
            other => panic!("unknown notification {other:?}"),
        })
        .collect();
    words.join(" ")
}

/// What a handler knows, and a check that each notification follows from it.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) objects: BTreeMap<ObjectKey, Arc<Obj>>,
    pub(crate) synced: usize,
    pub(crate) relisted: Option<ResourceVersion>,
}

impl View {
    pub(crate) fn see(&mut self, notification: &Notification<u32>) {
        match notification {
            Notification::Added { object, in_initial_list } => {
                assert!(!in_initial_list || self.synced == 0, "{notification:?}: initial after Synced");
                let earlier = self.objects.insert(object.key.clone(), Arc::clone(object));
                assert!(earlier.is_none(), "{notification:?}: added twice");
            }
            Notification::Updated { old, new } => {
                let earlier = self.objects.insert(new.key.clone(), Arc::clone(new));
                let earlier = earlier.unwrap_or_else(|| panic!("{notification:?}: updated, never added"));
                assert!(Arc::ptr_eq(&earlier, old), "{notification:?}: old is not what was seen last");
                assert!(!Arc::ptr_eq(old, new), "{notification:?}: nothing changed");
            }
            Notification::Deleted { key, .. } => {
                assert!(self.objects.remove(key).is_some(), "{notification:?}: deleted, never added");
            }
            Notification::Resync { object } => {
                let known = self.objects.get(&object.key).expect("a resync is about a known object");
                assert!(Arc::ptr_eq(known, object), "{notification:?}: a resync brings nothing new");
            }
            Notification::Synced { .. } => self.synced += 1,
            Notification::Relisted { version } => self.relisted = Some(version.clone()),
            other => panic!("unknown notification {other:?}"),
        }
    }
}
