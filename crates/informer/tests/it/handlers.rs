//! What handlers and subscriptions are told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use informer::{EventHandler, Notification, Overflow};
use informer_testserver::TestServer;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_handler_is_told_everything_in_order() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = config_maps(&server).build().unwrap();
    let witness = Witness::default();
    let registration = informer.add_event_handler(witness.handler());
    assert!(!registration.has_synced());
    informer.start();
    registration.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(witness.take(), ["Added a=1 initial", "Synced"]);
    put(&server, "a", "2");
    put(&server, "b", "1");
    delete(&server, "a");
    assert_eq!(witness.expect(3).await, ["Updated a=1->2", "Added b=1", "Deleted a=2 Known"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_gets_the_cache_first() {
    let server = TestServer::new();
    put(&server, "b", "1");
    put(&server, "a", "1");
    let informer = config_maps(&server).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    put(&server, "c", "1");
    caught_up(&informer, &server).await;
    let witness = Witness::default();
    let registration = informer.add_event_handler(witness.handler());
    registration.wait_for_sync(LIMIT).await.unwrap();
    assert_eq!(witness.take(), ["Added a=1 initial", "Added b=1 initial", "Added c=1 initial", "Synced"]);
    put(&server, "a", "2");
    assert_eq!(witness.expect(1).await, ["Updated a=1->2"]);
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_hears_nothing_more_and_others_do() {
    let server = TestServer::new();
    let informer = config_maps(&server).build().unwrap();
    let (leaving, staying) = (Witness::default(), Witness::default());
    let registration = informer.add_event_handler(leaving.handler());
    // Dropping a registration keeps its handler.
    drop(informer.add_event_handler(staying.handler()));
    informer.start();
    registration.wait_for_sync(LIMIT).await.unwrap();
    leaving.take();
    registration.remove().await;
    registration.remove().await;
    put(&server, "a", "1");
    assert_eq!(staying.expect(2).await, ["Synced", "Added a=1"]);
    assert_eq!(leaving.told(), 0);
    assert_eq!(informer.status().handlers.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn resync_replays_without_requests_to_those_who_asked() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = config_maps(&server).build().unwrap();
    let (quiet, reminded) = (Witness::default(), Witness::default());
    let registration = informer.add_event_handler(quiet.handler());
    informer.add_event_handler(reminded.handler().resync(Duration::from_secs(40)));
    informer.start();
    registration.wait_for_sync(LIMIT).await.unwrap();
    let requests = server.requests().len();
    assert_eq!(reminded.expect(4).await, ["Added a=1 initial", "Synced", "Resync a", "Resync a"]);
    assert_eq!(quiet.take(), ["Added a=1 initial", "Synced"]);
    assert_eq!(server.requests().len(), requests);
}

#[tokio::test(start_paused = true)]
async fn a_filter_turns_matching_into_existing() {
    let server = TestServer::new();
    put(&server, "a", "no");
    put(&server, "b", "yes");
    let informer = config_maps(&server).build().unwrap();
    let witness = Witness::default();
    informer.add_event_handler(witness.handler().filter(|map| data(map).starts_with("yes")));
    informer.start();
    assert_eq!(witness.expect(2).await, ["Added b=yes initial", "Synced"]);
    put(&server, "a", "yes");
    put(&server, "a", "yes!");
    put(&server, "a", "no");
    delete(&server, "a");
    delete(&server, "b");
    let told = witness.expect(4).await;
    assert_eq!(told, ["Added a=yes", "Updated a=yes->yes!", "Deleted a=yes! Known", "Deleted b=yes Known"]);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_a_stream_of_batches() {
    let server = TestServer::new();
    put(&server, "a", "1");
    let informer = config_maps(&server).build().unwrap();
    let mut changes = informer.subscribe();
    informer.start();
    let first = changes.next().await.unwrap();
    assert!(matches!(&first[0], Notification::Added { in_initial_list: true, .. }));
    assert!(matches!(first.last(), Some(Notification::Synced { .. })));
    assert!(!changes.has_synced(), "it has not said that it is done with them");
    put(&server, "a", "2");
    let second = changes.next().await.unwrap();
    assert!(changes.has_synced());
    assert!(matches!(&second[0], Notification::Updated { new, .. } if data(new) == "2"));
    drop(changes);
    assert!(informer.status().handlers.is_empty());
}

/// A handler that waits for permission before each call.
fn gated(witness: &Witness) -> (EventHandler<k8s_openapi::api::core::v1::ConfigMap>, mpsc::Sender<()>) {
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let told = witness.clone();
    let handler = EventHandler::new().on_updated(move |old, new| {
        let _ = gate.lock().unwrap().recv();
        told.tell(format!("{}->{}", data(old), data(new)));
    });
    (handler, open)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_harms_nobody_and_misses_no_last_state() {
    let server = TestServer::new();
    put(&server, "a", "0");
    let informer = config_maps(&server).build().unwrap();
    let (slow, fast) = (Witness::default(), Witness::default());
    let (handler, open) = gated(&slow);
    let registration = informer.add_event_handler(handler.backlog_limit(10));
    informer.add_event_handler(fast.handler());
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    for round in 1..=200 {
        let version = put(&server, "a", &round.to_string());
        informer.wait_until(&version, LIMIT).await.unwrap();
    }
    assert_eq!(fast.expect(202).await.last().unwrap(), "Updated a=199->200");
    assert!(registration.stats().waiting <= 11, "{:?}", registration.stats());
    assert!(registration.stats().conflations >= 1);
    drop(open);
    eventually("the slow one is told the last state", || slow.last().ends_with("->200")).await;
    let told = slow.take();
    assert!(told.len() < 30, "{told:?}");
    for pair in told.windows(2) {
        let (before, after) = (pair[0].split_once("->").unwrap().1, pair[1].split_once("->").unwrap().0);
        assert_eq!(before, after, "each old state is the one told before");
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocked_handler_holds_up_no_other_even_while_time_is_paused() {
    let server = TestServer::new();
    put(&server, "a", "0");
    let informer = config_maps(&server).build().unwrap();
    let (slow, fast) = (Witness::default(), Witness::default());
    let (handler, open) = gated(&slow);
    let blocked = informer.add_event_handler(handler);
    informer.add_event_handler(fast.handler());
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    blocked.wait_for_sync(LIMIT).await.unwrap();
    for round in 1..=20 {
        put(&server, "a", &round.to_string());
        // Tokio's time stands still as long as a callback blocks.
        eventually_real("the other is told", || fast.told() == 2 + round).await;
    }
    assert_eq!(slow.told(), 0);
    drop(open);
    eventually_real("the slow one as well", || slow.last() == "19->20").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_handler_stops_the_reading_and_gets_everything() {
    let server = TestServer::new();
    put(&server, "a", "0");
    let informer = config_maps(&server).build().unwrap();
    let slow = Witness::default();
    let (handler, open) = gated(&slow);
    informer.add_event_handler(handler.backlog_limit(5).overflow(Overflow::Block));
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    for round in 1..=100 {
        put(&server, "a", &round.to_string());
        tokio::task::yield_now().await;
    }
    drop(open);
    eventually("it has caught up", || slow.told() == 100).await;
}

#[tokio::test(start_paused = true)]
async fn a_disconnecting_handler_is_removed_when_it_falls_behind() {
    let server = TestServer::new();
    put(&server, "a", "0");
    let informer = config_maps(&server).build().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let slow = Witness::default();
    let (handler, open) = gated(&slow);
    let handler = handler.on_added(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    informer.add_event_handler(handler.backlog_limit(3).overflow(Overflow::Disconnect));
    let other = Witness::default();
    informer.add_event_handler(other.handler());
    informer.start();
    informer.wait_for_sync(LIMIT).await.unwrap();
    for round in 1..=50 {
        let version = put(&server, "a", &round.to_string());
        // Not by sleeping: a blocked callback holds up paused time.
        while informer.store().version() < version {
            tokio::task::yield_now().await;
        }
    }
    drop(open);
    eventually("only the other handler is left", || informer.status().handlers.len() == 1).await;
    assert_eq!(other.expect(52).await.last().unwrap(), "Updated a=49->50");
}
