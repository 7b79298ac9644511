//! What the sample controller works on: Foos, their Deployments, and somebody who says that the replicas run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use informer::ObjectKey;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::journal::{Journal, eventually, number};
use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::world::{WRITERS, create_namespace};

/// The definition that the controller's users apply.
const DEFINITION: &str = include_str!("../../../examples/sample-controller/manifests/crd.yaml");
/// What runs in each Deployment.
const IMAGE: &str = "nginx:1.29";

/// The Foos of a namespace with their Deployments, and everything that was seen of them.
pub(crate) struct Foos {
    pub(crate) editor: Editor,
    pub(crate) foos: Arc<Journal>,
    pub(crate) deployments: Arc<Journal>,
    /// Counted up with every entry of the journals.
    pub(crate) changed: watch::Sender<u64>,
    mover: JoinSet<()>,
}

/// The suite's own writes to them.
#[derive(Clone)]
pub(crate) struct Editor {
    api: Api,
    namespace: String,
    /// The versions that the suite has made: all others are the controller's.
    own: Arc<Mutex<BTreeSet<u64>>>,
}

/// The resource of Foos.
pub(crate) fn foo_resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("samples.informer.dev", "v1alpha1", "Foo"),
        "foos",
    )
}

/// The resource of Deployments.
pub(crate) fn deployment_resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("apps", "v1", "Deployment"), "deployments")
}

impl Foos {
    /// A namespace without Foos yet, from now on under watch.
    pub(crate) async fn begin(context: &Context, namespace: &str) -> Result<Self> {
        let (api, config) = (context.api.clone(), context.cluster.config());
        define(&api).await?;
        create_namespace(&api, namespace).await?;
        let changed = watch::Sender::new(0);
        let begin = |resource| {
            let (config, changed) = (config.clone(), changed.clone());
            async move { Journal::begin(config, &resource, namespace, changed).await.map(Arc::new) }
        };
        let (foos, deployments) = (begin(foo_resource()).await?, begin(deployment_resource()).await?);
        let editor = Editor { api, namespace: namespace.to_owned(), own: Arc::default() };
        let mut mover = JoinSet::new();
        let the_mover = Mover { editor: editor.clone(), deployments: Arc::clone(&deployments) };
        mover.spawn(the_mover.run(changed.subscribe()));
        Ok(Self { editor, foos, deployments, changed, mover })
    }

    /// Waits until something is seen in the journals.
    pub(crate) async fn eventually<T>(
        &self,
        limit: Duration,
        what: &str,
        find: impl FnMut() -> Result<T, String>,
    ) -> Result<T> {
        eventually(&self.changed, limit, what, find).await
    }

    /// Waits until so many Deployments exist.
    pub(crate) async fn deployments_reach(&self, count: usize, limit: Duration) -> Result {
        let enough = || match self.deployments.pages().held.len() {
            many if many >= count => Ok(()),
            few => Err(format!("there are {few}")),
        };
        self.eventually(limit, &format!("{count} Deployments"), enough).await
    }

    /// Waits until each Foo has what it asks for and says so, by the journals, and fails unless the server's lists agree.
    pub(crate) async fn settled(&self, limit: Duration) -> Result {
        let settled = || wrong(&self.foos.pages().held, &self.deployments.pages().held).map_or(Ok(()), Err);
        self.eventually(limit, "all is as the Foos ask for", settled).await?;
        let list = |resource| Scope::of_resource(resource).namespaces([self.editor.namespace.clone()]);
        let foos = self.editor.api.list(&list(foo_resource())).await?.objects;
        let deployments = self.editor.api.list(&list(deployment_resource())).await?.objects;
        let wrong = wrong(&foos, &deployments);
        ensure!(wrong.is_none(), "the server's own list: {}", wrong.unwrap_or_default());
        ensure!(self.mover.len() == 1, "nobody moves the Deployments' status any more");
        Ok(())
    }

    /// How many objects there have been of each Deployment's name.
    pub(crate) fn incarnations(&self) -> BTreeMap<ObjectKey, usize> {
        let mut uids = BTreeMap::<ObjectKey, BTreeSet<String>>::new();
        for entry in &self.deployments.pages().entries {
            uids.entry(entry.key.clone()).or_default().insert(entry.object["metadata"]["uid"].to_string());
        }
        uids.into_iter().map(|(key, uids)| (key, uids.len())).collect()
    }

