//! A cache for a controller that something other than an informer fills.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use informer_core::{Notification, Object, ObjectKey, ResourceVersion, Uid};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::feed_state::{Change, State};
use super::origin::{ControllerSource, Listener, NOTIFICATIONS_AT_ONCE, Origin};
use super::writes::Cache;
use crate::driver::Progress;
use crate::error::{NotSynced, SyncError};
use crate::format::Typed;
use crate::status::Phase;
use crate::store::MetaFunctions;

/// What the stream of a [`Feed`] says of the objects that somebody else caches.
#[non_exhaustive]
pub enum FeedEvent<V> {
    /// The objects were listed, and these are all there are. Said at the beginning, and whenever the difference is not known.
    Replaced(Vec<Arc<V>>),
    /// This object was added, or changed.
    Applied(Arc<V>),
    /// This object was deleted, and this is its last state.
    Deleted(Arc<V>),
    /// Something went wrong, and is tried again. The text is logged: it must not contain what objects contain.
    Failed(String),
}

/// A cache that something other than an informer fills, as a [`Controller`](crate::Controller) sees it: the stream of its
/// changes.
///
/// For kube-runtime's stores there is a ready one in `informer-kube-runtime`.
///
/// **Who polls.** The stream is polled by the controller, from the beginning of its [run](crate::Controller::run) to the end of
/// it, and by nobody between two runs. Several roles and several controllers can have the same feed (a clone is the same one):
/// one of those that run polls, and all are told. After an event [`Failed`](FeedEvent::Failed) the stream is left alone for a
/// second.
///
/// **What is kept.** Key, uid, version and a reference to each object, some 200 bytes an object beside what the stream
/// shares. With that a list is told as its differences: what vanished unseen is a deletion, what did not change is nothing.
///
/// **What is told of it.** It has synced with the first [`Replaced`](FeedEvent::Replaced). Until then a controller waits, and
/// [says so](crate::RunError::NotSynced) with its name and the last failure when it has waited for too long. A failure is logged
/// as a warning when it is not the one before.
///
/// **Reading what was written.** [`ControllerHandle::wrote`](crate::ControllerHandle::wrote) works for it: the highest version
/// of any object that the stream has told of is taken for the version of the cache, so versions must come in their order, as
/// they do in a watch. A list may begin anew with lower ones. What bookmarks say is not known here: a write that the stream
/// never shows, and nothing after it, is waited for until [`cache_timeout`](crate::ControllerBuilder::cache_timeout).
///
/// ```
/// # use informer::{BoxError, ObjectKey};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), BoxError> {
/// use std::sync::Arc;
/// use futures_util::{StreamExt, stream};
/// use informer::{Action, Controller, Feed, FeedEvent};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use tokio_util::sync::CancellationToken;
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.name = Some("settings".into());
/// let events = stream::iter([FeedEvent::Replaced(vec![Arc::new(settings)])]).chain(stream::pending());
/// let config_maps = Feed::new("config maps", &(), events);
///
/// let stop = CancellationToken::new();
/// let controller = Controller::builder("printer", &config_maps).build({
///     let stop = stop.clone();
///     move |key: ObjectKey| {
///         assert_eq!(key, ObjectKey::new("", "settings"));
///         stop.cancel();
///         std::future::ready(Ok::<_, BoxError>(Action::Done))
///     }
/// })?;
/// controller.run(stop).await?;
/// # Ok(())
/// # }
/// ```
pub struct Feed<V> {
    shared: Arc<Shared<V>>,
}

struct Shared<V> {
    name: Arc<str>,
    /// Group and kind.
    kind: (String, String),
    meta: MetaFunctions<V>,
    /// Whoever holds it is the one who polls.
    source: tokio::sync::Mutex<Source<V>>,
    state: Mutex<State<V>>,
    progress: watch::Sender<Progress>,
}

/// What only who polls has to do with.
struct Source<V> {
    /// Nothing: it has ended.
    changes: Option<BoxStream<'static, Change<V>>>,
    /// Taken in, but not yet told.
    untold: VecDeque<Notification<V>>,
}

/// How long a stream is left alone that has failed: it may be one that does not wait by itself.
const PAUSE: Duration = Duration::from_secs(1);

impl<K: kube::Resource + DeserializeOwned + Send + Sync + 'static> Feed<K> {
    /// A feed that takes in what `events` says. The name is for people: logs, and the error of a controller that waits in vain.
    ///
    /// An object without a name is left out.
    pub fn new(
        name: &str,
        dyntype: &K::DynamicType,
        events: impl Stream<Item = FeedEvent<K>> + Send + 'static,
    ) -> Self {
        let changes = events.filter_map(|event| std::future::ready(change(event))).boxed();
        let shared = Shared {
            name: name.into(),
            kind: (K::group(dyntype).into_owned(), K::kind(dyntype).into_owned()),
            meta: MetaFunctions::of::<Typed<K>>(),
            source: tokio::sync::Mutex::new(Source { changes: Some(changes), untold: VecDeque::new() }),
            state: Mutex::new(State::new()),
            progress: watch::Sender::new(Progress::default()),
        };
        Self { shared: Arc::new(shared) }
    }
}

fn change<K: kube::Resource>(event: FeedEvent<K>) -> Option<Change<K>> {
    Some(match event {
        FeedEvent::Replaced(all) => Change::Replaced(all.into_iter().filter_map(object).collect()),
        FeedEvent::Applied(value) => Change::Applied(object(value)?),
        FeedEvent::Deleted(value) => Change::Deleted(object(value)?),
        FeedEvent::Failed(text) => Change::Failed(text),
    })
}

