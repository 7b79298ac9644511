//! What an informer covers, so that the same can be asked of the server.

use informer::ResourceListWatch;
use kube::core::ApiResource;

use crate::api::path;
use crate::world::Kind;

/// A resource, confined to namespaces and selectors.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) resource: ApiResource,
    /// Empty means all.
    pub(crate) namespaces: Vec<String>,
    labels: String,
    fields: String,
    gzip: bool,
}

impl Scope {
    /// All objects of a kind.
    pub(crate) fn of(kind: Kind) -> Self {
        Self::of_resource(kind.resource())
    }

    /// All objects of a resource.
    pub(crate) fn of_resource(resource: ApiResource) -> Self {
        Self { resource, namespaces: Vec::new(), labels: String::new(), fields: String::new(), gzip: false }
    }

    /// Only these namespaces.
    pub(crate) fn namespaces(mut self, namespaces: impl IntoIterator<Item = String>) -> Self {
        self.namespaces = namespaces.into_iter().collect();
        self
    }

    /// Only objects with matching labels.
    pub(crate) fn labels(mut self, selector: &str) -> Self {
        self.labels = selector.to_owned();
        self
    }

    /// Only objects with matching fields.
    pub(crate) fn fields(mut self, selector: &str) -> Self {
        self.fields = selector.to_owned();
        self
    }

    /// Asks for compressed answers.
    pub(crate) fn gzip(mut self) -> Self {
        self.gzip = true;
        self
    }

    /// Lists and watches it, in all namespaces.
    pub(crate) fn list_watch(&self, client: kube::Client) -> ResourceListWatch {
        ResourceListWatch::new(client, &self.resource)
            .label_selector(&*self.labels)
            .field_selector(&*self.fields)
            .gzip(self.gzip)
    }

    /// The paths of lists that together are all of it.
    pub(crate) fn paths(&self) -> Vec<String> {
        let query =
            format!("?labelSelector={}&fieldSelector={}", escaped(&self.labels), escaped(&self.fields));
        let all = [String::new()];
        let namespaces = if self.namespaces.is_empty() { &all[..] } else { &self.namespaces };
        namespaces.iter().map(|namespace| path(&self.resource, namespace, "") + &query).collect()
    }
}

/// Enough for the selectors used here.
fn escaped(selector: &str) -> String {
    selector.replace('=', "%3D").replace(',', "%2C").replace(' ', "%20")
}
