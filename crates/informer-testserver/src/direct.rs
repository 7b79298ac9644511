//! The server's objects from code, without HTTP: what tests write their world with.

use std::sync::Arc;

use serde_json::Value;

use crate::delete::{delete_object, mark};
use crate::registry::Resource;
use crate::server::TestServer;
use crate::status::ApiError;
use crate::storage::{State, Stored, key_of};
use crate::write::{Destination, Part, WriteOptions};

const WHOLE: WriteOptions = WriteOptions { whole: true, dry_run: false };

impl TestServer {
    /// Creates an object and returns it as stored, its status included.
    ///
    /// `resource` is a name as kubectl takes it (`pods`, `po`, `deployments.apps`, `apps/v1/deployments`); the
    /// namespace is the object's, `default` if it has none.
    ///
    /// # Errors
    /// As over HTTP: the resource or namespace is unknown, the name is taken.
    pub fn create(&self, resource: &str, object: Value) -> Result<Value, ApiError> {
        let mut state = self.inner.state();
        let resource = find(&state, resource)?;
        let namespace = namespace_of(&resource, &object);
        let stored = self.destination(&resource, &namespace).create(&mut state, object)?;
        Ok(value(&resource, &stored))
    }

    /// Replaces an object, its status included. A `metadata.resourceVersion` that is given must be the present one.
    ///
    /// # Errors
    /// As over HTTP: unknown, or changed since.
    pub fn update(&self, resource: &str, object: Value) -> Result<Value, ApiError> {
        let mut state = self.inner.state();
        let resource = find(&state, resource)?;
        let namespace = namespace_of(&resource, &object);
        let name = object["metadata"]["name"].as_str().unwrap_or("").to_owned();
        let stored =
            self.destination(&resource, &namespace).update(&mut state, &name, object, Part::Object)?;
        Ok(value(&resource, &stored))
    }

    /// Creates an object, or replaces the one of that name.
    ///
    /// # Errors
    /// As over HTTP.
    pub fn put(&self, resource: &str, object: Value) -> Result<Value, ApiError> {
        match self.update(resource, object.clone()) {
            Err(error) if error.code() == 404 => self.create(resource, object),
            other => other,
        }
    }

    /// Changes an object in place, in one step.
    ///
    /// # Errors
    /// As over HTTP: the object is unknown.
    pub fn modify(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<Value, ApiError> {
        let mut state = self.inner.state();
        let resource = find(&state, resource)?;
        let old = existing(&state, &resource, namespace, name)?;
        let mut object = old.encoded.parse();
        change(&mut object);
        let namespace = old.namespace().to_owned();
        let stored =
            self.destination(&resource, &namespace).update(&mut state, name, object, Part::Object)?;
        Ok(value(&resource, &stored))
    }

    /// Deletes an object as DELETE does; `namespace` is "" for cluster-scoped ones.
    ///
    /// # Errors
    /// As over HTTP: the object is unknown.
    pub fn delete(&self, resource: &str, namespace: &str, name: &str) -> Result<(), ApiError> {
        let mut state = self.inner.state();
        let resource = find(&state, resource)?;
        let object = existing(&state, &resource, namespace, name)?;
        delete_object(&self.inner, &mut state, &resource, &object);
        Ok(())
    }

    /// Marks an object as being deleted, so many seconds from now: it is there until [`delete`](Self::delete)d, as a
    /// Pod is while its containers stop.
    pub(crate) fn terminate(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        grace_seconds: i64,
    ) -> Result<(), ApiError> {
        let mut state = self.inner.state();
        let resource = find(&state, resource)?;
        let object = existing(&state, &resource, namespace, name)?;
        mark(&self.inner, &mut state, resource.table, &object, grace_seconds);
        Ok(())
    }

    /// One object.
    ///
    /// # Errors
    /// As over HTTP: the object is unknown.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Result<Value, ApiError> {
        let state = self.inner.state();
        let resource = find(&state, resource)?;
        Ok(value(&resource, &*existing(&state, &resource, namespace, name)?))
    }

    /// All objects of a resource, in key order.
    ///
    /// # Errors
    /// The resource is unknown.
    pub fn list(&self, resource: &str) -> Result<Vec<Value>, ApiError> {
        let mut state = self.inner.state();
        let resource = find(&state, resource)?;
        let objects: Vec<Arc<Stored>> = state.table(resource.table).objects.values().cloned().collect();
        drop(state);
        Ok(objects.iter().map(|object| value(&resource, object)).collect())
    }

    /// The number of objects of a resource; 0 for an unknown one. Cheap.
    pub fn count(&self, resource: &str) -> usize {
        let mut state = self.inner.state();
        find(&state, resource).map_or(0, |resource| state.table(resource.table).objects.len())
    }

    /// The present version of the whole store.
    pub fn resource_version(&self) -> u64 {
        self.inner.state().version
    }

    /// Lets the version go ahead by so many, as writes to things that nobody watches do.
    pub fn advance_version(&self, by: u64) {
        let mut state = self.inner.state();
        state.version += by;
        state.wake_all_watchers();
    }

    /// Makes all earlier versions unavailable: watches from them and lists at them get 410. Open watches go on.
    pub fn compact(&self) {
        self.inner.state().compact();
    }

    fn destination<'a>(&'a self, resource: &'a Resource, namespace: &'a str) -> Destination<'a> {
        Destination { inner: &self.inner, resource, namespace, options: WHOLE }
    }
}

fn find(state: &State, resource: &str) -> Result<Arc<Resource>, ApiError> {
    state.registry.by_name(resource).ok_or_else(ApiError::unknown_resource)
}

fn existing(
    state: &State,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<Arc<Stored>, ApiError> {
    state
        .object(resource.table, &key_of(namespace, name))
        .ok_or_else(|| ApiError::not_found(&resource.group, &resource.plural, name))
}

fn namespace_of(resource: &Resource, object: &Value) -> String {
    if resource.namespaced {
        object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned()
    } else {
        String::new()
    }
}

fn value(resource: &Resource, stored: &Stored) -> Value {
    let mut value = stored.encoded.parse();
    value["apiVersion"] = resource.group_version().into();
    value["kind"] = resource.kind.as_str().into();
    value
}
