//! From an HTTP answer, or the lack of one, to a `Failure` the reflector can act on.

use std::io;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use informer_core::reflector::{Failure, FailureKind};
use informer_wire::WireError;
use serde_json::Value;

use crate::list_watch::BoxError;

/// A message for people is cut here: proxies send whole pages.
const MAX_MESSAGE_BYTES: usize = 512;
/// The cause a server gives for a version in its future, in two of the dialects.
const TOO_LARGE: &str = "Too large resource version";

/// The failure of an exchange that broke before or while its body was read.
pub(crate) fn transport(error: &BoxError) -> Failure {
    let io = io_error(error.as_ref()).map(io::Error::kind);
    let kind = match io {
        Some(io::ErrorKind::ConnectionRefused) => FailureKind::Refused,
        _ => FailureKind::Transport,
    };
    let message = match io {
        // A TLS library's own words on it are a lesson about truncation attacks.
        Some(io::ErrorKind::UnexpectedEof) => "the server closed the connection in the middle".to_owned(),
        _ => bounded(&cause(error.as_ref())),
    };
    Failure { kind, code: None, message, retry_after: None }
}

/// The failure that a body brings which is not what the protocol says.
pub(crate) fn malformed(error: &WireError) -> Failure {
    let kind = if error.is_limit() {
        FailureKind::LimitExceeded
    } else if error.is_truncated() {
        FailureKind::Transport
    } else {
        FailureKind::Malformed
    };
    Failure { kind, code: None, message: bounded(&error.to_string()), retry_after: None }
}

/// The failure that this body of an unsuccessful answer describes: a `Status`, or whatever a proxy sends.
pub(crate) fn unsuccessful(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let header_wait =
        headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let status = serde_json::from_slice::<Value>(body).ok().filter(|value| value["kind"] == "Status");
    let mut failure = match status {
        Some(status) => from_status(&status, Some(code.as_u16())),
        None => {
            let reason = code.canonical_reason().unwrap_or("unknown status");
            let text = std::str::from_utf8(body).unwrap_or_default();
            let html = text.trim_start().starts_with('<');
            let text = if html { "" } else { text.lines().next().unwrap_or_default().trim() };
            let separator = if text.is_empty() { "" } else { ": " };
            let message = bounded(&format!("{} {reason}{separator}{text}", code.as_u16()));
            Failure {
                kind: kind_of_code(code.as_u16()),
                code: Some(code.as_u16()),
                message,
                retry_after: None,
            }
        }
    };
    failure.retry_after = failure.retry_after.max(header_wait.map(Duration::from_secs));
    failure
}

/// The failure that a `Status` object describes, from an ERROR event or an answer's body.
pub(crate) fn from_status(status: &Value, http_code: Option<u16>) -> Failure {
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|&code| code != 0);
    let code = code.or(http_code);
    let reason = status["reason"].as_str().unwrap_or_default();
    let message = status["message"].as_str().unwrap_or_default();
    let kind = if is_too_large(status, code, reason, message) {
        FailureKind::VersionTooLarge
    } else {
        match reason {
            "Expired" | "Gone" => FailureKind::Expired,
            "TooManyRequests" => FailureKind::TooManyRequests,
            "Unauthorized" => FailureKind::Unauthorized,
            "Forbidden" => FailureKind::Forbidden,
            "NotFound" => FailureKind::NotFound,
            "Invalid" | "BadRequest" => FailureKind::Invalid,
            "InternalError" => FailureKind::Internal,
            _ => kind_of_code(code.unwrap_or_default()),
        }
    };
    let retry_after = status["details"]["retryAfterSeconds"].as_u64().map(Duration::from_secs);
    let message = match (code, message) {
        (Some(code), "") => format!("{code} {reason}"),
        (Some(code), message) => {
            format!("{code} {reason}{}{message}", if reason.is_empty() { "" } else { ": " })
        }
        (None, message) => format!("an error without a code: {message}"),
    };
    Failure { kind, code, message: bounded(&message), retry_after }
}

