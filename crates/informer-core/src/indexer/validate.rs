//! The store's invariants, checked from scratch.

use super::{Indexer, hash_key};

impl<V> Indexer<V> {
    /// Checks every invariant from scratch, in time linear in the contents: for tests and simulations.
    ///
    /// # Panics
    /// If one is broken, with the invariant as the message.
    pub fn validate(&self) {
        self.slab.validate();
        assert_eq!(self.hashes.len(), self.slab.slots(), "each slot has a hash");
        assert_eq!(self.keys.len(), self.len(), "the key table names every object once");
        let mut objects = self.slab.objects();
        for slot in 0..self.slab.slots() as u32 {
            let Some(object) = self.slab.get(slot) else { continue };
            let key = &object.key;
            let listed = objects.next().expect("iteration visits every occupied slot");
            assert!(std::ptr::eq(listed, object), "iteration is in slot order");
            assert_eq!(self.find(key.namespace(), key.name()), Some(slot), "the key table finds the object");
            let hash = hash_key(&self.hasher, key.namespace(), key.name());
            assert_eq!(self.hashes[slot as usize], hash, "a slot's hash is its key's");
            let namespace =
                self.by_namespace.values_of(slot).expect("the namespace index knows every object");
            assert_eq!(namespace.len(), 1, "an object is in one namespace");
            assert_eq!(&*namespace[0], key.namespace(), "the namespace index agrees with the key");
        }
        let value_of = |slot| self.slab.get(slot).map(|object| &object.value);
        self.by_namespace.validate(&self.hasher, value_of);
        assert!(self.retired.lists.is_empty(), "what is given up is handed out");
        for index in self.indices.iter().flatten() {
            index.validate(&self.hasher, value_of);
        }
    }
}
