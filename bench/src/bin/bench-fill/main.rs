//! Fills a real API server with generated Pods, as a cluster's own writers would: the Pod first, then its status.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use hyper::{Method, Request};
use informer_bench::{Collection, Kind, say};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

/// Writers at the same time: as many as keep a server on two cores busy.
const WRITERS: usize = 8;
const PER_NAMESPACE: usize = 500;

/// Writes Pods until there are enough, then says so in a line of JSON.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where to write.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// How many Pods.
    #[arg(long)]
    objects: usize,
}

type Result<T = (), E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result {
    let Arguments { kubeconfig, objects } = Arguments::parse();
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let collection = Arc::new(Collection::new(Kind::Pod5k, objects, PER_NAMESPACE));
    for first in (0..objects).step_by(PER_NAMESPACE) {
        let namespace = json!({"metadata": {"name": collection.namespace(first)}});
        send(&client, Method::POST, "/api/v1/namespaces", &namespace).await?;
    }
    let next = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (client, collection, next) = (client.clone(), Arc::clone(&collection), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= collection.len() {
                        return Ok::<_, Box<dyn Error + Send + Sync>>(());
                    }
                    write(&client, &collection, number).await?;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    say(&json!({"objects": objects}))?;
    Ok(())
}

async fn write(client: &Client, collection: &Collection, number: usize) -> Result {
    let mut bytes = Vec::new();
    collection.write(number, 0, false, &mut bytes);
    let mut pod: Value = serde_json::from_slice(&bytes)?;
    let metadata = pod["metadata"].as_object_mut().ok_or("a Pod has metadata")?;
    // The server's own to set.
    metadata.retain(|field, _| {
        !matches!(
            field.as_str(),
            "uid" | "resourceVersion" | "creationTimestamp" | "generation" | "managedFields"
        )
    });
    let status = pod["status"].take();
    let pods = format!("/api/v1/namespaces/{}/pods", collection.namespace(number));
    let mut written = send(client, Method::POST, &pods, &pod).await?;
    written["status"] = status;
    let path = format!("{pods}/{}/status", collection.name(number));
    send(client, Method::PUT, &path, &written).await?;
    Ok(())
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Result<Value> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    Ok(client.request(request.body(serde_json::to_vec(body)?)?).await?)
}
