//! Names, types and labels are a promise: dashboards and alerts are made of them.

use informer::{
    Action, BoxError, Controller, EventRecorder, EventSink, LeaderElector, Metrics, WorkQueue,
    client_with_metrics,
};
use informer_testserver::TestServer;

use crate::support::*;

/// A line each: type, name, labels. Whoever changes it breaks dashboards, so a change belongs into the changelog.
pub(crate) const GOLDEN: &str = include_str!("names.txt");

#[tokio::test]
async fn names_types_and_labels_stay() {
    let server = TestServer::builder().build();
    let listening = server.listen().await.unwrap();
    put(&server, "a", "1");
    let (metrics, queue) = (Metrics::new(), WorkQueue::<u8>::builder().timings(true).build::<u8>());
    let config = kube::Config::new(listening.url().parse().unwrap());
    client_with_metrics(config, &metrics).unwrap().apiserver_version().await.unwrap();
    let informer = started(config_maps(&server)).await;
    metrics.informer("settings", &informer).unwrap();
    let controller =
        Controller::builder("c", &informer).build(|_| async { Ok::<_, BoxError>(Action::Done) }).unwrap();
    metrics.controller(&controller.handle()).unwrap();
    let recorder = EventRecorder::builder("r").sink(EventSink::tracing()).build().unwrap();
    metrics.event_recorder("r", &recorder).unwrap();
    let client = kube::Client::new(server.clone(), "default");
    let elector = LeaderElector::builder(client, "default", "app", "me").build().unwrap();
    metrics.leader_elector(&elector).unwrap();
    metrics.work_queue("foo", &queue).unwrap();

    let text = metrics.text();
    let mut found = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let series = [name.to_owned(), format!("{name}_sum")];
        let sample =
            text.lines().find(|line| series.iter().any(|name| line.starts_with(&format!("{name}{{"))));
        let labels = sample.and_then(|line| line.split_once('{')?.1.rsplit_once('}')).expect("a sample").0;
        let mut labels: Vec<_> = labels.split(',').map(|label| label.split_once('=').unwrap().0).collect();
        labels.sort_unstable();
        found.push(format!("{kind} {name} {}", labels.join(",")));
    }
    found.sort_unstable();
    let golden: Vec<_> = GOLDEN.lines().collect();
    assert_eq!(found, golden, "as text:\n{}\n", found.join("\n"));
    informer.stop().await;
    listening.shutdown().await;
}
