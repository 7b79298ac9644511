//! What one namespace's reflector says before the other namespaces have been listed.

use std::collections::BTreeMap;

use crate::{Delta, Entry, Identity, ObjectKey, Replacement, ResourceVersion};

/// The present contents of one namespace, kept until the first list of several namespaces is complete.
///
/// Changes are folded in, so it never holds more than the namespace does, however long another one keeps it waiting.
pub(crate) struct HeldList<V> {
    /// The version of its list, and whether that was complete; `None` before it came.
    list: Option<(ResourceVersion, bool)>,
    entries: BTreeMap<ObjectKey, Entry<V>>,
    /// Objects of `entries` whose newest version could not be decoded.
    undecodable: BTreeMap<ObjectKey, Identity>,
}

impl<V> HeldList<V> {
    pub(crate) fn new() -> Self {
        Self { list: None, entries: BTreeMap::new(), undecodable: BTreeMap::new() }
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.list.is_some()
    }

    pub(crate) fn fold(&mut self, delta: Delta<V>) {
        match delta {
            Delta::ReplacedAll(replacement) => {
                self.list = Some((replacement.version, replacement.complete));
                let entries = replacement.entries.into_iter();
                self.entries = entries.map(|entry| (entry.key().clone(), entry)).collect();
                self.undecodable.clear();
            }
            Delta::Added(item) | Delta::Updated(item) | Delta::Replaced(item) => {
                let key = item.object.key.clone();
                self.undecodable.remove(&key);
                self.entries.insert(key, Entry::Object(item));
            }
            Delta::Deleted(deletion) => {
                self.undecodable.remove(&deletion.identity.key);
                self.entries.remove(&deletion.identity.key);
            }
            Delta::Undecodable(identity) => {
                // Without a good state there is nothing to be stale.
                if self.entries.contains_key(&identity.key) {
                    self.undecodable.insert(identity.key.clone(), identity);
                }
            }
            // Versions of single namespaces are kept by the informer; nobody listens yet, so nothing is replayed.
            Delta::Bookmark(_) | Delta::Sync(_) | Delta::SyncAll => {}
        }
    }

    /// Adds this namespace's contents to the list of all, and what is stale in it to `stale`.
    pub(crate) fn append_to(self, all: &mut Option<Replacement<V>>, stale: &mut Vec<Delta<V>>) {
        let (version, complete) = self.list.expect("a list is appended once it is there");
        let entries = self.entries.into_values();
        match all {
            None => {
                *all = Some(Replacement { version, namespace: None, entries: entries.collect(), complete })
            }
            Some(all) => {
                all.entries.extend(entries);
                all.complete &= complete;
                if version < all.version {
                    all.version = version;
                }
            }
        }
        stale.extend(self.undecodable.into_values().map(Delta::Undecodable));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Deletion, IndexValues, Item, Object, Uid};

    fn item(name: &str, version: u64) -> Item<()> {
        let key = ObjectKey::new("a", name);
        let object = Object { key, uid: Uid::new(name), version: version.into(), value: Arc::new(()) };
        Item { object: Arc::new(object), index_values: IndexValues::default() }
    }

    fn identity(name: &str, version: u64) -> Identity {
        Identity { key: ObjectKey::new("a", name), uid: Uid::new(name), version: version.into() }
    }

    fn list(names: &[&str], version: u64) -> Delta<()> {
        let entries = names.iter().map(|name| Entry::Object(item(name, version))).collect();
        Delta::ReplacedAll(Replacement { version: version.into(), namespace: None, entries, complete: true })
    }

    #[test]
    fn changes_after_the_list_are_part_of_it_and_take_no_room() {
        let mut held = HeldList::new();
        assert!(!held.is_listed());
        held.fold(list(&["x", "y", "z"], 5));
        for version in 6..1000 {
            held.fold(Delta::Updated(item("x", version)));
        }
        held.fold(Delta::Deleted(Deletion { identity: identity("y", 1000), last_state: None }));
        held.fold(Delta::Undecodable(identity("z", 1001)));
        held.fold(Delta::Undecodable(identity("unknown", 1002)));
        assert!(held.is_listed());
        let (mut all, mut stale) = (None, Vec::new());
        held.append_to(&mut all, &mut stale);
        let all = all.unwrap();
        let versions: Vec<_> = all
            .entries
            .iter()
            .map(|entry| match entry {
                Entry::Object(item) => format!("{:?}", item.object),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(versions, ["a/x@999 (x)", "a/z@5 (z)"]);
        assert!(matches!(&stale[..], [Delta::Undecodable(identity)] if identity.key.name() == "z"));
    }

    #[test]
    fn a_second_list_replaces_the_first() {
        let mut held = HeldList::new();
        held.fold(list(&["x", "y"], 5));
        held.fold(list(&["y"], 9));
        let (mut all, mut stale) = (None, Vec::new());
        held.append_to(&mut all, &mut stale);
        assert_eq!(all.unwrap().entries.len(), 1);
    }
}
