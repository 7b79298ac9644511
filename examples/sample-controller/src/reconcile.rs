//! From what a Foo says to a Deployment that is so.

use std::sync::{Arc, Mutex};

use informer::{Action, BoxError, ControllerHandle, EventRecorder, EventType, ObjectKey, SharedInformer};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde_json::json;

use crate::foo::{Foo, FooSpec, FooStatus};

/// What runs in each Deployment, and the annotation that says in which leader's term it was written.
const IMAGE: &str = "nginx:1.29";
const TERM: &str = "samples.informer.dev/term";

/// What a reconcile works with.
pub(crate) struct Context {
    /// The client to write with, and the term of leadership that it writes in.
    pub(crate) writer: Mutex<(Client, u32)>,
    pub(crate) foos: SharedInformer<Foo>,
    pub(crate) deployments: SharedInformer<Deployment>,
    pub(crate) controller: ControllerHandle,
    pub(crate) recorder: EventRecorder,
}

/// Makes the world as the Foo of this key wants it, and says in its status how far that is.
pub(crate) async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Result<Action, BoxError> {
    let Some(foo) = context.foos.lister().namespace(key.namespace()).get(key.name()) else {
        return Ok(Action::Done); // The garbage collector follows the owner reference to its Deployment.
    };
    let deployment = context.deployment(&key, &foo).await?;
    let available = deployment.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0);
    if foo.status.as_ref().is_none_or(|status| status.available_replicas != available) {
        let (client, term) = context.writer.lock().unwrap().clone();
        let status = FooStatus { available_replicas: available, term };
        // Bound to the version that was looked at, as every change here: what came in between is looked at first.
        let patch = json!({"metadata": {"resourceVersion": foo.resource_version()}, "status": status});
        let api = Api::<Foo>::namespaced(client, key.namespace());
        let foo = api.patch_status(key.name(), &PatchParams::default(), &Patch::Merge(patch)).await?;
        context.controller.wrote(&key, &context.foos, &foo);
        let note = format!("{available} of {} replicas are available", foo.spec.replicas);
        tracing::info!("{note}");
        let _ = context.recorder.event(&foo, EventType::Normal, "Synced", "Sync", note);
    }
    Ok(Action::Done)
}

impl Context {
    /// The Foo's Deployment, created or repaired if need be.
    async fn deployment(&self, key: &ObjectKey, foo: &Foo) -> Result<Arc<Deployment>, BoxError> {
        let FooSpec { deployment_name: name, replicas } = &foo.spec;
        let found = self.deployments.lister().namespace(key.namespace()).get(name);
        let uid = foo.meta().uid.as_deref();
        let is_ours =
            |it| self.deployments.owners(it).iter().any(|one| one.controller && Some(one.uid) == uid);
        if found.as_deref().is_some_and(|found| !is_ours(found)) {
            let note = format!("Deployment {name:?} exists and is not managed by this Foo");
            let _ = self.recorder.event(foo, EventType::Warning, "ErrResourceExists", "Sync", &*note);
            return Err(note.into());
        }
        let image = |it: &Deployment| it.spec.template.spec.as_ref()?.containers.first()?.image.clone();
        let is_so = |it| image(it).is_some_and(|image| image == IMAGE) && it.spec.replicas == Some(*replicas);
        let (client, term) = self.writer.lock().unwrap().clone();
        let api = Api::<Deployment>::namespaced(client, key.namespace());
        let mut wanted = wanted(foo);
        wanted["metadata"]["annotations"] = json!({TERM: term.to_string()});
        let written = match found {
            Some(found) if is_so(&found) => return Ok(found),
            Some(found) => {
                tracing::info!("correcting Deployment {name}: {replicas} replicas of {IMAGE}");
                wanted["metadata"]["resourceVersion"] = json!(found.resource_version());
                api.patch(name, &PatchParams::default(), &Patch::Merge(wanted)).await?
            }
            None => {
                tracing::info!("creating Deployment {name} with {replicas} replicas");
                api.create(&PostParams::default(), &serde_json::from_value(wanted)?).await?
            }
        };
        self.controller.wrote(key, &self.deployments, &written);
        Ok(Arc::new(written))
    }
}

/// The Deployment that the Foo asks for.
fn wanted(foo: &Foo) -> serde_json::Value {
    let labels = json!({"app": "nginx", "controller": foo.name_any()});
    let containers = json!([{"name": "nginx", "image": IMAGE}]);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": foo.spec.deployment_name, "ownerReferences": [foo.controller_owner_ref(&())]},
        "spec": {
            "replicas": foo.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    })
}
