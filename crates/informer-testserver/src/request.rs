//! What a request asks: path, query and verb.

use http::{HeaderMap, Method, Uri};

use crate::accept::Accept;

/// A request's line and headers, understood.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) target: Target,
    pub(crate) verb: Verb,
    pub(crate) accept: Accept,
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    /// Asks for gzip.
    pub(crate) gzip: bool,
    pub(crate) bearer: Option<String>,
}

/// The verb of a request, as the API server's authorisation names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// One object.
    Get,
    /// A collection.
    List,
    /// A stream of changes.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// Discovery, health, version and everything that is no resource.
    Other,
}

impl Verb {
    /// `list`, `deletecollection`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }

    /// Changes something.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch | Self::Other)
    }
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Object(Path),
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/G`
    Group(String),
    /// `/api/v1` or `/apis/G/V`
    Version(String, String),
    ServerVersion,
    /// `/healthz`, `/readyz`, `/livez` and their sub-checks
    Health,
    /// `/`
    Root,
    Unknown,
}

/// A resource path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) group: String,
    pub(crate) version: String,
    /// "" for cluster-scoped objects and for all namespaces.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    /// "" for a collection.
    pub(crate) name: String,
    pub(crate) subresource: String,
}

/// The query parameters, decoded, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(pub(crate) Vec<(String, String)>);

impl Query {
    fn parse(text: &str) -> Self {
        Self(
            text.split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (percent_decode(key, true), percent_decode(value, true))
                })
                .collect(),
        )
    }

    /// The first value of a parameter; "" when it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// True for `1`, `true` and the like; an unreadable value counts as given.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        Some(!matches!(value.as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False"))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }
}

/// Decodes `%41`; broken escapes stay as they are. `plus` turns `+` into a space, as in queries.
fn percent_decode(text: &str, plus: bool) -> String {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            (b'+', _, _) if plus => out.push(b' '),
            (byte, _, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Request {
    pub(crate) fn new(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let query = Query::parse(uri.query().unwrap_or(""));
        let target = target(uri.path());
        Self {
            verb: verb(method, &target, &query),
            method: method.clone(),
            path: uri.path().to_owned(),
            accept: Accept::parse(
                &headers
                    .get_all("accept")
                    .iter()
                    .filter_map(|value| value.to_str().ok())
                    .collect::<Vec<_>>()
                    .join(","),
            ),
            content_type: header("content-type").split(';').next().unwrap_or("").trim().to_owned(),
            user_agent: header("user-agent").to_owned(),
            gzip: header("accept-encoding").split(',').any(|part| part.trim().starts_with("gzip")),
            bearer: header("authorization").strip_prefix("Bearer ").map(|token| token.trim().to_owned()),
            query,
            target,
        }
    }

    /// The resource path, if it is one.
    pub(crate) fn object(&self) -> Option<&Path> {
        match &self.target {
            Target::Object(path) => Some(path),
            _ => None,
        }
    }
}

fn verb(method: &Method, target: &Target, query: &Query) -> Verb {
    let Target::Object(path) = target else { return Verb::Other };
    match (method.as_str(), path.name.is_empty()) {
        ("GET" | "HEAD", true) if query.flag("watch") => Verb::Watch,
        ("GET" | "HEAD", true) => Verb::List,
        ("GET" | "HEAD", false) => Verb::Get,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::DeleteCollection,
        ("DELETE", false) => Verb::Delete,
        _ => Verb::Other,
    }
}

fn target(path: &str) -> Target {
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(|part| percent_decode(part, false)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let text = str::to_owned;
    match parts.as_slice() {
        [] => Target::Root,
        ["version"] => Target::ServerVersion,
        ["healthz" | "readyz" | "livez", ..] => Target::Health,
        ["api"] => Target::CoreVersions,
        ["api", version] => Target::Version(String::new(), text(version)),
        ["api", version, rest @ ..] => object("", version, rest),
        ["apis"] => Target::Groups,
        ["apis", group] => Target::Group(text(group)),
        ["apis", group, version] => Target::Version(text(group), text(version)),
        ["apis", group, version, rest @ ..] => object(group, version, rest),
        _ => Target::Unknown,
    }
}

fn object(group: &str, version: &str, rest: &[&str]) -> Target {
    let (namespace, rest) = match rest {
        // `namespaces/x/status` is a subresource of the namespace itself.
        ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, inner @ ..] if !inner.is_empty() => (*namespace, inner),
        _ => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", String::new()),
        [plural, name] => (*plural, *name, String::new()),
        [plural, name, subresource @ ..] => (*plural, *name, subresource.join("/")),
        [] => return Target::Unknown,
    };
    Target::Object(Path {
        group: group.into(),
        version: version.into(),
        namespace: namespace.into(),
        plural: plural.into(),
        name: name.into(),
        subresource,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(uri: &str) -> Request {
        Request::new(&Method::GET, &uri.parse().unwrap(), &HeaderMap::new())
    }

    #[test]
    fn paths_are_told_apart() {
        let path = |uri| parsed(uri).object().cloned().unwrap();
        assert_eq!(path("/api/v1/namespaces/a").name, "a");
        assert_eq!(path("/api/v1/namespaces/a").plural, "namespaces");
        assert_eq!(path("/api/v1/namespaces/a/status").subresource, "status");
        assert_eq!(path("/api/v1/namespaces/a/pods").namespace, "a");
        let status = path("/apis/apps/v1/namespaces/a/deployments/d/status");
        assert_eq!(
            (status.group.as_str(), status.name.as_str(), status.subresource.as_str()),
            ("apps", "d", "status")
        );
        assert_eq!(parsed("/api/v1/pods?watch=1").verb, Verb::Watch);
        assert_eq!(parsed("/api/v1/pods?watch=false").verb, Verb::List);
        assert_eq!(parsed("/apis/apps").target, Target::Group("apps".into()));
        assert_eq!(parsed("/x").target, Target::Unknown);
    }

    #[test]
    fn queries_are_decoded() {
        let query = parsed("/api/v1/pods?labelSelector=a%20in+(b%2Cc)&x=%zz&limit=5").query;
        assert_eq!(query.text("labelSelector"), "a in (b,c)");
        assert_eq!(query.text("x"), "%zz");
        assert_eq!(query.number("limit"), Some(5));
    }
}
