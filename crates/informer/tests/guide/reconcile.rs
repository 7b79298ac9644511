//! Step 2.

use std::sync::Arc;

use informer::{Action, BoxError, ControllerHandle, ObjectKey, SharedInformer};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;

use crate::resource::Website;

pub struct Context {
    pub client: Client,
    pub websites: SharedInformer<Website>,
    pub deployments: SharedInformer<Deployment>,
    pub controller: ControllerHandle,
}

pub async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Result<Action, BoxError> {
    let (namespace, name) = (key.namespace(), key.name());
    let Some(website) = context.websites.lister().namespace(namespace).get(name) else {
        return Ok(Action::Done); // it is gone, and the garbage collector follows the owner reference
    };
    let api = Api::<Deployment>::namespaced(context.client.clone(), namespace);
    let wanted = wanted(&website);
    let written = match context.deployments.lister().namespace(namespace).get(name) {
        None => api.create(&PostParams::default(), &serde_json::from_value(wanted)?).await?,
        Some(found) if is_so(&found, &website) => return Ok(Action::Done),
        Some(_) => {
            let patch = Patch::Merge(json!({"spec": wanted["spec"]}));
            api.patch(name, &PatchParams::default(), &patch).await?
        }
    };
    context.controller.wrote(&key, &context.deployments, &written);
    Ok(Action::Done)
}

fn wanted(website: &Website) -> serde_json::Value {
    let labels = json!({"website": website.metadata.name});
    json!({
        "metadata": {
            "name": website.metadata.name,
            "ownerReferences": [website.controller_owner_ref(&())],
        },
        "spec": {
            "replicas": website.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": website.spec.image}]},
            },
        },
    })
}

fn is_so(found: &Deployment, website: &Website) -> bool {
    let containers = found.spec.template.spec.as_ref().map(|pod| &pod.containers[..]).unwrap_or_default();
    found.spec.replicas == Some(website.spec.replicas)
        && containers.iter().any(|container| container.image.as_ref() == Some(&website.spec.image))
}
