//! Step 4.

use std::time::Duration;

use informer::SharedInformerFactory;
use informer_testserver::TestServer;
use kube::{Client, CustomResourceExt};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::resource::Website;
use crate::wiring::{controller, run};

#[tokio::test(start_paused = true)]
async fn a_deployment_follows_its_website() {
    let server = TestServer::new();
    server.create("customresourcedefinitions", json!(Website::crd())).unwrap();
    let client = Client::new(server.clone(), "default");
    let factory = SharedInformerFactory::new(client.clone());
    let controller = controller(client, &factory).unwrap();
    factory.start();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { controller.run(stop).await }
    });
    // Time is paused: a second passes as soon as everybody waits, and costs nothing.
    let settle = || sleep(Duration::from_secs(1));
    let replicas = || server.get("deployments", "default", "shop").map(|it| it["spec"]["replicas"].clone());

    let website = json!({"metadata": {"name": "shop"}, "spec": {"image": "shop:1", "replicas": 3}});
    server.create("websites", website).unwrap();
    settle().await;
    assert_eq!(replicas().unwrap(), 3);

    server.modify("deployments", "default", "shop", |it| it["spec"]["replicas"] = json!(0)).unwrap();
    settle().await;
    assert_eq!(replicas().unwrap(), 3);

    server.delete("deployments", "default", "shop").unwrap();
    settle().await;
    assert_eq!(replicas().unwrap(), 3);

    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_program_runs_until_it_is_stopped() {
    let server = TestServer::new();
    server.create("customresourcedefinitions", json!(Website::crd())).unwrap();
    let listening = server.listen().await.unwrap();
    let website = json!({"metadata": {"name": "shop"}, "spec": {"image": "shop:1", "replicas": 3}});
    server.create("websites", website).unwrap();
    let stop = CancellationToken::new();
    let config = kube::Config::new(listening.url().parse().unwrap());
    let running = tokio::spawn(run(config, stop.clone()));
    let created = async {
        while server.count("deployments") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), created).await.unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
}
