//! WATCH: from which version, with what at the start, and what is refused.

use std::time::Duration;

use http::StatusCode;

use crate::body::Body;
use crate::faults::Fault;
use crate::handlers::Call;
use crate::list::{bad_version, check_version, invalid_options, selector, unsupported_match};
use crate::service::Answer;
use crate::status::{ApiError, Cause};
use crate::storage::State;
use crate::watch_body::{WatchBody, WatchPlan};

/// A watch without a time limit of its own lives so long, and up to twice as long: a real server's default.
const DEFAULT_TIMEOUT_SECONDS: u64 = 1800;

pub(crate) fn watch(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let options = Options::of(call)?;
    let selector = selector(call)?;
    let table = call.resource.table;
    let seconds = match call.request.query.number("timeoutSeconds") {
        Some(seconds) if seconds > 0 => seconds,
        _ => DEFAULT_TIMEOUT_SECONDS + state.rng.next() % DEFAULT_TIMEOUT_SECONDS,
    };
    let mut plan = WatchPlan {
        table,
        namespace: call.path.namespace.clone(),
        selector,
        representation: call.representation(),
        initial: Vec::new(),
        initial_end: None,
        after: state.version,
        bookmarks: options.bookmarks,
        error: None,
        timeout: Duration::from_secs(seconds),
    };
    let now = state.version;
    match options.start {
        Start::Now => {}
        Start::Initial { announce_end } => {
            check_version(options.version, now)?;
            let objects = state.table(table).range(&plan.namespace, "");
            plan.initial = objects.filter(|object| plan.selector.matches(object)).cloned().collect();
            plan.initial_end = announce_end.then_some(now);
        }
        Start::After => {
            plan.after = options.version;
            let oldest = state.oldest_version(table);
            if options.version < oldest {
                plan.error = Some(too_old(options.version, oldest));
            }
        }
    }
    if call.faults.iter().any(|fault| matches!(fault, Fault::ExpiredWatch)) {
        plan.error = Some(too_old(options.version, now));
    }
    let faults = call.faults.iter().filter(|fault| !matches!(fault, Fault::RawBody(_))).cloned().collect();
    let body = WatchBody::new(call.inner, state, plan, faults);
    Ok(Answer::json(StatusCode::OK, Body::watch(body)))
}

fn too_old(asked: u64, oldest: u64) -> ApiError {
    ApiError::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
}

/// The options of a watch, checked.
struct Options {
    version: u64,
    bookmarks: bool,
    start: Start,
}

enum Start {
    /// With the objects there are.
    Initial { announce_end: bool },
    /// With the changes after a version.
    After,
    /// With whatever changes from now on.
    Now,
}

impl Options {
    fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        let query = &call.request.query;
        let has = |test: fn(&Fault) -> bool| call.faults.iter().any(test);
        let bookmarks = query.flag("allowWatchBookmarks");
        let mut initial = query.optional_flag("sendInitialEvents");
        let mut how = query.text("resourceVersionMatch");
        let ignored = has(|fault| matches!(fault, Fault::IgnoreWatchList));
        if ignored {
            (initial, how) = (None, "");
        }
        if initial.is_some() && has(|fault| matches!(fault, Fault::RejectWatchList)) {
            let what =
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            invalid_options(vec![Cause::forbidden("sendInitialEvents", what)])?;
        }
        validate(initial, how)?;
        let text = query.text("resourceVersion");
        let version = if text.is_empty() {
            0
        } else {
            text.parse().map_err(|_| ApiError::new(500, "", bad_version(text)))?
        };
        // A watch from nowhere that takes bookmarks is served as a list of initial events with an end.
        if initial.is_none() && bookmarks && version == 0 && !ignored {
            initial = Some(true);
        }
        let start = match initial {
            Some(true) => Start::Initial { announce_end: bookmarks },
            Some(false) if version == 0 => Start::Now,
            None if version == 0 => Start::Initial { announce_end: false },
            _ => Start::After,
        };
        Ok(Self { version, bookmarks, start })
    }
}

fn validate(initial: Option<bool>, how: &str) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let field = "resourceVersionMatch";
    if initial.is_some() {
        if how != "NotOlderThan" {
            let what = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(Cause::forbidden(field, what));
        }
        if !matches!(how, "" | "NotOlderThan") {
            causes.push(unsupported_match(how, "\"NotOlderThan\""));
        }
    } else if !how.is_empty() {
        let what = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        causes.push(Cause::forbidden(field, what));
    }
    invalid_options(causes)
}
