//! The objects that are there before the first case: namespaces, Pods, ConfigMaps, and a custom resource's objects.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use informer::ObjectKey;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::api::Api;
use crate::outcome::Result;

/// How many namespaces there are.
pub(crate) const NAMESPACES: usize = 20;
/// Pods, and ConfigMaps, in each.
pub(crate) const OBJECTS: usize = 100;
/// Widgets in each.
pub(crate) const WIDGETS: usize = 20;
/// Writes under way at once: what keeps two cores busy without making one request wait for many others.
pub(crate) const WRITERS: usize = 16;

/// The definition's path, and the collection it belongs to.
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.demo.informer.dev";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGET_LIST: &str = "/apis/demo.informer.dev/v1/widgets?limit=1";

/// The kinds of objects in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Pod,
    ConfigMap,
    /// A custom resource, defined at run time.
    Widget,
}

impl Kind {
    /// Its resource.
    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Self::Pod => ("", "v1", "Pod", "pods"),
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::Widget => ("demo.informer.dev", "v1", "Widget", "widgets"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    /// The key of the `number`th object in the `namespace`th namespace.
    pub(crate) fn key(self, namespace: usize, number: usize) -> ObjectKey {
        let name = match self {
            Self::Pod => "pod",
            Self::ConfigMap => "settings",
            Self::Widget => "widget",
        };
        ObjectKey::new(&namespace_name(namespace), &format!("{name}-{number:03}"))
    }

    /// How many of them each namespace has.
    pub(crate) fn per_namespace(self) -> usize {
        if self == Self::Widget { WIDGETS } else { OBJECTS }
    }

    /// Every key there is in the beginning.
    pub(crate) fn keys(self) -> impl Iterator<Item = ObjectKey> {
        (0..NAMESPACES).flat_map(move |namespace| {
            (0..self.per_namespace()).map(move |number| self.key(namespace, number))
        })
    }

    /// A new object of this key. Names that end in the same digit share a label's value and a node.
    pub(crate) fn object(self, key: &ObjectKey) -> Value {
        let digit = key.name().bytes().last().unwrap_or_default().wrapping_sub(b'0') % 10;
        let resource = self.resource();
        let mut object = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": key.name(),
                "namespace": key.namespace(),
                "labels": {"app": format!("app-{}", digit % 5), "tier": format!("tier-{}", digit % 3)},
                "annotations": {"demo.informer.dev/round": "0"},
            },
        });
        match self {
            Self::Pod => {
                object["spec"] = json!({
                    "containers": [{
                        "name": "main",
                        "image": "registry.example/web:1.2",
                        "env": [{"name": "GREETING", "value": "hello, \"world\" ☃"}],
                        "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}},
                        "ports": [{"containerPort": 8080, "name": "http"}],
                    }],
                });
                // Two in ten are not scheduled yet.
                if digit < 8 {
                    object["spec"]["nodeName"] = format!("node-{digit}").into();
                }
            }
            Self::ConfigMap => {
                object["data"] = json!({"colour": "blue", "script": "#!/bin/sh\n\techo \"\\o/\"\n"})
            }
            Self::Widget => {
                object["spec"] = json!({"size": digit, "tags": ["a", "b"], "nested": {"deep": [1.5, null]}})
            }
        }
        object
    }
}

/// The name of the `number`th namespace.
pub(crate) fn namespace_name(number: usize) -> String {
    format!("team-{number:02}")
}

/// Creates everything.
pub(crate) async fn create(api: &Api) -> Result {
    for number in 0..NAMESPACES {
        create_namespace(api, &namespace_name(number)).await?;
    }
    define_widgets(api).await?;
    for kind in [Kind::Pod, Kind::ConfigMap, Kind::Widget] {
        create_objects(api, kind, kind.keys()).await?;
    }
    Ok(())
}

/// Creates a namespace.
pub(crate) async fn create_namespace(api: &Api, name: &str) -> Result {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    api.create(&ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace")), &namespace).await?;
    Ok(())
}

/// Creates a kind's objects, several at a time.
pub(crate) async fn create_objects(api: &Api, kind: Kind, keys: impl Iterator<Item = ObjectKey>) -> Result {
    let resource = kind.resource();
    let creations = keys.map(|key| {
        let resource = &resource;
        async move { api.create(resource, &kind.object(&key)).await.map(drop) }
    });
    stream::iter(creations).buffer_unordered(WRITERS).try_collect().await
}

/// Deletes objects, several at a time.
pub(crate) async fn delete_objects(api: &Api, kind: Kind, keys: impl Iterator<Item = ObjectKey>) -> Result {
    let resource = kind.resource();
    let deletions = keys.map(|key| {
        let resource = &resource;
        async move { api.delete(resource, &key).await }
    });
    stream::iter(deletions).buffer_unordered(WRITERS).try_collect().await
}

/// Defines the custom resource, and waits until it is served.
pub(crate) async fn define_widgets(api: &Api) -> Result {
    let free_form = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.demo.informer.dev"},
        "spec": {
            "group": "demo.informer.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free_form}}},
            }],
        },
    });
    api.post(DEFINITIONS, &definition).await?;
    let is_established = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    };
    api.poll(DEFINITION, |answer| answer.is_ok_and(is_established)).await?;
    api.poll(WIDGET_LIST, |answer| answer.is_ok()).await
}

/// Deletes the custom resource with its objects, and waits until it is gone.
pub(crate) async fn undefine_widgets(api: &Api) -> Result {
    let definitions = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        "customresourcedefinitions",
    );
    api.delete(&definitions, &ObjectKey::new("", "widgets.demo.informer.dev")).await?;
    api.poll(DEFINITION, |answer| answer == Err(404)).await?;
    api.poll(WIDGET_LIST, |answer| answer == Err(404)).await
}

/// How long a case waits for anything to happen before it fails: a busy machine is slow, not wrong.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
