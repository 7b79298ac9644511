//! LIST: which version, which page, which objects.

use std::sync::Arc;

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::body::{Body, ListBody};
use crate::faults::Fault;
use crate::handlers::Call;
use crate::history::objects_at;
use crate::names::{base64_decode, base64_encode};
use crate::representation::ListMetadata;
use crate::request::Query;
use crate::selector::Selector;
use crate::service::Answer;
use crate::status::{ApiError, Cause};
use crate::storage::{State, Stored, key_of};

/// Lists shorter than this are answered with a content length, longer ones in chunks.
const WHOLE_UP_TO_BYTES: usize = 32 << 10;

pub(crate) fn list(call: &Call<'_>, state: &mut State) -> Result<Answer, ApiError> {
    let query = &call.request.query;
    validate(query)?;
    let selector = selector(call)?;
    if call.faults.iter().any(|fault| matches!(fault, Fault::TooLargeVersion)) {
        return Err(ApiError::too_large_version(state.version + 1_000_000, state.version));
    }
    let page = Page::of(call, state)?;
    let (mut objects, rest) = select(call, state, &selector, &page);
    let mut metadata = ListMetadata { version: page.version.to_string(), ..ListMetadata::default() };
    if rest > 0
        && let Some(last) = objects.last()
    {
        let start = last.key[call.path.namespace.len()..].trim_start_matches('/');
        metadata.continue_token = ContinueToken::encode(page.version as i64, &format!("/{start}\0"));
        metadata.remaining = selector.is_empty().then_some(rest);
    }
    for fault in call.faults {
        match fault {
            Fault::OmitListVersion => metadata.version.clear(),
            Fault::ListVersion(version) => metadata.version.clone_from(version),
            Fault::NullItems => objects.clear(),
            _ => {}
        }
    }
    let representation = Arc::new(call.representation());
    let (mut head, mut tail) = representation.list_frame(call.resource, &metadata);
    if call.faults.iter().any(|fault| matches!(fault, Fault::NullItems)) {
        head.pop();
        head.push_str("null");
        tail.remove(0);
    }
    let size: usize = objects.iter().map(|object| object.encoded.body.len()).sum();
    if size <= WHOLE_UP_TO_BYTES {
        let mut out = bytes::BytesMut::with_capacity(size + head.len() + tail.len());
        out.extend_from_slice(head.as_bytes());
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b",");
            }
            representation.write_item(object, &mut out);
        }
        out.extend_from_slice(tail.as_bytes());
        return Ok(Answer::json(StatusCode::OK, Body::whole(out)));
    }
    Ok(Answer::json(StatusCode::OK, Body::list(ListBody::new(head, tail, objects, representation))))
}

/// The selection of a request; a name in the path of a collection request is one as well.
pub(crate) fn selector(call: &Call<'_>) -> Result<Selector, ApiError> {
    let query = &call.request.query;
    Selector::parse(call.resource, query.text("labelSelector"), query.text("fieldSelector"))
}

/// The page's objects, and how many follow.
fn select(call: &Call<'_>, state: &mut State, selector: &Selector, page: &Page) -> (Vec<Arc<Stored>>, usize) {
    let now = state.version;
    let namespace = &call.path.namespace;
    let table = state.table(call.resource.table);
    let start = &page.start;
    if page.version == now {
        let mut matching = table.range(namespace, start).filter(|object| selector.matches(object));
        let objects = matching.by_ref().take(page.limit).cloned().collect();
        return (objects, matching.count());
    }
    let mut objects = objects_at(table, page.version, namespace, start);
    objects.retain(|object| selector.matches(object));
    let rest = objects.len().saturating_sub(page.limit);
    objects.truncate(page.limit);
    (objects, rest)
}

/// Which objects of which version a request asks for.
struct Page {
    version: u64,
    start: String,
    limit: usize,
}

impl Page {
    fn of(call: &Call<'_>, state: &State) -> Result<Self, ApiError> {
        let query = &call.request.query;
        let limit = query.number("limit").filter(|limit| *limit > 0);
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let token = query.text("continue");
        if !token.is_empty() {
            return Self::continued(call, state, ContinueToken::decode(token)?, limit);
        }
        let asked = query.text("resourceVersion");
        let exact = query.text("resourceVersionMatch") == "Exact";
        let present = Self { version: state.version, start: String::new(), limit };
        match asked {
            "" => Ok(present),
            // From the cache, which knows no pages.
            "0" => Ok(Self { limit: usize::MAX, ..present }),
            asked => {
                let version = parse_version(asked)?;
                check_version(version, state.version)?;
                let pages_by_exact = query.text("resourceVersionMatch").is_empty() && limit != usize::MAX;
                if !exact && !pages_by_exact {
                    return Ok(present);
                }
                if version < state.oldest_version(call.resource.table) {
                    let message = "The resourceVersion for the provided list is too old.";
                    return Err(ApiError::new(410, "Expired", message));
                }
                Ok(Self { version, ..present })
            }
        }
    }

