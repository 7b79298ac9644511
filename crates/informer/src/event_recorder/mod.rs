//! Telling people what a controller did, through Event objects: never waiting, never more than is useful.

mod answer;
mod builder;
mod event;
mod limits;
mod machine;
mod metrics;
mod name;
mod object_reference;
mod observer;
mod recorded_events;
mod sink;
mod wire;
mod worker;
mod write;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use informer_core::EventType;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use builder::{EventRecorderBuilder, EventRecorderError};
pub use event::{NewEvent, RecordedEvent};
pub use metrics::{DropReason, Drops, EventRecorderMetrics, EventSinkMetrics};
pub use object_reference::ObjectReference;
pub use recorded_events::RecordedEvents;
pub use sink::EventSink;

use self::builder::{DEFAULT_QUEUE, WallClock};
use self::event::Source;
use self::limits::{MAX_NOTE_BYTES, cut, is_namespace, is_word};
use self::metrics::{DropCounters, SinkCounters, count};
use self::name::UniqueNames;
use self::recorded_events::Buffer;

/// Events are shared between sinks, and remembered to count what repeats.
type SharedEvent = Arc<RecordedEvent>;

/// An event about a cluster-scoped object has to be somewhere.
const NAMESPACE_OF_CLUSTER_SCOPED: &str = "default";
/// A task that was told to stop does so at once, unless an observer blocks it.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// Records events about objects, for people who ask `kubectl describe` or `kubectl events` what happened.
///
/// Clones are the same recorder; [`named`](Self::named) gives one of another controller with the same sinks, as several
/// recorders of one broadcaster in client-go.
///
/// - **Recording never waits.** An event goes into a bounded queue for each sink. When a queue is full the newest is dropped.
///   What cannot be an event (no name, no reason) is refused. All of it is counted, see [`metrics`](Self::metrics), and
///   returned as [`Recorded::Dropped`]. Later a log line says how many the queue had no room for.
/// - **What repeats is one object.** With [`EventSink::v1`], isomorphic events are a series: the first and second are written
///   at once, then a count every 30 min and at the end, see [`EventSeries`](informer_core::EventSeries). With
///   [`EventSink::core_v1`], identical events are counted, those that differ by message are combined from the tenth on, and
///   beyond 25 about one object only one in 5 min is written, see [`EventCorrelator`](informer_core::EventCorrelator). The
///   figures are client-go's.
/// - **Failures.** A write is tried up to 12 times with pauses of 10 s (the first one shorter by chance), within 5 min; then
///   its events are dropped and counted. Up to 8 writes of a sink run at a time, and one for each object. What a server
///   refuses (4xx but 408, 409, 429) is not tried again; a namespace that is gone or going is only logged at `debug`. An Event
///   that expired is created again. A trouble is logged at `warn` once, its end at `info`.
/// - **Names.** `<object>.<unique hex>`, made a valid one whatever the object is called. Events about cluster-scoped objects are
///   in the namespace `default`. Notes longer than 1024 bytes are cut at the end of a character.
/// - **The end.** [`shutdown`](Self::shutdown) writes what is left. When all clones are dropped the tasks do the same in the
///   background, without a deadline but the runtime's.
///
/// RBAC: `create` and `patch` on `events`, in the API groups `events.k8s.io` and `""`.
///
/// ```
/// # use informer_testserver::TestServer;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = TestServer::new();
/// # let client = informer::kube::Client::new(server.clone(), "default");
/// # let mut foo = ConfigMap::default();
/// # foo.metadata.name = Some("foo".into());
/// # foo.metadata.namespace = Some("default".into());
/// use std::time::Duration;
/// use informer::{EventRecorder, EventSink, EventType};
///
/// let recorder = EventRecorder::builder("sample-controller")
///     .instance("sample-controller-7d4f")
///     .sink(EventSink::v1(client))
///     .sink(EventSink::tracing())
///     .build()?;
/// recorder.event(&foo, EventType::Normal, "Synced", "Sync", "Foo synced successfully");
/// recorder.shutdown(Duration::from_secs(5)).await?;
/// # assert_eq!(server.list("events")?[0]["reason"], "Synced");
/// # Ok(())
/// # }
/// ```
#[doc(alias = "EventBroadcaster")]
#[derive(Clone)]
pub struct EventRecorder {
    source: Arc<Source>,
    shared: Arc<Shared>,
}

struct Shared {
    names: UniqueNames,
    wall_clock: WallClock,
    closed: AtomicBool,
    recorded: AtomicU64,
    dropped: DropCounters,
    outlets: Vec<Outlet>,
    flushing: CancellationToken,
    abort: CancellationToken,
}

