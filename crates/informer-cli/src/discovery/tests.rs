//! Tests of `discovery`.

use super::*;
use crate::request::tests::scripted;
use proptest::prelude::*;
use serde_json::json;

/// A recorded answer of a real API server.
const AGGREGATED_CORE: &str = include_str!("../../testdata/discovery-aggregated-core.json");
const LEGACY_CORE: &str = include_str!("../../testdata/discovery-v1.json");

fn groups() -> Value {
    let resource = |plural: &str, kind: &str, singular: &str, short: &[&str]| {
        json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": "Namespaced",
               "singularResource": singular, "verbs": ["get", "list", "watch"], "shortNames": short})
    };
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [
        {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            resource("deployments", "Deployment", "deployment", &["deploy"]),
            resource("replicasets", "ReplicaSet", "replicaset", &["rs"]),
        ]}]},
        {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            resource("events", "Event", "event", &["ev"]),
        ]}]},
        {"metadata": {"name": "demo.example.dev"}, "versions": [
            {"version": "v2", "freshness": "Current", "resources": [
                resource("widgets", "Widget", "widget", &["wd", "po"]),
            ]},
            {"version": "v1", "freshness": "Current", "resources": [
                resource("widgets", "Widget", "widget", &["wd"]),
                resource("gadgets", "Gadget", "gadget", &[]),
            ]},
        ]},
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]},
    ]})
}

async fn modern() -> Catalog {
    let (requester, asked) = scripted(|path, accept| {
        assert!(accept.contains("as=APIGroupDiscoveryList"), "{accept}");
        match path {
            "/api" => (200, AGGREGATED_CORE.to_owned()),
            "/apis" => (200, groups().to_string()),
            _ => (404, String::new()),
        }
    });
    let catalog = Catalog::load(&requester).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 2);
    catalog
}

