//! How a cached value is compared with what the server says, and by what it is indexed.

use informer::{Metadata, Owner};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use crate::outcome::Result;

/// A cached value that can be compared with the server's object.
pub(crate) trait Content: Send + Sync + Sized + 'static {
    /// The value in the form that is compared.
    fn content(&self) -> Result<Value>;

    /// The server's object in that form.
    fn expected(object: &Value) -> Result<Value>;

    /// The indices that are added.
    fn indexes() -> Vec<IndexSpec<Self>>;
}

/// An index, computed from the cached value and, apart from that, from the server's object.
pub(crate) struct IndexSpec<V> {
    pub(crate) name: &'static str,
    pub(crate) of_value: fn(&V) -> Option<String>,
    pub(crate) of_object: fn(&Value) -> Option<String>,
}

const LABEL: &str = "app";

fn namespace_of(object: &Value) -> Option<String> {
    Some(object["metadata"]["namespace"].as_str()?.to_owned())
}

fn label_of(object: &Value) -> Option<String> {
    Some(object["metadata"]["labels"][LABEL].as_str()?.to_owned())
}

fn node_of(object: &Value) -> Option<String> {
    Some(object["spec"]["nodeName"].as_str()?.to_owned())
}

/// The indices of everything with kube's metadata.
macro_rules! metadata_indexes {
    () => {
        vec![
            IndexSpec {
                name: "namespace",
                of_value: |value: &Self| value.metadata.namespace.clone(),
                of_object: namespace_of,
            },
            IndexSpec {
                name: "label",
                of_value: |value: &Self| Some(value.metadata.labels.as_ref()?.get(LABEL)?.clone()),
                of_object: label_of,
            },
        ]
    };
}

impl Content for Pod {
    fn content(&self) -> Result<Value> {
        Ok(serde_json::to_value(self)?)
    }

    fn expected(object: &Value) -> Result<Value> {
        Ok(serde_json::to_value(serde_json::from_value::<Self>(object.clone())?)?)
    }

    fn indexes() -> Vec<IndexSpec<Self>> {
        let node: fn(&Self) -> Option<String> = |pod| pod.spec.as_ref()?.node_name.clone();
        let mut indexes = metadata_indexes!();
        indexes.push(IndexSpec { name: "node", of_value: node, of_object: node_of });
        indexes
    }
}

impl Content for ConfigMap {
    fn content(&self) -> Result<Value> {
        Ok(serde_json::to_value(self)?)
    }

    fn expected(object: &Value) -> Result<Value> {
        Ok(serde_json::to_value(serde_json::from_value::<Self>(object.clone())?)?)
    }

    fn indexes() -> Vec<IndexSpec<Self>> {
        metadata_indexes!()
    }
}

impl Content for DynamicObject {
    fn content(&self) -> Result<Value> {
        Ok(serde_json::to_value(self)?)
    }

    fn expected(object: &Value) -> Result<Value> {
        Ok(object.clone())
    }

    fn indexes() -> Vec<IndexSpec<Self>> {
        metadata_indexes!()
    }
}

impl Content for Metadata {
    fn content(&self) -> Result<Value> {
        let pairs = |pairs: informer::Pairs<'_>| -> Value {
            pairs.iter().map(|(name, value)| (name.to_owned(), value.into())).collect::<Map<_, _>>().into()
        };
        // Flags that are false may be absent.
        let owner = |owner: &Owner<'_>| {
            let Owner { api_version, kind, name, uid, controller, block_owner_deletion } = *owner;
            let mut reference = json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid});
            for (flag, is_set) in [("controller", controller), ("blockOwnerDeletion", block_owner_deletion)] {
                if is_set {
                    reference[flag] = true.into();
                }
            }
            reference
        };
        Ok(json!({
            "labels": pairs(self.labels()),
            "annotations": pairs(self.annotations()),
            "ownerReferences": self.owner_references().iter().map(owner).collect::<Vec<_>>(),
            "finalizers": self.finalizers(),
            "creationTimestamp": self.creation_timestamp(),
            "deletionTimestamp": self.deletion_timestamp(),
            "generation": self.generation(),
        }))
    }

    fn expected(object: &Value) -> Result<Value> {
        let metadata = &object["metadata"];
        let or = |field: &str, default: Value| match &metadata[field] {
            Value::Null => default,
            value => value.clone(),
        };
        Ok(json!({
            "labels": or("labels", json!({})),
            "annotations": or("annotations", json!({})),
            "ownerReferences": or("ownerReferences", json!([])),
            "finalizers": or("finalizers", json!([])),
            "creationTimestamp": metadata["creationTimestamp"],
            "deletionTimestamp": metadata["deletionTimestamp"],
            "generation": metadata["generation"],
        }))
    }

    /// It knows no namespace by itself.
    fn indexes() -> Vec<IndexSpec<Self>> {
        let label: fn(&Self) -> Option<String> = |value| value.labels().get(LABEL).map(str::to_owned);
        vec![IndexSpec { name: "label", of_value: label, of_object: label_of }]
    }
}
