//! The unshared informer: a store, and one handler that is told of every change.

use tokio_util::sync::CancellationToken;

use crate::error::BuildError;
use crate::event_handler::EventHandler;
use crate::format::Format;
use crate::informer_builder::InformerBuilder;
use crate::list_watch::ListWatch;
use crate::shared_informer::SharedInformer;
use crate::status::Status;
use crate::store::Store;

/// Runs an informer with one handler, for programs that need no sharing.
///
/// The same machinery as a [`SharedInformer`], in client-go's older shape.
#[doc(alias = "Controller")]
pub struct UnsharedInformer<V> {
    informer: SharedInformer<V>,
}

/// An informer that keeps a store of what `list_watch` lists up to date, and tells `handler` of every change.
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = kube::Client::new(TestServer::builder().build(), "default");
/// use informer::{EventHandler, ResourceListWatch, Typed, new_informer};
/// use k8s_openapi::api::core::v1::Namespace;
/// use tokio_util::sync::CancellationToken;
///
/// let stop = CancellationToken::new();
/// let synced = stop.clone();
/// let handler = EventHandler::new().on_synced(move |_version| synced.cancel());
/// let source = ResourceListWatch::of::<Namespace>(client);
/// let namespaces = new_informer(source, Typed::<Namespace>::new(), handler)?;
/// namespaces.run(stop).await;
/// assert!(namespaces.store().lister().get("default").is_some());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See [`BuildError`].
///
/// # Panics
/// Outside of a tokio runtime.
#[doc(alias = "NewInformer")]
#[doc(alias = "NewIndexerInformer")]
#[doc(alias = "NewNamespaceKeyedIndexerAndReflector")]
pub fn new_informer<F: Format>(
    list_watch: impl ListWatch,
    format: F,
    handler: EventHandler<F::Value>,
) -> Result<UnsharedInformer<F::Value>, BuildError> {
    new_informer_with(SharedInformer::builder(list_watch, format), handler)
}

/// The same with options.
///
/// # Errors
/// See [`BuildError`].
///
/// # Panics
/// Outside of a tokio runtime.
#[doc(alias = "NewInformerWithOptions")]
#[doc(alias = "NewTransformingInformer")]
pub fn new_informer_with<V: Send + Sync + 'static>(
    builder: InformerBuilder<V>,
    handler: EventHandler<V>,
) -> Result<UnsharedInformer<V>, BuildError> {
    let informer = builder.build()?;
    let _stays_registered = informer.add_event_handler(handler);
    Ok(UnsharedInformer { informer })
}

impl<V: Send + Sync + 'static> UnsharedInformer<V> {
    /// Runs until cancelled; it can be run again, and goes on with the store as it was.
    pub async fn run(&self, stop: CancellationToken) {
        self.informer.start();
        stop.cancelled().await;
        self.informer.stop().await;
    }

    /// The store.
    pub fn store(&self) -> Store<V> {
        self.informer.store()
    }

    /// Whether the first list is in the store.
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    /// Where it stands, how it is doing, and what troubles it.
    pub fn status(&self) -> Status {
        self.informer.status()
    }
}
