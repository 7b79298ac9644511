//! The library against the embedded API server, in process and under paused time.

mod bytes_read;
mod cache;
mod custom_resource;
mod handlers;
mod large_lists;
mod lifecycle;
mod log;
mod quiet;
mod safety;
mod secrets;
mod support;
