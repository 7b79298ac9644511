//! Where a controller's keys come from: the changes of one cache.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use informer_core::{LastState, Notification, Object, ObjectKey, Priority};

use super::handle::Shared;
use super::origin::{NOTIFICATIONS_AT_ONCE, Origin};
use super::owner::OwnerKind;
use super::predicate::Predicate;
use crate::error::SyncError;

/// A cache that a controller listens to, whatever is cached.
pub(super) trait Source: Send + Sync {
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), SyncError>>;
    /// Listens, and puts keys into the controller's queue, until it is dropped or the informer is gone.
    fn listen(self: Arc<Self>, controller: Arc<Shared>) -> BoxFuture<'static, ()>;
    /// Puts the keys into the queue that what is cached now leads to, as if it had just been listed.
    fn tell_all(self: Arc<Self>, controller: Arc<Shared>) -> BoxFuture<'static, ()>;
    /// Keeps the cache up to date until it is dropped, if that is up to the controller.
    fn drive(&self) -> Option<BoxFuture<'static, ()>>;
}

/// A cache, and what is made of its changes.
pub(super) struct Informed<V> {
    pub(super) origin: Arc<dyn Origin<V>>,
    pub(super) predicate: Predicate<V>,
    pub(super) route: Route<V>,
}

/// Whose keys a change concerns.
pub(super) enum Route<V> {
    /// The object's own.
    Primary,
    /// Its owner's.
    Owner(OwnerKind),
    /// Those that a function of the user's says.
    Map(MapFunction<V>),
}

pub(super) type MapFunction<V> = Box<dyn Fn(&Object<V>) -> Vec<ObjectKey> + Send + Sync>;

impl<V: Send + Sync + 'static> Source for Informed<V> {
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), SyncError>> {
        self.origin.wait_for_sync(timeout)
    }

    fn listen(self: Arc<Self>, controller: Arc<Shared>) -> BoxFuture<'static, ()> {
        let origin = Arc::clone(&self.origin);
        origin.listen(Arc::new(move |part: &[Notification<V>]| {
            part.iter().for_each(|notification| self.tell(&controller, notification));
        }))
    }

    fn tell_all(self: Arc<Self>, controller: Arc<Shared>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            for part in self.origin.list().chunks(NOTIFICATIONS_AT_ONCE) {
                part.iter().for_each(|object| self.tell_of(&controller, None, object, Priority::LOW));
                tokio::task::consume_budget().await;
            }
        })
    }

    fn drive(&self) -> Option<BoxFuture<'static, ()>> {
        Arc::clone(&self.origin).drive()
    }
}

impl<V: Send + Sync + 'static> Informed<V> {
    fn tell(&self, controller: &Shared, notification: &Notification<V>) {
        // First, so that the reconcile that this leads to finds its expectations satisfied.
        self.observe(controller, notification);
        let priority = Priority::of(notification);
        match notification {
            Notification::Added { object, .. } | Notification::Resync { object } => {
                self.tell_of(controller, None, object, priority);
            }
            Notification::Updated { old, new } => self.tell_of(controller, Some(old), new, priority),
            Notification::Deleted { last_state: LastState::Known(last) | LastState::Stale(last), .. } => {
                self.tell_of(controller, None, last, priority);
            }
            Notification::Deleted { key, last_state: LastState::Unknown } => {
                // A store knows the last state, so this does not happen. Better a reconcile for nothing than none.
                if matches!(self.route, Route::Primary) {
                    controller.queue().add_with(key.clone(), priority);
                } else {
                    tracing::error!(target: "informer::controller", controller = &*controller.name, %key, "deleted, but nothing is known of it");
                }
            }
            _ => {}
        }
    }

    /// Lets the keys wait that a change concerns, if it passes the predicate.
    fn tell_of(&self, controller: &Shared, old: Option<&Object<V>>, new: &Object<V>, priority: Priority) {
        let meta = self.origin.meta();
        match self.predicate.passes(meta, old, new) {
            Some(true) => {}
            Some(false) => return,
            None => self.panicked(controller, new, "predicate panicked, which counts as passed"),
        }
        let add = |key| controller.queue().add_with(key, priority);
        match &self.route {
            Route::Primary => {
                add(new.key.clone());
            }
            Route::Owner(kind) => {
                let before = old.and_then(|old| kind.owner_of(controller, self.origin.meta(), old));
                let now = kind.owner_of(controller, self.origin.meta(), new);
                if before != now {
                    before.map(add);
                }
                now.map(add);
            }
            Route::Map(map) => {
                for object in old.into_iter().chain([new]) {
                    match catch_unwind(AssertUnwindSafe(|| map(object))) {
                        Ok(keys) => keys.into_iter().for_each(|key| {
                            add(key);
                        }),
                        Err(_) => self.panicked(controller, object, "mapping function panicked: no keys"),
                    }
                }
            }
        }
    }

    fn panicked(&self, controller: &Shared, object: &Object<V>, what: &str) {
        controller.stats.lock().mapping_panics += 1;
        let informer = self.origin.name();
        // Without the panic's message, which may quote the object; the panic hook has shown it.
        tracing::error!(target: "informer::controller", controller = &*controller.name, informer, key = %object.key, "{what}");
    }

    /// Tells the expectations what came true; not what the predicate thinks of it.
    fn observe(&self, controller: &Shared, notification: &Notification<V>) {
        let expectations = &controller.expectations;
        let kind = match &self.route {
            Route::Primary => {
                if let Notification::Deleted { key, .. } = notification {
                    expectations.forget(key);
                }
                return;
            }
            Route::Owner(kind) => kind,
            Route::Map(_) => return,
        };
        if expectations.is_empty() {
            return;
        }
        let meta = self.origin.meta();
        let is_leaving = |object: &Object<V>| (meta.is_being_deleted)(&object.value);
        let observed = |object: &Object<V>, is_gone: bool| {
            let Some(owner) = kind.owner_named_by(meta, object) else { return };
            let expected = if is_gone {
                expectations.deletion_observed(&owner, &object.uid)
            } else {
                expectations.creation_observed(&owner)
            };
            // Whatever the predicate thinks of it: this is what the key waits for.
            if expected && expectations.satisfied(&owner) {
                controller.queue().add(owner);
            }
        };
        match notification {
            // What is there at the beginning was there before anything was expected. What comes already marked for deletion
            // is not what was asked for.
            Notification::Added { in_initial_list: true, .. } => {}
            Notification::Added { object, .. } => observed(object, is_leaving(object)),
            Notification::Updated { old, new } => {
                if old.uid != new.uid {
                    observed(old, true);
                    observed(new, is_leaving(new));
                } else if is_leaving(new) {
                    // It will take its time to go, but the request for it has been heard.
                    observed(new, true);
                }
            }
            Notification::Deleted { last_state, .. } => {
                if let Some(last) = last_state.object() {
                    observed(last, true);
                }
            }
            _ => {}
        }
    }
}
