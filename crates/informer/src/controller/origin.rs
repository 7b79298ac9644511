//! What a controller asks of a cache, whoever fills it.

#![expect(private_interfaces, reason = "nobody outside can name the trait `Origin`")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use informer_core::{Notification, Object, ObjectKey, Uid};

use super::writes::Cache;
use crate::error::SyncError;
use crate::shared_informer::SharedInformer;
use crate::store::MetaFunctions;

/// A cache that a [`Controller`](crate::Controller) can be built on: a [`SharedInformer`], or a [`Feed`](crate::Feed), which
/// something other than an informer fills.
///
/// It is implemented by these two alone.
pub trait ControllerSource {
    /// What is cached.
    type Value: Send + Sync + 'static;

    #[doc(hidden)]
    fn origin(&self) -> Arc<dyn Origin<Self::Value>>;
}

/// Told what has changed, some at a time. Must not wait for anything.
pub(super) type Listener<V> = Arc<dyn Fn(&[Notification<V>]) + Send + Sync>;

/// A cache and its changes, whatever is cached.
pub trait Origin<V>: Send + Sync {
    /// For people.
    fn name(&self) -> &str;
    /// Group and kind, if they are known.
    fn kind(&self) -> Option<(String, String)>;
    fn meta(&self) -> &MetaFunctions<V>;
    /// The uid under which a key is cached.
    fn uid_of(&self, key: &ObjectKey) -> Option<Uid>;
    fn list(&self) -> Vec<Arc<Object<V>>>;
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), SyncError>>;
    /// Tells of what is cached, then of each change, until it is dropped or nothing can change any more.
    fn listen(self: Arc<Self>, listener: Listener<V>) -> BoxFuture<'static, ()>;
    /// Keeps the cache up to date until it is dropped, if that is up to whoever reads it.
    fn drive(self: Arc<Self>) -> Option<BoxFuture<'static, ()>>;
    fn cache(self: Arc<Self>) -> Arc<dyn Cache>;
}

/// So many notifications are looked at before the thread is given to others.
pub(super) const NOTIFICATIONS_AT_ONCE: usize = 128;

impl<V: Send + Sync + 'static> ControllerSource for SharedInformer<V> {
    type Value = V;

    fn origin(&self) -> Arc<dyn Origin<V>> {
        Arc::new(self.clone())
    }
}

impl<V: Send + Sync + 'static> Origin<V> for SharedInformer<V> {
    fn name(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> Option<(String, String)> {
        self.resource().map(|resource| (resource.group.clone(), resource.kind.clone()))
    }

    fn meta(&self) -> &MetaFunctions<V> {
        self.shared().store.meta()
    }

    fn uid_of(&self, key: &ObjectKey) -> Option<Uid> {
        self.shared().store.read().by_key(key).map(|object| object.uid.clone())
    }

    fn list(&self) -> Vec<Arc<Object<V>>> {
        self.store().list()
    }

    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), SyncError>> {
        Box::pin(SharedInformer::wait_for_sync(self, timeout))
    }

    fn listen(self: Arc<Self>, listener: Listener<V>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut changes = self.subscribe();
            while let Some(batch) = changes.next().await {
                for part in batch.chunks(NOTIFICATIONS_AT_ONCE) {
                    listener(part);
                    tokio::task::consume_budget().await;
                }
            }
        })
    }

    fn drive(self: Arc<Self>) -> Option<BoxFuture<'static, ()>> {
        None // it has a task of its own
    }

    fn cache(self: Arc<Self>) -> Arc<dyn Cache> {
        Arc::<crate::driver::Shared<V>>::clone(self.shared())
    }
}
