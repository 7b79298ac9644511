//! The smallest program that keeps Pods and says what changes: its size is measured.

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Config};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_kubeconfig(&kube::config::KubeConfigOptions::default()).await?;
    let (reader, writer) = kube::runtime::reflector::store::<Pod>();
    let pods = watcher(Api::<Pod>::all(Client::try_from(config)?), watcher::Config::default());
    let mut events = pods.default_backoff().reflect(writer).boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::InitApply(pod)) => println!("{:?}", pod.metadata.name),
            Ok(Event::InitDone) => break,
            _ => {}
        }
    }
    println!("{} Pods", reader.len());
    Ok(())
}
