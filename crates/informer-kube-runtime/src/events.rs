//! An informer's notifications as kube-runtime's watcher events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use informer::{Batch, LastState, Notification, Object, ObjectKey, SharedInformer};
use kube::runtime::watcher::{self, Event};

/// What the informer sees, as kube-runtime's `watcher` would tell it.
///
/// The stream begins with `Init`, everything that is cached as `InitApply`, and `InitDone`, once the informer has synced; then each
/// change follows as `Apply` or `Delete`. It never carries an error, there is no second `Init`, and it ends when the informer is
/// gone. It can be taken at any time, any number of times. A reader that falls behind skips states in between.
///
/// Costs a clone of each object that is told of: kube-runtime's events own their objects.
pub fn watcher_events<K: Clone + Send + Sync + 'static>(
    informer: &SharedInformer<K>,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K> {
    let batches = informer.subscribe();
    stream::unfold((batches, Translator::default()), |(mut batches, mut translator)| async move {
        loop {
            if let Some(event) = translator.next() {
                return Some((Ok(event), (batches, translator)));
            }
            let batch: Batch<K> = batches.next().await?;
            batch.iter().for_each(|notification| translator.take(notification));
        }
    })
    .fuse()
}

/// Which objects are told next.
struct Translator<K> {
    /// Until the first list is whole: `Init` lets kube-runtime's store begin a buffer from which nothing can be deleted.
    initial: Option<BTreeMap<ObjectKey, Arc<Object<K>>>>,
    ready: VecDeque<Event<Arc<Object<K>>>>,
}

impl<K> Default for Translator<K> {
    fn default() -> Self {
        Self { initial: Some(BTreeMap::new()), ready: VecDeque::new() }
    }
}

impl<K> Translator<K> {
    fn take(&mut self, notification: &Notification<K>) {
        match notification {
            Notification::Added { object, .. } | Notification::Updated { new: object, .. } => {
                self.apply(object)
            }
            Notification::Deleted { key, last_state } => self.delete(key, last_state),
            Notification::Resync { object } => self.apply(object),
            Notification::Synced { .. } => self.synced(),
            // A relist has told its differences one by one.
            _ => {}
        }
    }

    fn apply(&mut self, object: &Arc<Object<K>>) {
        match &mut self.initial {
            Some(initial) => drop(initial.insert(object.key.clone(), Arc::clone(object))),
            None => self.ready.push_back(Event::Apply(Arc::clone(object))),
        }
    }

    fn delete(&mut self, key: &ObjectKey, last_state: &LastState<K>) {
        match (&mut self.initial, last_state.object()) {
            (Some(initial), _) => drop(initial.remove(key)),
            (None, Some(object)) => self.ready.push_back(Event::Delete(Arc::clone(object))),
            (None, None) => unreachable!("an informer knows the last state of what it tells of"),
        }
    }

    fn synced(&mut self) {
        let Some(initial) = self.initial.take() else { return };
        self.ready.push_back(Event::Init);
        self.ready.extend(initial.into_values().map(Event::InitApply));
        self.ready.push_back(Event::InitDone);
    }
}

impl<K: Clone> Translator<K> {
    fn next(&mut self) -> Option<Event<K>> {
        let value = |object: Arc<Object<K>>| K::clone(&object.value);
        Some(match self.ready.pop_front()? {
            Event::Apply(object) => Event::Apply(value(object)),
            Event::Delete(object) => Event::Delete(value(object)),
            Event::Init => Event::Init,
            Event::InitApply(object) => Event::InitApply(value(object)),
            Event::InitDone => Event::InitDone,
        })
    }
}
