//! Controllers against the embedded API server, in process and under paused time.

mod expectations;
mod finalizers;
mod lifecycle;
#[path = "../it/log.rs"]
mod log;
mod logs;
mod predicates;
mod relations;
mod results;
mod stress;
mod support;
mod writes;
