//! What came of a reconcile.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::list_watch::BoxError;

/// What a reconcile that went well asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[doc(alias = "Result")]
pub enum Action {
    /// Nothing, until something changes.
    #[default]
    #[doc(alias = "AwaitChange")]
    Done,
    /// To be called again after this time even if nothing changes; sooner if something does.
    #[doc(alias = "Requeue")]
    RequeueAfter(Duration),
}

/// Marks an error that trying again cannot cure: it is counted and logged, and the key is left alone until something
/// changes.
///
/// It is found through any number of wrappers that name it as their [`source`](Error::source).
///
/// ```
/// use informer::{Action, BoxError, TerminalError};
///
/// fn replicas(text: &str) -> Result<u32, TerminalError> {
///     text.parse().map_err(TerminalError::new)
/// }
///
/// fn reconcile(text: &str) -> Result<Action, BoxError> {
///     replicas(text)?;
///     Ok(Action::Done)
/// }
/// assert!(reconcile("many").unwrap_err().is::<TerminalError>());
/// ```
#[derive(Debug)]
pub struct TerminalError(Mark);

/// The source of a terminal error: it stays visible when a wrapper shows nothing of the error but its source.
#[derive(Debug)]
struct Mark(BoxError);

impl TerminalError {
    /// The same error, but terminal.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Mark(error.into()))
    }

    pub(super) fn is_in(error: &(dyn Error + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.is::<Self>() || error.is::<Mark>() {
                return true;
            }
            next = error.source();
        }
        false
    }
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.0, f)
    }
}

impl Error for TerminalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trying again cannot help")
    }
}

impl Error for Mark {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
