//! Parts of the API that the recordings do not reach.

mod common;

use bytes::Bytes;
use common::{Answer, finished, get_all};
use http_body_util::Full;
use informer_testserver::TestServer;
use serde_json::{Value, json};
use tower_service::Service;

async fn send(server: &TestServer, method: &str, path: &str, kind: &str, body: &Value) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer: Answer = finished(server.clone().call(request).await.unwrap()).await;
    (answer.code, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [{"name": "c"}]}}},
        "status": {"replicas": 9},
    })
}

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let server = TestServer::new();
    let (code, created) = send(&server, "POST", DEPLOYMENTS, JSON, &deployment()).await;
    assert_eq!((code, &created["metadata"]["generation"]), (201, &json!(1)));
    assert_eq!(created["status"], json!({}));
    let object = format!("{DEPLOYMENTS}/web");
    let both = json!({"spec": {"replicas": 4}, "status": {"replicas": 4}});
    let (_, changed) = send(&server, "PATCH", &object, MERGE, &both).await;
    assert_eq!((&changed["metadata"]["generation"], &changed["status"]), (&json!(2), &json!({})));
    let (_, changed) = send(&server, "PATCH", &format!("{object}/status"), MERGE, &both).await;
    assert_eq!(
        (&changed["metadata"]["generation"], &changed["status"]),
        (&json!(2), &json!({"replicas": 4}))
    );
    let (_, scale) =
        send(&server, "PATCH", &format!("{object}/scale"), MERGE, &json!({"spec": {"replicas": 7}})).await;
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(7)));
    assert_eq!(server.get("deploy", "default", "web").unwrap()["spec"]["replicas"], 7);
}

/// As kube-apiserver 1.37 answers.
#[tokio::test]
async fn an_update_of_a_deleted_lease_creates_one_unless_it_names_a_uid() {
    let server = TestServer::new();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let (_, mut lease) = send(&server, "POST", leases, JSON, &json!({"metadata": {"name": "l"}})).await;
    server.delete("leases", "default", "l").unwrap();
    let path = format!("{leases}/l");
    let (code, refused) = send(&server, "PUT", &path, JSON, &lease).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("Conflict")));
    lease["metadata"]["uid"] = Value::Null;
    assert!(lease["metadata"]["resourceVersion"].is_string());
    assert_eq!(send(&server, "PUT", &path, JSON, &lease).await.0, 201);
}

#[tokio::test]
async fn apply_creates_merges_and_conflicts() {
    let server = TestServer::new();
    let path = |manager: &str, more: &str| {
        format!("/api/v1/namespaces/default/configmaps/c?fieldManager={manager}{more}")
    };
    let data = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value}});
    assert_eq!(send(&server, "PATCH", &path("one", ""), APPLY, &data("1")).await.0, 201);
    let version = server.resource_version();
    assert_eq!(send(&server, "PATCH", &path("one", ""), APPLY, &data("1")).await.0, 200);
    assert_eq!(server.resource_version(), version);
    assert_eq!(send(&server, "PATCH", &path("two", ""), APPLY, &data("2")).await.0, 409);
    let (code, forced) = send(&server, "PATCH", &path("two", "&force=true"), APPLY, &data("2")).await;
    assert_eq!((code, &forced["data"]["k"]), (200, &json!("2")));
    let (code, _) =
        send(&server, "PATCH", "/api/v1/namespaces/default/configmaps/c", APPLY, &data("2")).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let server = TestServer::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        server.create("pods", json!({"metadata": {"name": name, "labels": {"app": app}}})).unwrap();
    }
    let path = "/api/v1/namespaces/default/pods?labelSelector=app%3Dx";
    let (code, list) = send(&server, "DELETE", path, JSON, &Value::Null).await;
    assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(server.count("pods"), 1);
}

#[tokio::test]
async fn secrets_take_string_data() {
    let server = TestServer::new();
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"k": "any value?"}});
    let (_, stored) = send(&server, "POST", "/api/v1/namespaces/default/secrets", JSON, &secret).await;
    assert_eq!(stored["data"], json!({"k": "YW55IHZhbHVlPw=="}));
    assert!(stored.get("stringData").is_none());
}