/// A sink as the recorder sees it.
struct Outlet {
    sink: String,
    counters: Arc<SinkCounters>,
    way: Way,
}

enum Way {
    Queue {
        sender: Sender<SharedEvent>,
        /// Cancelled when the task has ended.
        done: CancellationToken,
    },
    Buffer(Arc<Buffer>),
}

/// What became of an event as far as is known at once. It may be ignored: everything is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// At least one sink's queue took it.
    Queued,
    /// It was dropped, for this reason.
    Dropped(DropReason),
}

/// Not everything was written in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{count} events were not written within {waited:?}")]
#[non_exhaustive]
pub struct Unflushed {
    /// How many events, over all sinks.
    pub count: u64,
    /// The time there was.
    pub waited: Duration,
}

impl EventRecorder {
    /// A recorder of this controller: `name` or `example.com/name`.
    #[doc(alias = "NewRecorder")]
    #[doc(alias = "NewBroadcaster")]
    pub fn builder(controller: impl Into<String>) -> EventRecorderBuilder {
        EventRecorderBuilder::new(controller.into())
    }

    /// A recorder without a server, and what it recorded: at once, each event by itself, also outside of a runtime.
    ///
    /// ```
    /// use informer::{EventRecorder, EventType};
    /// use k8s_openapi::api::core::v1::Pod;
    ///
    /// let (recorder, recorded) = EventRecorder::for_tests();
    /// let mut pod = Pod::default();
    /// pod.metadata.name = Some("web-0".into());
    /// recorder.event(&pod, EventType::Warning, "Failed", "Sync", "no such image");
    /// let events = recorded.take();
    /// assert_eq!((&*events[0].reason, &*events[0].note), ("Failed", "no such image"));
    /// ```
    #[doc(alias = "FakeRecorder")]
    pub fn for_tests() -> (Self, RecordedEvents) {
        let buffer = Arc::new(Buffer::new(DEFAULT_QUEUE));
        let way = Way::Buffer(Arc::clone(&buffer));
        let outlet = Outlet { sink: "test".into(), counters: Arc::default(), way };
        let source = Source { controller: "test".into(), instance: "test-0".into() };
        let shared = Shared::new(Arc::new(SystemTime::now), vec![outlet]);
        (Self { source: Arc::new(source), shared: Arc::new(shared) }, RecordedEvents { buffer })
    }

    /// A recorder of another controller of this process, with the same instance and the same sinks.
    ///
    /// # Errors
    /// When the name is one that API servers refuse.
    pub fn named(&self, controller: impl Into<String>) -> Result<Self, EventRecorderError> {
        let source = builder::source(controller.into(), Some(self.source.instance.clone()))?;
        Ok(Self { source: Arc::new(source), shared: Arc::clone(&self.shared) })
    }

    /// Records an event about an object: why (`reason`) and what was done (`action`) in one word each, and a note for people.
    /// Never blocks.
    #[doc(alias = "Eventf")]
    pub fn event(
        &self,
        regarding: impl Into<ObjectReference>,
        event_type: EventType,
        reason: &str,
        action: &str,
        note: impl Into<String>,
    ) -> Recorded {
        self.record(NewEvent::new(regarding, event_type, reason, action, note))
    }

    /// The same with a second object that has to do with it.
    pub fn related(
        &self,
        regarding: impl Into<ObjectReference>,
        related: impl Into<ObjectReference>,
        event_type: EventType,
        reason: &str,
        action: &str,
        note: impl Into<String>,
    ) -> Recorded {
        self.record(NewEvent::new(regarding, event_type, reason, action, note).related(related))
    }

    /// The same with everything that an event can have.
    pub fn record(&self, event: NewEvent) -> Recorded {
        let shared = &*self.shared;
        count(&shared.recorded, 1);
        let refused =
            if shared.closed.load(Ordering::Acquire) { Some(DropReason::ShutDown) } else { refusal(&event) };
        if let Some(reason) = refused {
            shared.dropped.add(reason, 1);
            tracing::debug!(target: "informer::event_recorder", regarding = %event.regarding, %reason, "an event was refused");
            return Recorded::Dropped(reason);
        }
        let event = Arc::new(self.complete(event));
        let mut recorded = Recorded::Dropped(DropReason::QueueFull);
        for outlet in &shared.outlets {
            match outlet.offer(&event) {
                Ok(()) => recorded = Recorded::Queued,
                Err(reason) => outlet.counters.dropped.add(reason, 1),
            }
        }
        recorded
    }

