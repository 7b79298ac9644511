//! Failures as one clear line each: which request failed, and why.

use crate::text::excerpt;
use std::{error::Error, fmt, io, time::Duration};

/// How much of a server's message is shown.
const MESSAGE_LENGTH: usize = 400;

/// A certificate's names are shown up to this length, else counted.
const NAMES_LENGTH: usize = 120;

/// A request that did not give what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestError {
    /// Method and address without query, such as `GET https://10.0.0.1:6443/api/v1/pods`.
    request: String,
    cause: Cause,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Cause {
    /// No connection, for this reason.
    Unreachable(String),
    /// The server's certificate is not one we trust, for this reason.
    Certificate(String),
    /// The credentials could not be prepared.
    Credentials(String),
    /// The connection broke, or the answer was cut.
    Broken(String),
    /// No answer within this time.
    TimedOut(Duration),
    /// The server answered with an error.
    Status { code: u16, reason: String, message: String },
    /// The answer was not what the API promises; the text holds no value of it.
    BadAnswer(String),
}

impl RequestError {
    /// A failure of that request.
    pub(crate) fn new(request: impl Into<String>, cause: Cause) -> Self {
        Self { request: request.into(), cause }
    }

    /// What an error of the HTTP client means, found by walking its sources.
    pub(crate) fn transport(request: impl Into<String>, error: &(dyn Error + 'static)) -> Self {
        Self::new(request, classify(error))
    }

    /// An answer with an error code. `reason` and `message` come from the server's `Status`, if it sent one.
    pub(crate) fn status(request: impl Into<String>, code: u16, reason: &str, message: &str) -> Self {
        let reason = match (reason, http::StatusCode::from_u16(code)) {
            ("", Ok(status)) => status.canonical_reason().unwrap_or("Unknown").replace(' ', ""),
            ("", Err(_)) => "Unknown".to_owned(),
            (reason, _) => excerpt(reason, 64),
        };
        let message = excerpt(message, MESSAGE_LENGTH);
        Self::new(request, Cause::Status { code, reason, message })
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &self.request;
        match &self.cause {
            Cause::Unreachable(why) => write!(f, "error: cannot reach the server: {why} ({request})"),
            Cause::Certificate(why) => {
                write!(f, "error: the server's certificate is not trusted: {why} ({request})")
            }
            Cause::Credentials(why) => write!(f, "error: no usable credentials: {why} ({request})"),
            Cause::Broken(why) => write!(f, "error: the connection broke: {why} ({request})"),
            Cause::TimedOut(after) => write!(f, "error: no answer within {after:?} ({request})"),
            Cause::BadAnswer(why) => {
                write!(f, "error: the server's answer makes no sense: {why} ({request})")
            }
            Cause::Status { code: 401, .. } => {
                write!(
                    f,
                    "error: the server does not accept these credentials (Unauthorized): log in again ({request})"
                )
            }
            Cause::Status { code, reason, message } if message.is_empty() => {
                write!(f, "Error from server ({reason}): status {code} ({request})")
            }
            // The address is no news where the server's own message names the object.
            Cause::Status { code: 404, reason, message } => {
                write!(f, "Error from server ({reason}): {message}")
            }
            Cause::Status { reason, message, .. } => {
                write!(f, "Error from server ({reason}): {message} ({request})")
            }
        }
    }
}

impl Error for RequestError {}

fn classify(error: &(dyn Error + 'static)) -> Cause {
    if let Some(kube::Error::Auth(auth)) = error.downcast_ref::<kube::Error>() {
        return Cause::Credentials(credentials(auth));
    }
    let mut deepest = error.to_string();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if let Some((_, why)) = text.split_once("invalid peer certificate: ") {
            return Cause::Certificate(certificate(why));
        }
        if text.contains("InvalidContentType") {
            return Cause::Unreachable("it does not speak TLS; is its address http://…?".to_owned());
        }
        if text.contains("failed to lookup address information") || text.contains("dns error") {
            return Cause::Unreachable("its host name is not known".to_owned());
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::ConnectionRefused => {
                    return Cause::Unreachable("connection refused".to_owned());
                }
                io::ErrorKind::TimedOut => return Cause::Unreachable("connecting timed out".to_owned()),
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                    return Cause::Unreachable("no route to it".to_owned());
                }
                _ => {}
            }
        }
        deepest = text;
        next = error.source();
    }
    Cause::Broken(excerpt(&deepest, MESSAGE_LENGTH))
}

