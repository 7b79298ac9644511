//! Types of `#[derive(CustomResource)]` are cached like any other.

use informer::SharedInformerFactory;
use informer_testserver::TestServer;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::*;

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Gadget", namespaced)]
pub(crate) struct GadgetSpec {
    size: u32,
}

#[tokio::test(start_paused = true)]
async fn a_derived_custom_resource_is_cached_as_its_type() {
    let server = TestServer::new();
    server.create("customresourcedefinitions", serde_json::to_value(Gadget::crd()).unwrap()).unwrap();
    server.create("gadgets", json!({"metadata": {"name": "g"}, "spec": {"size": 3}})).unwrap();
    let factory = SharedInformerFactory::new(client(&server));
    let gadgets = factory.informer::<Gadget>().unwrap();
    let by_size = gadgets.add_index("size", |gadget: &Gadget| [gadget.spec.size.to_string()]);
    factory.start();
    factory.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(gadgets.lister().namespace("default").get("g").unwrap().spec.size, 3);
    server.modify("gadgets", "default", "g", |gadget| gadget["spec"]["size"] = json!(4)).unwrap();
    eventually("the index follows", || by_size.get("4").len() == 1 && by_size.get("3").is_empty()).await;
}