fn object<K: kube::Resource>(value: Arc<K>) -> Option<Arc<Object<K>>> {
    let meta = value.meta();
    let [namespace, name, uid, version] = [&meta.namespace, &meta.name, &meta.uid, &meta.resource_version]
        .map(|text| text.as_deref().unwrap_or_default());
    if name.is_empty() {
        return None;
    }
    let (key, uid, version) = (ObjectKey::new(namespace, name), Uid::new(uid), ResourceVersion::new(version));
    Some(Arc::new(Object { key, uid, version, value }))
}

impl<V: Send + Sync + 'static> ControllerSource for Feed<V> {
    type Value = V;

    fn origin(&self) -> Arc<dyn Origin<V>> {
        Arc::<Shared<V>>::clone(&self.shared)
    }
}

impl<V> Shared<V> {
    fn state(&self) -> MutexGuard<'_, State<V>> {
        // No user code runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls the stream and tells what it says, unless another one does: then its turn is waited for.
    async fn poll(&self) {
        let mut source = self.source.lock().await;
        loop {
            // Dropped at any await, nothing is lost: what is not told is kept.
            while !source.untold.is_empty() {
                let some = source.untold.len().min(NOTIFICATIONS_AT_ONCE);
                let part: Vec<_> = source.untold.drain(..some).collect();
                let listeners = self.state().listeners();
                listeners.iter().for_each(|listener| listener(&part));
                tokio::task::consume_budget().await;
            }
            let Some(changes) = &mut source.changes else { return std::future::pending().await };
            match changes.next().await {
                Some(Change::Failed(text)) => {
                    self.fail(text);
                    tokio::time::sleep(PAUSE).await;
                }
                Some(change) => source.untold.extend(self.take(change)),
                None => {
                    source.changes = None;
                    self.state().has_ended = true;
                    tracing::error!(target: "informer::controller", feed = &*self.name, "the stream of a feed has ended: its cache changes no more");
                }
            }
            tokio::task::consume_budget().await;
        }
    }

    fn take(&self, change: Change<V>) -> Vec<Notification<V>> {
        let mut state = self.state();
        if state.trouble.take().is_some() {
            tracing::info!(target: "informer::controller", feed = &*self.name, "the stream of a feed works again");
        }
        let notifications = state.take(change);
        let (synced, version) = (state.has_synced, state.version.clone());
        // Under the lock: what is in the cache is what the progress says.
        self.progress.send_replace(Progress { synced, version, by_namespace: Vec::new() });
        notifications
    }

    fn fail(&self, text: String) {
        let mut state = self.state();
        if state.trouble.as_ref() == Some(&text) {
            tracing::debug!(target: "informer::controller", feed = &*self.name, error = text, "the stream of a feed failed, as before");
        } else {
            tracing::warn!(target: "informer::controller", feed = &*self.name, error = text, "the stream of a feed failed");
        }
        state.trouble = Some(text);
    }

    fn not_synced(&self) -> NotSynced {
        let state = self.state();
        let (phase, last_error) = match state.has_ended {
            true => (Phase::Stopped, Some("its stream has ended".to_owned())),
            false => (Phase::Listing { items: state.known.len(), total: None }, state.trouble.clone()),
        };
        NotSynced { informer: self.name.to_string(), phase, last_error }
    }
}

impl<V: Send + Sync + 'static> Origin<V> for Shared<V> {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> Option<(String, String)> {
        Some(self.kind.clone())
    }

    fn meta(&self) -> &MetaFunctions<V> {
        &self.meta
    }

    fn uid_of(&self, key: &ObjectKey) -> Option<Uid> {
        self.state().known.get(key).map(|object| object.uid.clone())
    }

    fn list(&self) -> Vec<Arc<Object<V>>> {
        self.state().known.values().cloned().collect()
    }

    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), SyncError>> {
        Box::pin(async move {
            let mut progress = self.progress.subscribe();
            match tokio::time::timeout(timeout, progress.wait_for(|progress| progress.synced)).await {
                Ok(_) => Ok(()),
                Err(_) => Err(SyncError::new(timeout, vec![self.not_synced()])),
            }
        })
    }

    fn listen(self: Arc<Self>, listener: Listener<V>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let (ticket, present) = self.state().listen(Arc::clone(&listener));
            let _until_dropped = Listening { shared: Arc::clone(&self), ticket };
            for part in present.chunks(NOTIFICATIONS_AT_ONCE) {
                listener(part);
                tokio::task::consume_budget().await;
            }
            std::future::pending().await
        })
    }

    fn drive(self: Arc<Self>) -> Option<BoxFuture<'static, ()>> {
        Some(Box::pin(async move { self.poll().await }))
    }

    fn cache(self: Arc<Self>) -> Arc<dyn Cache> {
        self
    }
}

impl<V: Send + Sync + 'static> Cache for Shared<V> {
    fn name(&self) -> &str {
        &self.name
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn version_of(&self, object: &ObjectKey) -> Option<ResourceVersion> {
        self.state().known.get(object).map(|object| object.version.clone())
    }
}

/// A listener's place; dropped, it is told no more.
struct Listening<V> {
    shared: Arc<Shared<V>>,
    ticket: u64,
}

impl<V> Drop for Listening<V> {
    fn drop(&mut self) {
        // It may be the last to hold what is the user's, so it is dropped without the lock.
        let listener = self.shared.state().forget(self.ticket);
        drop(listener);
    }
}

impl<V> Clone for Feed<V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<V> fmt::Debug for Feed<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