#[tokio::test]
async fn events_are_one_store_with_two_faces() {
    let server = TestServer::new();
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p"}, "message": "m", "reason": "R"});
    server.create("events", event).unwrap();
    let list = get_all(&server, "/apis/events.k8s.io/v1/events?fieldSelector=reason%3DR").await.body;
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(
        (&list["items"][0]["note"], &list["items"][0]["regarding"]["name"]),
        (&json!("m"), &json!("p"))
    );
}

fn crd(versions: &Value) -> Value {
    json!({
        "metadata": {"name": "foos.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": versions,
        },
    })
}

#[tokio::test]
async fn custom_resources_serve_every_version_and_can_return() {
    let server = TestServer::new();
    let versions = json!([
        {"name": "v1beta1", "served": true, "storage": false},
        {"name": "v1", "served": true, "storage": true},
        {"name": "v2", "served": false, "storage": false},
    ]);
    server.create("crds", crd(&versions)).unwrap();
    let (code, _) =
        send(&server, "POST", "/apis/example.dev/v1/foos", JSON, &json!({"metadata": {"name": "f"}})).await;
    assert_eq!(code, 201);
    let beta: Value =
        serde_json::from_str(&get_all(&server, "/apis/example.dev/v1beta1/foos").await.body).unwrap();
    assert_eq!(beta["items"][0]["apiVersion"], "example.dev/v1beta1");
    assert_eq!(get_all(&server, "/apis/example.dev/v2/foos").await.code, 404);
    let group: Value = serde_json::from_str(&get_all(&server, "/apis/example.dev").await.body).unwrap();
    assert_eq!(group["preferredVersion"]["version"], "v1");
    server.delete("crds", "", "foos.example.dev").unwrap();
    assert_eq!(get_all(&server, "/apis/example.dev/v1/foos").await.code, 404);
    server.create("crds", crd(&versions)).unwrap();
    assert_eq!(get_all(&server, "/apis/example.dev/v1/foos").await.code, 200);
    assert_eq!(server.count("foos"), 0);
}

#[tokio::test]
async fn discovery_names_every_resource_in_both_forms() {
    let server = TestServer::new();
    let request = |path: &str| {
        http::Request::get(path)
            .header(
                "accept",
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
            )
            .body(Full::<Bytes>::default())
            .unwrap()
    };
    let mut aggregated = Vec::new();
    for path in ["/api", "/apis"] {
        let answer = finished(server.clone().call(request(path)).await.unwrap()).await;
        let list: Value = serde_json::from_str(&answer.body).unwrap();
        for group in list["items"].as_array().unwrap() {
            for version in group["versions"].as_array().unwrap() {
                for resource in version["resources"].as_array().unwrap() {
                    aggregated.push(format!("{}/{}", group["metadata"]["name"], resource["resource"]));
                }
            }
        }
    }
    let groups: Value = serde_json::from_str(&get_all(&server, "/apis").await.body).unwrap();
    let mut paths = vec![(Value::Null, "/api/v1".to_owned())];
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            paths.push((
                group["name"].clone(),
                format!("/apis/{}", version["groupVersion"].as_str().unwrap()),
            ));
        }
    }
    let mut plain = Vec::new();
    for (group, path) in paths {
        let list: Value = serde_json::from_str(&get_all(&server, &path).await.body).unwrap();
        for resource in list["resources"].as_array().unwrap() {
            if !resource["name"].as_str().unwrap().contains('/') {
                plain.push(format!("{group}/{}", resource["name"]));
            }
        }
    }
    assert_eq!(aggregated, plain);
    assert!(plain.len() > 30);
}

