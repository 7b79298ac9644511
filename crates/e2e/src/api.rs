//! Plain requests through kube's client, apart from everything under test: writes, and the server's own lists.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use informer::{ObjectKey, ResourceVersion};
use kube::core::ApiResource;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::outcome::{Error, Result};
use crate::scope::Scope;

/// A request is repeated for as long as the server may be down in between.
const PATIENCE: Duration = Duration::from_secs(40);
/// Longer than any answer takes on a busy machine.
const ONE_TRY: Duration = Duration::from_secs(15);
/// Between tries: a restarting server is not worth more requests.
const PAUSE: Duration = Duration::from_millis(50);

/// Requests that are repeated until the server has answered them.
#[derive(Clone)]
pub(crate) struct Api {
    client: kube::Client,
}

/// What the server says a collection is.
pub(crate) struct Truth {
    pub(crate) version: ResourceVersion,
    /// The objects with kind and apiVersion, without managedFields.
    pub(crate) objects: BTreeMap<ObjectKey, Value>,
}

impl Api {
    /// An API for the user of this configuration.
    pub(crate) fn new(mut config: kube::Config) -> Result<Self> {
        config.default_retry = false;
        config.connect_timeout = Some(ONE_TRY);
        Ok(Self { client: kube::Client::try_from(config)? })
    }

    /// Creates an object and answers what is stored.
    pub(crate) async fn create(&self, resource: &ApiResource, object: &Value) -> Result<Value> {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match self.post(&path(resource, namespace, ""), object).await {
            // The answer to an earlier try was lost with its server.
            Err(error) if code(&error) == Some(409) => self.get(&path(resource, namespace, name)).await,
            other => other,
        }
    }

    /// Merges into an object and answers what is stored.
    pub(crate) async fn patch(
        &self,
        resource: &ApiResource,
        key: &ObjectKey,
        change: &Value,
    ) -> Result<Value> {
        let path = path(resource, key.namespace(), key.name());
        self.request("PATCH", &path, Some(change)).await
    }

    /// Merges into an object's status.
    pub(crate) async fn patch_status(
        &self,
        resource: &ApiResource,
        key: &ObjectKey,
        change: &Value,
    ) -> Result<Value> {
        let path = format!("{}/status", path(resource, key.namespace(), key.name()));
        self.request("PATCH", &path, Some(change)).await
    }

    /// Deletes an object at once: nobody here would end a Pod's grace period.
    pub(crate) async fn delete(&self, resource: &ApiResource, key: &ObjectKey) -> Result {
        let path = path(resource, key.namespace(), key.name());
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        match self.request("DELETE", &path, Some(&options)).await {
            Err(error) if code(&error) == Some(404) => Ok(()),
            other => other.map(drop),
        }
    }

    /// The answer to a GET.
    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.request("GET", path, None).await
    }

    /// The answer to a POST.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.request("POST", path, Some(body)).await
    }

    /// Repeats a GET until its answer is what is wanted: for what a server does in the background.
    pub(crate) async fn poll(&self, path: &str, wanted: impl Fn(Result<&Value, u16>) -> bool) -> Result {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.get(path).await;
            let seen = match &answer {
                Ok(value) => wanted(Ok(value)),
                Err(error) => wanted(Err(code(error).unwrap_or_default())),
            };
            if seen {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("GET {path} never answered what is wanted").into());
            }
            sleep(PAUSE).await;
        }
    }

    /// The server's own consistent list of what a scope covers.
    pub(crate) async fn list(&self, scope: &Scope) -> Result<Truth> {
        let mut truth = Truth { version: ResourceVersion::from(0), objects: BTreeMap::new() };
        for path in scope.paths() {
            let mut list = self.get(&path).await?;
            let version = list["metadata"]["resourceVersion"].as_str().ok_or("a list without a version")?;
            truth.version = ResourceVersion::new(version);
            let items = list["items"].as_array_mut().ok_or("a list without items")?;
            for mut item in std::mem::take(items) {
                item["apiVersion"] = scope.resource.api_version.as_str().into();
                item["kind"] = scope.resource.kind.as_str().into();
                if let Some(metadata) = item["metadata"].as_object_mut() {
                    metadata.remove("managedFields");
                }
                truth.objects.insert(key_of(&item), item);
            }
        }
        Ok(truth)
    }

    async fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let bytes = body.map(ToString::to_string).unwrap_or_default().into_bytes();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
            let answer = timeout(ONE_TRY, self.client.request::<Value>(request.body(bytes.clone())?)).await;
            let error: Error = match answer {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(kube::Error::Api(status))) if status.code < 500 && status.code != 429 => {
                    let what = format!("{method} {path}: {} {}", status.code, status.reason);
                    return Err(Refused { code: status.code, what }.into());
                }
                Ok(Err(error)) => error.into(),
                Err(_) => "no answer in time".into(),
            };
            if Instant::now() > deadline {
                return Err(format!("{method} {path}: {error}").into());
            }
            sleep(PAUSE).await;
        }
    }
}

/// An answer that says no.
#[derive(Debug)]
struct Refused {
    code: u16,
    what: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refused {}

/// The HTTP status of the answer that an error stands for.
fn code(error: &Error) -> Option<u16> {
    error.downcast_ref::<Refused>().map(|refused| refused.code)
}

/// The path of an object, or with an empty name of a collection; an empty namespace means all.
pub(crate) fn path(resource: &ApiResource, namespace: &str, name: &str) -> String {
    let ApiResource { group, version, plural, .. } = resource;
    let mut path =
        if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    if !namespace.is_empty() {
        path += &format!("/namespaces/{namespace}");
    }
    path += &format!("/{plural}");
    if !name.is_empty() {
        path += &format!("/{name}");
    }
    path
}

/// The key of an object.
pub(crate) fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

/// The version of an object.
pub(crate) fn version_of(object: &Value) -> ResourceVersion {
    ResourceVersion::new(object["metadata"]["resourceVersion"].as_str().unwrap_or_default())
}
