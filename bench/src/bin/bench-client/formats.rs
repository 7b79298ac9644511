//! The formats by name: a further one is an arm here and a name in `FormatName`.

use informer::kube::Client;
use informer::kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use informer::{
    Dynamic, Metadata, MetadataOnly, Packed, PackedObject, Projected, Projection, ResourceListWatch, Typed,
};
use k8s_openapi::api::core::v1::Pod;

use crate::subject::{LABEL, Subject};
use crate::{Arguments, FormatName, Result};

/// What a scheduler or a dashboard reads of a Pod.
#[derive(serde::Deserialize)]
struct PodPlace {
    #[expect(dead_code, reason = "it is cached, which is what costs")]
    spec: Place,
    #[expect(dead_code, reason = "it is cached, which is what costs")]
    status: State,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is cached, which is what costs")]
struct Place {
    node_name: Option<Box<str>>,
    service_account_name: Option<Box<str>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is cached, which is what costs")]
struct State {
    phase: Option<Box<str>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
}

/// Runs until standard input ends.
pub(crate) async fn run(arguments: &Arguments, client: Client) -> Result {
    let pods = ResourceListWatch::of::<Pod>(client.clone());
    match arguments.format {
        FormatName::Typed => {
            let label = |pod: &Pod| pod.metadata.labels.as_ref()?.get(LABEL).cloned();
            let length = |pod: &Pod| Some(pod.metadata.labels.as_ref()?.get(LABEL)?.len());
            Subject::new(arguments, pods, Typed::<Pod>::new, label, length)?.obey().await
        }
        FormatName::Metadata => {
            let label = |metadata: &Metadata| metadata.labels().get(LABEL).map(str::to_owned);
            let length = |metadata: &Metadata| metadata.labels().get(LABEL).map(str::len);
            Subject::new(arguments, pods.metadata_only(true), || MetadataOnly, label, length)?.obey().await
        }
        FormatName::Projection => {
            let label = |pod: &Projected<PodPlace>| pod.labels().get(LABEL).map(str::to_owned);
            let length = |pod: &Projected<PodPlace>| pod.labels().get(LABEL).map(str::len);
            Subject::new(arguments, pods, Projection::<Pod, PodPlace>::new, label, length)?.obey().await
        }
        FormatName::Packed => {
            let label = |pod: &PackedObject<Pod>| pod.labels().get(LABEL).map(str::to_owned);
            let length = |pod: &PackedObject<Pod>| pod.labels().get(LABEL).map(str::len);
            Subject::new(arguments, pods, Packed::<Pod>::new, label, length)?.obey().await
        }
        FormatName::Dynamic => {
            let kind = GroupVersionKind::gvk("bench.example.dev", "v1", "Widget");
            let resource = ApiResource::from_gvk(&kind);
            let label = |object: &DynamicObject| object.metadata.labels.as_ref()?.get(LABEL).cloned();
            let length = |object: &DynamicObject| Some(object.metadata.labels.as_ref()?.get(LABEL)?.len());
            let widgets = ResourceListWatch::new(client, &resource);
            Subject::new(arguments, widgets, || Dynamic::new(&resource), label, length)?.obey().await
        }
    }
}
