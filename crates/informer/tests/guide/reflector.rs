//! A reflector, for those who come from kube-runtime.

use std::sync::Arc;
use std::time::Duration;

use informer::{BoxError, Listed, SharedInformerFactory};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use serde_json::json;

type Found = (Option<Arc<Pod>>, Listed<Pod>);

async fn read(client: Client) -> Result<Found, BoxError> {
    let factory = SharedInformerFactory::new(client).namespace("team-a");
    let pods = factory.informer::<Pod>()?;
    let by_node = pods.add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone());
    factory.start(); // a task of its own; nobody has to poll
    factory.wait_for_sync(Duration::from_secs(30)).await?; // the error says what the server answered
    let web = pods.lister().namespace("team-a").get("web-0");
    let here = by_node.get("node-7");
    Ok((web, here))
}

#[tokio::test(start_paused = true)]
async fn a_reflector_is_an_informer_and_a_lister() {
    let server = TestServer::builder().create_namespaces(true).build();
    let pod = json!({"metadata": {"name": "web-0", "namespace": "team-a"},
        "spec": {"nodeName": "node-7", "containers": [{"name": "c", "image": "i"}]}});
    server.create("pods", pod).unwrap();
    let (web, here) = read(Client::new(server, "default")).await.unwrap();
    assert!(web.is_some());
    assert_eq!(here.len(), 1);
}
