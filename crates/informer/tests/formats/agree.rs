//! Selectors, indices, owners and reads are the same in every format, while the server's objects change.

use std::collections::BTreeSet;

use informer::{
    Format, Index, Metadata, Packed, PackedObject, Projected, ReflectorOptions, ResourceListWatch,
    ResourceVersion, Selector, SharedInformer, SharedInformerFactory, Typed,
};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::LIMIT;

#[derive(Deserialize)]
struct PodPlace {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

fn pod(number: usize, node: usize) -> Value {
    let mut pod = json!({
        "metadata": {"name": format!("pod-{number:03}"), "namespace": format!("team-{}", number % 3)},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    });
    if node < 4 {
        pod["spec"]["nodeName"] = format!("node-{node}").into();
    }
    if !number.is_multiple_of(5) {
        pod["metadata"]["labels"] = json!({"app": format!("app-{}", number % 4), "äé\"": "x", "tier": "web"});
        pod["metadata"]["labels"].as_object_mut().unwrap().remove("äé\"");
    }
    if number.is_multiple_of(2) {
        pod["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("rs-{}", number % 6), "uid": format!("u-{}", number % 6),
             "controller": true, "blockOwnerDeletion": true},
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]);
    }
    pod
}

/// One format's answers.
struct View<V> {
    informer: SharedInformer<V>,
    by_node: Option<Index<V>>,
    by_app: Index<V>,
}

impl<V: Send + Sync + 'static> View<V> {
    fn new<F: Format<Value = V>>(
        informer: SharedInformer<V>,
        node: Option<fn(&V) -> Option<String>>,
    ) -> Self {
        let by_node = node.map(|node| informer.add_index("node", node));
        let by_app = informer.add_index("app", |value: &V| F::label(value, "app").map(str::to_owned));
        informer.start();
        Self { informer, by_node, by_app }
    }

    async fn caught_up(&self, server: &TestServer) {
        self.informer.wait_for_sync(LIMIT).await.unwrap();
        self.informer.wait_until(&ResourceVersion::from(server.resource_version()), LIMIT).await.unwrap();
    }

    /// Everything it answers, as text.
    fn answers(&self, selectors: &[Selector], nodes: bool) -> Vec<String> {
        let mut answers: Vec<String> =
            self.informer.store().list().iter().map(|object| format!("{object:?}")).collect();
        for object in self.informer.store().list() {
            answers.push(format!("{}: {:?}", object.key, self.informer.owners(&object)));
        }
        for selector in selectors {
            let matching = self.informer.lister().list(selector);
            let of_team = self.informer.lister().namespace("team-1").list(selector);
            let keys: BTreeSet<_> = self
                .informer
                .snapshot()
                .iter()
                .filter(|object| matching.iter().any(|value| std::sync::Arc::ptr_eq(value, &object.value)))
                .map(|object| object.key.to_string())
                .collect();
            answers.push(format!("{selector}: {} of team-1, {keys:?}", of_team.len()));
        }
        for value in self.by_app.values() {
            answers.push(format!("app {value}: {:?}", self.by_app.keys(&value)));
        }
        if let Some(by_node) = self.by_node.as_ref().filter(|_| nodes) {
            for value in by_node.values() {
                answers.push(format!("node {value}: {:?}", by_node.keys(&value)));
            }
        }
        answers
    }
}

#[tokio::test(start_paused = true)]
async fn selectors_indices_owners_and_reads_agree_in_every_format() {
    let server = TestServer::builder().create_namespaces(true).build();
    for number in 0..40 {
        server.put("pods", pod(number, number % 6)).unwrap();
    }
    let factory = SharedInformerFactory::new(Client::new(server.clone(), "default"));
    let node_of: fn(&Pod) -> Option<String> = |pod| pod.spec.as_ref()?.node_name.clone();
    let node_of_place: fn(&Projected<PodPlace>) -> Option<String> = |pod| pod.spec.node_name.clone();
    let node_of_packed: fn(&PackedObject<Pod>) -> Option<String> =
        |pod| pod.field("/spec/nodeName").map(str::to_owned);
    let typed = View::new::<Typed<Pod>>(factory.informer::<Pod>().unwrap(), Some(node_of));
    let metadata = View::<Metadata>::new::<informer::MetadataOnly>(factory.metadata::<Pod>().unwrap(), None);
    let projection = View::<Projected<PodPlace>>::new::<informer::Projection<Pod, PodPlace>>(
        factory.projection::<Pod, PodPlace>().unwrap(),
        Some(node_of_place),
    );
    let source = ResourceListWatch::of::<Pod>(Client::new(server.clone(), "default"));
    let packed =
        SharedInformer::builder(source, Packed::<Pod>::new().field("/spec/nodeName").field("/status/phase"))
            .build()
            .unwrap();
    let packed = View::<PackedObject<Pod>>::new::<Packed<Pod>>(packed, Some(node_of_packed));
    let plain = factory.packed::<Pod>().unwrap();
    plain.start();

    let selectors: Vec<Selector> =
        ["", "app=app-1", "app!=app-1", "!app", "tier in (web),app notin (app-2,app-3)"]
            .map(|selector| selector.parse().unwrap())
            .to_vec();
    for round in 0..3 {
        typed.caught_up(&server).await;
        metadata.caught_up(&server).await;
        projection.caught_up(&server).await;
        packed.caught_up(&server).await;
        let want = typed.answers(&selectors, true);
        assert!(want.len() > 40);
        assert_eq!(projection.answers(&selectors, true), want, "round {round}");
        assert_eq!(packed.answers(&selectors, true), want, "round {round}");
        assert_eq!(metadata.answers(&selectors, false), typed.answers(&selectors, false), "round {round}");

        for object in typed.informer.store().list() {
            let (namespace, name) = (object.key.namespace(), object.key.name());
            let read = packed.informer.decoded().namespace(namespace).get(name).unwrap().unwrap();
            assert_eq!(read, object.value, "{}", object.key);
        }
        let web: Selector = "tier=web".parse().unwrap();
        let decoded = packed.informer.decoded().list(&web).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(decoded.len(), typed.informer.lister().list(&web).len());
        assert!(packed.informer.decoded().get("pod-000").unwrap().is_none(), "it is in a namespace");

        for number in (0..40).filter(|number| number % 3 == round) {
            server.put("pods", pod(number, (number + round) % 6)).unwrap();
        }
        let _ = server.delete("pods", &format!("team-{}", round), &format!("pod-{:03}", 30 + round));
    }
    plain.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(plain.decoded().all().filter(Result::is_ok).count(), plain.store().len());
    packed.informer.stop().await;
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn handlers_of_packed_objects_get_lazy_values() {
    let server = TestServer::builder().create_namespaces(true).build();
    server.put("pods", pod(1, 2)).unwrap();
    let source = ResourceListWatch::of::<Pod>(Client::new(server.clone(), "default"));
    let informer = SharedInformer::builder(source, Packed::<Pod>::new())
        .reflector_options(|options: ReflectorOptions| options.watch_list(false))
        .build()
        .unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    informer.add_event_handler(informer::EventHandler::<PackedObject<Pod>>::new().on_added(move |pod, _| {
        let node = pod.decode().unwrap().spec.unwrap().node_name;
        tell.send((pod.key.to_string(), node)).unwrap();
    }));
    informer.start();
    assert_eq!(told.recv().await, Some(("team-1/pod-001".to_owned(), Some("node-2".to_owned()))));
    informer.stop().await;
}
