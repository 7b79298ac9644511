//! The log: nothing while all is well, each trouble once, and targets that stay.

use std::time::Duration;

use informer::EventHandler;
use informer_testserver::{ApiError, Fault, FaultRule, TestServer};
use tracing::Level;

use crate::log::Log;
use crate::support::*;

/// Bookmarks come, watches end in time and are renewed, and nobody is told.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn nothing_above_debug_in_a_quiet_hour() {
    let log = Log::default();
    let _guard = log.capture(Level::DEBUG);
    let server = TestServer::builder().build();
    put(&server, "a", "1");
    for builder in [config_maps(&server), listed(config_maps(&server))] {
        let informer = builder.build().unwrap();
        informer.add_event_handler(EventHandler::new());
        informer.start();
        caught_up(&informer, &server).await;
        let watches = informer.metrics().reflector.watches;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let reflector = informer.metrics().reflector;
        assert!(reflector.watches - watches >= 5, "watches end after 5 to 10 minutes: {reflector:?}");
        assert!(reflector.watch_items.sum() >= 30.0, "bookmarks came: {reflector:?}");
        assert_eq!(reflector.failures, 0);
        informer.stop().await;
    }
    for level in [Level::ERROR, Level::WARN, Level::INFO] {
        assert_eq!(log.lines(level), [""; 0]);
    }
    assert!(log.lines(Level::DEBUG).len() >= 12, "it was not deaf: {}", log.text());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_outage_is_told_once_for_each_request_and_its_end_has_the_count() {
    let log = Log::default();
    let _guard = log.capture(Level::DEBUG);
    let server = TestServer::builder().build();
    put(&server, "a", "1");
    let informer = listed(config_maps(&server)).build().unwrap();
    informer.start();
    caught_up(&informer, &server).await;
    server.add_fault(FaultRule::new(Fault::Error(ApiError::new(503, "ServiceUnavailable", "gone fishing"))));
    server.reset_watches("configmaps").unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let failures = informer.metrics().reflector.failures;
    assert!(failures > 10, "{failures}");
    server.clear_faults();
    eventually("it works again", || informer.status().last_error.is_none()).await;
    informer.stop().await;

    let aloud: Vec<_> =
        [Level::ERROR, Level::WARN, Level::INFO].into_iter().flat_map(|l| log.lines(l)).collect();
    // The watch was reset, then refused, and then the list was refused; and the end.
    assert_eq!(aloud.len(), 4, "{aloud:#?}");
    assert!(aloud.iter().any(|line| line.contains("gone fishing") && line.contains("count=1")), "{aloud:#?}");
    let end = aloud.last().unwrap();
    assert!(end.contains("informer::trouble: works again") && end.contains("count="), "{end}");
}

/// Filters are written with them: `docs/operations.md` lists them.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn targets_and_fields_stay() {
    let log = Log::default();
    let _guard = log.capture(Level::DEBUG);
    let server = TestServer::builder().build();
    put(&server, "a", "1");
    let informer = listed(config_maps(&server)).build().unwrap();
    informer.add_index("broken", |_| -> Option<String> { panic!("index functions may") });
    informer.start();
    caught_up(&informer, &server).await;
    server.end_watches("configmaps").unwrap();
    eventually("another watch", || informer.metrics().reflector.watches == 2).await;
    informer.stop().await;
    let text = log.text();
    for wanted in [
        "informer::driver: new",
        "informer{name=\"configmaps\"}",
        "informer::reflector: request sent informer=\"configmaps\" request=list",
        "informer::reflector: listed informer=\"configmaps\" items=1 seconds=",
        "informer::reflector: watch ended informer=\"configmaps\" events=",
        "informer::index: index function panicked index=\"broken\" key=default/a panics=1",
    ] {
        assert!(text.contains(wanted), "{wanted:?} in\n{text}");
    }
}
