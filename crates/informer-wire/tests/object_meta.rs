//! The metadata scan and the managedFields cut against serde_json.

mod common;

use std::collections::BTreeMap;

use common::{Node, any_node, any_style, any_text, object, text, without_duplicates};
use informer_wire::{ObjectMeta, WireError, WireErrorKind, cut_managed_fields};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

fn kind_of(object: &str) -> WireErrorKind {
    ObjectMeta::scan(object.as_bytes()).unwrap_err().kind()
}

fn any_map() -> impl Strategy<Value = Node> {
    vec((any_text(), any_text().prop_map(Node::Text)), 0..4)
        .prop_map(|entries| Node::Object(without_duplicates(entries)))
}

fn any_owner() -> impl Strategy<Value = Node> {
    ("[a-z]{1,5}", "[a-z\"\\\\é]{1,5}", any::<bool>(), any::<bool>()).prop_map(
        |(name, uid, controller, short)| {
            let mut entries = vec![
                ("kind".to_owned(), text("ReplicaSet")),
                ("name".to_owned(), Node::Text(name)),
                ("uid".to_owned(), Node::Text(uid)),
                ("apiVersion".to_owned(), text("apps/v1")),
            ];
            if !short {
                entries.push(("controller".to_owned(), Node::Raw(if controller { "true" } else { "false" })));
            }
            Node::Object(entries)
        },
    )
}

/// An object with all that is read, and noise around it, in any order.
fn any_object() -> impl Strategy<Value = Node> {
    let known = (
        "[a-zé\"]{1,9}",
        any_text(),
        any_text(),
        any_text(),
        any_map(),
        any_map(),
        vec(any_owner(), 0..3).prop_map(Node::Array),
        prop::option::of(any_node()),
    );
    let metadata = (known, any::<bool>(), vec((any_text(), any_node()), 0..4)).prop_flat_map(
        |((name, namespace, uid, version, labels, annotations, owners, managed), deleting, noise)| {
            let mut entries = vec![
                ("name".to_owned(), Node::Text(name)),
                ("namespace".to_owned(), Node::Text(namespace)),
                ("uid".to_owned(), Node::Text(uid)),
                ("resourceVersion".to_owned(), Node::Text(version)),
                ("labels".to_owned(), labels),
                ("annotations".to_owned(), annotations),
                ("ownerReferences".to_owned(), owners),
            ];
            entries.extend(managed.map(|node| ("managedFields".to_owned(), node)));
            if deleting {
                entries.push(("deletionTimestamp".to_owned(), text("2026-11-29T15:12:16Z")));
            }
            entries.extend(noise.into_iter().filter(|(key, _)| key != "managedFields"));
            Just(without_duplicates(entries)).prop_shuffle()
        },
    );
    (metadata, any_text(), vec((any_text(), any_node()), 0..4))
        .prop_flat_map(|(metadata, kind, noise)| {
            let template =
                object([("metadata", object([("managedFields", text("kept")), ("name", Node::Raw("1"))]))]);
            let mut entries = vec![
                ("metadata".to_owned(), Node::Object(metadata)),
                ("kind".to_owned(), Node::Text(kind)),
                ("spec".to_owned(), object([("template", template)])),
            ];
            entries.extend(noise);
            Just(without_duplicates(entries)).prop_shuffle()
        })
        .prop_map(Node::Object)
}

