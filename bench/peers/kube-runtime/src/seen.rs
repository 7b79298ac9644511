//! What a subscriber has been told: how much, and the last object's version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube::Resource;
use tokio::sync::watch;

/// Shared by a subscriber and whoever waits for it.
#[derive(Debug)]
pub(crate) struct Seen {
    namespace: String,
    name: String,
    told: AtomicU64,
    version: watch::Sender<u64>,
}

impl Seen {
    pub(crate) fn new(last: &str) -> Arc<Self> {
        let (namespace, name) = last.split_once('/').unwrap_or_default();
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Arc::new(Self { namespace, name, told: AtomicU64::new(0), version: watch::Sender::new(0) })
    }

    /// Looks at the key and counts.
    pub(crate) fn see<K: Resource>(&self, object: &K) {
        self.told.fetch_add(1, Ordering::Relaxed);
        let meta = object.meta();
        if meta.name.as_deref() == Some(&self.name) && meta.namespace.as_deref() == Some(&self.namespace) {
            let version = meta.resource_version.as_deref().and_then(|version| version.parse().ok());
            self.version.send_replace(version.unwrap_or(0));
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
