//! The options of an event recorder.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::SystemTime;

use informer_core::{EventCorrelatorOptions, EventSeriesOptions};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Receiver};
use tokio_util::sync::CancellationToken;

use super::event::Source;
use super::limits::{MAX_WORD_BYTES, cut, is_qualified_name, is_word};
use super::machine::Machine;
use super::metrics::{DropCounters, SinkCounters};
use super::name::UniqueNames;
use super::observer::Observer;
use super::sink::{EventSink, SinkKind};
use super::worker::{Log, Worker};
use super::write::Writer;
use super::{EventRecorder, Outlet, Shared, SharedEvent, Way};
use crate::clock::Clock;
use crate::shared_informer::random_seed;

/// As many events wait for each sink, as in client-go.
pub(super) const DEFAULT_QUEUE: usize = 1000;

/// The time of events, replaceable in tests.
pub(super) type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The options of an [`EventRecorder`].
#[must_use]
pub struct EventRecorderBuilder {
    controller: String,
    instance: Option<String>,
    sinks: Vec<EventSink>,
    queue: usize,
    correlator: EventCorrelatorOptions,
    series: EventSeriesOptions,
    wall_clock: WallClock,
}

/// An event recorder could not be made as asked: the API server would refuse all of its events.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventRecorderError {
    /// The controller's name is not a qualified name.
    #[error(
        "a controller is called `name` or `dns.subdomain/name`, with a name of 1 to 63 letters, digits, `-`, `_` and `.`; \
         this one has {length_bytes} bytes"
    )]
    Controller {
        /// Length of what was given.
        length_bytes: usize,
    },
    /// The instance's name is empty or too long.
    #[error("an instance's name has 1 to 128 bytes; this one has {length_bytes}")]
    Instance {
        /// Length of what was given.
        length_bytes: usize,
    },
    /// There is nowhere to send events to.
    #[error("an event recorder needs a sink")]
    NoSink,
    /// There is nobody to send them.
    #[error("an event recorder is built within a tokio runtime")]
    NoRuntime,
}

impl EventRecorderBuilder {
    pub(super) fn new(controller: String) -> Self {
        let mut correlator = EventCorrelatorOptions::default();
        correlator.hash_seed = random_seed();
        let mut series = EventSeriesOptions::default();
        series.hash_seed = random_seed();
        Self {
            controller,
            instance: None,
            sinks: Vec::new(),
            queue: DEFAULT_QUEUE,
            correlator,
            series,
            wall_clock: Arc::new(SystemTime::now),
        }
    }

    /// Which instance of the controller this is: usually the Pod's name. Default: the controller and the `HOSTNAME` of the
    /// environment, which in a Pod is its name.
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = Some(name.into());
        self
    }

    /// One more place for events to go. Each gets all of them.
    pub fn sink(mut self, sink: EventSink) -> Self {
        self.sinks.push(sink);
        self
    }

    /// How many events wait for each sink at most, before the newest are dropped. Default: 1000. 0 counts as 1.
    pub fn queue(mut self, events: usize) -> Self {
        self.queue = events.max(1);
        self
    }

    /// Changes the figures of core/v1 sinks: when events are combined, and when there are too many. A capacity of 0 counts
    /// as 1.
    #[doc(alias = "CorrelatorOptions")]
    pub fn correlator(mut self, change: impl FnOnce(&mut EventCorrelatorOptions)) -> Self {
        change(&mut self.correlator);
        self.correlator.capacity = self.correlator.capacity.max(1);
        self
    }

    /// Changes the figures of events.k8s.io/v1 sinks: when series are reported, and when they are over. A capacity of 0
    /// counts as 1.
    pub fn series(mut self, change: impl FnOnce(&mut EventSeriesOptions)) -> Self {
        change(&mut self.series);
        self.series.capacity = self.series.capacity.max(1);
        self
    }

    /// Where the times of events come from. Default: the system's clock. It decides nothing.
    pub fn wall_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.wall_clock = Arc::new(clock);
        self
    }

    /// Starts a task for each sink.
    ///
    /// # Errors
    /// When a name is one that API servers refuse, when there is no sink, and outside of a tokio runtime.
    pub fn build(self) -> Result<EventRecorder, EventRecorderError> {
        let source = source(self.controller, self.instance)?;
        if self.sinks.is_empty() {
            return Err(EventRecorderError::NoSink);
        }
        let runtime = Handle::try_current().map_err(|_| EventRecorderError::NoRuntime)?;
        let shared = Shared::new(self.wall_clock, Vec::new());
        let start = |sink: EventSink| {
            let (sender, queue) = mpsc::channel(self.queue);
            let counters = Arc::new(SinkCounters::default());
            let done = CancellationToken::new();
            let task = Task {
                sink: sink.name.clone(),
                queue,
                counters: Arc::clone(&counters),
                correlator: self.correlator.clone(),
                series: self.series.clone(),
                flushing: shared.flushing.clone(),
                abort: shared.abort.clone(),
                done: done.clone(),
            };
            task.start(&runtime, sink.kind);
            Outlet { sink: sink.name, counters, way: Way::Queue { sender, done } }
        };
        let outlets = self.sinks.into_iter().map(start).collect();
        Ok(EventRecorder { source: Arc::new(source), shared: Arc::new(Shared { outlets, ..shared }) })
    }
}

