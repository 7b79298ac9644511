//! The work queue as workers use it: waiting, cancelling, delays on the runtime's clock, the end.

mod end;
mod failures;
mod threads;
mod waiting;
