//! kube-runtime's stores as what a controller of ours runs on.

use std::collections::VecDeque;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use informer::{Feed, FeedEvent};
use kube::Resource;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;

use crate::watch_error;

/// A store of kube-runtime, with the stream that fills it, for an [`informer::Controller`] to run on.
///
/// `events` is what `reflector` or `reflect_shared` returns, with `default_backoff` and whatever else belongs to it, before
/// somebody else polls it: the controller does that, from the beginning of its run to the end of it. (`subscribe` of a shared
/// store goes on working, and gets its objects only while the controller runs.) Nothing that tells of objects may be taken out
/// of the stream on the way. The name is for people: logs, and the error of a controller that waits in vain.
///
/// The [`Feed`] is the primary of a controller, what it `owns`, or what it `watches`, as an informer would be, and so are its
/// rules: who polls, when it counts as synced, what it keeps. A `reconcile` reads from the store.
///
/// What kube-runtime loses is found here by comparison: what a relist (`Init` to `InitDone`) no longer has is reconciled as
/// deleted, and what a relist shows in the version known already is not reconciled at all.
///
/// What cannot be found here:
/// - what an event said that kube-runtime could not decode: it is a failure, and the store stays as it was;
/// - why nothing comes, where kube's `Client` repeats a refused request by itself, before the stream fails.
///
/// [`ControllerHandle::wrote`](informer::ControllerHandle::wrote) takes a feed as well: the next reconcile of that key begins
/// when the stream has shown the object in that version or a later one, or any object in a later one. The store has it then, too.
pub fn feed<K>(
    name: &str,
    reader: Store<K>,
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
) -> Feed<K>
where
    K: Resource<DynamicType: Default + Eq + Hash + Clone + Send + Sync>,
    K: Clone + DeserializeOwned + Send + Sync + 'static,
{
    feed_with(name, reader, events, K::DynamicType::default())
}

/// The same for a resource that is known only when the program runs, such as a `DynamicObject`.
pub fn feed_with<K>(
    name: &str,
    reader: Store<K>,
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    dyntype: K::DynamicType,
) -> Feed<K>
where
    K: Resource<DynamicType: Eq + Hash + Clone + Send + Sync>,
    K: Clone + DeserializeOwned + Send + Sync + 'static,
{
    let reading = Reading {
        events: Box::pin(events),
        translator: Translator { reader, dyntype: dyntype.clone(), is_listed: false },
        ready: VecDeque::new(),
    };
    let events = stream::unfold(reading, |mut reading| async move {
        loop {
            if let Some(event) = reading.ready.pop_front() {
                return Some((event, reading));
            }
            reading.ready.extend(reading.translator.begin());
            if reading.ready.is_empty() {
                let event = reading.events.next().await?;
                reading.ready.extend(reading.translator.translate(event));
            }
        }
    });
    Feed::new(name, &dyntype, events)
}

struct Reading<K: Resource<DynamicType: Eq + Hash> + 'static> {
    events: Pin<Box<dyn Stream<Item = watcher::Result<Event<K>>> + Send>>,
    translator: Translator<K>,
    ready: VecDeque<FeedEvent<K>>,
}

struct Translator<K: Resource<DynamicType: Eq + Hash> + 'static> {
    reader: Store<K>,
    dyntype: K::DynamicType,
    /// Whether a whole list has been told.
    is_listed: bool,
}

impl<K: Resource<DynamicType: Eq + Hash + Clone> + Clone + 'static> Translator<K> {
    /// What is in the store already, if the stream was polled before. (To ask whether it is ready would rob others, who wait
    /// for that, of their wake-up.)
    fn begin(&mut self) -> Option<FeedEvent<K>> {
        (!self.is_listed && !self.reader.is_empty()).then(|| self.list())
    }

    /// What the event says, after it went through the store.
    fn translate(&mut self, event: watcher::Result<Event<K>>) -> Vec<FeedEvent<K>> {
        let event = match event {
            // The objects of a list are in the store together when it is whole.
            Ok(Event::Init | Event::InitApply(_)) => return Vec::new(),
            Ok(Event::InitDone) => return vec![self.list()],
            Ok(Event::Apply(object)) => FeedEvent::Applied(self.stored(object)),
            Ok(Event::Delete(object)) => FeedEvent::Deleted(Arc::new(object)),
            Err(error) => return vec![FeedEvent::Failed(watch_error::describe(&error))],
        };
        // Changes come after a list: this one was not seen here.
        let list = (!self.is_listed).then(|| self.list());
        list.into_iter().chain([event]).collect()
    }

    fn list(&mut self) -> FeedEvent<K> {
        self.is_listed = true;
        FeedEvent::Replaced(self.reader.state())
    }

    /// The store's own copy, so that there are not two.
    fn stored(&self, object: K) -> Arc<K> {
        let stored = self.reader.get(&ObjectRef::from_obj_with(&object, self.dyntype.clone()));
        let is_same = |stored: &Arc<K>| stored.meta().resource_version == object.meta().resource_version;
        stored.filter(is_same).unwrap_or_else(|| Arc::new(object))
    }
}
