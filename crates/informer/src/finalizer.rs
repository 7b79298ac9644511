//! Effects outside of the cluster that have to be undone before an object may go.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use kube::core::{ObjectMeta, Resource};
use kube::{Api, Error};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::list_watch::BoxError;

/// What [`finalizer`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Finalized<T> {
    /// The finalizer is there, and the effect was made: what it answered.
    Applied(T),
    /// The object is being deleted; the effect was undone and the finalizer removed.
    CleanedUp,
    /// The object is being deleted and bears no finalizer of ours (any more): nothing was to be done.
    NothingToDo,
    /// The object is gone, or another one has its name: nothing was done.
    Gone,
}

/// Why [`finalizer`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinalizerError {
    /// The name is not `domain/name`, which the API server asks of a finalizer.
    #[error("{0:?} is no name for a finalizer: it has to be a domain, a slash, and a name")]
    InvalidName(String),
    /// The object has no name or uid: it does not come from a server.
    #[error("the object has no name or no uid")]
    NotAnObject,
    /// The effect failed. The finalizer is there.
    #[error("applying failed: {0}")]
    Apply(#[source] BoxError),
    /// Undoing the effect failed. The finalizer is still there.
    #[error("cleaning up failed: {0}")]
    CleanUp(#[source] BoxError),
    /// The finalizer could not be added, and nothing was done.
    #[error("the finalizer could not be added: {0}")]
    Add(#[source] Error),
    /// The effect was undone, but the finalizer could not be removed; the next call undoes the effect once more.
    #[error("the finalizer could not be removed: {0}")]
    Remove(#[source] Error),
    /// The object could not be read from the server; nothing was done.
    #[error("the object could not be read: {0}")]
    Read(#[source] Error),
}

/// An object that others keep changing is tried so often; then the conflict is the caller's, who comes back later.
const ATTEMPTS: u32 = 5;

/// Makes an effect outside of the cluster, and undoes it before the object goes.
///
/// - An object that lives gets the finalizer `name`, if it has it not, and only then `apply` is called, with the object as
///   it is on the server then (otherwise as it was given). It is called each time, as a reconcile is.
/// - An object that is being deleted and bears the finalizer: `cleanup` is called, then the finalizer is removed. The
///   object is read from the server before, so an outdated cache does not clean up twice. If the removal fails, or the
///   program ends in between, `cleanup` is called again: it has to bear that.
///
/// Finalizers of others are never touched: each patch is bound to the version it was made for, and made anew if the object
/// has changed meanwhile, a few times. An object that is gone, or that has been replaced by another one of the same name,
/// is left alone. Needs `get` and `patch` of the resource.
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = TestServer::new();
/// # server.create("configmaps", serde_json::json!({"metadata": {"name": "bucket"}}))?;
/// use std::sync::Arc;
/// use informer::{BoxError, Finalized, finalizer};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::DeleteParams;
///
/// let api = kube::Api::<ConfigMap>::default_namespaced(kube::Client::new(server, "default"));
/// let make = |_bucket: Arc<ConfigMap>| async { Ok::<_, BoxError>("made") };
/// let remove = |_bucket: Arc<ConfigMap>| async { Ok::<_, BoxError>(()) };
///
/// let bucket = Arc::new(api.get("bucket").await?);
/// assert_eq!(finalizer(&api, "example.com/bucket", bucket, make, remove).await?, Finalized::Applied("made"));
///
/// api.delete("bucket", &DeleteParams::default()).await?;
/// let bucket = Arc::new(api.get("bucket").await?);
/// assert_eq!(finalizer(&api, "example.com/bucket", bucket, make, remove).await?, Finalized::CleanedUp);
/// assert!(api.get_opt("bucket").await?.is_none());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See [`FinalizerError`]: errors of `apply` and `cleanup`, of the server, and bad names.
pub async fn finalizer<K, A, AF, T, AE, C, CF, CE>(
    api: &Api<K>,
    name: &str,
    object: Arc<K>,
    apply: A,
    cleanup: C,
) -> Result<Finalized<T>, FinalizerError>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    A: FnOnce(Arc<K>) -> AF,
    AF: Future<Output = Result<T, AE>>,
    AE: Into<BoxError>,
    C: FnOnce(Arc<K>) -> CF,
    CF: Future<Output = Result<(), CE>>,
    CE: Into<BoxError>,
{
    let finalizer = Finalizer::new(api, name, object.meta())?;
    if object.meta().deletion_timestamp.is_none() {
        return match finalizer.add(object).await? {
            State::Bears(object) => apply(object)
                .await
                .map(Finalized::Applied)
                .map_err(|error| FinalizerError::Apply(error.into())),
            // It was deleted since the cache has seen it: the change is on its way, and leads to the next call.
            State::Bare => Ok(Finalized::NothingToDo),
            State::Gone => Ok(Finalized::Gone),
        };
    }
    if !finalizer.is_on(object.meta()) {
        return Ok(Finalized::NothingToDo);
    }
    match finalizer.read().await? {
        State::Bears(object) => {
            cleanup(Arc::clone(&object)).await.map_err(|error| FinalizerError::CleanUp(error.into()))?;
            finalizer.remove(object).await?;
            Ok(Finalized::CleanedUp)
        }
        State::Bare => Ok(Finalized::NothingToDo),
        State::Gone => Ok(Finalized::Gone),
    }
}

/// One finalizer of one object.
struct Finalizer<'a, K> {
    api: &'a Api<K>,
    name: &'a str,
    object: String,
    uid: String,
}

/// What is known of the object.
enum State<K> {
    /// It has the finalizer.
    Bears(Arc<K>),
    /// It has not, and will not get it.
    Bare,
    /// It is not there, or another one is.
    Gone,
}

impl<'a, K> Finalizer<'a, K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    fn new(api: &'a Api<K>, name: &'a str, meta: &ObjectMeta) -> Result<Self, FinalizerError> {
        // The server refuses other names with a message that does not say which program is to blame.
        if !matches!(name.split_once('/'), Some((domain, name)) if !domain.is_empty() && !name.is_empty()) {
            return Err(FinalizerError::InvalidName(name.to_owned()));
        }
        match (&meta.name, &meta.uid) {
            (Some(object), Some(uid)) => Ok(Self { api, name, object: object.clone(), uid: uid.clone() }),
            _ => Err(FinalizerError::NotAnObject),
        }
    }

    fn is_on(&self, meta: &ObjectMeta) -> bool {
        meta.finalizers.iter().flatten().any(|name| name == self.name)
    }

    async fn read(&self) -> Result<State<K>, FinalizerError> {
        let object = self.api.get_opt(&self.object).await.map_err(FinalizerError::Read)?;
        Ok(match object {
            Some(object) if object.meta().uid.as_ref() != Some(&self.uid) => State::Gone,
            Some(object) if self.is_on(object.meta()) => State::Bears(Arc::new(object)),
            Some(_) => State::Bare,
            None => State::Gone,
        })
    }

    /// Sees to it that the object, which was not being deleted, bears the finalizer.
    async fn add(&self, mut object: Arc<K>) -> Result<State<K>, FinalizerError> {
        if self.is_on(object.meta()) {
            return Ok(State::Bears(object));
        }
        for attempt in 1.. {
            let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
            finalizers.push(self.name.to_owned());
            match self.patch(object.meta(), finalizers).await {
                Ok(patched) => return Ok(State::Bears(Arc::new(patched))),
                Err(error) if is(&error, 404) => return Ok(State::Gone),
                Err(error) if is(&error, 409) && attempt < ATTEMPTS => {}
                Err(error) => return Err(FinalizerError::Add(error)),
            }
            let read = self.api.get_opt(&self.object).await.map_err(FinalizerError::Read)?;
            object = match read {
                Some(now) if now.meta().uid.as_ref() != Some(&self.uid) => return Ok(State::Gone),
                Some(now) if now.meta().deletion_timestamp.is_some() => return Ok(State::Bare),
                Some(now) if self.is_on(now.meta()) => return Ok(State::Bears(Arc::new(now))),
                Some(now) => Arc::new(now),
                None => return Ok(State::Gone),
            };
        }
        unreachable!("the last attempt returns")
    }

    /// Removes it from the object, or finds it removed.
    async fn remove(&self, mut object: Arc<K>) -> Result<(), FinalizerError> {
        for attempt in 1.. {
            let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
            finalizers.retain(|name| name != self.name);
            match self.patch(object.meta(), finalizers).await {
                Ok(_) => return Ok(()),
                Err(error) if is(&error, 404) => return Ok(()),
                Err(error) if is(&error, 409) && attempt < ATTEMPTS => {}
                Err(error) => return Err(FinalizerError::Remove(error)),
            }
            match self.read().await? {
                State::Bears(now) => object = now,
                State::Bare | State::Gone => return Ok(()),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Replaces the list of finalizers, if the object is still the one it was made from: the server compares the version,
    /// and the uid as well.
    async fn patch(&self, meta: &ObjectMeta, finalizers: Vec<String>) -> Result<K, Error> {
        let patch = json!({"metadata": {
            "uid": self.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers,
        }});
        self.api.patch(&self.object, &PatchParams::default(), &Patch::Merge(patch)).await
    }
}

fn is(error: &Error, code: u16) -> bool {
    matches!(error, Error::Api(status) if status.code == code)
}