    fn complete(&self, event: NewEvent) -> RecordedEvent {
        let NewEvent { regarding, related, event_type, reason, action, mut note, annotations } = event;
        cut(&mut note, MAX_NOTE_BYTES);
        let time = (self.shared.wall_clock)();
        let namespace = Some(&regarding.namespace).filter(|namespace| !namespace.is_empty());
        RecordedEvent {
            name: self.shared.names.name(&regarding.name, time),
            namespace: namespace.map_or(NAMESPACE_OF_CLUSTER_SCOPED, |namespace| namespace).to_owned(),
            time,
            regarding,
            related,
            event_type,
            reason,
            action,
            note,
            annotations,
            source: Arc::clone(&self.source),
        }
    }

    /// Takes no more events, writes what is queued, counted or being tried, and waits for it; pauses between tries become
    /// short. When `deadline`, counted from now, has passed, the rest is dropped and counted.
    ///
    /// It may be called several times, and dropped: then the flush goes on. Events recorded from now on by any clone, or by a
    /// recorder [`named`](Self::named) after this one, are dropped.
    ///
    /// # Errors
    /// When not everything was written in time. What a server refused is not an error here; see [`metrics`](Self::metrics).
    #[doc(alias = "Shutdown")]
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), Unflushed> {
        let shared = &*self.shared;
        shared.closed.store(true, Ordering::Release);
        shared.flushing.cancel();
        if timeout(deadline, shared.done()).await.is_err() {
            shared.abort.cancel();
            // If this runs out an observer blocks its thread: what waits for it is still counted as pending.
            let _ = timeout(ABORT_GRACE, shared.done()).await;
        }
        let unflushed = |sink: &EventSinkMetrics| sink.pending + sink.dropped.of(DropReason::Unflushed);
        match self.metrics().sinks.iter().map(unflushed).sum() {
            0 => Ok(()),
            count => Err(Unflushed { count, waited: deadline }),
        }
    }

    /// How many events were recorded, written and dropped so far.
    pub fn metrics(&self) -> EventRecorderMetrics {
        self.shared.metrics()
    }

    /// The same without keeping the recorder; `None` when it is gone.
    #[cfg(feature = "metrics")]
    pub(crate) fn observer(&self) -> impl Fn() -> Option<EventRecorderMetrics> + Send + Sync + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || Some(shared.upgrade()?.metrics())
    }
}

impl Shared {
    fn metrics(&self) -> EventRecorderMetrics {
        let snapshot = |outlet: &Outlet| outlet.counters.snapshot(&outlet.sink);
        EventRecorderMetrics {
            recorded: self.recorded.load(Ordering::Relaxed),
            dropped: self.dropped.snapshot(),
            sinks: self.outlets.iter().map(snapshot).collect(),
        }
    }
}

/// Why this cannot be an event.
fn refusal(event: &NewEvent) -> Option<DropReason> {
    let regarding = &event.regarding;
    if regarding.name.is_empty() {
        Some(DropReason::NoName)
    } else if regarding.kind.is_empty() {
        Some(DropReason::NoKind)
    } else if !regarding.namespace.is_empty() && !is_namespace(&regarding.namespace) {
        Some(DropReason::InvalidNamespace)
    } else if !is_word(&event.reason) {
        Some(DropReason::InvalidReason)
    } else if !is_word(&event.action) {
        Some(DropReason::InvalidAction)
    } else {
        None
    }
}

impl Shared {
    async fn done(&self) {
        for outlet in &self.outlets {
            if let Way::Queue { done, .. } = &outlet.way {
                done.cancelled().await;
            }
        }
    }
}

impl Outlet {
    fn offer(&self, event: &SharedEvent) -> Result<(), DropReason> {
        match &self.way {
            Way::Queue { sender, .. } => {
                let place = sender.try_reserve().map_err(|error| match error {
                    TrySendError::Full(()) => DropReason::QueueFull,
                    TrySendError::Closed(()) => DropReason::ShutDown,
                })?;
                // Counted first: it may be settled before this returns.
                count(&self.counters.queued, 1);
                place.send(Arc::clone(event));
            }
            Way::Buffer(buffer) => {
                if !buffer.push(Arc::clone(event)) {
                    return Err(DropReason::QueueFull);
                }
                count(&self.counters.queued, 1);
                count(&self.counters.written, 1);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder")
            .field("controller", &self.source.controller)
            .field("instance", &self.source.instance)
            .finish_non_exhaustive()
    }
}
