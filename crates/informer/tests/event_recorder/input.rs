//! What is refused, cut, mapped, and never shown.

use std::time::Duration;

use informer::kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use informer::{
    DropReason, EventRecorder, EventRecorderError, EventSink, EventType, NewEvent, ObjectKey,
    ObjectReference, Recorded,
};
use informer_testserver::TestServer;
use k8s_openapi::api::core::v1::{ConfigMap, Node};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn what_cannot_be_an_event_is_refused_and_counted() {
    let server = TestServer::new();
    let recorder = v1(&server);
    let foo = object("default", "foo");
    let long = "x".repeat(129);
    let no_kind = ObjectReference::from(k8s_openapi::api::core::v1::ObjectReference {
        name: Some("foo".into()),
        ..Default::default()
    });
    let normal = EventType::Normal;
    let cases = [
        (NewEvent::new(&ConfigMap::default(), normal, "Synced", "Sync", "ok"), DropReason::NoName),
        (NewEvent::new(no_kind, normal, "Synced", "Sync", "ok"), DropReason::NoKind),
        (
            NewEvent::new(&object("a/../b", "foo"), normal, "Synced", "Sync", "ok"),
            DropReason::InvalidNamespace,
        ),
        (NewEvent::new(&foo, normal, "", "Sync", "ok"), DropReason::InvalidReason),
        (NewEvent::new(&foo, normal, &*long, "Sync", "ok"), DropReason::InvalidReason),
        (NewEvent::new(&foo, normal, "Synced", "", "ok"), DropReason::InvalidAction),
        (NewEvent::new(&foo, normal, "Synced", &*long, "ok"), DropReason::InvalidAction),
    ];
    for (event, reason) in cases {
        let before = recorder.metrics().dropped.of(reason);
        assert_eq!(recorder.record(event), Recorded::Dropped(reason));
        assert_eq!(recorder.metrics().dropped.of(reason), before + 1);
    }
    assert_eq!(record(&recorder, &long[1..], ""), Recorded::Queued);
    recorder.shutdown(LIMIT).await.unwrap();
    let metrics = recorder.metrics();
    assert_eq!((metrics.recorded, metrics.dropped.total(), events(&server).len()), (8, 7, 1));
}

#[tokio::test(start_paused = true)]
async fn events_of_objects_with_any_name_are_stored_under_names_of_their_own() {
    let server = TestServer::new();
    let recorder = v1(&server);
    let long = "x.".repeat(126) + "x";
    for name in ["system:node:Node-1", "foo", &long, "..", "UPPER_case", "ümlaut", "a/b?c#d%"] {
        for reason in ["Synced", "Failed"] {
            let regarding = ObjectReference::from(&object("default", name));
            assert_eq!(recorder.event(regarding, EventType::Normal, reason, "Sync", "ok"), Recorded::Queued);
        }
    }
    recorder.shutdown(LIMIT).await.unwrap();
    let metrics = metrics(&recorder);
    assert_eq!((metrics.written, metrics.dropped.total(), events(&server).len()), (14, 0, 14));
}

#[tokio::test(start_paused = true)]
async fn events_of_cluster_scoped_objects_are_in_default() {
    let server = TestServer::new();
    let recorder = core_v1(&server);
    let mut node = Node::default();
    node.metadata.name = Some("node-1".into());
    recorder.event(&node, EventType::Normal, "Ready", "Watch", "ok");
    recorder.shutdown(LIMIT).await.unwrap();
    let event = &events(&server)[0];
    assert_eq!(event["metadata"]["namespace"], "default");
    assert!(event["involvedObject"].get("namespace").is_none());
}

