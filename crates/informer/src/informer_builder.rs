//! Everything an informer can be told before it is built.

use std::sync::Arc;
use std::time::Duration;

use informer_core::InformerOptions;
use informer_core::reflector::ReflectorOptions;
use informer_wire::Limits;

use crate::decoder::{Decode, Transform};
use crate::error::BuildError;
use crate::format::Format;
use crate::list_watch::{BoxError, ListWatch, Sources};
use crate::shared_informer::{SharedInformer, default_reflector_options};
use crate::store::MetaFunctions;
use crate::trouble::{TroubleReport, WatchErrorHandler};

/// Builds a [`SharedInformer`]; the defaults are right for almost everybody.
#[must_use]
pub struct InformerBuilder<V> {
    pub(crate) sources: Sources,
    pub(crate) meta: MetaFunctions<V>,
    pub(crate) decode: Decode<V>,
    pub(crate) transform: Option<Transform<V>>,
    pub(crate) watch_error_handler: Option<WatchErrorHandler>,
    pub(crate) reflector: ReflectorOptions,
    pub(crate) informer: InformerOptions,
    pub(crate) resync: Option<Duration>,
    pub(crate) keep_managed_fields: bool,
    pub(crate) limits: Limits,
    pub(crate) seed: Option<u64>,
}

impl<V: Send + Sync + 'static> InformerBuilder<V> {
    pub(crate) fn new<F: Format<Value = V>>(list_watch: impl ListWatch, format: F) -> Self {
        Self::of_sources(vec![(None, Arc::new(list_watch))], format)
    }

    pub(crate) fn of_sources<F: Format<Value = V>>(sources: Sources, format: F) -> Self {
        Self {
            sources,
            meta: MetaFunctions::of::<F>(),
            decode: Arc::new(move |object| format.decode(object)),
            transform: None,
            watch_error_handler: None,
            reflector: default_reflector_options(),
            informer: InformerOptions::default(),
            resync: None,
            keep_managed_fields: false,
            limits: Limits::default(),
            seed: None,
        }
    }

    /// Watches these namespaces only, each by a source of its own that `list_watch` makes; their objects share one cache,
    /// which is synced when all of them are.
    pub fn namespaces<L: ListWatch>(
        mut self,
        namespaces: impl IntoIterator<Item = impl Into<String>>,
        list_watch: impl Fn(&str) -> L,
    ) -> Self {
        let source = |namespace: String| {
            let source: Arc<dyn ListWatch> = Arc::new(list_watch(&namespace));
            (Some(Arc::from(namespace)), source)
        };
        self.sources = namespaces.into_iter().map(|namespace| source(namespace.into())).collect();
        self
    }

    /// Changes each object before anybody sees it: called once for each version that is decoded, never for a cached object.
    /// A panic in it, as an error of [`try_transform`](Self::try_transform), is that object's decode error.
    #[doc(alias = "SetTransform")]
    pub fn transform(self, transform: impl Fn(&mut V) + Send + Sync + 'static) -> Self {
        self.try_transform(move |value| {
            transform(value);
            Ok(())
        })
    }

    /// The same for a function that can fail. Its errors are shown to people: they must not contain secrets.
    pub fn try_transform(
        mut self,
        transform: impl Fn(&mut V) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// Told of every trouble, besides the log. Called from the informer's own task: it should not block.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(mut self, handler: impl Fn(&TroubleReport) + Send + Sync + 'static) -> Self {
        self.watch_error_handler = Some(Arc::new(handler));
        self
    }

    /// How often every cached object is replayed to handlers that do not say otherwise: no requests are sent. Default never.
    #[doc(alias = "ResyncPeriod")]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// Whether an object that was deleted and created again unseen (its uid changed) is told as a deletion and an addition.
    /// Default true; otherwise as one update.
    pub fn split_recreated(mut self, split: bool) -> Self {
        self.informer.apply.split_recreated = split;
        self
    }

    /// Whether `metadata.managedFields` are kept. Default false: they are up to half of an object, and nobody reads them.
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.keep_managed_fields = keep;
        self
    }

    /// How to list and watch: page size, time limits, back-off, WatchList.
    pub fn reflector_options(mut self, change: impl FnOnce(ReflectorOptions) -> ReflectorOptions) -> Self {
        self.reflector = change(self.reflector);
        self
    }

    /// How much the server may send at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes jitter and hashing repeatable, for simulations. Default: random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The informer, not started yet.
    ///
    /// # Errors
    /// If there is no source, or two have the same namespace.
    pub fn build(self) -> Result<SharedInformer<V>, BuildError> {
        if self.sources.is_empty() {
            return Err(BuildError::Sources("an informer needs at least one namespace to watch".into()));
        }
        SharedInformer::build(self)
    }
}