#[tokio::test]
async fn bad_input_is_refused_not_fatal() {
    let server = TestServer::new();
    let deep = "[".repeat(100_000);
    for (path, body) in [
        ("/api/v1/namespaces/default/configmaps", deep.as_str()),
        ("/api/v1/namespaces/default/configmaps", "null"),
        ("/api/v1/namespaces/default/configmaps", "{\"metadata\": 3}"),
        ("/api/v1/namespaces/default/pods", "{\"metadata\":{\"name\":\"a\"},\"spec\":\"text\"}"),
        ("/apis/apps/v1/namespaces/default/deployments", "{\"metadata\":{\"name\":\"a\"},\"spec\":[1]}"),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "{\"metadata\":{\"name\":\"a\"},\"spec\":7}",
        ),
        (
            "/api/v1/namespaces/default/secrets",
            "{\"metadata\":{\"name\":\"a\"},\"data\":1,\"stringData\":{\"a\":\"b\"}}",
        ),
        ("/api/v1/namespaces/default/pods", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[1]}}"),
        ("/api/v1/namespaces/default/pods", "{\"metadata\":{\"name\":\"a\",\"labels\":[1]}}"),
    ] {
        let request = http::Request::post(path).body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let answer = finished(server.clone().call(request).await.unwrap()).await;
        assert!((400..500).contains(&answer.code), "{path}: {} {}", answer.code, answer.body);
    }
    assert_eq!(get_all(&server, "/api/v1/pods?continue=eyJ2IjoxfQ").await.code, 400);
    server.create("pods", json!({"metadata": {"name": "a"}})).unwrap();
    let pod = "/api/v1/namespaces/default/pods/a";
    let strategic = "application/strategic-merge-patch+json";
    for (kind, patch) in [
        (MERGE, json!({"spec": "text"})),
        (MERGE, json!({"metadata": [1]})),
        (strategic, json!({"spec": {"containers": [1, "x"]}})),
        (
            strategic,
            json!({"$setElementOrder/conditions": 3, "metadata": {"finalizers": {"a": 1}}, "status": 1, "spec": 1}),
        ),
        (APPLY, json!({"metadata": 1})),
        ("application/json-patch+json", json!([{"op": "replace", "path": "", "value": 3}])),
        ("application/json-patch+json", json!({"op": 1})),
    ] {
        let (code, answer) = send(&server, "PATCH", &format!("{pod}?fieldManager=m"), kind, &patch).await;
        assert!((400..500).contains(&code), "{patch}: {code} {answer}");
    }
}

#[tokio::test]
async fn random_documents_never_panic() {
    let server = TestServer::new();
    server.create("deploy", deployment()).unwrap();
    // Every subtree of a valid object is replaced by each kind of value, in create and in patch.
    let crd = crd(
        &json!([{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": [{"name": "a"}]}]),
    );
    let pod = json!({"metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x"]}, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "x"}});
    let event =
        json!({"metadata": {"name": "e"}, "source": {"component": "c"}, "involvedObject": {"name": "n"}});
    let namespace = json!({"metadata": {"name": "n", "labels": {}}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
    for (path, object) in [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd),
        ("/api/v1/namespaces/default/pods", pod),
        ("/api/v1/namespaces/default/events", event),
        ("/api/v1/namespaces", namespace),
        (DEPLOYMENTS, deployment()),
    ] {
        let mut pointers = vec![String::new()];
        collect(&object, "", &mut pointers);
        for pointer in pointers {
            for value in [
                Value::Null,
                json!(1),
                json!("t"),
                json!([1]),
                json!([]),
                json!({}),
                json!({"a": 1}),
                json!(true),
            ] {
                let mut spoiled = object.clone();
                *spoiled.pointer_mut(&pointer).unwrap() = value;
                let name =
                    spoiled.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("x").to_owned();
                let item = format!("{path}/{name}");
                send(&server, "POST", path, JSON, &spoiled).await;
                send(&server, "PUT", &item, JSON, &spoiled).await;
                for kind in [MERGE, "application/strategic-merge-patch+json", APPLY] {
                    send(&server, "PATCH", &format!("{item}?fieldManager=m"), kind, &spoiled).await;
                    send(&server, "PATCH", &format!("{item}/status?fieldManager=m"), kind, &spoiled).await;
                }
                send(&server, "PATCH", &format!("{item}/scale"), MERGE, &spoiled).await;
                send(&server, "DELETE", &item, JSON, &Value::Null).await;
            }
        }
    }
}

fn collect(value: &Value, at: &str, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in children {
        let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        out.push(path.clone());
        collect(value, &path, out);
    }
}
