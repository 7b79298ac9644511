//! A handler's place in an informer.

use std::sync::{Arc, Weak};
use std::time::Duration;

use informer_core::HandlerId;

use crate::crew::Crew;
use crate::driver::Shared;
use crate::error::{NotSynced, SyncError};
use crate::event_handler::EventHandler;
use crate::listener::{Listener, ListenerStats};

/// A handler's place in an informer. Dropping it keeps the handler; [`remove`](Self::remove) removes it.
#[doc(alias = "ResourceEventHandlerRegistration")]
pub struct Registration<V> {
    seat: Seat<V>,
}

/// What a registration and a subscription have in common.
pub(crate) struct Seat<V> {
    informer: Weak<Shared<V>>,
    crew: Arc<Crew<V>>,
    name: Arc<str>,
    id: HandlerId,
    pub(crate) listener: Arc<Listener<V>>,
}

impl<V: Send + Sync + 'static> Seat<V> {
    pub(crate) fn take(shared: &Arc<Shared<V>>, listener: Listener<V>, resync: Option<Duration>) -> Self {
        let listener = Arc::new(listener);
        let mut machine = shared.machine();
        let (id, first) = machine.informer.add_handler(shared.clock.now(), &shared.store.read(), resync);
        let pushed = listener.push(first);
        machine.listeners.insert(id, Arc::clone(&listener));
        drop(machine);
        if pushed.claimed {
            shared.crew.call([Arc::clone(&listener)]);
        }
        // The driver has to know when its replay is due.
        shared.poke.notify_one();
        Self {
            informer: Arc::downgrade(shared),
            crew: Arc::clone(&shared.crew),
            name: Arc::clone(&shared.name),
            id,
            listener,
        }
    }
}

impl<V> Seat<V> {
    pub(crate) fn leave(&self) {
        if let Some(shared) = self.informer.upgrade() {
            let mut machine = shared.machine();
            machine.informer.remove_handler(self.id);
            if let Some(listener) = machine.listeners.remove(&self.id) {
                machine.figures.retired(&listener.stats());
            }
        }
        self.crew.dismiss(&self.listener);
    }

    pub(crate) async fn wait_for_sync(&self, timeout: Duration) -> Result<(), SyncError> {
        let mut synced = self.listener.synced();
        let waited = tokio::time::timeout(timeout, synced.wait_for(|synced| *synced)).await;
        if waited.is_ok() {
            return Ok(());
        }
        let phase = self.informer.upgrade().map(|shared| shared.status());
        let missing = NotSynced {
            informer: format!("a handler of {}", self.name),
            last_error: phase.as_ref().and_then(|status| status.last_error.clone()),
            phase: phase.map_or(crate::Phase::Stopped, |status| status.phase),
        };
        Err(SyncError::new(timeout, vec![missing]))
    }
}

impl<V: Send + Sync + 'static> Registration<V> {
    pub(crate) fn add(
        shared: &Arc<Shared<V>>,
        handler: EventHandler<V>,
        default_resync: Option<Duration>,
    ) -> Self {
        let resync = handler.resync.or(default_resync);
        let listener = Listener::of_handler(handler, shared.hash_seed, Arc::clone(&shared.poke));
        Self { seat: Seat::take(shared, listener, resync) }
    }

    /// Whether the handler has been told of every object of the first list, and has returned.
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        *self.seat.listener.synced().borrow()
    }

    /// Waits until it has.
    ///
    /// # Errors
    /// When `timeout` has passed: where the informer stands, and the last trouble.
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), SyncError> {
        self.seat.wait_for_sync(timeout).await
    }

    /// How the handler is doing.
    pub fn stats(&self) -> ListenerStats {
        self.seat.listener.stats()
    }

    /// Removes the handler, and waits until a call that is under way has returned: none follows. A second time does nothing.
    ///
    /// Must not be waited for inside one of the handler's own callbacks.
    #[doc(alias = "RemoveEventHandler")]
    #[doc(alias = "ShutDownEventHandler")]
    pub async fn remove(&self) {
        self.seat.leave();
        self.seat.listener.gone().await;
    }
}
