//! Changes as a stream, for async code.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use informer_core::{BacklogOptions, Batch};

use crate::driver::Shared;
use crate::error::SyncError;
use crate::listener::Listener;
use crate::registration::Seat;

/// A stream of batches of notifications: everything that is cached at the beginning, then every change.
///
/// It has a backlog like a handler's: a reader that falls behind skips states in between. A batch counts as dealt with when
/// the next one is asked for. Dropping it ends the subscription.
pub struct Subscription<V> {
    seat: Seat<V>,
    stream: Pin<Box<dyn Stream<Item = Batch<V>> + Send>>,
}

impl<V: Send + Sync + 'static> Subscription<V> {
    pub(crate) fn add(shared: &Arc<Shared<V>>, resync: Option<Duration>) -> Self {
        let options = BacklogOptions::default();
        let listener = Listener::of_subscription(options, shared.hash_seed, Arc::clone(&shared.poke));
        let seat = Seat::take(shared, listener, resync);
        let stream = Box::pin(batches(Arc::clone(&seat.listener)));
        Self { seat, stream }
    }

    /// The next batch, never empty; `None` once the informer is gone.
    pub async fn next(&mut self) -> Option<Batch<V>> {
        std::future::poll_fn(|cx| self.stream.as_mut().poll_next(cx)).await
    }

    /// Waits until the reader has dealt with the first list; somebody else has to read meanwhile.
    ///
    /// # Errors
    /// When `timeout` has passed.
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), SyncError> {
        self.seat.wait_for_sync(timeout).await
    }

    /// Whether the reader has dealt with the first list.
    pub fn has_synced(&self) -> bool {
        *self.seat.listener.synced().borrow()
    }
}

fn batches<V: Send + Sync + 'static>(listener: Arc<Listener<V>>) -> impl Stream<Item = Batch<V>> + Send {
    futures_util::stream::unfold((listener, None::<Batch<V>>), |(listener, before)| async move {
        if let Some(before) = before {
            listener.acknowledge(&before);
        }
        let batch = listener.next().await?;
        Some((Arc::clone(&batch), (listener, Some(batch))))
    })
}

impl<V> Stream for Subscription<V> {
    type Item = Batch<V>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Batch<V>>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl<V> Drop for Subscription<V> {
    fn drop(&mut self) {
        self.seat.leave();
    }
}
