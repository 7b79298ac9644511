//! Prints every metric there is, of a small program with all the parts, for `promtool check metrics` and curious people.

use std::error::Error;
use std::time::Duration;

use informer::{
    Action, Controller, EventRecorder, EventSink, EventType, LeaderElector, Metrics, ObjectKey,
    SharedInformerFactory, WorkQueue, client_with_metrics,
};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::new();
    let listening = server.listen().await?;
    server.create("configmaps", serde_json::json!({"metadata": {"name": "a", "namespace": "default"}}))?;

    let metrics = Metrics::new();
    let client = client_with_metrics(kube::Config::new(listening.url().parse()?), &metrics)?;
    let factory = SharedInformerFactory::new(client.clone());
    metrics.factory("example", &factory)?;
    let settings = factory.informer::<ConfigMap>()?;
    let _pods = factory.metadata::<Pod>()?;
    let recorder = EventRecorder::builder("example").sink(EventSink::v1(client.clone())).build()?;
    metrics.event_recorder("example", &recorder)?;
    let queue = WorkQueue::<String>::builder().timings(true).build();
    metrics.work_queue("by \"hand\"", &queue)?;
    queue.add("key".to_owned());

    let elector = LeaderElector::builder(client.clone(), "default", "example", "me").build()?;
    metrics.leader_elector(&elector)?;
    let controller = Controller::builder("settings", &settings)
        .build(|_key: ObjectKey| async { Ok::<_, std::io::Error>(Action::Done) })?;
    metrics.controller(&controller.handle())?;
    let handle = controller.handle();
    let stop = CancellationToken::new();
    factory.start();
    factory.wait_for_sync(Duration::from_secs(30)).await?;
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { controller.run(stop).await }
    });
    while handle.metrics().reconciles.total() == 0 {
        tokio::task::yield_now().await;
    }
    let object = settings.lister().namespace("default").get("a").ok_or("it was listed")?;
    recorder.event(&*object, EventType::Normal, "Seen", "Look", "it is there");

    print!("{}", metrics.text());
    recorder.shutdown(Duration::from_secs(10)).await?;
    stop.cancel();
    running.await??;
    factory.shutdown().await;
    listening.shutdown().await;
    Ok(())
}
