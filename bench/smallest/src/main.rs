//! The smallest program that keeps Pods and says what changes: its size is measured.

use std::time::Duration;

use informer::{EventHandler, SharedInformerFactory};
use k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = kube::Config::from_kubeconfig(&kube::config::KubeConfigOptions::default()).await?;
    let factory = SharedInformerFactory::new(informer::client(config)?);
    let pods = factory.informer::<Pod>()?;
    pods.add_event_handler(EventHandler::new().on_added(|pod, _| println!("{}", pod.key)));
    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;
    println!("{} Pods", pods.store().len());
    Ok(())
}
