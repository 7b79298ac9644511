//! Terms: acquired, renewed, taken over, given back, each with a greater token.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{ElectionEnd, FencingToken, InvalidElection, LeaderElectionError};
use informer_testserver::{TestServer, Verb};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{Candidate, SECOND, builder, eventually, holder, lease, verbs};

/// `TestFastPathLeaderElection`: get, create, update, update.
#[tokio::test(start_paused = true)]
async fn a_lease_is_created_and_then_renewed_by_one_request_every_retry_period() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    let leadership = a.leads().await;
    assert_eq!(leadership.fencing_token(), FencingToken(0));
    let spec = lease(&server)["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!("a"), &json!(15)));
    assert_eq!(spec["leaseTransitions"], 0);
    assert_eq!(spec["renewTime"].as_str().unwrap().len(), "2026-01-01T00:00:00.000000Z".len());
    sleep(SECOND * 20).await;
    let mut expected = vec![Verb::Get, Verb::Create];
    expected.extend([Verb::Update; 10]);
    assert_eq!(verbs(&server), expected);
    assert!(a.elector.is_leader() && leadership.remaining() > SECOND * 7);
    let metrics = a.elector.metrics();
    assert_eq!((metrics.counters.renewed, metrics.counters.slow_paths, &*metrics.holder), (10, 0, "a"));
    assert!(metrics.is_leader && metrics.last_error.is_none());
    assert_eq!(lease(&server)["spec"]["acquireTime"], spec["acquireTime"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_leader_is_replaced_in_time_by_a_greater_token() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    a.leads().await;
    let b = Candidate::start(builder(&server, "b"), Duration::ZERO);
    let mut token = FencingToken(0);
    let (mut leader, mut next) = (a, b);
    for term in 0..20 {
        // Each time at another point of the renewals.
        sleep(SECOND * 4 + SECOND * term / 10).await;
        leader.kill().await;
        let died = Instant::now();
        token = FencingToken(token.0 + 1);
        assert_eq!(next.leads().await.fencing_token(), token);
        let waited = died.elapsed();
        assert!(waited <= SECOND * 15 + SECOND * 22 / 5, "{waited:?}");
        assert!(waited >= SECOND * 13, "{waited:?}: the last renewal is at most a retry period old");
        leader = next;
        next = Candidate::start(builder(&server, &format!("c{term}")), Duration::ZERO);
    }
    assert_eq!(lease(&server)["spec"]["leaseTransitions"], 20);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_has_a_new_leader_within_two_periods_and_a_fifth() {
    let server = TestServer::new();
    let mut leader = Candidate::start(builder(&server, "a").release_on_cancel(true), Duration::ZERO);
    leader.leads().await;
    for term in 0..20 {
        let next =
            Candidate::start(builder(&server, &format!("b{term}")).release_on_cancel(true), Duration::ZERO);
        sleep(SECOND * 5 + SECOND * term / 7).await;
        leader.stop.cancel();
        let outcome = leader.ends().await.unwrap();
        assert!(outcome.released && outcome.end == ElectionEnd::Stopped && outcome.output == Some("stopped"));
        let released = Instant::now();
        next.leads().await;
        assert!(released.elapsed() <= SECOND * 22 / 5, "{:?}", released.elapsed());
        leader = next;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_a_release_is_waited_for() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    a.leads().await;
    a.stop.cancel();
    let outcome = a.ends().await.unwrap();
    assert!(!outcome.released);
    assert_eq!(holder(&server).as_deref(), Some("a"));
    let stopped = Instant::now();
    Candidate::start(builder(&server, "b"), Duration::ZERO).leads().await;
    assert!(stopped.elapsed() >= SECOND * 15);
}

/// The holder's own duration counts, and a clock that says nothing sensible does not.
#[tokio::test(start_paused = true)]
async fn a_foreign_holder_is_left_alone_for_the_duration_it_asked_for() {
    let server = TestServer::new();
    let spec = json!({"holderIdentity": "foreign", "leaseDurationSeconds": 40, "leaseTransitions": 6,
        "renewTime": "1999-01-01T00:00:00.000000Z"});
    server
        .create("leases", json!({"metadata": {"name": "lock", "namespace": "default"}, "spec": spec}))
        .unwrap();
    let began = Instant::now();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    let leadership = a.leads().await;
    assert!(began.elapsed() >= SECOND * 40 && began.elapsed() < SECOND * 41, "{:?}", began.elapsed());
    assert_eq!(leadership.fencing_token(), FencingToken(7));
}

#[tokio::test(start_paused = true)]
async fn a_lease_by_somebody_else_without_a_holder_is_free_and_keeps_what_it_has() {
    let server = TestServer::new();
    let metadata = json!({"name": "lock", "namespace": "default", "labels": {"theirs": "1", "app": "old"},
        "annotations": {"note": "kept"}});
    server.create("leases", json!({"metadata": metadata, "spec": {}})).unwrap();
    let a = Candidate::start(builder(&server, "a").label("app", "mine").label("team", "x"), Duration::ZERO);
    a.leads().await;
    let labels = json!({"theirs": "1", "app": "mine", "team": "x"});
    assert_eq!(lease(&server)["metadata"]["labels"], labels);
    assert_eq!(lease(&server)["metadata"]["annotations"]["note"], "kept");
    // Foreign hands on it cost a conflict, and what they wrote stays.
    server
        .modify("leases", "default", "lock", |lease| lease["metadata"]["labels"] = json!({"new": "2"}))
        .unwrap();
    sleep(SECOND * 5).await;
    assert_eq!(lease(&server)["metadata"]["labels"], json!({"new": "2", "app": "mine", "team": "x"}));
    assert!(a.elector.is_leader());
    assert_eq!(a.elector.metrics().counters.conflicts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_is_told_once_a_change() {
    let server = TestServer::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = {
        let told = Arc::clone(&told);
        move |identity: &str| {
            told.lock().unwrap().push(identity.to_owned());
            assert_ne!(identity, "b", "a handler that panics is survived");
        }
    };
    let a = Candidate::start(builder(&server, "a").release_on_cancel(true), Duration::ZERO);
    a.leads().await;
    let watcher = Candidate::start(builder(&server, "z").on_new_leader(teller), Duration::ZERO);
    sleep(SECOND * 20).await;
    let b = Candidate::start(builder(&server, "b").release_on_cancel(true), Duration::ZERO);
    // The watcher looks less often than b may be faster: only who still leads when it looks is told.
    sleep(SECOND * 3).await;
    a.stop.cancel();
    a.ends().await.unwrap();
    eventually("somebody else leads", || holder(&server).is_some()).await;
    sleep(SECOND * 20).await;
    let told = told.lock().unwrap().clone();
    let mut once = told.clone();
    once.dedup();
    assert_eq!(told, once);
    assert_eq!(told[0], "a");
    assert_eq!(told.last(), holder(&server).as_ref());
    assert_eq!(watcher.elector.metrics().counters.leader_changes, told.len() as u64);
    drop(b);
}

#[tokio::test(start_paused = true)]
async fn one_elector_leads_again_and_again() {
    let server = TestServer::new();
    let a = builder(&server, "a").release_on_cancel(true).build().unwrap();
    for term in 0..5 {
        let outcome = a
            .run(Default::default(), move |leadership| async move { leadership.fencing_token() })
            .await
            .unwrap();
        // The first creates it.
        assert_eq!((outcome.end, outcome.output), (ElectionEnd::Finished, Some(FencingToken(term))));
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_rules_is_refused() {
    let server = TestServer::new();
    let invalid = |built: Result<_, LeaderElectionError>| match built {
        Err(LeaderElectionError::Invalid(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(invalid(builder(&server, "").build()), InvalidElection::EmptyIdentity);
    let short = builder(&server, "a").lease_duration(SECOND * 10).build();
    assert!(matches!(invalid(short), InvalidElection::ShortLeaseDuration { .. }));
    let short = builder(&server, "a").renew_deadline(SECOND * 2).build();
    assert!(matches!(invalid(short), InvalidElection::ShortRenewDeadline { .. }));
    assert_eq!(
        invalid(builder(&server, "a").retry_period(Duration::ZERO).build()),
        InvalidElection::NoRetryPeriod
    );
    let client = || kube::Client::new(server.clone(), "default");
    for (namespace, name) in
        [("", "lock"), ("default", ""), ("default", "../x"), ("..", "lock"), ("a b", "lock")]
    {
        let built = informer::LeaderElector::builder(client(), namespace, name, "a").build();
        assert!(matches!(built, Err(LeaderElectionError::Name { .. })), "{namespace:?} {name:?}");
    }
    assert!(server.requests().is_empty());
}