    /// Fails unless the leaders' writes follow each other term by term, over all objects, so many terms at least.
    pub(crate) fn check_terms(&self, terms: usize) -> Result {
        let mut writes = Vec::new();
        for (journal, term) in
            [(&self.foos, foo_term as fn(&Value) -> Option<u64>), (&self.deployments, deployment_term)]
        {
            let pages = journal.pages();
            ensure!(pages.gaps == 0, "a journal has a gap");
            for entry in pages.entries.iter().filter(|it| !it.is_deletion && !self.editor.made(it.version)) {
                let term =
                    term(&entry.object).ok_or_else(|| format!("{} was written without a term", entry.key))?;
                writes.push((entry.version, term));
            }
        }
        let late = late(&writes);
        ensure!(late.is_empty(), "(version, term) of writes that came after one of a later term: {late:?}");
        let seen: BTreeSet<u64> = writes.into_iter().map(|(_, term)| term).collect();
        ensure!(seen.len() >= terms, "there were writes of the terms {seen:?} only");
        Ok(())
    }
}

fn foo_term(foo: &Value) -> Option<u64> {
    foo["status"]["term"].as_u64()
}

fn deployment_term(deployment: &Value) -> Option<u64> {
    deployment["metadata"]["annotations"]["samples.informer.dev/term"].as_str()?.parse().ok()
}

/// Of these writes (their versions and terms) those that came after one of a later term.
fn late(writes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut writes = writes.to_vec();
    writes.sort_unstable();
    let mut latest = 0;
    writes.retain(|(_, term)| {
        latest = latest.max(*term);
        *term < latest
    });
    writes
}

impl Editor {
    /// The key of the `number`th Foo, or of its Deployment.
    pub(crate) fn key(&self, number: usize) -> ObjectKey {
        ObjectKey::new(&self.namespace, &format!("web-{number:03}"))
    }

    /// Creates so many Foos.
    pub(crate) async fn create(&self, count: usize) -> Result {
        let resource = foo_resource();
        let creations = (0..count).map(|number| {
            let (key, resource) = (self.key(number), &resource);
            let foo = json!({
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": key.name(), "namespace": key.namespace()},
                "spec": {"deploymentName": key.name(), "replicas": 1 + number % 5},
            });
            async move { self.api.create(resource, &foo).await.map(|stored| _ = self.note(&stored)) }
        });
        stream::iter(creations).buffer_unordered(WRITERS).try_collect().await
    }

    /// Asks for another number of replicas.
    pub(crate) async fn scale(&self, foo: usize, replicas: usize) -> Result {
        let change = json!({"spec": {"replicas": replicas}});
        self.note(&self.api.patch(&foo_resource(), &self.key(foo), &change).await?);
        Ok(())
    }

    /// Changes a Deployment behind the controller's back.
    pub(crate) async fn tamper(&self, deployment: usize, change: &Value) -> Result {
        self.note(&self.api.patch(&deployment_resource(), &self.key(deployment), change).await?);
        Ok(())
    }

    /// Deletes a Deployment behind the controller's back.
    pub(crate) async fn delete_deployment(&self, number: usize) -> Result {
        self.api.delete(&deployment_resource(), &self.key(number)).await
    }

    /// Notes that a stored object is the suite's own work.
    fn note(&self, stored: &Value) -> u64 {
        let version = number(stored);
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(version);
        version
    }

    fn made(&self, version: u64) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&version)
    }
}

/// Defines Foos unless they are, and waits until they are served.
async fn define(api: &Api) -> Result {
    let definition: Value = serde_saphyr::from_str(DEFINITION)?;
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        "customresourcedefinitions",
    );
    api.create(&resource, &definition).await?;
    api.poll("/apis/samples.informer.dev/v1alpha1/foos?limit=1", |answer| answer.is_ok()).await
}

