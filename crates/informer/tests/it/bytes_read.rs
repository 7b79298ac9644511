//! How bodies are read: in pieces, compressed, broken, hostile.

use std::time::Duration;

use informer::{Limits, Phase};
use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_body_in_single_bytes_is_the_same_body() {
    let server = TestServer::new();
    put(&server, "é", "ü");
    server.add_fault(FaultRule::new(Fault::Drip { chunk_bytes: 1 }));
    for watch_list in [true, false] {
        let builder = config_maps(&server);
        let informer = builder.reflector_options(|options| options.watch_list(watch_list)).build().unwrap();
        informer.start();
        caught_up(&informer, &server).await;
        put(&server, "b", if watch_list { "1" } else { "2" });
        caught_up(&informer, &server).await;
        assert_eq!(data(&informer.lister().namespace("default").get("é").unwrap()), "ü");
        assert_eq!(informer.store().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn gzip_with_a_member_for_each_event_is_read_to_the_end() {
    let server = TestServer::new();
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    server.add_fault(FaultRule::new(Fault::GzipMembers));
    let source =
        informer::ResourceListWatch::of::<k8s_openapi::api::core::v1::ConfigMap>(client(&server)).gzip(true);
    let informer = informer::SharedInformer::builder(
        source,
        informer::Typed::<k8s_openapi::api::core::v1::ConfigMap>::new(),
    )
    .build()
    .unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    put(&server, "d", "1");
    caught_up(&informer, &server).await;
    assert_eq!(informer.store().len(), 4);
    assert!(server.requests().iter().all(|request| request.gzip));
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_cut_unless_kept() {
    let server = TestServer::new();
    let mut map = config_map("a", "1");
    map["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]);
    server.create("configmaps", map).unwrap();
    for keep in [false, true] {
        let informer = config_maps(&server).keep_managed_fields(keep).build().unwrap();
        informer.start();
        caught_up(&informer, &server).await;
        let map = informer.lister().namespace("default").get("a").unwrap();
        assert_eq!(map.metadata.managed_fields.is_some(), keep);
        assert_eq!(data(&map), "1");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_cut_in_the_middle_loses_nothing() {
    let server = TestServer::new();
    for name in 0..50 {
        put(&server, &format!("cm-{name}"), "1");
    }
    server.fault_once(Verb::List, "configmaps", Fault::CutBody { after_bytes: 3000 });
    server.fault_once(Verb::List, "configmaps", Fault::ResetBody { after_bytes: 1000 });
    let informer = listed(config_maps(&server)).build().unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler());
    informer.start();
    caught_up(&informer, &server).await;
    assert_eq!(witness.expect(51).await.len(), 51, "each object once, in one list");

    server.fault_once(Verb::Watch, "configmaps", Fault::CutBody { after_bytes: 20 });
    server.end_watches("configmaps").unwrap();
    put(&server, "cm-7", "2");
    caught_up(&informer, &server).await;
    assert_eq!(witness.expect(1).await, ["Updated cm-7=1->2"]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_line_is_an_error_not_a_memory_leak() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let line = format!("{{\"type\":\"ADDED\",\"object\":{{\"x\":\"{}", "y".repeat(300_000));
    server.fault_once(Verb::Watch, "configmaps", Fault::InjectBytes { after_events: 0, bytes: line.into() });
    let informer =
        listed(config_maps(&server)).limits(Limits::default().line_bytes(100_000)).build().unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    eventually("it is reported", || informer.status().last_error.is_some()).await;
    let error = informer.status().last_error.unwrap();
    assert!(error.contains("limit of 100000 bytes") && !error.contains("yyy"), "{error}");
    put(&server, "a", "2");
    caught_up(&informer, &server).await;
    assert_eq!(informer.store().len(), 1);
}

/// Where the object of a line ends is guessed at first: these lines look as the guess expects, and are others.
#[tokio::test(start_paused = true)]
async fn a_line_with_more_than_type_and_object_is_read_to_the_end() {
    let server = TestServer::new();
    let version = put(&server, "a", "1");
    let ghost = |name: &str, rest: &str| {
        let mut object = config_map(name, "2");
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        format!("{{\"type\":\"ADDED\",\"object\":{object}{rest}}}\n")
    };
    let lines = ghost("more", r#","note":{"metadata":{"name":"none"}}"#) + &ghost("spaced", " ");
    server.fault_once(Verb::Watch, "configmaps", Fault::InjectBytes { after_events: 0, bytes: lines.into() });
    let informer = listed(config_maps(&server)).build().unwrap();
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    eventually("both are there", || informer.store().len() == 3).await;
    assert_eq!(data(&informer.lister().namespace("default").get("more").unwrap()), "2");

    let twice = ghost("twice", r#","object":{"metadata":{"name":"other"}}"#);
    server.fault_once(Verb::Watch, "configmaps", Fault::InjectBytes { after_events: 0, bytes: twice.into() });
    server.end_watches("configmaps").unwrap();
    let unread = || informer.status().last_error.is_some_and(|error| error.contains("could not be read"));
    eventually("it is reported", unread).await;
    caught_up(&informer, &server).await;
    let mut known: Vec<_> = informer.store().keys().iter().map(|key| key.name().to_owned()).collect();
    known.sort_unstable();
    assert_eq!(known, ["a", "more", "spaced"], "of two objects in a line, neither is believed");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_list_deletes_nothing() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = listed(config_maps(&server)).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    let bodies = [
        "{}",
        r#"{"kind":"Status","status":"Success","metadata":{"resourceVersion":"VERSION"}}"#,
        r#"{"kind":"Table","metadata":{"resourceVersion":"VERSION"},"rows":[]}"#,
        "not json",
        r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"VERSION"},"items":[{"metadata":{"#,
        r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"VERSION"},"items":[{"no":"name"}]}"#,
        r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"VERSION"},"items":[{"metadata":{"name":"a","name":"b"}}]}"#,
    ];
    for body in bodies {
        let body = &body.replace("VERSION", &server.resource_version().to_string());
        server.clear_requests();
        server.fault_once(Verb::List, "configmaps", Fault::RawBody(body.clone().into()));
        server.fault_once(Verb::Watch, "configmaps", Fault::ExpiredWatch);
        server.end_watches("configmaps").unwrap();
        let lists = || server.requests().iter().filter(|request| request.verb == Verb::List).count();
        eventually("it lists", || lists() >= 1).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(informer.store().len(), 1, "{body}");
        server.clear_faults();
        put(&server, "a", body);
        eventually(&format!("it goes on after {body}"), || {
            informer.lister().namespace("default").get("a").is_some_and(|map| data(&map) == body.as_str())
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_events_harm_nothing() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let deep = format!("{{\"type\":\"ADDED\",\"object\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    let events = [
        "{\"type\":\"FOO\",\"object\":{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"1\"}}}\n".to_owned(),
        "{\"type\":\"DELETED\",\"object\":null}\n".to_owned(),
        "{\"type\":\"ADDED\"}\n".to_owned(),
        "not json at all\n".to_owned(),
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Wrong\",\"metadata\":{}}}\n".to_owned(),
        "{\"type\":\"ERROR\",\"object\":\"nonsense\"}\n".to_owned(),
        "{\"type\":\"BOOKMARK\",\"object\":{\"spec\":{\"containers\":null},\"metadata\":{\"resourceVersion\":\"300\"}}}\n".to_owned(),
        deep,
    ];
    let informer = config_maps(&server).build().unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler());
    informer.start();
    caught_up(&informer, &server).await;
    server.advance_version(200);
    for (round, event) in events.into_iter().enumerate() {
        server.inject("configmaps", event).unwrap();
        put(&server, "a", &format!("round {round}"));
        caught_up(&informer, &server).await;
        assert_eq!(data(&informer.lister().namespace("default").get("a").unwrap()), format!("round {round}"));
    }
    eventually("the handler hears of the last one", || witness.held() == ["a=round 7"]).await;
    eventually("all is well again", || informer.status().phase == Phase::Watching).await;
}

#[tokio::test(start_paused = true)]
async fn servers_without_watch_list_are_listed() {
    for fault in
        [Fault::RejectWatchList, Fault::NoInitialEventsEnd, Fault::IgnoreWatchList, Fault::NoBookmarks]
    {
        let server = TestServer::new();
        put(&server, "a", "1");
        server.add_fault(FaultRule::new(fault.clone()).verb(Verb::Watch));
        let informer = config_maps(&server).build().unwrap();
        let witness = Witness::default();
        informer.add_event_handler(witness.handler());
        informer.start();
        informer
            .wait_for_sync(Duration::from_secs(60))
            .await
            .unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(witness.expect(2).await, ["Added a=1 initial", "Synced"], "{fault:?}");
        put(&server, "a", "2");
        assert_eq!(witness.expect(1).await, ["Updated a=1->2"], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_every_code_are_survived() {
    let server = TestServer::new();
    put(&server, "a", "0");
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    for (round, code) in [400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504].into_iter().enumerate() {
        let error = ApiError::new(code, "Whatever", "no");
        server.add_fault(FaultRule::new(Fault::Error(error)).resource("configmaps").times(3));
        server.reset_watches("configmaps").unwrap();
        put(&server, "a", &code.to_string());
        caught_up(&informer, &server).await;
        let _ = round;
        assert_eq!(data(&informer.lister().namespace("default").get("a").unwrap()), code.to_string());
        server.clear_faults();
    }
}