/// rustls names a certificate's faults by variant names; these are the ones a user meets.
fn certificate(why: &str) -> String {
    if why.contains("UnknownIssuer") {
        "its issuer is not the certificate authority of the kubeconfig".to_owned()
    } else if why.contains("BadSignature") {
        "its signature does not fit the certificate authority of the kubeconfig".to_owned()
    } else {
        // Some faults come wrapped twice: Other(OtherError(CaUsedAsEndEntity)).
        let bare =
            why.strip_prefix("Other(OtherError(").and_then(|why| why.strip_suffix("))")).unwrap_or(why);
        // The certificate of some proxies is for hundreds of names.
        match bare.split_once("; certificate is only valid for ") {
            Some((front, names)) if names.chars().count() > NAMES_LENGTH => {
                let count = names.matches("DnsName(").count() + names.matches("IpAddress(").count();
                format!("{}, but for {count} others", excerpt(front, MESSAGE_LENGTH))
            }
            _ => excerpt(bare, MESSAGE_LENGTH),
        }
    }
}

/// An error of a credential plugin, without the output that it printed (tokens travel there).
fn credentials(error: &kube::client::AuthError) -> String {
    use kube::client::AuthError;
    let program = |command: &str| excerpt(command.split_whitespace().next().unwrap_or_default(), 128);
    match error {
        AuthError::AuthExecStart(why) => format!("the credential plugin does not start: {why}"),
        AuthError::AuthExecRun { cmd, out } => {
            format!("the credential plugin {} failed ({})", program(cmd), out.status)
        }
        AuthError::AuthExecParse(_) => "the credential plugin's answer is not an ExecCredential".to_owned(),
        other => excerpt(&other.to_string(), MESSAGE_LENGTH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Box<dyn Error + 'static>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.1)
        }
    }

    fn line(inner: io::Error) -> String {
        let error = Layer("client error (Connect)", Box::new(Layer("tcp connect error", Box::new(inner))));
        RequestError::transport("GET https://h:1/api", &error).to_string()
    }

    #[test]
    fn the_line_says_what_a_user_can_act_on() {
        assert_eq!(
            line(io::ErrorKind::ConnectionRefused.into()),
            "error: cannot reach the server: connection refused (GET https://h:1/api)"
        );
        assert_eq!(
            line(io::Error::new(io::ErrorKind::InvalidData, "invalid peer certificate: UnknownIssuer")),
            "error: the server's certificate is not trusted: its issuer is not the certificate authority of the \
             kubeconfig (GET https://h:1/api)"
        );
        let names: Vec<String> = (0..40).map(|n| format!("DnsName(\"h{n}.example.com\")")).collect();
        let wrong = |names: &[String]| {
            let text = names.join(", ");
            let text = format!(
                "invalid peer certificate: certificate not valid for name \"h\"; certificate is only valid for {text}"
            );
            line(io::Error::new(io::ErrorKind::InvalidData, text))
        };
        assert!(
            wrong(&names).contains("not valid for name \"h\", but for 40 others (GET"),
            "{}",
            wrong(&names)
        );
        assert!(wrong(&names[..1]).contains("only valid for DnsName(\"h0.example.com\")"));
        assert_eq!(
            line(io::Error::other("failed to lookup address information: Name or service not known")),
            "error: cannot reach the server: its host name is not known (GET https://h:1/api)"
        );
        assert_eq!(
            line(io::Error::other("unexpected\neof")),
            "error: the connection broke: unexpected\\neof (GET https://h:1/api)"
        );
    }

    #[test]
    fn api_errors_read_as_kubectl_prints_them() {
        let error = RequestError::status("GET /x", 404, "NotFound", "pods \"x\" not found");
        assert_eq!(error.to_string(), "Error from server (NotFound): pods \"x\" not found");
        let error =
            RequestError::status("GET /x", 403, "Forbidden", "pods is forbidden: User \"u\"\x1b cannot list");
        assert_eq!(
            error.to_string(),
            "Error from server (Forbidden): pods is forbidden: User \"u\"^[ cannot list (GET /x)"
        );
        let error = RequestError::status("GET /x", 503, "", "");
        assert_eq!(error.to_string(), "Error from server (ServiceUnavailable): status 503 (GET /x)");
        let error = RequestError::status("GET /x", 401, "Unauthorized", "Unauthorized");
        assert!(error.to_string().contains("credentials (Unauthorized)"), "{error}");
    }

    #[test]
    fn a_long_message_is_cut() {
        let error = RequestError::status("GET /x", 500, "InternalError", &"x".repeat(100_000));
        assert!(error.to_string().chars().count() < 500);
    }
}