fn texts(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn map(value: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(value.clone()).unwrap()
}

fn pairs(entries: informer_wire::StringMap<'_>) -> BTreeMap<String, String> {
    entries.map(|entry| entry.unwrap()).map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}

proptest! {
    #[test]
    fn reads_what_serde_json_reads(node in any_object(), style in any_style()) {
        let bytes = node.write(style);
        let want: Value = serde_json::from_slice(&bytes).unwrap();
        let metadata = &want["metadata"];
        let meta = ObjectMeta::scan(&bytes).unwrap();
        prop_assert_eq!(Some(meta.name()), metadata["name"].as_str());
        prop_assert_eq!(meta.namespace(), texts(&metadata["namespace"]));
        prop_assert_eq!(meta.uid(), texts(&metadata["uid"]));
        prop_assert_eq!(meta.resource_version(), texts(&metadata["resourceVersion"]));
        prop_assert_eq!(meta.kind(), texts(&want["kind"]));
        prop_assert_eq!(meta.api_version(), None);
        prop_assert_eq!(meta.is_deleting(), metadata["deletionTimestamp"].is_string());
        prop_assert_eq!(pairs(meta.labels()), map(&metadata["labels"]));
        prop_assert_eq!(pairs(meta.annotations()), map(&metadata["annotations"]));
        for (key, value) in map(&metadata["labels"]) {
            prop_assert_eq!(meta.label(&key).unwrap().unwrap(), value);
        }
        let owners: Vec<_> = meta.owner_references().collect::<Result<_, _>>().unwrap();
        let want_owners = metadata["ownerReferences"].as_array().unwrap();
        prop_assert_eq!(owners.len(), want_owners.len());
        for (owner, want) in owners.iter().zip(want_owners) {
            prop_assert_eq!(Some(&*owner.uid), want["uid"].as_str());
            prop_assert_eq!(Some(&*owner.name), want["name"].as_str());
            prop_assert_eq!(Some(&*owner.kind), want["kind"].as_str());
            prop_assert_eq!(Some(&*owner.api_version), want["apiVersion"].as_str());
            prop_assert_eq!(owner.controller, want["controller"] == true);
        }
    }

    #[test]
    fn a_cut_object_is_the_object_without_its_managed_fields(node in any_object(), style in any_style()) {
        let bytes = node.write(style);
        let mut want: Value = serde_json::from_slice(&bytes).unwrap();
        let had = want["metadata"].as_object_mut().unwrap().remove("managedFields").is_some();
        let cut = cut_managed_fields(&bytes).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Value>(&cut).unwrap(), want);
        prop_assert_eq!(cut.len() < bytes.len(), had);
        let meta = ObjectMeta::scan(&bytes).unwrap();
        prop_assert_eq!(meta.managed_fields().len(), usize::from(had));
        let again = ObjectMeta::scan(&cut).unwrap();
        prop_assert_eq!((again.name(), again.uid()), (meta.name(), meta.uid()));
    }

    #[test]
    fn every_prefix_is_truncated(node in any_object(), style in any_style(), cut in any::<prop::sample::Index>()) {
        let bytes = node.write(style);
        let cut = cut.index(bytes.len());
        prop_assert!(ObjectMeta::scan(&bytes[..cut]).unwrap_err().is_truncated());
    }
}

