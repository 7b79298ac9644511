//! The event recorder against the embedded API server: both forms of events, failures, full queues, the end.

mod core_v1;
mod ends;
mod failures;
mod input;
mod queues;
mod support;
mod v1;
