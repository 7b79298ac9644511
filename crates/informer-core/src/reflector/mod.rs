//! The list / watch / relist machine, and what it says and hears.

mod io;

pub use io::{
    Failure, FailureKind, Input, ListEnd, ListItem, ListRequest, Output, Phase, Request, RequestId,
    RequestKind, Trouble, WatchEvent, WatchRequest,
};
