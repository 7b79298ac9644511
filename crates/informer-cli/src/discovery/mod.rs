//! What resources the server has, and which of them a word on the command line means.

use crate::{
    errors::RequestError,
    request::{Requester, encode},
};
use futures_util::{StreamExt, future::join, stream};
use kube::core::ApiResource;
use serde_json::Value;

mod aggregated;
mod legacy;
mod resolve;
#[cfg(test)]
mod tests;

pub(crate) use resolve::UnknownResource;

/// Asks for everything in one answer, and accepts the old form from servers that do not have it.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";
const PLAIN: &str = "application/json";

/// Requests sent at once to a server with the old form: enough to hide the latency of fifty groups.
const PARALLEL: usize = 8;

/// One resource of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) api: ApiResource,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    /// Words that mean this resource together with others, such as `all`.
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
}

impl Resource {
    /// Whether the server lets anybody do that with it.
    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// `pods`, `deployments.apps`: how the resource is named unmistakably.
    pub(crate) fn full_name(&self) -> String {
        if self.api.group.is_empty() {
            self.api.plural.clone()
        } else {
            format!("{}.{}", self.api.plural, self.api.group)
        }
    }

    /// The collection's path, in one namespace or in all.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let ApiResource { group, version, plural, .. } = &self.api;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match namespace {
            Some(namespace) if self.namespaced => {
                format!("{root}/namespaces/{}/{plural}", encode(namespace))
            }
            _ => format!("{root}/{plural}"),
        }
    }
}

/// Everything the server has: the core group first, then its groups in its order, in each the preferred version first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    resources: Vec<Resource>,
    /// One line for each part that could not be read: their resources are missing here.
    problems: Vec<String>,
}

impl Catalog {
    /// Asks the server. Two requests if it knows aggregated discovery, one for each group version otherwise.
    ///
    /// A group that cannot be read is noted in `problems` and left out.
    ///
    /// # Errors
    /// Neither the core group nor the list of the other groups could be read.
    pub(crate) async fn load(requester: &Requester) -> Result<Self, RequestError> {
        let (core, groups) = join(load_core(requester), load_groups(requester)).await;
        match (core, groups) {
            (Err(error), Err(_)) => Err(error),
            (core, groups) => {
                let mut catalog = Self::default();
                for part in [core, groups] {
                    match part {
                        Ok(part) => {
                            catalog.resources.extend(part.resources);
                            catalog.problems.extend(part.problems);
                        }
                        Err(error) => catalog.problems.push(error.to_string()),
                    }
                }
                Ok(catalog)
            }
        }
    }

    /// What could not be read, one line each.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }
}

async fn load_core(requester: &Requester) -> Result<Catalog, RequestError> {
    let answer = requester.json("/api", AGGREGATED).await?;
    if let Some(catalog) = aggregated::read(&answer) {
        return Ok(catalog);
    }
    let list = requester.json("/api/v1", PLAIN).await?;
    Ok(Catalog { resources: legacy::resources(&list, "", "v1"), problems: vec![] })
}

async fn load_groups(requester: &Requester) -> Result<Catalog, RequestError> {
    let answer = requester.json("/apis", AGGREGATED).await?;
    if let Some(catalog) = aggregated::read(&answer) {
        return Ok(catalog);
    }
    let wanted = legacy::group_versions(&answer);
    let lists: Vec<(String, String, Result<Value, RequestError>)> = stream::iter(wanted)
        .map(|(group, version)| async move {
            let answer = requester.json(&format!("/apis/{group}/{version}"), PLAIN).await;
            (group, version, answer)
        })
        .buffered(PARALLEL)
        .collect()
        .await;
    let mut catalog = Catalog::default();
    for (group, version, answer) in lists {
        match answer {
            Ok(list) => catalog.resources.extend(legacy::resources(&list, &group, &version)),
            Err(error) => catalog.problems.push(error.to_string()),
        }
    }
    Ok(catalog)
}
