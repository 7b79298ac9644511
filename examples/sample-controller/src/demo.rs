//! `--embedded`: the controller at work on an API server within this process, with a commentary.

use informer::BoxError;
use informer_testserver::{TestServer, workload::make_deployments_available};
use kube::{Config, CustomResourceExt};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Args, foo::Foo};

/// Shows in some ten seconds what the controller does.
pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<(), BoxError> {
    println!("An API server starts within this process, on a free port. No cluster is touched.");
    let server = TestServer::new();
    let listening = server.listen().await?;
    println!("The kind Foo is defined, as by `kubectl apply -f manifests/crd.yaml`. The controller starts.");
    server.create("customresourcedefinitions", json!(Foo::crd()))?;
    tokio::spawn(make_deployments_available(server.clone()));
    let mut controller = tokio::spawn(crate::run(Config::new(listening.url().parse()?), args, stop.clone()));
    tokio::select! {
        told = tell(&server) => told?,
        ended = &mut controller => return ended?, // By a signal, or it cannot run at all.
    }
    println!("\nThe controller is asked to stop, as by Ctrl-C or SIGTERM: it finishes what it has begun.");
    stop.cancel();
    controller.await?
}

async fn tell(server: &TestServer) -> Result<(), BoxError> {
    let foo = |name, spec| json!({"metadata": {"name": name}, "spec": spec});
    println!("\nA user creates the Foo `example`, which asks for a Deployment `web` with 2 replicas.");
    server.create("foos", foo("example", json!({"deploymentName": "web", "replicas": 2})))?;
    next("The user scales the Foo to 5.").await;
    server.modify("foos", "default", "example", |it| it["spec"]["replicas"] = json!(5))?;
    next("Somebody scales the Deployment to 1, behind the controller's back.").await;
    server.modify("deployments", "default", "web", |it| it["spec"]["replicas"] = json!(1))?;
    let mut legacy = server.get("deployments", "default", "web")?;
    legacy["metadata"] = json!({"name": "legacy"});
    server.create("deployments", legacy)?;
    next("Somebody deletes the Deployment.").await;
    server.delete("deployments", "default", "web")?;
    next("Another Foo asks for a Deployment that somebody else has made: it is left alone.").await;
    server.create("foos", foo("greedy", json!({"deploymentName": "legacy", "replicas": 9})))?;
    next("What `kubectl get events` says now:").await;
    for event in server.list("events")? {
        let fields = [&event["involvedObject"]["name"], &event["reason"], &event["message"]];
        println!("  {}", fields.map(|field| field.as_str().unwrap_or_default()).join("  "));
    }
    Ok(())
}

/// Leaves time to read what has happened.
async fn next(text: &str) {
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    println!("\n{text}");
}
