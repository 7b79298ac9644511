//! Where the bytes come from: the one seam between informers and the world.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, ACCEPT_ENCODING};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use informer_core::reflector::Request;
use kube::Client;
use kube::core::ApiResource;

/// Any error, on its way to being told to a person.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body of bytes as they arrive.
pub type ByteBody = UnsyncBoxBody<Bytes, BoxError>;

/// Answers LIST and WATCH requests with HTTP responses.
///
/// Implemented for the API server by [`ResourceListWatch`], and for any function by [`list_watch_fn`]: a test, a file or
/// another client can be a source too.
#[doc(alias = "ListerWatcher")]
pub trait ListWatch: Send + Sync + 'static {
    /// Sends the request. The answer is the HTTP response with its body still to be read, whatever its status; an error
    /// means that no answer came. Dropping the future or the body must close the exchange.
    fn send(&self, request: &Request) -> BoxFuture<'static, Result<http::Response<ByteBody>, BoxError>>;

    /// What is listed, for messages: `pods in team-a`.
    fn describe(&self) -> String;

    /// Which resource is listed, if it is known: owner references name its group and kind.
    fn resource(&self) -> Option<&ApiResource> {
        None
    }
}

/// A [`ListWatch`] made of a function.
///
/// ```
/// use http_body_util::{BodyExt, Full};
/// use informer::{ByteBody, Request, list_watch_fn};
///
/// let empty = list_watch_fn("nothing at all", |_request: Request| async {
///     let body = r#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}"#;
///     let body: ByteBody = Full::from(body).map_err(|never| match never {}).boxed_unsync();
///     Ok(http::Response::new(body))
/// });
/// ```
pub fn list_watch_fn<F, Fut>(describe: impl Into<String>, send: F) -> impl ListWatch
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<http::Response<ByteBody>, BoxError>> + Send + 'static,
{
    FnListWatch { describe: describe.into(), send }
}

struct FnListWatch<F> {
    describe: String,
    send: F,
}

impl<F, Fut> ListWatch for FnListWatch<F>
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<http::Response<ByteBody>, BoxError>> + Send + 'static,
{
    fn send(&self, request: &Request) -> BoxFuture<'static, Result<http::Response<ByteBody>, BoxError>> {
        Box::pin((self.send)(request.clone()))
    }

    fn describe(&self) -> String {
        self.describe.clone()
    }
}

/// The parameters of one LIST or WATCH, for a hook to change before they are sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[doc(alias = "ListOptions")]
#[doc(alias = "TweakListOptionsFunc")]
pub struct RequestOptions {
    /// What the reflector asks for. The page size may be changed; the version, the continue token and whether initial
    /// events are sent belong to the protocol, and changing them breaks it.
    pub request: Request,
    /// `labelSelector`; empty selects everything.
    pub label_selector: String,
    /// `fieldSelector`; empty selects everything.
    pub field_selector: String,
    /// Further query parameters.
    pub extra: Vec<(String, String)>,
}

/// Changes requests before they are sent.
pub(crate) type Tweak = Arc<dyn Fn(&mut RequestOptions) + Send + Sync>;
/// The sources of one informer: one without a namespace, or one for each.
pub(crate) type Sources = Vec<(Option<Arc<str>>, Arc<dyn ListWatch>)>;

/// Lists and watches one resource of an API server through a [`kube::Client`].
///
/// ```no_run
/// # async fn example(client: kube::Client) {
/// use informer::ResourceListWatch;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let running = ResourceListWatch::of::<Pod>(client).namespace("team-a").field_selector("status.phase=Running");
/// # }
/// ```
#[derive(Clone)]
pub struct ResourceListWatch {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    label_selector: String,
    field_selector: String,
    metadata_only: bool,
    gzip: bool,
    tweak: Option<Tweak>,
}

impl ResourceListWatch {
    /// The resource of the Rust type `K`, in every namespace.
    pub fn of<K: kube::Resource<DynamicType = ()>>(client: Client) -> Self {
        Self::new(client, &ApiResource::erase::<K>(&()))
    }

    /// A resource known only at run time, in every namespace.
    pub fn new(client: Client, resource: &ApiResource) -> Self {
        Self {
            client,
            resource: resource.clone(),
            namespace: None,
            label_selector: String::new(),
            field_selector: String::new(),
            metadata_only: false,
            gzip: false,
            tweak: None,
        }
    }

