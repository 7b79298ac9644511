//! A reflector used alone: a resource's changes, put into any store.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use informer_core::reflector::{Input, Output, Reflector as Core, ReflectorOptions, RequestId};
use informer_core::{ApplyOptions, Delta, DeltaFifo, Indexer, Mono};
use informer_wire::Limits;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::decoder::Decoder;
use crate::exchange::exchange;
use crate::format::Format;
use crate::index::IndexRegistry;
use crate::list_watch::ListWatch;
use crate::shared_informer::default_reflector_options;
use crate::store::{MetaFunctions, StoreShared};
use crate::trouble::Reporter;

/// Where a [`Reflector`] puts what it learns.
///
/// Implemented for a locked [`DeltaFifo`] (what happened, to be popped), a locked [`Indexer`] (what is), and any function.
pub trait ReflectorStore<V>: Send + Sync + 'static {
    /// Takes one change. Called from the reflector's task, in order; it should not block.
    fn apply(&self, delta: Delta<V>);
}

impl<V, F: Fn(Delta<V>) + Send + Sync + 'static> ReflectorStore<V> for F {
    fn apply(&self, delta: Delta<V>) {
        self(delta);
    }
}

impl<V: Send + Sync + 'static> ReflectorStore<V> for Mutex<DeltaFifo<V>> {
    fn apply(&self, delta: Delta<V>) {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(delta);
    }
}

impl<V: Send + Sync + 'static> ReflectorStore<V> for Mutex<Indexer<V>> {
    fn apply(&self, delta: Delta<V>) {
        self.lock().unwrap_or_else(PoisonError::into_inner).apply([delta], ApplyOptions::default());
    }
}

/// Lists and watches one resource, and puts every change into a store of yours.
///
/// This is the part of an informer that talks to the server, for whoever wants no cache, or another one. It does not know
/// what the store holds, so every item of a list is decoded, and a store that has to find out what a list does not mention
/// any more does so itself ([`Delta::ReplacedAll`]).
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = TestServer::builder().build();
/// # server.create("configmaps", serde_json::json!({"metadata": {"name": "settings", "namespace": "default"}}))?;
/// # let client = kube::Client::new(server.clone(), "default");
/// use std::sync::Arc;
/// use informer::{Delta, Reflector, ResourceListWatch, Typed};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use tokio_util::sync::CancellationToken;
///
/// let stop = CancellationToken::new();
/// let listed = stop.clone();
/// let store = move |delta: Delta<ConfigMap>| {
///     if let Delta::ReplacedAll(list) = delta {
///         assert_eq!(list.entries.len(), 1);
///         listed.cancel();
///     }
/// };
/// Reflector::new(ResourceListWatch::of::<ConfigMap>(client), Typed::new(), Arc::new(store)).run(stop).await;
/// # Ok(())
/// # }
/// ```
pub struct Reflector<V, S> {
    source: Arc<dyn ListWatch>,
    decoder: Arc<Decoder<V>>,
    store: Arc<S>,
    options: ReflectorOptions,
    limits: Limits,
}

impl<V: Send + Sync + 'static, S: ReflectorStore<V>> Reflector<V, S> {
    /// A reflector of what `list_watch` lists into `store`.
    pub fn new<F: Format<Value = V>>(list_watch: impl ListWatch, format: F, store: Arc<S>) -> Self {
        let decoder = Decoder {
            decode: Arc::new(move |object| format.decode(object)),
            transform: None,
            keep_managed_fields: false,
            indexes: Arc::new(IndexRegistry::new()),
            // Always empty: nothing is known, everything is decoded.
            store: Arc::new(StoreShared::new(0, MetaFunctions::of::<F>())),
        };
        Self {
            source: Arc::new(list_watch),
            decoder: Arc::new(decoder),
            store,
            options: default_reflector_options(),
            limits: Limits::default(),
        }
    }

    /// How to list and watch.
    pub fn options(mut self, change: impl FnOnce(ReflectorOptions) -> ReflectorOptions) -> Self {
        self.options = change(self.options);
        self
    }

    /// How much the server may send at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs until cancelled.
    #[doc(alias = "ListAndWatch")]
    pub async fn run(self, stop: CancellationToken) {
        let clock = Clock::new();
        let reporter = Reporter::new(None, 1);
        let mut core = Core::new(self.options.clone(), crate::shared_informer::random_seed());
        let mut exchange: Option<(RequestId, BoxStream<'static, Input<V>>)> = None;
        core.start(clock.now());
        while !stop.is_cancelled() {
            let wake = self.carry_out(&mut core, &mut exchange, clock, &reporter);
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                (id, input) = next_input(&mut exchange) => core.handle(clock.now(), id, input),
                () = sleep_until(clock, wake) => {}
            }
        }
    }

    fn carry_out(
        &self,
        core: &mut Core<V>,
        under_way: &mut Option<(RequestId, BoxStream<'static, Input<V>>)>,
        clock: Clock,
        reporter: &Reporter,
    ) -> Option<Mono> {
        loop {
            match core.poll_output(clock.now()) {
                Output::Send(id, request) => {
                    let (source, decoder) = (Arc::clone(&self.source), Arc::clone(&self.decoder));
                    *under_way = Some((id, exchange(source, request, decoder, self.limits.clone()).boxed()));
                }
                Output::Abort(_) => *under_way = None,
                Output::Store(delta) => self.store.apply(delta),
                Output::Trouble(trouble) => reporter.report(&self.source.describe(), 0, trouble),
                Output::Timeout(wake) => return wake,
            }
        }
    }
}

async fn next_input<V>(
    under_way: &mut Option<(RequestId, BoxStream<'static, Input<V>>)>,
) -> (RequestId, Input<V>) {
    let Some((id, stream)) = under_way else { return std::future::pending().await };
    let id = *id;
    match poll_fn(|cx| Pin::new(&mut *stream).poll_next_unpin(cx)).await {
        Some(input) => (id, input),
        None => {
            *under_way = None;
            std::future::pending().await
        }
    }
}

async fn sleep_until(clock: Clock, wake: Option<Mono>) {
    match wake {
        Some(at) => tokio::time::sleep_until(clock.instant(at)).await,
        None => std::future::pending().await,
    }
}
