//! The work: stopped before the Lease is given back, dropped if it does not stop, reported if nothing helps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer::{ElectionEnd, LeaderElectionError};
use informer_testserver::TestServer;
use tokio::time::{Instant, sleep};

use crate::support::{Candidate, SECOND, builder, eventually, holder};

/// Sets a flag when it is dropped, however the work ends.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_given_back_only_after_the_work_has_stopped() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a").release_on_cancel(true), SECOND * 25);
    let leadership = a.leads().await;
    a.stop.cancel();
    // It is renewed for longer than a lease duration while the work winds down.
    for _ in 0..24 {
        sleep(SECOND).await;
        assert!(leadership.is_leading());
        assert_eq!(holder(&server).as_deref(), Some("a"));
    }
    sleep(SECOND * 2).await;
    assert!(!leadership.is_leading());
    assert_eq!(holder(&server), None);
    let outcome = a.ends().await.unwrap();
    assert_eq!((outcome.output, outcome.released), (Some("stopped"), true));
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_stop_is_dropped_before_the_lease_is_given_back() {
    let server = TestServer::new();
    let ended = Arc::new(AtomicBool::new(false));
    let guard = Ended(Arc::clone(&ended));
    let options = builder(&server, "a").release_on_cancel(true).stop_timeout(SECOND * 5);
    let a = Candidate::with(options, |_| async move {
        let _guard = guard;
        std::future::pending().await
    });
    a.leads().await;
    a.stop.cancel();
    let stopped = Instant::now();
    sleep(SECOND * 4).await;
    assert_eq!(holder(&server).as_deref(), Some("a"));
    let outcome = a.ends().await.unwrap();
    assert!(ended.load(Ordering::SeqCst) && stopped.elapsed() < SECOND * 6);
    assert_eq!((outcome.end, outcome.output, outcome.released), (ElectionEnd::Stopped, None, true));
    assert_eq!(holder(&server), None);
}

#[tokio::test(start_paused = true)]
async fn work_that_comes_to_its_end_gives_the_lease_back() {
    let server = TestServer::new();
    let a = Candidate::with(builder(&server, "a").release_on_cancel(true), |_| async {
        sleep(SECOND * 30).await;
        "done"
    });
    let outcome = a.ends().await.unwrap();
    assert_eq!((outcome.end, outcome.output, outcome.released), (ElectionEnd::Finished, Some("done"), true));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_work_is_an_error_and_gives_the_lease_back() {
    let server = TestServer::new();
    for (identity, now) in [("a", true), ("b", false)] {
        // In the work's future, and in the call that makes it.
        let work = move |_| {
            assert!(!now, "broken at once");
            async { panic!("broken later") }
        };
        let a = Candidate::with(builder(&server, identity).release_on_cancel(true), work);
        let Err(LeaderElectionError::WorkPanicked { message, lease }) = a.ends().await else { panic!() };
        assert!(message.starts_with("broken"), "{message}");
        assert_eq!((&*lease, holder(&server)), ("default/lock", None));
    }
}

#[tokio::test(start_paused = true)]
async fn an_elector_runs_once_at_a_time() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    a.leads().await;
    let again = a.elector.run(Default::default(), |_| async {}).await;
    assert!(matches!(again, Err(LeaderElectionError::Running { .. })));
    let elector = a.elector.clone();
    let leadership = a.leadership().unwrap();
    a.kill().await;
    assert!(!leadership.is_leading() && !elector.is_leader(), "a run that is dropped leads no more");
    leadership.cancelled().await;
    elector.run(Default::default(), |_| async {}).await.expect("and another can follow");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_before_it_leads_begins_no_work() {
    let server = TestServer::new();
    let a = Candidate::start(builder(&server, "a"), Duration::ZERO);
    a.leads().await;
    let b = Candidate::start(builder(&server, "b"), Duration::ZERO);
    sleep(SECOND * 3).await;
    b.stop.cancel();
    let outcome = b.ends().await.unwrap();
    assert_eq!((outcome.end, outcome.output), (ElectionEnd::NeverLed, None));
    let elector = builder(&server, "c").build().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    stop.cancel();
    let outcome = elector.run(stop, |_| async { "never" }).await.unwrap();
    assert_eq!((outcome.end, outcome.output), (ElectionEnd::NeverLed, None));
}

/// In real time, since a thread that is held cannot be paused; durations are short.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn work_that_holds_its_thread_is_reported_and_makes_the_process_unhealthy() {
    let server = TestServer::new();
    let go_on = Arc::new(AtomicBool::new(true));
    let holds = Arc::clone(&go_on);
    let options = builder(&server, "a")
        .release_on_cancel(true)
        .lease_duration(SECOND)
        .renew_deadline(SECOND / 4)
        .retry_period(SECOND / 10)
        .stop_timeout(SECOND / 20);
    let a = Candidate::with(options, |_| async move {
        while holds.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        "at last"
    });
    a.leads().await;
    let elector = a.elector.clone();
    a.stop.cancel();
    let ended = a.ends().await;
    assert!(matches!(ended, Err(LeaderElectionError::WorkNotEnded { .. })), "{ended:?}");
    assert_eq!(holder(&server).as_deref(), Some("a"), "it is not given back");
    assert!(matches!(
        elector.run(Default::default(), |_| async {}).await,
        Err(LeaderElectionError::Running { .. })
    ));
    eventually("it is not healthy", || elector.check(Duration::ZERO).is_err()).await;
    let error = elector.check(Duration::ZERO).unwrap_err();
    assert!(error.since > SECOND && error.lease == "default/lock");
    go_on.store(false, Ordering::SeqCst);
    eventually("it is healthy again", || elector.check(Duration::ZERO).is_ok()).await;
}
