//! Step 3.

use std::sync::Arc;
use std::time::Duration;

use informer::{BoxError, BuildError, Controller, Predicate, SharedInformerFactory};
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::reconcile::{Context, reconcile};

pub fn controller(client: Client, factory: &SharedInformerFactory) -> Result<Controller, BuildError> {
    let websites = factory.informer()?;
    let deployments = factory.informer()?;
    let builder = Controller::builder("website", &websites)
        .predicate(Predicate::generation_changed()) // status and labels of a Website do not matter
        .owns(&deployments)
        .concurrency(4)
        .reconcile_timeout(Duration::from_secs(60));
    let context = Arc::new(Context { client, websites, deployments, controller: builder.handle() });
    builder.build(move |key| reconcile(Arc::clone(&context), key))
}

pub async fn run(config: Config, stop: CancellationToken) -> Result<(), BoxError> {
    let client = informer::client(config)?;
    let factory = SharedInformerFactory::new(client.clone());
    let controller = controller(client, &factory)?;
    factory.start();
    controller.run(stop).await?;
    factory.shutdown().await;
    Ok(())
}