impl Shared {
    pub(super) fn new(wall_clock: WallClock, outlets: Vec<Outlet>) -> Self {
        Self {
            names: UniqueNames::new(random_seed()),
            wall_clock,
            closed: AtomicBool::new(false),
            recorded: AtomicU64::new(0),
            dropped: DropCounters::default(),
            outlets,
            flushing: CancellationToken::new(),
            abort: CancellationToken::new(),
        }
    }
}

/// Checks the names; makes one for the instance if there is none.
pub(super) fn source(controller: String, instance: Option<String>) -> Result<Source, EventRecorderError> {
    if !is_qualified_name(&controller) {
        return Err(EventRecorderError::Controller { length_bytes: controller.len() });
    }
    let instance = instance.unwrap_or_else(|| {
        let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
        let host = host.unwrap_or_else(|| format!("{:016x}", random_seed()));
        let mut instance = format!("{controller}-{host}");
        cut(&mut instance, MAX_WORD_BYTES);
        instance
    });
    if !is_word(&instance) {
        return Err(EventRecorderError::Instance { length_bytes: instance.len() });
    }
    Ok(Source { controller, instance })
}

/// The task of a sink before it is started.
struct Task {
    sink: String,
    queue: Receiver<SharedEvent>,
    counters: Arc<SinkCounters>,
    correlator: EventCorrelatorOptions,
    series: EventSeriesOptions,
    flushing: CancellationToken,
    abort: CancellationToken,
    done: CancellationToken,
}

impl Task {
    fn start(self, runtime: &Handle, kind: SinkKind) {
        // However the task ends, nobody waits for it in vain.
        let done = self.done.clone().drop_guard();
        match kind {
            SinkKind::Observer(observe) => {
                let Self { sink, queue, counters, flushing, abort, .. } = self;
                let observer = Observer { sink, queue, observe, counters, flushing, abort };
                runtime.spawn(async move {
                    let _done = done;
                    observer.run().await;
                });
            }
            SinkKind::Api(client, form) => {
                let Self { sink, queue, counters, flushing, abort, correlator, series, .. } = self;
                let clock = Clock::new();
                let writer = Arc::new(Writer {
                    client,
                    form,
                    counters: Arc::clone(&counters),
                    flushing: flushing.clone(),
                    seeds: AtomicU64::new(random_seed()),
                });
                let machine = Machine::new(clock.now(), form, correlator, series);
                let log = Log::default();
                let worker = Worker { sink, queue, machine, writer, counters, clock, flushing, abort, log };
                runtime.spawn(async move {
                    let _done = done;
                    worker.run().await;
                });
            }
        }
    }
}

impl fmt::Debug for EventRecorderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorderBuilder")
            .field("controller", &self.controller)
            .field("sinks", &self.sinks)
            .finish_non_exhaustive()
    }
}
