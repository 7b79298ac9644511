//! The list / watch / relist machine, and what it says and hears.

mod health;
mod initial_events;
mod io;
mod list;
mod machine;
mod options;
mod state;
mod versions;
mod watch;
mod watch_list;

#[cfg(test)]
mod tests;

pub use io::{
    Failure, FailureKind, Input, ListEnd, ListItem, ListRequest, Output, Phase, Request, RequestId,
    RequestKind, Trouble, WatchEvent, WatchRequest,
};
pub use machine::Reflector;
pub use options::{NotFoundPolicy, ReflectorOptions};