#[tokio::test(start_paused = true)]
async fn any_kind_of_object_can_be_referred_to() {
    let server = TestServer::builder().create_namespaces(true).build();
    let recorder = v1(&server);
    let kind = GroupVersionKind::gvk("example.com", "v1", "Foo");
    let resource = ApiResource::from_gvk(&kind);
    let foo = DynamicObject::new("a", &resource).within("team");
    recorder.event(ObjectReference::dynamic(&foo, &resource), EventType::Normal, "Dynamic", "Sync", "ok");
    let key = ObjectKey::new("team", "a");
    recorder.event(ObjectReference::of_key(&key, &kind).uid("u"), EventType::Normal, "ByKey", "Sync", "ok");
    recorder.shutdown(LIMIT).await.unwrap();
    for event in events(&server) {
        let object = &event["involvedObject"];
        assert_eq!((&object["apiVersion"], &object["kind"]), (&"example.com/v1".into(), &"Foo".into()));
        assert_eq!((&object["namespace"], &object["name"]), (&"team".into(), &"a".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn long_note_is_cut_at_a_character() {
    let server = TestServer::new();
    let recorder = v1(&server);
    record(&recorder, "Synced", &"€".repeat(10_000));
    recorder.shutdown(LIMIT).await.unwrap();
    assert_eq!(events(&server)[0]["message"], "€".repeat(341));
}

#[tokio::test]
async fn names_that_servers_refuse_are_refused_when_building() {
    let server = TestServer::new();
    let sink = || EventSink::v1(client(&server));
    let build = |controller: &str, instance: &str| {
        EventRecorder::builder(controller).instance(instance).sink(sink()).build().map(drop)
    };
    assert_eq!(build("example.com/demo", &"x".repeat(128)), Ok(()));
    let long = format!("{}/demo", "x".repeat(100));
    assert_eq!(build(&long, "i"), Ok(()));
    for controller in ["ns/pod/component", "", "a b", &"x".repeat(64)] {
        let error = EventRecorderError::Controller { length_bytes: controller.len() };
        assert_eq!(build(controller, "i"), Err(error));
    }
    assert_eq!(build("demo", ""), Err(EventRecorderError::Instance { length_bytes: 0 }));
    assert_eq!(build("demo", &"x".repeat(129)), Err(EventRecorderError::Instance { length_bytes: 129 }));
    assert_eq!(EventRecorder::builder("demo").build().err(), Some(EventRecorderError::NoSink));
    let long = format!("example.com/{}", "x".repeat(63));
    let recorder = EventRecorder::builder(long).sink(sink()).build().expect("a default instance fits");
    recorder.shutdown(Duration::ZERO).await.unwrap();
}

#[test]
fn recorder_outside_of_a_runtime_is_an_error_and_one_for_tests_is_none() {
    let sink = EventSink::tracing();
    assert_eq!(EventRecorder::builder("demo").sink(sink).build().err(), Some(EventRecorderError::NoRuntime));
    let (recorder, recorded) = EventRecorder::for_tests();
    record(&recorder, "Synced", "ok");
    assert_eq!(recorded.take()[0].reason, "Synced");
    assert!(recorded.is_empty());
}

#[tokio::test]
async fn test_recorder_is_bounded_never_blocks_and_can_be_waited_for() {
    let (recorder, recorded) = EventRecorder::for_tests();
    for number in 0..1001 {
        let expected =
            if number < 1000 { Recorded::Queued } else { Recorded::Dropped(DropReason::QueueFull) };
        assert_eq!(record(&recorder, "Synced", &number.to_string()), expected);
    }
    assert_eq!((recorded.next().await.note.as_str(), recorded.len()), ("0", 999));
    recorded.take();
    let waiting = tokio::spawn({
        let recorded = recorded.clone();
        async move { recorded.next().await.reason }
    });
    tokio::task::yield_now().await;
    record(&recorder, "Late", "ok");
    assert_eq!(waiting.await.unwrap(), "Late");
    recorder.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn debug_texts_have_no_notes() {
    let (recorder, recorded) = EventRecorder::for_tests();
    let event = NewEvent::new(&object("default", "foo"), EventType::Normal, "Synced", "Sync", "canary");
    recorder.record(event.annotation("key", "canary"));
    let event = recorded.take().remove(0);
    let server = TestServer::new();
    let sink = EventSink::v1(client(&server));
    let texts = [
        format!("{event:#?}"),
        format!("{:?}", event.regarding),
        format!("{recorder:?} {recorded:?} {:?} {sink:?}", recorder.metrics()),
        format!("{:?}", EventRecorder::builder("demo").sink(sink.clone())),
    ];
    assert!(texts.iter().all(|text| !text.contains("canary")), "{texts:?}");
    assert!(texts[0].contains("note_bytes: 6"), "{}", texts[0]);
}
