//! Leader election as programs use it, over the embedded API server, in paused time.

mod failures;
mod sending;
mod support;
mod terms;
mod work;