/// The first thing that is not as the Foos ask for.
fn wrong(foos: &BTreeMap<ObjectKey, Value>, deployments: &BTreeMap<ObjectKey, Value>) -> Option<String> {
    if foos.len() != deployments.len() {
        return Some(format!("{} Foos have {} Deployments", foos.len(), deployments.len()));
    }
    foos.iter().find_map(|(key, foo)| {
        let Some(deployment) = deployments.get(key) else { return Some(format!("{key} has no Deployment")) };
        let (wanted, spec) = (&foo["spec"]["replicas"], &deployment["spec"]);
        let owners = deployment["metadata"]["ownerReferences"].as_array().map(Vec::as_slice);
        let is_owned = owners.is_some_and(|them| {
            them.len() == 1 && them[0]["uid"] == foo["metadata"]["uid"] && them[0]["controller"] == true
        });
        let available = &foo["status"]["availableReplicas"];
        match () {
            () if !is_owned => Some(format!("{key} does not own its Deployment")),
            () if spec["replicas"] != *wanted => {
                Some(format!("{key} has {} replicas, not {wanted}", spec["replicas"]))
            }
            () if spec["template"]["spec"]["containers"][0]["image"] != IMAGE => {
                Some(format!("{key} runs another image"))
            }
            () if available != wanted => Some(format!("{key} says {available} of {wanted} are available")),
            () => None,
        }
    })
}

/// Says of each Deployment that its replicas are available, as a cluster with nodes would.
struct Mover {
    editor: Editor,
    deployments: Arc<Journal>,
}

impl Mover {
    async fn run(self, mut changes: watch::Receiver<u64>) {
        // What was written is looked at again when the journal has it.
        let mut written = BTreeMap::<ObjectKey, u64>::new();
        loop {
            changes.mark_unchanged();
            let found: Vec<(ObjectKey, Value)> = self.lagging(&written);
            let moves: Vec<_> = found.iter().map(|(key, status)| self.make(key, status)).collect();
            let moved: Vec<_> = stream::iter(moves).buffer_unordered(WRITERS).collect().await;
            written.extend(moved.into_iter().flatten());
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    async fn make(&self, key: &ObjectKey, status: &Value) -> Option<(ObjectKey, u64)> {
        let change = json!({"status": status});
        // It may have been deleted meanwhile.
        let stored = self.editor.api.patch_status(&deployment_resource(), key, &change).await.ok()?;
        Some((key.clone(), self.editor.note(&stored)))
    }

    fn lagging(&self, written: &BTreeMap<ObjectKey, u64>) -> Vec<(ObjectKey, Value)> {
        let pages = self.deployments.pages();
        let lagging = pages.held.iter().filter(|(key, deployment)| {
            deployment["spec"]["replicas"] != deployment["status"]["availableReplicas"]
                && written.get(key).is_none_or(|written| *written <= number(deployment))
        });
        let status = |deployment: &Value| {
            let wanted = &deployment["spec"]["replicas"];
            json!({
                "observedGeneration": deployment["metadata"]["generation"], "replicas": wanted,
                "updatedReplicas": wanted, "readyReplicas": wanted, "availableReplicas": wanted,
            })
        };
        lagging.map(|(key, deployment)| (key.clone(), status(deployment))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_write_of_an_earlier_term_is_noticed() {
        assert_eq!(late(&[(9, 2), (4, 1), (7, 1), (8, 2)]), []);
        assert_eq!(late(&[(9, 1), (4, 1), (8, 2), (10, 2), (11, 1)]), [(9, 1), (11, 1)]);
    }

    #[test]
    fn a_foo_without_its_deployment_is_wrong() {
        let key = ObjectKey::new("ns", "web");
        let foo = json!({
            "metadata": {"uid": "1"}, "spec": {"replicas": 2}, "status": {"availableReplicas": 2},
        });
        let deployment = json!({
            "metadata": {"ownerReferences": [{"uid": "1", "controller": true}]},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": IMAGE}]}}},
        });
        let one = |object: &Value| BTreeMap::from([(key.clone(), object.clone())]);
        assert_eq!(wrong(&one(&foo), &one(&deployment)), None);
        assert!(wrong(&one(&foo), &BTreeMap::new()).is_some());
        for path in
            ["/metadata/ownerReferences/0/uid", "/spec/replicas", "/spec/template/spec/containers/0/image"]
        {
            let mut other = deployment.clone();
            *other.pointer_mut(path).unwrap() = json!("other");
            assert!(wrong(&one(&foo), &one(&other)).is_some(), "{path}");
        }
        let mut other = foo.clone();
        other["status"]["availableReplicas"] = json!(1);
        assert!(wrong(&one(&other), &one(&deployment)).is_some());
    }
}