    fn continued(
        call: &Call<'_>,
        state: &State,
        token: ContinueToken,
        limit: usize,
    ) -> Result<Self, ApiError> {
        let asked = call.request.query.text("resourceVersion");
        if !matches!(asked, "" | "0") {
            let message = "specifying resource version is not allowed when using continue";
            return Err(ApiError::bad_request(message));
        }
        let relative = token.start.trim_start_matches('/');
        let start = key_of(&call.path.namespace, relative);
        // -1: the rest, as it is now.
        let Ok(version) = u64::try_from(token.rv) else {
            return Ok(Self { version: state.version, start, limit });
        };
        let expired = version < state.oldest_version(call.resource.table)
            || call.faults.iter().any(|fault| matches!(fault, Fault::ExpiredContinue));
        if expired {
            let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
            return Err(
                ApiError::new(410, "Expired", message).continue_token(ContinueToken::encode(-1, relative))
            );
        }
        Ok(Self { version: version.min(state.version), start, limit })
    }
}

/// Where a list goes on, in the recorded server's encoding.
#[derive(Debug, Serialize, Deserialize)]
struct ContinueToken {
    v: String,
    rv: i64,
    start: String,
}

impl ContinueToken {
    fn encode(rv: i64, start: &str) -> String {
        let token = Self { v: "meta.k8s.io/v1".into(), rv, start: start.into() };
        base64_encode(&serde_json::to_vec(&token).unwrap_or_default())
    }

    fn decode(text: &str) -> Result<Self, ApiError> {
        let invalid = |why: String| {
            ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = base64_decode(text.trim_end_matches('='))
            .map_err(|at| invalid(format!("illegal base64 data at input byte {at}")))?;
        if bytes.first() != Some(&b'{') {
            return Err(invalid(match bytes.first() {
                None => "unexpected end of JSON input".into(),
                Some(byte) if (b' '..0x7f).contains(byte) => {
                    format!("invalid character '{}' looking for beginning of value", char::from(*byte))
                }
                Some(byte) => format!("invalid character '\\u{byte:04x}' looking for beginning of value"),
            }));
        }
        let token: Self = serde_json::from_slice(&bytes).map_err(|_| invalid("unreadable".into()))?;
        if token.v != "meta.k8s.io/v1" || token.start.is_empty() {
            return Err(invalid("incorrect version or start".into()));
        }
        Ok(token)
    }
}

/// Reads a version of a list or get.
pub(crate) fn parse_version(text: &str) -> Result<u64, ApiError> {
    text.parse()
        .map_err(|_| ApiError::bad_request(format!("invalid resource version: {}", bad_version(text))))
}

pub(crate) fn bad_version(text: &str) -> String {
    format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
}

/// A version that has not been yet is a timeout: a real server waits for it, for some seconds.
pub(crate) fn check_version(version: u64, current: u64) -> Result<(), ApiError> {
    if version > current { Err(ApiError::too_large_version(version, current)) } else { Ok(()) }
}

/// The rules for list options that hold before anything is looked up.
fn validate(query: &Query) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let version = query.text("resourceVersion");
    let how = query.text("resourceVersionMatch");
    if query.optional_flag("sendInitialEvents").is_some() {
        causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if !how.is_empty() {
        let field = "resourceVersionMatch";
        if version.is_empty() {
            let what = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(field, what));
        }
        if !query.text("continue").is_empty() {
            let what = "resourceVersionMatch is forbidden when continue is provided";
            causes.push(Cause::forbidden(field, what));
        }
        if !matches!(how, "Exact" | "NotOlderThan") {
            causes.push(unsupported_match(how, "\"Exact\", \"NotOlderThan\""));
        }
        if how == "Exact" && version == "0" {
            let what = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(field, what));
        }
    }
    invalid_options(causes)
}

pub(crate) fn unsupported_match(how: &str, supported: &str) -> Cause {
    Cause {
        reason: "FieldValueNotSupported",
        message: format!("Unsupported value: {how:?}: supported values: {supported}"),
        field: "resourceVersionMatch".into(),
    }
}

pub(crate) fn invalid_options(causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", causes)) }
}
