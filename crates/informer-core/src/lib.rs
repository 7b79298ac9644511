//! The pure state machines of the `informer` library.
//!
//! Nothing here does IO, reads a clock, draws a random number or runs user code: time comes in as
//! [`Now`], randomness as a seed, the server's answers as [`reflector::Input`] values, and what is to be
//! done comes out of `poll_output`. Users want the `informer` crate; this one is pinned exactly by it and
//! makes no promises of its own.
//!
//! Bad input is turned away before it reaches this crate. What remains can fail only by a broken invariant,
//! and then it panics with the invariant as its message.

pub mod leader_election;
pub mod reflector;

mod backlog;
mod backoff;
mod delta;
mod delta_fifo;
mod event_correlator;
mod expectations;
mod held_list;
mod index_values;
mod indexer;
mod informer;
mod notification;

mod object;
mod rng;
mod selector;
mod slot_entry;
mod time;
mod work_queue;

pub use backlog::{Backlog, BacklogCounters, BacklogOptions, Overflow};
pub use backoff::{Backoff, BackoffOptions};
pub use delta::{Deletion, Delta, Entry, Identity, Replacement};
pub use delta_fifo::{DeltaFifo, Deltas};
pub use event_correlator::{
    EventCorrelator, EventCorrelatorOptions, EventFacts, EventSeries, EventSeriesOptions, EventType,
    EventWrite, EventWriteId, EventWriteKind, EventWriteOutcome, Observed, Settled,
};
pub use expectations::{Expectation, Expectations};
pub use index_values::{IndexValues, Values};
pub use indexer::{ApplyOptions, IndexId, Indexer, Listed, ListedIntoIter, Retired, Snapshot};
pub use informer::{HandlerId, Informer, InformerOptions, InformerOutput, MIN_RESYNC};
pub use notification::{Batch, LastState, Notification};
pub use object::{Item, KeyParseError, Object, ObjectKey, ResourceVersion, Uid};
pub use rng::Rng;
pub use selector::{Selector, SelectorParseError, SelectorParseErrorKind};
pub use time::{Mono, Now};
pub use work_queue::{
    Added, Histogram, ItemExponential, ItemFastSlow, Jittered, KeyHash, KeyHasher, KeyId, MaxOf,
    NotProcessing, Priority, RateLimiter, Taken, TokenBucket, WithMaxWait, WorkKey, WorkQueue,
    WorkQueueCounters, WorkQueueMetrics, WorkQueueOptions, WorkQueueTimings,
};
