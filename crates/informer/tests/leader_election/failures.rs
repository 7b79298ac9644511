//! What goes wrong: lost answers, refusals, garbage, deleted and stolen Leases, machines that sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer::{ElectionClock, ElectionEnd, FencingToken, LossReason};
use informer_testserver::{ApiError, Fault, FaultRule, TestServer, Verb};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{Candidate, SECOND, builder, eventually, holder, lease, verbs};

fn fault(fault: Fault, verb: Verb) -> FaultRule {
    FaultRule::new(fault).resource("leases").verb(verb)
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_is_lost_is_found_by_a_look() {
    for lost in [
        Fault::StallBody { after_bytes: 0 },
        Fault::ResetBody { after_bytes: 5 },
        Fault::CutBody { after_bytes: 9 },
    ] {
        let server = TestServer::new();
        let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
        a.leads().await;
        verbs(&server);
        server.add_fault(fault(lost, Verb::Update).times(1));
        sleep(SECOND * 60).await;
        assert!(a.elector.is_leader());
        assert_eq!(verbs(&server)[..3], [Verb::Update, Verb::Get, Verb::Update]);
        let metrics = a.elector.metrics();
        assert_eq!((metrics.counters.slow_paths, metrics.counters.lost), (1, 0));
        assert_eq!(metrics.last_error, None, "it works again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_whose_creation_was_not_answered_is_ours_all_the_same() {
    let server = TestServer::new();
    server.add_fault(fault(Fault::StallBody { after_bytes: 0 }, Verb::Create).times(1));
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    assert_eq!(a.leads().await.fencing_token(), FencingToken(1), "a term of its own");
}

#[tokio::test(start_paused = true)]
async fn without_a_server_the_belief_ends_at_its_deadline_and_the_work_is_told() {
    for stalls in [Fault::StallBeforeHeaders, Fault::ResetBeforeHeaders] {
        let server = TestServer::new();
        let a = Candidate::start(builder(&server, "a").release_on_cancel(true), SECOND);
        let leadership = a.leads().await;
        sleep(SECOND).await;
        let renewed = Instant::now() - (SECOND * 10 - leadership.remaining());
        server.add_fault(FaultRule::new(stalls));
        leadership.cancelled().await;
        assert!(!leadership.is_leading());
        assert_eq!(renewed.elapsed().as_millis() / 10, 1_000, "10 s after the last renewal was sent");
        assert!(a.elector.check(SECOND).is_ok(), "the work has time until another may lead");
        let outcome = a.ends().await.unwrap();
        assert_eq!(outcome.end, ElectionEnd::Lost(LossReason::Deadline));
        assert_eq!((outcome.output, outcome.released), (Some("stopped"), false));
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_goes_on_after_a_loss_is_dropped_when_another_may_lead() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), SECOND * 1_000);
    let leadership = a.leads().await;
    server.add_fault(FaultRule::new(Fault::StallBeforeHeaders));
    leadership.cancelled().await;
    let lost = Instant::now();
    let outcome = a.ends().await.unwrap();
    assert_eq!((outcome.end, outcome.output), (ElectionEnd::Lost(LossReason::Deadline), None));
    assert!(lost.elapsed() <= SECOND * 5);
}

#[tokio::test(start_paused = true)]
async fn refusals_and_garbage_are_told_once_and_survived() {
    let status = |code, reason| Fault::Error(ApiError::new(code, reason, "no"));
    let response =
        |body: &'static str, code| Fault::Response { code, headers: Vec::new(), body: body.into() };
    for (position, fault) in [
        status(403, "Forbidden"),
        status(401, "Unauthorized"),
        status(429, "TooManyRequests"),
        status(500, "InternalError"),
        response("<html>not found</html>", 404),
        response("{\"kind\":\"Lease\"}", 200),
        response("[", 200),
        response("{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":7}", 200),
    ]
    .into_iter()
    .enumerate()
    {
        let server = TestServer::new();
        server.add_fault(FaultRule::new(fault).resource("leases"));
        let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
        sleep(SECOND * 60).await;
        assert_eq!(server.count("leases"), 0, "{position}");
        let metrics = a.elector.metrics();
        assert!(metrics.last_error.is_some(), "{position}");
        let failed = metrics.counters.failed_requests;
        assert!((14..=31).contains(&failed), "{position}: {failed} in 60 s");
        server.clear_faults();
        a.leads().await;
        assert_eq!(a.elector.metrics().last_error, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_refused_for_less_than_its_deadline_stays_leader() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    let leadership = a.leads().await;
    for _ in 0..10 {
        server.add_fault(FaultRule::new(Fault::Error(ApiError::new(500, "InternalError", "no"))));
        sleep(SECOND * 7).await;
        server.clear_faults();
        sleep(SECOND * 3).await;
        assert!(leadership.is_leading());
    }
    assert_eq!(leadership.fencing_token(), FencingToken(0));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_does_not_exist_is_an_error_and_no_flood() {
    let server = TestServer::builder().create_namespaces(false).build();
    let client = kube::Client::new(server.clone(), "default");
    let options =
        informer::LeaderElector::builder(client, "nowhere", "lock", "a").clock(ElectionClock::tokio());
    let a = Candidate::start(options, Duration::ZERO);
    sleep(SECOND * 60).await;
    let sent = server.requests().len();
    assert!((28..=70).contains(&sent), "{sent} requests in 60 s");
    assert!(a.elector.metrics().last_error.is_some_and(|error| error.contains("nowhere")));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_or_taken_ends_the_term_at_the_next_renewal() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    a.leads().await;
    server.delete("leases", "default", "lock").unwrap();
    assert_eq!(a.ends().await.unwrap().end, ElectionEnd::Lost(LossReason::Deleted));

    let b = Candidate::start(builder(&server, "b").release_on_cancel(true), Duration::ZERO);
    b.leads().await;
    server.modify("leases", "default", "lock", |lease| lease["spec"]["holderIdentity"] = json!("c")).unwrap();
    let outcome = b.ends().await.unwrap();
    assert_eq!((outcome.end, outcome.released), (ElectionEnd::Lost(LossReason::Taken("c".into())), false));
    assert_eq!(holder(&server).as_deref(), Some("c"), "what is another's is not given back");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_conflicts_is_tried_again() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a").release_on_cancel(true), SECOND);
    a.leads().await;
    a.stop.cancel();
    sleep(SECOND / 2).await;
    server
        .modify("leases", "default", "lock", |lease| lease["metadata"]["labels"] = json!({"x": "y"}))
        .unwrap();
    assert!(a.ends().await.unwrap().released);
    assert_eq!(lease(&server)["metadata"]["labels"]["x"], "y");
    assert_eq!(holder(&server), None);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_not_answered_ends_after_a_renew_deadline() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a").release_on_cancel(true), Duration::ZERO);
    a.leads().await;
    server.add_fault(FaultRule::new(Fault::StallBeforeHeaders));
    a.stop.cancel();
    let stopped = Instant::now();
    let outcome = a.ends().await.unwrap();
    assert!(!outcome.released && outcome.end == ElectionEnd::Stopped);
    assert!(stopped.elapsed() <= SECOND * 10 + SECOND / 10);
}

/// A machine sleeps for an hour: its boot clock went on, its runtime's timers did not.
#[tokio::test(start_paused = true)]
async fn a_machine_that_wakes_up_knows_at_once_that_it_leads_no_more() {
    let server = TestServer::new();
    let asleep = Arc::new(AtomicU64::new(0));
    let (slept, start) = (Arc::clone(&asleep), Instant::now());
    let clock = ElectionClock::from_fn(move || {
        start.elapsed() + Duration::from_secs(1 + slept.load(Ordering::SeqCst))
    });
    let a = Candidate::start(builder(&server, "a").clock(clock), Duration::ZERO);
    let leadership = a.leads().await;
    sleep(SECOND * 3).await;
    assert!(leadership.is_leading());
    asleep.store(3_600, Ordering::SeqCst);
    assert!(!leadership.is_leading() && !a.elector.is_leader(), "nothing was told yet, the clock was read");
    assert!(a.elector.check(SECOND).is_err(), "its work goes on");
    let woke = Instant::now();
    leadership.cancelled().await;
    assert!(woke.elapsed() <= SECOND * 2, "told by the next timer");
    assert_eq!(a.ends().await.unwrap().end, ElectionEnd::Lost(LossReason::Deadline));
}

#[tokio::test(start_paused = true)]
async fn only_get_create_and_update_are_needed() {
    let server = TestServer::new();
    for verb in [Verb::List, Verb::Watch, Verb::Patch, Verb::Delete] {
        server.deny(verb, "leases");
    }
    let a = Candidate::start(builder(&server, "a").release_on_cancel(true), Duration::ZERO);
    a.leads().await;
    sleep(SECOND * 5).await;
    a.stop.cancel();
    assert!(a.ends().await.unwrap().released);
    eventually("it is free", || holder(&server).is_none()).await;
}