    /// Only this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only objects with matching labels.
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = selector.into();
        self
    }

    /// Only objects with matching fields, of those the server supports for the resource.
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = selector.into();
        self
    }

    /// Asks the server for metadata only (`PartialObjectMetadata`), which saves most of the bytes.
    pub fn metadata_only(mut self, metadata_only: bool) -> Self {
        self.metadata_only = metadata_only;
        self
    }

    /// Asks for gzip. Off unless asked for: decompression costs more CPU than decoding, and pays only on slow links.
    ///
    /// Of use only with a client that does not decompress by itself, such as [`client`](crate::client)'s.
    pub fn gzip(mut self, gzip: bool) -> Self {
        self.gzip = gzip;
        self
    }

    /// A hook that may change each request before it is sent.
    pub fn tweak(mut self, tweak: impl Fn(&mut RequestOptions) + Send + Sync + 'static) -> Self {
        self.tweak = Some(Arc::new(tweak));
        self
    }

    fn http_request(&self, request: &Request) -> Result<http::Request<kube::client::Body>, BoxError> {
        let mut options = RequestOptions {
            request: request.clone(),
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            extra: Vec::new(),
        };
        if let Some(tweak) = &self.tweak {
            tweak(&mut options);
        }
        let uri = format!("{}?{}", self.path(), query(&options));
        let accept = match (self.metadata_only, request) {
            (false, _) => "application/json",
            (true, Request::List(_)) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            (true, Request::Watch(_)) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
        };
        let encoding = if self.gzip { "gzip" } else { "identity" };
        let request = http::Request::get(uri).header(ACCEPT, accept).header(ACCEPT_ENCODING, encoding);
        Ok(request.body(kube::client::Body::empty())?)
    }

    fn path(&self) -> String {
        let ApiResource { group, version, plural, .. } = &self.resource;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match &self.namespace {
            None => format!("{root}/{plural}"),
            Some(namespace) => format!("{root}/namespaces/{}/{plural}", escape(namespace)),
        }
    }
}

impl ListWatch for ResourceListWatch {
    fn send(&self, request: &Request) -> BoxFuture<'static, Result<http::Response<ByteBody>, BoxError>> {
        let request = self.http_request(request);
        let client = self.client.clone();
        Box::pin(async move {
            let response = client.send(request?).await?;
            Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        })
    }

    fn describe(&self) -> String {
        let ApiResource { group, plural, .. } = &self.resource;
        let dot = if group.is_empty() { "" } else { "." };
        match &self.namespace {
            None => format!("{plural}{dot}{group}"),
            Some(namespace) => format!("{plural}{dot}{group} in {namespace}"),
        }
    }

    fn resource(&self) -> Option<&ApiResource> {
        Some(&self.resource)
    }
}

impl fmt::Debug for ResourceListWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceListWatch({})", self.describe())
    }
}

fn query(options: &RequestOptions) -> String {
    let mut query = Query::default();
    match &options.request {
        Request::List(list) => {
            query.push_some("limit", list.page_size.as_ref());
            query.push_some("continue", list.continue_token.as_ref());
            query.push_some("resourceVersion", list.version.as_ref());
        }
        Request::Watch(watch) => {
            query.push("watch", "true");
            query.push("allowWatchBookmarks", "true");
            query.push("timeoutSeconds", &watch.timeout.as_secs().to_string());
            query.push_some("resourceVersion", watch.version.as_ref());
            if watch.initial_events {
                query.push("sendInitialEvents", "true");
                query.push("resourceVersionMatch", "NotOlderThan");
            }
        }
    }
    if !options.label_selector.is_empty() {
        query.push("labelSelector", &options.label_selector);
    }
    if !options.field_selector.is_empty() {
        query.push("fieldSelector", &options.field_selector);
    }
    for (name, value) in &options.extra {
        query.push(name, value);
    }
    query.0
}

#[derive(Default)]
struct Query(String);

impl Query {
    fn push(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(&escape(name));
        self.0.push('=');
        self.0.push_str(&escape(value));
    }

    fn push_some(&mut self, name: &str, value: Option<&impl fmt::Display>) {
        if let Some(value) = value {
            self.push(name, &value.to_string());
        }
    }
}

/// Percent-encodes everything but the characters that mean themselves everywhere in a URL (RFC 3986, 2.3).
fn escape(text: &str) -> String {
    use fmt::Write;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(byte as char),
            _ => write!(escaped, "%{byte:02X}").expect("a String takes everything"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use informer_core::ResourceVersion;
    use informer_core::reflector::{ListRequest, WatchRequest};

    use super::*;

    fn options(request: Request) -> RequestOptions {
        RequestOptions {
            request,
            label_selector: "a in (b, c)".into(),
            field_selector: String::new(),
            extra: vec![("x".into(), "é&".into())],
        }
    }

    #[test]
    fn version_zero_and_limit_are_sent_together() {
        let list = ListRequest { version: Some(0.into()), page_size: Some(500), continue_token: None };
        assert_eq!(
            query(&options(Request::List(list))),
            "limit=500&resourceVersion=0&labelSelector=a%20in%20%28b%2C%20c%29&x=%C3%A9%26"
        );
    }

    #[test]
    fn watch_list_asks_for_initial_events_and_seconds() {
        let watch = WatchRequest { version: None, timeout: Duration::from_secs(321), initial_events: true };
        let query = query(&options(Request::Watch(watch)));
        assert!(query.starts_with(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds=321&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        ));
    }

    #[test]
    fn opaque_versions_are_sent_as_they_came() {
        let list = ListRequest { version: Some(ResourceVersion::new("a/b")), ..ListRequest::default() };
        assert!(query(&options(Request::List(list))).starts_with("resourceVersion=a%2Fb"));
    }
}
