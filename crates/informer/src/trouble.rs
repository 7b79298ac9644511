//! Telling people what goes wrong: each trouble once, then again only when it changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use informer_core::reflector::{FailureKind, RequestKind, Trouble};

use crate::driver::Health;

/// A trouble of an informer, as its watch-error handler is told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TroubleReport {
    /// What is watched: `pods in team-a`.
    pub informer: String,
    /// What happened.
    pub trouble: Trouble,
    /// How often the same kind of request failed with the very same before this, without another failure of its or a
    /// recovery between: 0 the first time. For what is no failed request: how often the very same came just before.
    pub repeated: u64,
}

impl TroubleReport {
    /// The trouble in one line, without the informer's name.
    pub fn text(&self) -> String {
        Text(&self.trouble).to_string()
    }
}

impl fmt::Display for TroubleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.informer, Text(&self.trouble))
    }
}

/// Told of every trouble; see [`TroubleReport::repeated`].
pub(crate) type WatchErrorHandler = Arc<dyn Fn(&TroubleReport) + Send + Sync>;

pub(crate) struct Reporter {
    handler: Option<WatchErrorHandler>,
    /// What was told last in each scope.
    scopes: Mutex<Vec<Scope>>,
}

#[derive(Default)]
struct Scope {
    /// A refusal makes WatchList and LIST fail in turn, each in its own words: that is no change.
    told: Vec<Told>,
    /// Failed requests since things worked last.
    failures: u64,
    /// Objects and events that could not be read. Each is a trouble of its own, and there may be thousands.
    unreadable: u64,
}

/// What was told last of one kind of request, or of everything else.
struct Told {
    request: Option<RequestKind>,
    text: String,
    repeated: u64,
}

/// What the log says of a trouble besides its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Judged {
    repeated: u64,
    /// How often this happened, this time included.
    count: u64,
    /// How often something else happened in its place before.
    before: u64,
}

/// Whether a trouble that is there to stay, and was counted so many times, is told aloud again: when its count has become ten
/// times as large.
pub(crate) fn is_news(count: u64) -> bool {
    count.checked_ilog10().is_some_and(|digits| count == 10_u64.pow(digits))
}

impl Reporter {
    pub(crate) fn new(handler: Option<WatchErrorHandler>, scopes: usize) -> Self {
        Self { handler, scopes: Mutex::new((0..scopes).map(|_| Scope::default()).collect()) }
    }

    /// Keeps what `status()` shows until things work again. What does not keep an informer from being in step is no error of
    /// its: an undecodable object is counted as stale.
    pub(crate) fn note(&self, health: &mut Health, trouble: &Trouble) {
        match trouble {
            Trouble::Recovered
            | Trouble::Undecodable { .. }
            | Trouble::UnknownEvent { .. }
            | Trouble::WatchListGivenUp { .. }
            | Trouble::OpaqueVersions => {}
            other => health.last_error = Some(Text(other).to_string()),
        }
    }

    pub(crate) fn report(&self, informer: &str, scope: usize, trouble: Trouble) {
        let judged = self.judge(scope, &trouble);
        let report = TroubleReport { informer: informer.to_owned(), trouble, repeated: judged.repeated };
        log(&report, judged);
        if let Some(handler) = &self.handler
            && catch_unwind(AssertUnwindSafe(|| handler(&report))).is_err()
        {
            tracing::error!(target: "informer::trouble", informer, "the watch-error handler panicked");
        }
    }

    /// How often the very same was told before; remembers it.
    fn judge(&self, scope: usize, trouble: &Trouble) -> Judged {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let scope = &mut scopes[scope];
        let request = match trouble {
            Trouble::Recovered => {
                scope.told.clear();
                return Judged { repeated: 0, count: std::mem::take(&mut scope.failures), before: 0 };
            }
            Trouble::RequestFailed { request, .. } => {
                scope.failures += 1;
                Some(*request)
            }
            _ => None,
        };
        let text = Text(trouble).stable();
        let mut before = 0;
        let repeated = match scope.told.iter_mut().find(|told| told.request == request) {
            Some(told) if told.text == text => {
                told.repeated += 1;
                told.repeated
            }
            Some(told) => {
                before = told.repeated + 1;
                (told.text, told.repeated) = (text, 0);
                0
            }
            None => {
                scope.told.push(Told { request, text, repeated: 0 });
                0
            }
        };
        let count = match trouble {
            Trouble::Undecodable { .. } | Trouble::Unreadable { .. } => {
                scope.unreadable += 1;
                scope.unreadable
            }
            _ => repeated + 1,
        };
        Judged { repeated, count, before }
    }
}

