//! Step 1.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.informer.dev", version = "v1", kind = "Website", namespaced)]
pub struct WebsiteSpec {
    pub image: String,
    pub replicas: i32,
}
