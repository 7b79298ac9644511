//! Informers that are there from the first case to the last: whatever happens in between, they must equal the server.

use informer::Metadata;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::DynamicObject;

use crate::outcome::Result;
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::Kind;

/// One informer for each format.
pub(crate) struct Standing {
    pods: Watched<Pod>,
    config_maps: Watched<ConfigMap>,
    widgets: Watched<DynamicObject>,
    metadata: Watched<Metadata>,
}

impl Standing {
    /// Starts them, and waits until they are synced.
    pub(crate) async fn start(context: &Context) -> Result<Self> {
        let client = context.cluster.client()?;
        let standing = Self {
            pods: Watched::pods(Scope::of(Kind::Pod), client.clone())?,
            config_maps: Watched::config_maps(Scope::of(Kind::ConfigMap), client.clone())?,
            widgets: Watched::dynamic(Scope::of(Kind::Widget), client.clone())?,
            metadata: Watched::metadata(Scope::of(Kind::Pod), client)?,
        };
        standing.pods.synced().await?;
        standing.config_maps.synced().await?;
        standing.widgets.synced().await?;
        standing.metadata.synced().await?;
        Ok(standing)
    }

    /// Fails unless all of them equal the server.
    pub(crate) async fn check(&self, context: &Context) -> Result {
        context.check(&self.pods).await?;
        context.check(&self.config_maps).await?;
        context.check(&self.widgets).await?;
        context.check(&self.metadata).await
    }
}