fn log(report: &TroubleReport, judged: Judged) {
    let TroubleReport { informer, trouble, .. } = report;
    let Judged { repeated, count, before } = judged;
    let text = Text(trouble);
    let quiet = match trouble {
        Trouble::Recovered => {
            tracing::info!(target: "informer::trouble", informer, count, "{text}");
            return;
        }
        Trouble::WatchListGivenUp { .. } | Trouble::UnknownEvent { .. } => true,
        // Losing the version is part of a watch's life.
        Trouble::RequestFailed { failure, .. } => failure.kind == FailureKind::Expired || repeated > 0,
        Trouble::Undecodable { .. } | Trouble::Unreadable { .. } => !is_news(count),
        _ => repeated > 0,
    };
    if quiet {
        tracing::debug!(target: "informer::trouble", informer, count, before, "{text}");
    } else {
        tracing::warn!(target: "informer::trouble", informer, count, before, "{text}");
    }
}

struct Text<'a>(&'a Trouble);

impl Text<'_> {
    /// The text without what changes from one time to the next although nothing has changed.
    fn stable(&self) -> String {
        match self.0 {
            Trouble::RequestFailed { request, failure, .. } => format!("{request}: {failure}"),
            Trouble::ShortWatches { .. } => "short watches".into(),
            other => Text(other).to_string(),
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Trouble::RequestFailed { request, failure, retry_in } => {
                write!(f, "{request} failed: {failure}; next try in {:.1} s", retry_in.as_secs_f64())
            }
            Trouble::ShortWatches { count } => {
                write!(f, "the server ended {count} watches in a row at once, without an event")
            }
            Trouble::WatchListGivenUp { reason } => {
                write!(f, "WatchList does not work here, LIST is used: {reason}")
            }
            Trouble::Undecodable { identity, reason } => {
                let key = &identity.key;
                write!(
                    f,
                    "{key} at version {} cannot be decoded, its last good state stays: {reason}",
                    identity.version
                )
            }
            Trouble::Unreadable { reason } => {
                write!(f, "the server sent what is no object or event: {reason}")
            }
            Trouble::UnknownEvent { kind } => write!(f, "an event of unknown type {kind:?} was skipped"),
            Trouble::VersionWentBack { key, seen, got } => {
                write!(
                    f,
                    "the server went back in time: {key} came at version {got} after {seen}; listing again"
                )
            }
            Trouble::OpaqueVersions => {
                write!(f, "versions are not numbers here: order cannot be checked, wait_until does not work")
            }
            Trouble::MissingVersion => write!(f, "the list has no resourceVersion"),
            Trouble::ResourceGone => {
                write!(
                    f,
                    "the resource does not exist (any more); its objects count as deleted, and it is tried slowly"
                )
            }
            Trouble::Recovered => write!(f, "works again"),
            other => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use informer_core::reflector::Failure;

    use super::*;

    fn failed(request: RequestKind, message: &str, seconds: u64) -> Trouble {
        let failure = Failure {
            kind: FailureKind::Forbidden,
            code: Some(403),
            message: message.to_owned(),
            retry_after: None,
        };
        Trouble::RequestFailed { request, failure, retry_in: Duration::from_secs(seconds) }
    }

    #[test]
    fn two_requests_failing_in_turn_are_told_once_each() {
        let reporter = Reporter::new(None, 2);
        let (list, watch_list) = (RequestKind::List, RequestKind::WatchList);
        let told: Vec<u64> = [
            failed(watch_list, "no watch", 1),
            failed(list, "no list", 2),
            failed(watch_list, "no watch", 4),
            failed(list, "no list", 8),
            failed(list, "refused", 8),
            failed(list, "no list", 8),
            Trouble::Recovered,
            failed(list, "no list", 1),
        ]
        .iter()
        .map(|trouble| reporter.judge(0, trouble).repeated)
        .collect();
        assert_eq!(told, [0, 0, 1, 1, 0, 0, 0, 0]);
        assert_eq!(reporter.judge(1, &failed(list, "no list", 1)).repeated, 0);
    }

    #[test]
    fn a_change_says_how_often_the_other_came_and_the_end_says_how_many_there_were() {
        let reporter = Reporter::new(None, 1);
        let list = RequestKind::List;
        for _ in 0..3 {
            reporter.judge(0, &failed(list, "no list", 1));
        }
        let changed = reporter.judge(0, &failed(list, "refused", 1));
        assert_eq!(changed, Judged { repeated: 0, count: 1, before: 3 });
        assert_eq!(reporter.judge(0, &Trouble::Recovered).count, 4);
        assert_eq!(reporter.judge(0, &Trouble::Recovered).count, 0);
    }

    #[test]
    fn a_thousand_unreadable_objects_are_told_aloud_four_times() {
        let reporter = Reporter::new(None, 1);
        let aloud = (0..1000).filter(|object| {
            let trouble = Trouble::Unreadable { reason: format!("object {object}").into() };
            is_news(reporter.judge(0, &trouble).count)
        });
        assert_eq!(aloud.count(), 4);
    }
}