/// The server lags behind the version asked for. Three dialects: a cause by reason (1.18 and later), a cause by message
/// (1.17 to 1.18.5), only the message (before), the latter two with a Timeout.
fn is_too_large(status: &Value, code: Option<u16>, reason: &str, message: &str) -> bool {
    let causes = status["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if causes.iter().any(|cause| cause["reason"] == "ResourceVersionTooLarge") {
        return true;
    }
    let timeout = reason == "Timeout" || code == Some(504);
    timeout && (message.contains(TOO_LARGE) || causes.iter().any(|cause| cause["message"] == TOO_LARGE))
}

fn kind_of_code(code: u16) -> FailureKind {
    match code {
        400 | 422 => FailureKind::Invalid,
        401 => FailureKind::Unauthorized,
        403 => FailureKind::Forbidden,
        404 => FailureKind::NotFound,
        410 => FailureKind::Expired,
        429 => FailureKind::TooManyRequests,
        500 => FailureKind::Internal,
        _ => FailureKind::Status,
    }
}

fn io_error<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io);
        }
        next = error.source();
    }
    None
}

/// The innermost cause, which names the matter (`Connection refused`, `UnknownIssuer`): what is around it only says that
/// somebody was told.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut connecting = false;
    let mut innermost = error;
    loop {
        connecting |= innermost.to_string().contains("(Connect)");
        match innermost.source() {
            Some(source) => innermost = source,
            None => break,
        }
    }
    let prefix = if connecting { "cannot connect: " } else { "" };
    format!("{prefix}{innermost}")
}

fn bounded(text: &str) -> String {
    let mut end = text.len().min(MAX_MESSAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = if end < text.len() { "…" } else { "" };
    let line: String = text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line + cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(code: u16, body: &str) -> Failure {
        unsuccessful(StatusCode::from_u16(code).unwrap(), &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn the_three_dialects_of_a_version_in_the_future_are_one() {
        let by_reason = json!({"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}});
        let by_cause = json!({"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"message":TOO_LARGE}]}});
        let by_message = json!({"kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version: 9, current: 1"});
        for status in [by_reason, by_cause, by_message] {
            assert_eq!(of(504, &status.to_string()).kind, FailureKind::VersionTooLarge);
        }
        let slow = json!({"kind":"Status","code":504,"reason":"Timeout","message":"slow"});
        assert_eq!(of(504, &slow.to_string()).kind, FailureKind::Status);
    }

    #[test]
    fn a_pretty_printed_status_is_understood() {
        let failure = of(
            403,
            "{\n  \"kind\": \"Status\",\n  \"reason\": \"Forbidden\",\n  \"message\": \"no\",\n \"code\": 403\n}",
        );
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Forbidden, "403 Forbidden: no"));
    }

    #[test]
    fn the_wait_comes_from_the_header_when_the_body_is_text() {
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "3".parse().unwrap())]);
        let failure = unsuccessful(StatusCode::TOO_MANY_REQUESTS, &headers, b"Too many requests\n");
        assert_eq!(failure.kind, FailureKind::TooManyRequests);
        assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(failure.message, "429 Too Many Requests: Too many requests");
    }

    #[test]
    fn a_page_of_html_is_not_repeated() {
        assert_eq!(of(502, "<html><body>bad</body></html>").message, "502 Bad Gateway");
    }

    #[test]
    fn gone_by_status_or_by_reason_is_expired() {
        assert_eq!(of(410, "").kind, FailureKind::Expired);
        assert_eq!(from_status(&json!({"kind":"Status","reason":"Gone"}), None).kind, FailureKind::Expired);
    }

    #[test]
    fn refused_is_found_under_other_errors() {
        let error: BoxError = io::Error::from(io::ErrorKind::ConnectionRefused).into();
        let error = BoxError::from(kube::Error::Service(error));
        assert_eq!(transport(&error).kind, FailureKind::Refused);
    }

    #[test]
    fn a_long_message_is_cut_and_stays_one_line() {
        let failure = of(500, &json!({"kind":"Status","code":500,"message":"é\n".repeat(1000)}).to_string());
        assert!(failure.message.len() <= MAX_MESSAGE_BYTES + '…'.len_utf8());
        assert!(!failure.message.contains('\n'));
    }
}
