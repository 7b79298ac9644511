//! Callbacks for changes.

use std::sync::Arc;
use std::time::Duration;

use informer_core::{BacklogOptions, LastState, Notification, Object, ObjectKey, Overflow, ResourceVersion};

/// What is called when something changes; any callback may be left out.
///
/// One handler's callbacks are called one at a time, and not on the runtime's own threads, so they may block: a slow handler
/// delays only itself. (Quick ones take turns on one thread. One that keeps others waiting for some two milliseconds loses
/// that thread to them, and gets one of its own.) What happens when it falls behind for long is its [`Overflow`]. A callback
/// that panics is caught, counted and logged; that notification counts as delivered.
///
/// ```
/// use informer::EventHandler;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let handler = EventHandler::<Pod>::new()
///     .on_added(|pod, in_initial_list| println!("{} (initial: {in_initial_list})", pod.key))
///     .on_updated(|old, new| println!("{}: {} -> {}", new.key, old.version, new.version))
///     .on_deleted(|key, last_state| println!("{key} is gone: {last_state:?}"));
/// ```
#[doc(alias = "ResourceEventHandlerFuncs")]
#[doc(alias = "ResourceEventHandlerDetailedFuncs")]
pub struct EventHandler<V> {
    on_added: Option<OnAdded<V>>,
    on_updated: Option<OnUpdated<V>>,
    on_deleted: Option<OnDeleted<V>>,
    on_resync: Option<OnResync<V>>,
    on_synced: Option<OnList>,
    on_relisted: Option<OnList>,
    filter: Option<Filter<V>>,
    pub(crate) resync: Option<Duration>,
    pub(crate) backlog: BacklogOptions,
}

type OnAdded<V> = Box<dyn FnMut(&Arc<Object<V>>, bool) + Send>;
type OnUpdated<V> = Box<dyn FnMut(&Arc<Object<V>>, &Arc<Object<V>>) + Send>;
type OnDeleted<V> = Box<dyn FnMut(&ObjectKey, &LastState<V>) + Send>;
type OnResync<V> = Box<dyn FnMut(&Arc<Object<V>>) + Send>;
type OnList = Box<dyn FnMut(&ResourceVersion) + Send>;
type Filter<V> = Box<dyn FnMut(&V) -> bool + Send>;

impl<V> EventHandler<V> {
    /// A handler that does nothing yet.
    pub fn new() -> Self {
        Self {
            on_added: None,
            on_updated: None,
            on_deleted: None,
            on_resync: None,
            on_synced: None,
            on_relisted: None,
            filter: None,
            resync: None,
            backlog: BacklogOptions::default(),
        }
    }

    /// Called for each object that is new to this handler; the flag says whether it was there when the handler began.
    #[doc(alias = "OnAdd")]
    pub fn on_added(mut self, call: impl FnMut(&Arc<Object<V>>, bool) + Send + 'static) -> Self {
        self.on_added = Some(Box::new(call));
        self
    }

    /// Called with what this handler saw last of an object and what it is now. Never for an object that did not change.
    #[doc(alias = "OnUpdate")]
    pub fn on_updated(mut self, call: impl FnMut(&Arc<Object<V>>, &Arc<Object<V>>) + Send + 'static) -> Self {
        self.on_updated = Some(Box::new(call));
        self
    }

    /// Called for each object that is gone and that this handler had been told of.
    #[doc(alias = "OnDelete")]
    pub fn on_deleted(mut self, call: impl FnMut(&ObjectKey, &LastState<V>) + Send + 'static) -> Self {
        self.on_deleted = Some(Box::new(call));
        self
    }

    /// Called for each stored object every [`resync`](Self::resync).
    pub fn on_resync(mut self, call: impl FnMut(&Arc<Object<V>>) + Send + 'static) -> Self {
        self.on_resync = Some(Box::new(call));
        self
    }

    /// Called once, after every object of the first list has been told.
    pub fn on_synced(mut self, call: impl FnMut(&ResourceVersion) + Send + 'static) -> Self {
        self.on_synced = Some(Box::new(call));
        self
    }

    /// Called after the differences of a later list have been told: the version had been lost.
    pub fn on_relisted(mut self, call: impl FnMut(&ResourceVersion) + Send + 'static) -> Self {
        self.on_relisted = Some(Box::new(call));
        self
    }

    /// Only objects for which this holds exist for the handler: one that begins to match is added, one that ceases to is
    /// deleted with the state that matched last.
    ///
    /// A filter that panics counts as not matching, for both states of an update.
    #[doc(alias = "FilteringResourceEventHandler")]
    pub fn filter(mut self, filter: impl FnMut(&V) -> bool + Send + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// How often every stored object is replayed to [`on_resync`](Self::on_resync): no requests are sent. At least a
    /// second; never, unless set here or for the informer.
    #[doc(alias = "ResyncPeriod")]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// How many notifications may wait before [`overflow`](Self::overflow) takes effect. Default 1024.
    pub fn backlog_limit(mut self, notifications: usize) -> Self {
        self.backlog.limit = notifications;
        self
    }

    /// What happens when more wait. Default [`Overflow::Conflate`].
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.backlog.overflow = overflow;
        self
    }

    /// Makes the calls for one notification.
    pub(crate) fn call(&mut self, notification: &Notification<V>) {
        match notification {
            Notification::Added { object, in_initial_list } if self.matches(object) => {
                self.added(object, *in_initial_list);
            }
            Notification::Updated { old, new } => match (self.matches(old), self.matches(new)) {
                (true, true) => self.updated(old, new),
                (false, true) => self.added(new, false),
                (true, false) => self.deleted(&old.key, &LastState::Known(Arc::clone(old))),
                (false, false) => {}
            },
            Notification::Deleted { key, last_state }
                if last_state.object().is_none_or(|object| self.matches(object)) =>
            {
                self.deleted(key, last_state);
            }
            Notification::Resync { object } if self.on_resync.is_some() && self.matches(object) => {
                self.on_resync.iter_mut().for_each(|call| call(object));
            }
            Notification::Synced { version } => self.on_synced.iter_mut().for_each(|call| call(version)),
            Notification::Relisted { version } => self.on_relisted.iter_mut().for_each(|call| call(version)),
            _ => {}
        }
    }

    fn matches(&mut self, object: &Object<V>) -> bool {
        self.filter.as_mut().is_none_or(|filter| filter(&object.value))
    }

    fn added(&mut self, object: &Arc<Object<V>>, in_initial_list: bool) {
        self.on_added.iter_mut().for_each(|call| call(object, in_initial_list));
    }

    fn updated(&mut self, old: &Arc<Object<V>>, new: &Arc<Object<V>>) {
        self.on_updated.iter_mut().for_each(|call| call(old, new));
    }

    fn deleted(&mut self, key: &ObjectKey, last_state: &LastState<V>) {
        self.on_deleted.iter_mut().for_each(|call| call(key, last_state));
    }
}

impl<V> Default for EventHandler<V> {
    fn default() -> Self {
        Self::new()
    }
}