#[test]
fn managed_fields_are_cut_wherever_they_stand() {
    let cases = [
        (r#"{"metadata":{"managedFields":[{}],"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
        (
            r#"{"metadata":{"name":"a","managedFields":[{}],"uid":"u"}}"#,
            r#"{"metadata":{"name":"a","uid":"u"}}"#,
        ),
        (r#"{"metadata":{"name":"a","managedFields":[{}]}}"#, r#"{"metadata":{"name":"a"}}"#),
        (r#"{"metadata":{"managedFields":[{}]}}"#, r#"{"metadata":{}}"#),
        (r#"{"metadata":{ "managedFields" : null }}"#, r#"{"metadata":{  }}"#),
        (r#"{"metadata":{"managedFields":[1],"managedFields":[2]}}"#, r#"{"metadata":{}}"#),
        (
            r#"{"metadata":{"managedFields":1,"a":1,"managedFields":2,"managedFields":3,"b":2,"managedFields":4}}"#,
            r#"{"metadata":{"a":1,"b":2}}"#,
        ),
        (r#"{"metadata":{"name":"a","managed\u0046ields":[{}]}}"#, r#"{"metadata":{"name":"a"}}"#),
        (r#"{"managedFields":1,"spec":{"metadata":{"managedFields":2}}}"#, ""),
        (r#"{"metadata":{"annotations":{"managedFields":"x"}}}"#, ""),
        (r#"{"metadata":null}"#, ""),
        ("{}", ""),
    ];
    for (object, want) in cases {
        let want = if want.is_empty() { object } else { want };
        let cut = cut_managed_fields(object.as_bytes()).unwrap();
        assert_eq!(std::str::from_utf8(&cut).unwrap(), want);
    }
}

#[test]
fn ambiguous_identity_is_an_error() {
    let twice = |key| WireErrorKind::DuplicateKey { key };
    assert_eq!(kind_of(r#"{"metadata":{"name":"a","name":"a"}}"#), twice("name"));
    assert_eq!(kind_of(r#"{"metadata":{"name":"a","n\u0061me":null}}"#), twice("name"));
    assert_eq!(kind_of(r#"{"metadata":{"uid":"a","uid":"b"}}"#), twice("uid"));
    assert_eq!(kind_of(r#"{"metadata":{"namespace":"a","namespace":"b"}}"#), twice("namespace"));
    assert_eq!(
        kind_of(r#"{"metadata":{"resourceVersion":"1","resourceVersion":"2"}}"#),
        twice("resourceVersion")
    );
    assert_eq!(kind_of(r#"{"metadata":{"name":"a"},"metadata":{"name":"b"}}"#), twice("metadata"));
    assert_eq!(kind_of(r#"{"metadata":null,"metadata":{"name":"b"}}"#), twice("metadata"));
    assert_eq!(kind_of(r#"{"kind":"A","kind":"B"}"#), twice("kind"));
}

#[test]
fn missing_identity_is_an_error() {
    let missing = |key| WireErrorKind::MissingKey { key };
    assert_eq!(kind_of("{}"), missing("metadata"));
    assert_eq!(kind_of(r#"{"metadata":null}"#), missing("metadata"));
    assert_eq!(kind_of(r#"{"metadata":{}}"#), missing("name"));
    assert_eq!(kind_of(r#"{"metadata":{"name":""}}"#), missing("name"));
    assert_eq!(kind_of(r#"{"metadata":{"name":null}}"#), missing("name"));
    assert_eq!(kind_of(r#"{"spec":{"metadata":{"name":"a"}}}"#), missing("metadata"));
}

#[test]
fn other_types_than_strings_are_errors() {
    let wrong = |key, expected| WireErrorKind::WrongType { key, expected };
    assert_eq!(kind_of(r#"{"metadata":{"name":1}}"#), wrong("name", "a string"));
    assert_eq!(kind_of(r#"{"metadata":{"resourceVersion":42}}"#), wrong("resourceVersion", "a string"));
    assert_eq!(kind_of(r#"{"metadata":{"uid":{}}}"#), wrong("uid", "a string"));
    assert_eq!(kind_of(r#"{"metadata":[]}"#), wrong("metadata", "an object"));
    assert_eq!(kind_of("null"), WireErrorKind::Unexpected { expected: "{" });
    assert_eq!(kind_of("[1]"), WireErrorKind::Unexpected { expected: "{" });
    assert_eq!(kind_of(r#"{"metadata":{"name":"a"}}}"#), WireErrorKind::TrailingBytes);
    let lone = WireErrorKind::BadText { problem: "a lone surrogate" };
    assert_eq!(kind_of(r#"{"metadata":{"name":"\ud800"}}"#), lone);
}

#[test]
fn maps_and_owners_fail_only_when_asked_for() {
    let bytes = br#"{"metadata":{"name":"a","labels":{"x":1,"y":"2"},"annotations":[],"ownerReferences":[{"uid":"u"}]}}"#;
    let meta = ObjectMeta::scan(bytes).unwrap();
    let mut labels = meta.labels();
    let error = labels.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), WireErrorKind::WrongType { key: "label", expected: "a string" });
    assert_eq!((error.place(), error.offset()), ("labels", 38));
    assert!(labels.next().is_none());
    assert!(meta.annotation("x").is_err());
    let error = meta.owner_references().next().unwrap().unwrap_err();
    assert_eq!(error.kind(), WireErrorKind::MissingKey { key: "apiVersion" });

    let bytes = br#"{"metadata":{"name":"a","labels":null,"annotations":{"x":null},"ownerReferences":null}}"#;
    let meta = ObjectMeta::scan(bytes).unwrap();
    assert_eq!((meta.labels().count(), meta.owner_references().count()), (0, 0));
    assert_eq!(meta.annotation("x").unwrap().as_deref(), Some(""));
}

#[test]
fn bookmarks_need_no_name() -> Result<(), WireError> {
    let bookmark = br#"{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"12","creationTimestamp":null,
        "annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}}"#;
    assert!(ObjectMeta::scan(bookmark).is_err());
    let meta = ObjectMeta::scan_unnamed(bookmark)?;
    assert_eq!((meta.name(), meta.resource_version(), meta.kind()), ("", Some("12"), Some("Job")));
    assert!(meta.is_initial_events_end()?);
    let plain = br#"{"metadata":{"resourceVersion":"12"}}"#;
    assert!(!ObjectMeta::scan_unnamed(plain)?.is_initial_events_end()?);
    Ok(())
}

#[test]
fn depth_is_counted_from_the_object_and_bombs_are_refused_at_once() {
    let object = |levels: usize| {
        format!(r#"{{"metadata":{{"name":"a","x":{}{}}}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    assert!(ObjectMeta::scan(object(126).as_bytes()).is_ok());
    assert_eq!(kind_of(&object(127)), WireErrorKind::TooDeep { limit: 128 });
    assert_eq!(kind_of(&object(1_000_000)), WireErrorKind::TooDeep { limit: 128 });
    assert_eq!(kind_of(&"[".repeat(1_000_000)), WireErrorKind::Unexpected { expected: "{" });
}

#[test]
fn errors_tell_no_value() {
    let secret = r#"{"metadata":{"name":"a","labels":{"k":"hunter2"},"uid":["hunter2"]},"data":"hunter2"}"#;
    let error = ObjectMeta::scan(secret.as_bytes()).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
