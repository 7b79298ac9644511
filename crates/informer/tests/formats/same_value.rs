//! What is packed reads as what is decoded at once; metadata is the same as kube reads it.

use std::collections::BTreeMap;
use std::path::Path;

use informer::{MetadataOnly, Packed, Typed};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{cached, synced};

const TEXT: &str = "[a-z\"\\\\\n\u{1}é🚀 ]{0,80}";

prop_compose! {
    fn owner()(name in "[a-z]{1,9}", uid in TEXT, controller in any::<Option<bool>>(), block in any::<Option<bool>>())
        -> OwnerReference {
        OwnerReference {
            api_version: "apps/v1".into(), kind: "ReplicaSet".into(), name, uid: format!("u{uid}"), controller,
            block_owner_deletion: block,
        }
    }
}

prop_compose! {
    fn config_map()(
        labels in prop::option::of(prop::collection::btree_map(TEXT, TEXT, 0..6)),
        annotations in prop::option::of(prop::collection::btree_map(TEXT, TEXT, 0..6)),
        owner_references in prop::option::of(prop::collection::vec(owner(), 0..3)),
        finalizers in prop::option::of(prop::collection::vec(TEXT, 0..3)),
        data in prop::option::of(prop::collection::btree_map("[a-z.]{1,20}", "(?s).{0,300}", 0..8)),
        generation in any::<Option<i64>>(),
        immutable in any::<Option<bool>>(),
    ) -> ConfigMap {
        let metadata = ObjectMeta { labels, annotations, owner_references, finalizers, generation, ..ObjectMeta::default() };
        ConfigMap { metadata, data, immutable, ..ConfigMap::default() }
    }
}

fn bytes(number: usize, mut object: ConfigMap) -> Vec<u8> {
    object.metadata.name = Some(format!("object-{number:04}"));
    object.metadata.namespace = Some("default".into());
    object.metadata.uid = Some(format!("uid-{number}"));
    object.metadata.resource_version = Some((number + 1).to_string());
    let mut object = serde_json::to_value(object).unwrap();
    object["metadata"]["managedFields"] = json!([{"manager": "test", "fieldsV1": {"f:data": {}}}]);
    serde_json::to_vec(&object).unwrap()
}

fn check(objects: Vec<ConfigMap>) {
    let items: Vec<_> =
        objects.into_iter().enumerate().map(|(number, object)| bytes(number, object)).collect();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let typed = cached(&items, Typed::<ConfigMap>::new()).await;
        let packed = cached(&items, Packed::<ConfigMap>::new()).await;
        let metadata = cached(&items, MetadataOnly).await;
        assert_eq!((typed.len(), packed.len(), metadata.len()), (items.len(), items.len(), items.len()));
        for ((typed, packed), metadata) in typed.iter().zip(&packed).zip(&metadata) {
            assert_eq!(packed.decode().unwrap(), *typed.value);
            let want = &typed.metadata;
            let owned = |pairs: informer::Pairs<'_>| -> BTreeMap<String, String> {
                pairs.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
            };
            let labels = want.labels.clone().unwrap_or_default();
            assert_eq!((owned(packed.labels()), owned(metadata.labels())), (labels.clone(), labels.clone()));
            for (name, value) in &labels {
                assert_eq!(metadata.labels().get(name), Some(&**value));
            }
            assert_eq!(owned(metadata.annotations()), want.annotations.clone().unwrap_or_default());
            assert_eq!(metadata.finalizers(), want.finalizers.clone().unwrap_or_default());
            assert_eq!(metadata.generation(), want.generation);
            let owners: Vec<informer::Owner<'_>> =
                want.owner_references.iter().flatten().map(informer::Owner::from).collect();
            assert_eq!((metadata.owner_references(), packed.owner_references()), (owners.clone(), owners));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn generated_objects_read_the_same_packed_and_typed(objects in prop::collection::vec(config_map(), 1..12)) {
        check(objects);
    }
}

/// Enough of them that a dictionary is in use.
#[test]
fn objects_packed_with_a_dictionary_read_the_same() {
    let object = |number: usize| ConfigMap {
        data: Some((0..20).map(|key| (format!("key-{key}"), format!("value {}", number * key))).collect()),
        ..ConfigMap::default()
    };
    check((0..1_500).map(object).collect());
}

#[tokio::test(start_paused = true)]
async fn recorded_objects_read_the_same_packed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../informer-testserver/tests/golden");
    let mut objects = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
        // Answers and events are lines of JSON; whatever has a name in its metadata is an object.
        for value in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let items = value["items"].as_array().cloned().unwrap_or_default();
            objects.extend(items.into_iter().chain([value["object"].clone(), value.clone()]));
        }
    }
    objects.retain(|object| object["metadata"]["name"].is_string());
    for (number, object) in objects.iter_mut().enumerate() {
        // The same object is in many answers.
        object["metadata"]["name"] = format!("recorded-{number:04}").into();
    }
    assert!(objects.len() > 50, "{} recorded objects", objects.len());
    let items: Vec<_> = objects.iter().map(|object| serde_json::to_vec(object).unwrap()).collect();
    let informer = synced(&items, Packed::<Value>::new()).await;
    for mut object in objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
        let name = metadata["name"].as_str().unwrap();
        let read = informer.decoded().namespace(namespace).get(name).unwrap();
        assert_eq!(*read.unwrap(), object);
    }
    informer.stop().await;
}
