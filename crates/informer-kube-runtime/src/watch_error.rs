//! A failure of kube-runtime's watcher as a line for logs, without what objects contain.

use std::error::Error as StdError;

use kube::core::Status;
use kube::runtime::watcher::Error;

/// A message is cut here.
const MAX_BYTES: usize = 512;

pub(crate) fn describe(error: &Error) -> String {
    let text = match error {
        Error::InitialListFailed(cause) => format!("the list failed: {}", client(cause)),
        Error::WatchStartFailed(cause) => format!("the watch could not be started: {}", client(cause)),
        Error::WatchFailed(cause) => format!("the watch failed: {}", client(cause)),
        Error::WatchError(answer) => format!("the watch was ended by the server: {}", status(answer)),
        Error::NoResourceVersion => "the list has no resourceVersion".to_owned(),
    };
    let end = (0..=MAX_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn client(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(answer) => status(answer),
        // Its own words quote what it could not read.
        kube::Error::SerdeError(error) => {
            format!("what was read does not fit the type (line {}, column {})", error.line(), error.column())
        }
        kube::Error::FromUtf8(_) => "what was read is not UTF-8".to_owned(),
        other => innermost(other),
    }
}

fn status(status: &Status) -> String {
    format!("{} {}: {}", status.code, status.reason, status.message)
}

/// What lies around the innermost cause only says that somebody was told.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
