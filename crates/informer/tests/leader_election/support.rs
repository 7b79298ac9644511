//! What the tests share: electors of one Lease, work that waits, and what the server has.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{
    ElectionClock, LeaderElectionError, LeaderElector, LeaderElectorBuilder, Leadership, Outcome,
};
use informer_testserver::{TestServer, Verb};
use kube::Client;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn builder(server: &TestServer, identity: &str) -> LeaderElectorBuilder {
    let client = Client::new(server.clone(), "default");
    LeaderElector::builder(client, "default", "lock", identity).clock(ElectionClock::tokio())
}

/// An elector in a run of its own.
pub(crate) struct Candidate {
    pub(crate) elector: LeaderElector,
    pub(crate) stop: CancellationToken,
    /// The leadership that its work was given.
    given: Arc<Mutex<Option<Leadership>>>,
    run: JoinHandle<Result<Outcome<&'static str>, LeaderElectionError>>,
}

impl Candidate {
    /// One whose work waits until it is told to stop, and then for so long.
    pub(crate) fn start(builder: LeaderElectorBuilder, winding_down: Duration) -> Self {
        Self::with(builder, move |leadership| async move {
            leadership.cancelled().await;
            tokio::time::sleep(winding_down).await;
            "stopped"
        })
    }

    pub(crate) fn with<Fut>(
        builder: LeaderElectorBuilder,
        work: impl FnOnce(Leadership) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = &'static str> + Send + 'static,
    {
        let elector = builder.build().expect("valid options");
        let stop = CancellationToken::new();
        let given = Arc::new(Mutex::new(None));
        let (running, stopping, seen) = (elector.clone(), stop.clone(), Arc::clone(&given));
        let run = tokio::spawn(async move {
            let work = move |leadership: Leadership| {
                *seen.lock().unwrap() = Some(leadership.clone());
                work(leadership)
            };
            running.run(stopping, work).await
        });
        Self { elector, stop, given, run }
    }

    pub(crate) fn leadership(&self) -> Option<Leadership> {
        self.given.lock().unwrap().clone()
    }

    /// Waits until it leads.
    pub(crate) async fn leads(&self) -> Leadership {
        eventually("it leads", || self.leadership().is_some_and(|leadership| leadership.is_leading())).await;
        self.leadership().expect("it leads")
    }

    pub(crate) async fn ends(self) -> Result<Outcome<&'static str>, LeaderElectionError> {
        tokio::time::timeout(SECOND * 300, self.run).await.expect("the run ends").expect("it does not panic")
    }

    /// Ends it as a killed process would.
    pub(crate) async fn kill(self) {
        self.run.abort();
        let _ = self.run.await;
    }
}

/// Waits in paused time.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

pub(crate) fn lease(server: &TestServer) -> Value {
    server.get("leases", "default", "lock").expect("the Lease exists")
}

pub(crate) fn holder(server: &TestServer) -> Option<String> {
    lease(server)["spec"]["holderIdentity"].as_str().map(str::to_owned)
}

/// The verbs of the requests so far; forgets them.
pub(crate) fn verbs(server: &TestServer) -> Vec<Verb> {
    let verbs = server.requests().iter().map(|request| request.verb).collect();
    server.clear_requests();
    verbs
}
