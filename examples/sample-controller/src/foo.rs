//! The resource: a Foo asks for a Deployment of this name with so many replicas.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Foo asks for a Deployment.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "samples.informer.dev", version = "v1alpha1", kind = "Foo", namespaced, status = "FooStatus")]
#[kube(printcolumn = r#"{"name": "Deployment", "type": "string", "jsonPath": ".spec.deploymentName"}"#)]
#[kube(printcolumn = r#"{"name": "Wanted", "type": "integer", "jsonPath": ".spec.replicas"}"#)]
#[kube(printcolumn = r#"{"name": "Available", "type": "integer", "jsonPath": ".status.availableReplicas"}"#)]
#[kube(printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FooSpec {
    /// The name of the Deployment, in the Foo's namespace.
    pub(crate) deployment_name: String,
    /// How many replicas the Deployment is to have.
    pub(crate) replicas: i32,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FooStatus {
    /// How many of the replicas are available.
    pub(crate) available_replicas: i32,
    /// The term of the leader that wrote this.
    pub(crate) term: u32,
}
