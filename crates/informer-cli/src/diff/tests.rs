//! Tests of `diff`.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn say(kind: Option<Kind>, old: Value, new: Value) -> String {
    phrase(kind, &object(old), &object(new), 1000).unwrap_or_else(|| "nothing".to_owned())
}

fn pod(status: Value) -> Value {
    json!({"metadata": {"name": "web-0"}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}, "status": status})
}

fn container(ready: bool, restarts: u32, state: Value) -> Value {
    json!([{"name": "c", "ready": ready, "restartCount": restarts, "state": state}])
}

#[test]
fn a_pods_way_is_told_in_its_own_words() {
    let pending = pod(json!({"phase": "Pending"}));
    let mut scheduled = pending.clone();
    scheduled["spec"]["nodeName"] = json!("node-3");
    scheduled["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "True"}]);
    assert_eq!(say(Some(Kind::Pod), pending, scheduled), "node →node-3");

    let creating = pod(json!({"phase": "Pending",
        "containerStatuses": container(false, 0, json!({"waiting": {"reason": "ContainerCreating"}}))}));
    let running = pod(json!({"phase": "Running", "podIP": "10.0.0.9",
        "containerStatuses": container(true, 0, json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}))}));
    assert_eq!(say(Some(Kind::Pod), creating, running.clone()), "phase Pending→Running, ready 0/1→1/1");

    let crashing = pod(json!({"phase": "Running",
        "containerStatuses": container(false, 1, json!({"waiting": {"reason": "CrashLoopBackOff"}}))}));
    assert_eq!(
        say(Some(Kind::Pod), running.clone(), crashing.clone()),
        "restarts 0→1 (CrashLoopBackOff), ready 1/1→0/1"
    );
    let failing = pod(json!({"phase": "Running",
        "containerStatuses": container(false, 1, json!({"terminated": {"reason": "Error", "exitCode": 1}}))}));
    assert_eq!(say(Some(Kind::Pod), failing, crashing), "status Error→CrashLoopBackOff");

    let mut deleted = running.clone();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(say(Some(Kind::Pod), running, deleted), "deletionTimestamp set");
}

#[test]
fn waiting_reasons_are_told_as_a_status() {
    let state = |reason: &str| {
        pod(json!({"phase": "Pending",
            "containerStatuses": container(false, 0, json!({"waiting": {"reason": reason}}))}))
    };
    assert_eq!(
        say(Some(Kind::Pod), state("ContainerCreating"), state("ImagePullBackOff")),
        "status ContainerCreating→ImagePullBackOff"
    );
}

#[test]
fn workloads_tell_their_columns_images_and_replicas() {
    let deployment = |replicas: u32, ready: u32, image: &str| {
        json!({"metadata": {"name": "web", "generation": replicas}, "spec": {"replicas": replicas, "template": {"spec":
                {"containers": [{"name": "c", "image": image}]}}},
               "status": {"readyReplicas": ready, "observedGeneration": replicas}})
    };
    let kind = Some(Kind::Deployment);
    assert_eq!(say(kind, deployment(3, 1, "a"), deployment(3, 2, "a")), "ready 1/3→2/3");
    assert_eq!(say(kind, deployment(2, 2, "a"), deployment(3, 2, "a")), "spec.replicas 2→3");
    assert_eq!(
        say(kind, deployment(2, 2, "reg.io/web:1.0"), deployment(2, 2, "reg.io/web:1.1")),
        "image web:1.0→web:1.1"
    );
}

#[test]
fn labels_show_values_and_annotations_only_keys() {
    let old = json!({"metadata": {"labels": {"old": "1", "app": "a"}, "annotations": {"x": "hunter2"}}});
    let new = json!({"metadata": {"labels": {"tier": "web", "app": "b"}, "annotations": {"x": "hunter3", "y": ""},
                     "finalizers": ["f"]}});
    assert_eq!(say(None, old, new), "labels app=a→b +tier=web -old, annotations ~x +y, finalizers +f");
}

#[test]
fn data_of_secrets_and_config_maps_is_told_by_key_alone() {
    let old = json!({"data": {"a": "hunter2", "b": "x"}, "type": "Opaque"});
    let new = json!({"data": {"a": "hunter3", "c": "hunter4"}, "type": "x", "immutable": true});
    assert_eq!(
        say(Some(Kind::Secret), old.clone(), new.clone()),
        "data ~a +c -b, immutable →true, type Opaque→x"
    );
    assert_eq!(say(Some(Kind::ConfigMap), json!({}), json!({"data": {"k": "hunter2"}})), "data +k");
    assert_eq!(say(Some(Kind::ConfigMap), json!({"data": {"k": "hunter2"}}), json!({})), "data -k");
    let many = |n: usize| json!({"data": (0..n).map(|i| (format!("k{i}"), json!(1))).collect::<serde_json::Map<_, _>>()});
    assert_eq!(say(Some(Kind::ConfigMap), many(0), many(9)), "data +k0 +k1 +k2 +k3 +5 more");
}

#[test]
fn unknown_kinds_tell_up_to_three_paths() {
    let old = json!({"spec": {"size": 1, "mode": "a", "items": [{"name": "x", "v": 1}, {"name": "y", "v": 1}]},
                     "status": {"ready": false}});
    let new = json!({"spec": {"size": 2, "mode": "a very long mode that goes on and on", "items":
                     [{"name": "y", "v": 1}, {"name": "x", "v": 2}]}, "status": {"ready": true, "new": {"deep": 1}}});
    assert_eq!(
        say(None, old, new),
        "spec.items[x].v 1→2, spec.mode a→a very long mode that g…, spec.size 1→2 +2 more"
    );
    let list = |items: Value| json!({"spec": {"l": items}});
    assert_eq!(
        say(None, list(json!([1, 2])), list(json!([1, 3, {"a": 1}]))),
        "spec.l[1] 2→3, spec.l[2] →{1}"
    );
}

