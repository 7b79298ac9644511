//! A recorder's events are accepted in both forms: created, counted, combined, as series, and under any object's name.

use std::time::Duration;

use informer::kube::core::{ApiResource, GroupVersionKind};
use informer::{EventRecorder, EventSink, EventType, NewEvent, ObjectKey, ObjectReference};
use serde_json::Value;

use crate::api::path;
use crate::outcome::{Result, ensure};
use crate::suite::Context;
use crate::world::namespace_name;

/// More than one form needs for everything that is recorded.
const DEADLINE: Duration = Duration::from_secs(30);

pub(super) async fn run(context: &Context) -> Result {
    let client = informer::client(context.cluster.config())?;
    let sinks = [("v1", EventSink::v1(client.clone())), ("core-v1", EventSink::core_v1(client))];
    for (number, (form, sink)) in sinks.into_iter().enumerate() {
        let namespace = namespace_name(number);
        let recorder = EventRecorder::builder(format!("demo.informer.dev/{form}")).sink(sink).build()?;
        let recorded = record(&recorder, &namespace);
        recorder.shutdown(DEADLINE).await?;
        let metrics = &recorder.metrics().sinks[0];
        ensure!(metrics.written == recorded && metrics.dropped.total() == 0, "{form}: {metrics:?}");
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Event"), "events");
        let list = context.api.get(&path(&resource, &namespace, "")).await?;
        let events = list["items"].as_array().ok_or("a list without items")?;
        let of = |reason: &str| -> Vec<&Value> {
            events.iter().filter(|event| event["reason"] == reason).collect()
        };
        let repeated = of("Repeated");
        let count = if form == "v1" { &repeated[0]["series"]["count"] } else { &repeated[0]["count"] };
        ensure!(repeated.len() == 1 && *count == 5, "{form}: repeated events are {repeated:?}");
        let similar = of("Similar").len();
        ensure!(similar == if form == "v1" { 1 } else { 10 }, "{form}: {similar} objects of similar events");
        ensure!(of("Named").len() == 4, "{form}: {} of 4 names", of("Named").len());
    }
    Ok(())
}

/// Answers how many events.
fn record(recorder: &EventRecorder, namespace: &str) -> u64 {
    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let object = |name: &str| ObjectReference::of_key(&ObjectKey::new(namespace, name), &kind);
    for _ in 0..5 {
        recorder.related(object("foo"), object("bar"), EventType::Normal, "Repeated", "Test", "ok");
    }
    for number in 0..12 {
        // Longer than a note may be, in characters of more than one byte.
        let note = format!("{number}{}", "€".repeat(2000));
        let event = NewEvent::new(object("foo"), EventType::Warning, "Similar", "Test", note);
        recorder.record(event.annotation("demo.informer.dev/note", "long"));
    }
    for name in ["system:node:Node-1", &"long.".repeat(80), "--", "Ünicode_"] {
        recorder.event(object(name), EventType::Normal, "Named", "Test", "");
    }
    5 + 12 + 4
}
