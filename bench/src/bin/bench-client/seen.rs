//! What a handler has been told: how much, and the last object's version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use informer::{EventHandler, Object, ObjectKey};
use tokio::sync::watch;

/// Shared by a handler's calls and whoever waits for them.
#[derive(Debug)]
pub(crate) struct Seen {
    last: ObjectKey,
    told: AtomicU64,
    version: watch::Sender<u64>,
}

impl Seen {
    pub(crate) fn new(last: ObjectKey) -> Arc<Self> {
        Arc::new(Self { last, told: AtomicU64::new(0), version: watch::Sender::new(0) })
    }

    /// A handler as a program would have it: it looks at the key and counts.
    pub(crate) fn handler<V>(self: &Arc<Self>) -> EventHandler<V> {
        let (added, updated) = (Arc::clone(self), Arc::clone(self));
        EventHandler::new()
            .on_added(move |object, _| added.see(object))
            .on_updated(move |_, object| updated.see(object))
    }

    fn see<V>(&self, object: &Object<V>) {
        self.told.fetch_add(1, Ordering::Relaxed);
        if object.key == self.last {
            // Once in a series of changes.
            let version = object.version.to_string().parse().unwrap_or(0);
            self.version.send_replace(version);
        }
    }

    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Waits until the last object was told at this version or later.
    pub(crate) async fn wait(&self, version: u64) {
        // The sender is this very value.
        let _ = self.version.subscribe().wait_for(|seen| *seen >= version).await;
    }
}