#[test]
fn bookkeeping_alone_is_nothing() {
    let old = json!({"metadata": {"resourceVersion": "1", "managedFields": [{"manager": "a"}], "generation": 1},
                     "status": {"ready": 1}});
    let new = json!({"metadata": {"resourceVersion": "2", "managedFields": [{"manager": "b"}], "generation": 2},
                     "status": {"ready": 1}});
    assert_eq!(say(None, old.clone(), new), "nothing");
    assert_eq!(say(Some(Kind::Pod), old.clone(), old), "nothing");
}

#[test]
fn a_heartbeat_is_told_in_two_words_and_only_where_it_is_alone() {
    let conditions = |second: u8, ready: &str| {
        let time = format!("2026-01-01T00:00:0{second}Z");
        json!([{"type": "Ready", "status": ready, "lastTransitionTime": time, "lastProbeTime": null},
               {"type": "Initialized", "status": "True", "lastTransitionTime": time}])
    };
    let at = |second: u8, ready: &str| json!({"status": {"conditions": conditions(second, ready)}});
    for kind in [None, Some(Kind::Node), Some(Kind::Pod)] {
        assert_eq!(say(kind, at(1, "True"), at(2, "True")), "condition times");
    }
    assert_eq!(say(None, at(1, "False"), at(2, "True")), "Ready False→True");
    assert_eq!(say(Some(Kind::Node), at(1, "True"), at(2, "False")), "status Ready→NotReady");
}

#[test]
fn a_phrase_keeps_its_room() {
    let old = json!({"metadata": {"labels": {"track": "stable"}}, "spec": {"size": 1}});
    let new =
        json!({"metadata": {"labels": {"track": "blue"}, "annotations": {"a": ""}}, "spec": {"size": 2}});
    let say = |room| phrase(None, &object(old.clone()), &object(new.clone()), room).unwrap();
    assert_eq!(say(100), "labels track=stable→blue, annotations +a, spec.size 1→2");
    assert_eq!(say(40), "labels track=stable→blue +2 more");
    assert_eq!(say(20), "labels trac… +2 more");
}

#[test]
fn a_recreated_object_says_so() {
    let version = |uid: &str| json!({"metadata": {"uid": uid}});
    assert_eq!(say(None, version("1"), version("2")), "recreated");
}

#[test]
fn hostile_text_is_escaped() {
    let text = say(None, json!({"spec": {"a\x1b": "x"}}), json!({"spec": {"a\x1b": "\x1b[2J\n"}}));
    assert_eq!(text, "spec.a^[ x→^[[2J\\n");
}

fn any_data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u8>().prop_map(Value::from),
        "[a-z\\n\\x1b]{0,30}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(
                prop_oneof![
                    Just("spec"),
                    Just("status"),
                    Just("name"),
                    Just("containers"),
                    Just("image"),
                    Just("type"),
                    Just("template"),
                    Just("containerStatuses"),
                    Just("state"),
                    Just("terminated"),
                    Just("data"),
                ]
                .prop_map(str::to_owned),
                inner,
                0..5
            )
            .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn phrases_are_short_single_lines_and_equal_objects_have_none(old in any_data(), new in any_data()) {
        let wrap = |data: Value| DynamicObject { types: None, metadata: Default::default(), data };
        let (old, new) = (wrap(old), wrap(new));
        for kind in [None, Some(Kind::Pod), Some(Kind::Deployment), Some(Kind::Secret), Some(Kind::Job)] {
            prop_assert_eq!(phrase(kind, &old, &old, 100), None);
            if let Some(phrase) = phrase(kind, &old, &new, 100) {
                prop_assert!(!phrase.chars().any(char::is_control), "{}", phrase);
                prop_assert!(phrase.chars().count() <= 100, "{}", phrase);
            }
            if kind.is_none() && old != new {
                prop_assert!(is_reordering(&old.data, &new.data) || phrase(kind, &old, &new, 100).is_some());
            }
        }
    }

    #[test]
    fn every_difference_is_found(old in any_data(), new in any_data()) {
        let found = paths::changes(&old, &new, |_| false);
        prop_assert_eq!(found.is_empty(), old == new || is_reordering(&old, &new));
    }
}

/// Lists whose items all have a name of their own may be in another order: the one difference that is not told.
fn is_reordering(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => {
            let names = |items: &[Value], field: &str| -> Option<BTreeMap<String, Value>> {
                let named: Option<BTreeMap<String, Value>> = items
                    .iter()
                    .map(|item| {
                        Some((
                            item.get(field)?.as_str().filter(|name| !name.is_empty())?.to_owned(),
                            item.clone(),
                        ))
                    })
                    .collect();
                named.filter(|named| named.len() == items.len())
            };
            let both =
                ["name", "type"].into_iter().find_map(|field| Some((names(old, field)?, names(new, field)?)));
            old.len() == new.len()
                && match both {
                    Some((old, new)) => old
                        .iter()
                        .all(|(name, item)| new.get(name).is_some_and(|other| is_reordering(item, other))),
                    None => old.iter().zip(new).all(|(a, b)| is_reordering(a, b)),
                }
        }
        (Value::Object(old), Value::Object(new)) => {
            old.len() == new.len()
                && old.iter().all(|(k, v)| new.get(k).is_some_and(|other| is_reordering(v, other)))
        }
        (old, new) => old == new,
    }
}
