//! Faults on demand: what goes wrong, for which requests, how often.

use std::time::Duration;

use bytes::Bytes;

use crate::request::Verb;
use crate::status::ApiError;

/// One thing that goes wrong with a request, its answer or its stream.
///
/// ```
/// use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
///
/// let server = TestServer::new();
/// server.add_fault(FaultRule::new(Fault::Error(ApiError::new(503, "ServiceUnavailable", "busy"))).verb(Verb::List).times(2));
/// server.add_fault(FaultRule::new(Fault::CutBody { after_bytes: 100 }).verb(Verb::Watch).resource("pods"));
/// server.clear_faults();
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// The connection breaks before anything is answered (in-process: the service errs).
    ResetBeforeHeaders,
    /// Nothing is answered, and the connection stays open.
    StallBeforeHeaders,
    /// The connection breaks after so many bytes of the body; 0: right after the headers.
    ResetBody {
        /// Bytes of body that arrive before.
        after_bytes: usize,
    },
    /// The body ends as if complete after so many bytes: inside a line, inside an object.
    CutBody {
        /// Bytes of body that arrive before.
        after_bytes: usize,
    },
    /// Nothing more arrives after so many bytes, and the connection stays open.
    StallBody {
        /// Bytes of body that arrive before.
        after_bytes: usize,
    },
    /// The body arrives in pieces of this size; 1 splits at every byte.
    Drip {
        /// Size of a piece in bytes; 0 counts as 1.
        chunk_bytes: usize,
    },
    /// This error instead of the answer.
    Error(ApiError),
    /// This error, with a Retry-After header in whole seconds.
    RetryAfter(ApiError, Duration),
    /// Any status, content type and body: plain text, HTML of a proxy, nothing.
    Response {
        /// The HTTP status code.
        code: u16,
        /// Header fields to add.
        headers: Vec<(String, String)>,
        /// The body as it is sent.
        body: Bytes,
    },
    /// This ERROR event ends a watch that has sent so many events.
    ErrorEvent {
        /// Events sent before.
        after_events: usize,
        /// The Status in the event.
        error: ApiError,
    },
    /// A watch says that its version is too old (410 as an ERROR event).
    ExpiredWatch,
    /// A continue token is refused as expired, with a fresh one in the answer.
    ExpiredContinue,
    /// A list says that the version asked for is in the future (504).
    TooLargeVersion,
    /// A watch sends no bookmarks at all, the end of the initial events included.
    NoBookmarks,
    /// A watch never marks the end of its initial events.
    NoInitialEventsEnd,
    /// The bookmark that ends the initial events lacks its annotation.
    InitialEventsEndWithoutAnnotation,
    /// The end of the initial events is announced before the first one.
    InitialEventsEndFirst,
    /// Ignores `sendInitialEvents`, as servers before 1.27 do: a plain watch.
    IgnoreWatchList,
    /// Refuses `sendInitialEvents` with 422, as a server without the feature does.
    RejectWatchList,
    /// Compresses: each watch event, each piece of a list is a gzip member of its own. Only when the client asks for gzip.
    GzipMembers,
    /// These bytes come into a watch's stream after so many events.
    InjectBytes {
        /// Events sent before.
        after_events: usize,
        /// Anything: a malformed object, an unknown type, an endless line.
        bytes: Bytes,
    },
    /// These bytes are the whole body of a list or get.
    RawBody(Bytes),
    /// A list has no resourceVersion.
    OmitListVersion,
    /// A list has this resourceVersion: one that goes back, as after a restored backup, or that is no number.
    ListVersion(String),
    /// A list has `"items":null`, its objects left out.
    NullItems,
    /// Each watch event is sent twice.
    DuplicateEvents,
}

/// A fault with the requests it is for.
///
/// Without a condition it is for every request; without [`times`](Self::times), until it is cleared.
#[derive(Debug, Clone)]
pub struct FaultRule {
    fault: Fault,
    verb: Option<Verb>,
    writes: bool,
    resource: Option<String>,
    path: Option<String>,
    skip: u32,
    times: Option<u32>,
}

impl FaultRule {
    /// A rule for every request, until cleared.
    pub fn new(fault: Fault) -> Self {
        Self { fault, verb: None, writes: false, resource: None, path: None, skip: 0, times: None }
    }

    /// Only for this verb.
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Only for requests that change something.
    pub fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// Only for this resource, by plural name.
    pub fn resource(mut self, plural: impl Into<String>) -> Self {
        self.resource = Some(plural.into());
        self
    }

    /// Only for paths that contain this text.
    pub fn path(mut self, part: impl Into<String>) -> Self {
        self.path = Some(part.into());
        self
    }

    /// Lets so many matching requests pass first.
    pub fn skip(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    /// Only for the next so many matching requests.
    pub fn times(mut self, requests: u32) -> Self {
        self.times = Some(requests);
        self
    }

    fn matches(&self, verb: Verb, resource: &str, path: &str) -> bool {
        self.verb.is_none_or(|wanted| wanted == verb)
            && (!self.writes || verb.is_write())
            && self.resource.as_deref().is_none_or(|wanted| wanted == resource)
            && self.path.as_deref().is_none_or(|wanted| path.contains(wanted))
    }
}

/// The rules in force, in the order they were added.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<FaultRule>);

impl Rules {
    pub(crate) fn add(&mut self, rule: FaultRule) {
        self.0.push(rule);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The faults for a request; uses up what is counted.
    pub(crate) fn take(&mut self, verb: Verb, resource: &str, path: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.0.retain_mut(|rule| {
            if !rule.matches(verb, resource, path) {
                return true;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                return true;
            }
            match &mut rule.times {
                Some(0) => return false,
                Some(times) => *times -= 1,
                None => {}
            }
            faults.push(rule.fault.clone());
            rule.times != Some(0)
        });
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_skip_then_count_down() {
        let mut rules = Rules::default();
        rules.add(FaultRule::new(Fault::NullItems).verb(Verb::List).skip(1).times(2));
        let mut hit = |verb| rules.take(verb, "pods", "/api/v1/pods").len();
        assert_eq!(hit(Verb::Watch), 0);
        let hits: Vec<usize> = (0..4).map(|_| hit(Verb::List)).collect();
        assert_eq!(hits, [0, 1, 1, 0]);
    }
}
