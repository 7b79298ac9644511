//! Large, strange and broken objects.

use informer::{Metadata, MetadataOnly, Packed, Projection, Typed};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde::Deserialize;
use serde_json::json;

use crate::support::{cached, synced};

#[derive(Deserialize)]
struct Data {
    data: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Names of 253 characters, as long as Kubernetes has them, and objects as large as etcd takes.
#[tokio::test]
async fn large_objects_and_long_names_are_kept() {
    let name = |number: usize| format!("{number:0253}");
    let items: Vec<Vec<u8>> = (0..4)
        .map(|number| {
            let text: String = (0..150_000).map(|line| format!("{:08x}\n", line * (number + 7))).collect();
            let object = json!({"metadata": {"name": name(number), "namespace": "n".repeat(63), "resourceVersion": "1",
                "labels": {"l".repeat(63): "v".repeat(63)}, "annotations": {"a": "é".repeat(100_000)}}, "data": {"k": text}});
            serde_json::to_vec(&object).unwrap()
        })
        .collect();
    assert!(items.iter().all(|item| item.len() > 1_500_000));
    let typed = cached(&items, Typed::<ConfigMap>::new()).await;
    let packed = synced(&items, Packed::<ConfigMap>::new()).await;
    let projected = cached(&items, Projection::<ConfigMap, Data>::new()).await;
    let metadata = cached(&items, MetadataOnly).await;
    for (number, typed) in typed.iter().enumerate() {
        let read = packed.decoded().namespace(typed.key.namespace()).get(&name(number)).unwrap().unwrap();
        assert_eq!(read, typed.value);
        assert_eq!(projected[number].data.as_ref().unwrap()["k"], *typed.data.as_ref().unwrap()["k"]);
        assert_eq!(metadata[number].annotations().get("a").unwrap().len(), 200_000);
    }
    let packed_bytes: usize = packed.snapshot().iter().map(|object| object.packed_len()).sum();
    assert!(packed_bytes < 4 * 700_000, "{packed_bytes}");
    packed.stop().await;
}

/// The labels of each are its own: nothing may be remembered of them beyond the objects.
#[tokio::test]
async fn a_hundred_thousand_distinct_labels_are_read_back() {
    let items: Vec<Vec<u8>> = (0..4_000)
        .map(|number| {
            let labels: serde_json::Map<_, _> = (0..5)
                .map(|label| (format!("label-{label}"), json!(format!("value-{number}-{label}"))))
                .collect();
            serde_json::to_vec(&json!({"metadata": {"name": format!("o-{number}"), "labels": labels}}))
                .unwrap()
        })
        .collect();
    let packed = synced(&items, Packed::<serde_json::Value>::new()).await;
    assert_eq!(packed.lister().list(&"label-3=value-777-3".parse().unwrap()).len(), 1);
    let shared: usize = packed.snapshot().iter().map(|object| object.packed_len()).sum();
    assert!(shared < 4_000 * 1_000, "{shared}");
    packed.stop().await;
}

#[tokio::test]
async fn labels_out_of_order_or_twice_are_read_like_a_map() {
    let item =
        br#"{"metadata":{"name":"a","labels":{"z":"1","b":"2","a\u0062":"3","b":"4","n":null}}}"#.to_vec();
    let objects = cached(&[item], MetadataOnly).await;
    let labels: Vec<_> = objects[0].labels().iter().collect();
    assert_eq!(labels, [("ab", "3"), ("b", "4"), ("n", ""), ("z", "1")]);
    assert_eq!((objects[0].labels().get("b"), objects[0].labels().get("c")), (Some("4"), None));
    assert_eq!(objects[0].labels().len(), 4);
}

/// What does not fit is an error of that object alone, at once or when it is read.
#[tokio::test]
async fn objects_that_do_not_fit_are_told_apart_from_absent_ones() {
    let items = [
        br#"{"metadata":{"name":"good"},"data":{"k":"v"}}"#.to_vec(),
        br#"{"metadata":{"name":"bad"},"data":"hunter2"}"#.to_vec(),
        br#"{"metadata":{"name":"labels","labels":["hunter2"]},"data":{"k":"v"}}"#.to_vec(),
        br#"{"metadata":{"name":"text","labels":{"a":"\ud800"}}}"#.to_vec(),
    ];
    let typed = synced(&items, Typed::<ConfigMap>::new()).await;
    assert_eq!(typed.store().len(), 1);
    let packed = synced(&items, Packed::<ConfigMap>::new()).await;
    assert_eq!(packed.store().len(), 2, "labels are looked at at once");
    assert!(packed.decoded().get("good").unwrap().is_some());
    assert!(packed.decoded().get("absent").unwrap().is_none());
    let error = packed.decoded().get("bad").unwrap_err();
    assert_eq!((error.key().to_string().as_str(), error.error().is_damaged()), ("bad", false));
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(packed.decoded().all().filter(Result::is_err).count(), 1);
    let projected = synced(&items, Projection::<ConfigMap, Data>::new()).await;
    assert_eq!(projected.store().keys().len(), 1);
    let status = format!("{:?}", projected.status());
    assert!(!status.contains("hunter2"), "{status}");
    typed.stop().await;
    packed.stop().await;
    projected.stop().await;
}

#[tokio::test]
async fn debug_texts_hold_no_values() {
    const CANARY: &str = "hunter2";
    let item = json!({"metadata": {"name": "a", "labels": {"l": CANARY}, "annotations": {"last-applied": CANARY}},
        "data": {"k": CANARY}});
    let items = [serde_json::to_vec(&item).unwrap()];
    let metadata = cached(&items, MetadataOnly).await;
    let projected = cached(&items, Projection::<Secret, Data>::new()).await;
    let packed = cached(&items, Packed::<Secret>::new()).await;
    let texts = [
        format!("{:?} {:?}", metadata[0], *metadata[0].value),
        format!("{:?} {:?}", projected[0], *projected[0].value),
        format!("{:?} {:?}", packed[0], *packed[0].value),
        format!("{:?}", metadata[0].annotations()),
    ];
    for text in texts {
        assert!(!text.contains(CANARY), "{text}");
    }
}

#[tokio::test]
async fn a_transform_can_drop_annotations() {
    let item = json!({"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}, "annotations": {"keep": "1", "drop": "2"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}], "finalizers": ["f"],
        "creationTimestamp": "2026-11-29T15:12:16Z"}});
    let mut metadata: Metadata =
        (*cached(&[serde_json::to_vec(&item).unwrap()], MetadataOnly).await[0].value).clone();
    metadata.retain_annotations(|name, _| name != "drop");
    metadata.retain_labels(|_, value| value != "1");
    assert_eq!(metadata.annotations().iter().collect::<Vec<_>>(), [("keep", "1")]);
    assert_eq!(metadata.labels().iter().collect::<Vec<_>>(), [("y", "2")]);
    assert_eq!((metadata.owner_references().len(), metadata.finalizers()), (1, vec!["f"]));
    assert_eq!(metadata.creation_timestamp(), Some("2026-11-29T15:12:16Z"));
    assert_eq!(metadata.deletion_timestamp(), None);
}