fn found(catalog: &Catalog, word: &str) -> String {
    match catalog.resolve(word) {
        Ok(resource) => format!("{} {}", resource.full_name(), resource.api.version),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn every_way_to_name_a_resource_finds_it() {
    let catalog = modern().await;
    for word in ["pods", "pod", "po", "Pod", "PODS", "pods.v1."] {
        assert_eq!(found(&catalog, word), "pods v1", "{word}");
    }
    for word in
        ["deployments", "deploy", "Deployment", "deployments.apps", "deploy.v1.apps", "deployment.app"]
    {
        assert_eq!(found(&catalog, word), "deployments.apps v1", "{word}");
    }
    assert_eq!(found(&catalog, "widgets"), "widgets.demo.example.dev v2");
    assert_eq!(found(&catalog, "wd.demo.example.dev"), "widgets.demo.example.dev v2");
    assert_eq!(found(&catalog, "widgets.v1.demo.example.dev"), "widgets.demo.example.dev v1");
    assert_eq!(found(&catalog, "gadget"), "gadgets.demo.example.dev v1");
}

#[tokio::test]
async fn the_core_group_comes_first_then_the_servers_order() {
    let catalog = modern().await;
    assert_eq!(found(&catalog, "events"), "events v1");
    assert_eq!(found(&catalog, "ev"), "events v1");
    assert_eq!(found(&catalog, "events.events.k8s.io"), "events.events.k8s.io v1");
}

#[tokio::test]
async fn a_category_is_all_of_its_resources_and_a_name_only_its_own() {
    let catalog = modern().await;
    let names = |word| -> Vec<String> {
        catalog.find(word).unwrap().into_iter().map(|resource| resource.full_name()).collect()
    };
    assert_eq!(names("all"), ["pods", "replicationcontrollers", "services"]);
    assert_eq!(names("ALL").len(), 3);
    assert_eq!(names("po"), ["pods"]);
    assert_eq!(catalog.find("al"), Err(catalog.resolve("al").unwrap_err()));
}

#[tokio::test]
async fn an_unknown_word_gets_the_nearest_names() {
    let catalog = modern().await;
    let nearest = |word: &str| catalog.resolve(word).unwrap_err().nearest;
    assert_eq!(nearest("pdos"), ["pods"]);
    assert_eq!(nearest("deploymnet"), ["deployments.apps"]);
    assert_eq!(nearest("widget.demo.exmaple.dev")[0], "widgets.demo.example.dev");
    assert_eq!(nearest("services.apps")[0], "services");
    assert_eq!(nearest("wodgets"), ["widgets.demo.example.dev", "gadgets.demo.example.dev"]);
    assert!(nearest("completely-different").is_empty());
    assert!(nearest(&"x".repeat(10_000)).is_empty());
    let line = catalog.resolve("pdos\x1b").unwrap_err().to_string();
    assert_eq!(
        line,
        "the server doesn't have a resource type \"pdos^[\"; did you mean pods? (not everything could be \
         asked: metrics.k8s.io/v1beta1: its API server does not answer, what it has may be incomplete)"
    );
}

#[tokio::test]
async fn capabilities_and_paths_are_known() {
    let catalog = modern().await;
    let pods = catalog.resolve("pods").unwrap();
    assert!(pods.namespaced && pods.can("watch"));
    assert_eq!(pods.path(Some("x")), "/api/v1/namespaces/x/pods");
    assert_eq!(pods.path(None), "/api/v1/pods");
    let nodes = catalog.resolve("no").unwrap();
    assert!(!nodes.namespaced);
    assert_eq!(nodes.path(Some("x")), "/api/v1/nodes");
    assert!(!catalog.resolve("bindings").unwrap().can("list"));
    assert_eq!(catalog.resolve("deploy").unwrap().path(Some("x")), "/apis/apps/v1/namespaces/x/deployments");
}

#[tokio::test]
async fn an_old_server_is_asked_group_by_group_and_a_broken_group_breaks_nothing_else() {
    let (requester, _) = scripted(|path, _| {
        let resource = |name: &str, kind: &str| {
            json!({"name": name, "singularName": "", "namespaced": true,
            "kind": kind, "verbs": ["list", "watch"], "shortNames": []})
        };
        match path {
            "/api" => (200, json!({"kind": "APIVersions", "versions": ["v1"]}).to_string()),
            "/api/v1" => (200, LEGACY_CORE.to_owned()),
            "/apis" => (200, json!({"kind": "APIGroupList", "groups": [
                {"name": "broken.example", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
                {"name": "../evil", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
                {"name": "demo.example.dev", "versions": [{"version": "v1"}, {"version": "v2"}],
                 "preferredVersion": {"version": "v2"}},
            ]}).to_string()),
            "/apis/demo.example.dev/v1" => (200, json!({"resources": [resource("widgets", "Widget")]}).to_string()),
            "/apis/demo.example.dev/v2" => (200, json!({"resources": [
                resource("widgets", "Widget"), resource("widgets/status", "Widget")]}).to_string()),
            _ => (503, String::new()),
        }
    });
    let catalog = Catalog::load(&requester).await.unwrap();
    assert_eq!(found(&catalog, "po"), "pods v1");
    assert_eq!(found(&catalog, "widget"), "widgets.demo.example.dev v2");
    assert_eq!(found(&catalog, "widgets.v1.demo.example.dev"), "widgets.demo.example.dev v1");
    assert_eq!(
        catalog.problems(),
        ["Error from server (ServiceUnavailable): status 503 (GET https://h:6443/apis/broken.example/v1)"]
    );
}

#[tokio::test]
async fn both_forms_of_discovery_tell_the_same() {
    let (old, _) = scripted(|path, _| match path {
        "/api" => (200, json!({"kind": "APIVersions"}).to_string()),
        "/api/v1" => (200, LEGACY_CORE.to_owned()),
        _ => (404, String::new()),
    });
    let old = Catalog::load(&old).await.unwrap();
    let new = aggregated::read(&serde_json::from_str(AGGREGATED_CORE).unwrap()).unwrap();
    assert_eq!(old.resources, new.resources);
    assert_eq!(old.problems().len(), 1);
}

#[tokio::test]
async fn a_server_that_tells_nothing_is_an_error() {
    let (requester, _) = scripted(|_, _| (401, json!({"reason": "Unauthorized"}).to_string()));
    let error = Catalog::load(&requester).await.unwrap_err();
    assert!(error.to_string().contains("does not accept these credentials"), "{error}");
}

proptest! {
    #[test]
    fn no_word_panics(word in ".{0,80}") {
        let catalog = aggregated::read(&groups()).unwrap();
        if let Err(error) = catalog.resolve(&word) {
            prop_assert!(error.nearest.len() <= 3);
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
