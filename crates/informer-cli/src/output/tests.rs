//! Tests of `output`.

use super::*;
use kube::core::{ApiResource, GroupVersionKind};
use proptest::prelude::*;

fn resource(group: &str, kind: &str, plural: &str) -> Resource {
    Resource {
        api: ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural),
        singular: String::new(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        verbs: vec![],
    }
}

fn pod() -> DynamicObject {
    serde_json::from_value(json!({
        "metadata": {"name": "web-0", "namespace": "x", "uid": "u1", "resourceVersion": "7",
                     "managedFields": [{"manager": "m"}]},
        "status": {"phase": "Running"}, "spec": {"nodeName": "n"}}))
    .unwrap()
}

#[test]
fn objects_carry_their_types_and_no_managed_fields() {
    let value = plain(&pod(), &resource("", "Pod", "pods"));
    assert_eq!(value["apiVersion"], "v1");
    assert_eq!(value["kind"], "Pod");
    assert!(value["metadata"].get("managedFields").is_none());
    assert_eq!(value["status"]["phase"], "Running");
}

#[test]
fn one_named_object_stands_alone_and_others_are_a_list() {
    let one = json!({"kind": "Pod"});
    assert_eq!(document(vec![one.clone()], true), one);
    let list = document(vec![one.clone()], false);
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"], json!([one]));
    let list = document(vec![json!(1), json!(2)], true);
    assert_eq!(list["items"], json!([1, 2]));
    assert_eq!(document(vec![], true)["items"], json!([]));
}

#[test]
fn json_is_indented_as_kubectl_does() {
    assert_eq!(
        to_json(&json!({"b": [1], "a": {}})),
        "{\n    \"a\": {},\n    \"b\": [\n        1\n    ]\n}\n"
    );
}

#[test]
fn names_carry_the_kind_and_group() {
    assert_eq!(reference(&resource("", "Pod", "pods"), "web-0"), "pod/web-0");
    assert_eq!(reference(&resource("apps", "Deployment", "deployments"), "web"), "deployment.apps/web");
}

#[test]
fn json_lines_hold_exactly_what_applies() {
    let new = plain(&pod(), &resource("", "Pod", "pods"));
    let old = json!({"metadata": {"name": "web-0"}});
    let read = |line: Line<'_>| -> Value {
        let text = line.to_text();
        assert_eq!(text.matches('\n').count(), 1);
        assert!(text.ends_with('\n'));
        serde_json::from_str(&text).unwrap()
    };
    let key =
        json!({"resource": "pods", "namespace": "x", "name": "web-0", "uid": "u1", "resourceVersion": "7"});
    let with = |more: Value| {
        let mut all = key.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    assert_eq!(
        read(Line::added("pods", &new, true)),
        with(json!({"type": "Added", "inInitialList": true, "object": new}))
    );
    assert_eq!(
        read(Line::updated("pods", &old, &new)),
        with(json!({"type": "Updated", "object": new, "old": old}))
    );
    assert_eq!(
        read(Line::deleted("pods", &new, LastState::Stale)),
        with(json!({"type": "Deleted", "lastState": "Stale", "object": new}))
    );
    assert_eq!(
        read(Line::synced("pods", "9")),
        json!({"type": "Synced", "resource": "pods", "resourceVersion": "9"})
    );
    assert_eq!(read(Line::relisted("pods", "")), json!({"type": "Relisted", "resource": "pods"}));
    assert!(
        Line::added("pods", &new, true).to_text().starts_with("{\"type\":\"Added\",\"resource\":\"pods\"")
    );
}

#[test]
fn every_line_is_written_at_once() {
    struct Counting(Vec<usize>, usize);
    impl Write for Counting {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.1 += 1;
            Ok(())
        }
    }
    let mut out = Counting(vec![], 0);
    write_text(&mut out, "one\n").unwrap();
    write_text(&mut out, "three\n").unwrap();
    assert_eq!((out.0, out.1), (vec![4, 6], 2));
}

#[test]
fn a_closed_pipe_is_told_from_other_failures() {
    assert!(matches!(WriteError::from(io::Error::from(io::ErrorKind::BrokenPipe)), WriteError::Closed));
    assert!(matches!(WriteError::from(io::Error::from(io::ErrorKind::StorageFull)), WriteError::Failed(_)));
}

#[test]
fn yaml_quotes_what_others_would_misread() {
    let tricky = [
        "yes",
        "No",
        "on",
        "off",
        "y",
        "n",
        "true",
        "null",
        "~",
        "",
        "1.0",
        "0x1F",
        "012",
        "0o17",
        "1e3",
        "1_000",
        "12:30",
        "12:30:45",
        "2026-01-02",
        "-",
        "- a",
        "a: b",
        "#x",
        "*a",
        "&a",
        "!t",
        "%d",
        "@x",
        "`x",
        "|",
        ">",
        " lead",
        "trail ",
        "multi\nline\n",
        "tab\t",
        "\u{1b}[0m",
        "{a}",
        "[a]",
        "=",
        "<<",
        ".inf",
        "+1",
        "0b1",
    ];
    let value = json!({ "items": tricky.to_vec(), "map": {"on": 1, "a: b": 2, "": 3} });
    let text = to_yaml(&value);
    assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{text}");
    // What YAML 1.1 readers (kubectl among them) would take for booleans or numbers must stand in quotes.
    for word in ["yes", "No", "on", "off", "y", "n", "012", "1_000", "12:30", "12:30:45", "2026-01-02", "0b1"]
    {
        assert!(
            !text.lines().any(|line| line.trim_start().trim_start_matches("- ") == word),
            "{word} in\n{text}"
        );
    }
    assert!(text.ends_with('\n'));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[a-z0-9:._ \\n-]{0,12}".prop_map(Value::from),
        "[a-z ]{80,200}".prop_map(Value::from),
        "( ?[a-z#:]{0,40} ?\\n){1,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z0-9./ -]{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn yaml_and_json_read_back_the_same(value in any_json()) {
        prop_assert_eq!(&serde_json::from_str::<Value>(&to_json(&value)).unwrap(), &value);
        prop_assert_eq!(&serde_saphyr::from_str::<Value>(&to_yaml(&value)).unwrap(), &value);
    }
}
