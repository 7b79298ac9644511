//! Leader election: of several copies of a program one works, and another takes over when it cannot.

mod builder;
mod clock;
mod driver;
mod exchange;
mod leadership;
mod lease;
mod outcome;
mod told;

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::leader_election::{ElectionOptions, LeaderElection};
use kube::Client;
use tokio_util::sync::CancellationToken;

pub use builder::LeaderElectorBuilder;
pub use clock::ElectionClock;
pub use leadership::Leadership;
pub use outcome::{LeaderElectionError, LeaderElectionMetrics, NotRenewed, Outcome};

use builder::NewLeaderHandler;
use driver::Driver;
use exchange::Endpoint;
use told::Told;

use crate::shared_informer::random_seed;

/// Takes part in the election of one leader, by a `Lease` (client-go's `LeaderElector` with a `LeaseLock`).
///
/// ```
/// # use informer_testserver::TestServer;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = kube::Client::new(TestServer::new(), "default");
/// use informer::{ElectionEnd, LeaderElector};
/// use tokio_util::sync::CancellationToken;
///
/// // A client of its own: let client = informer::client(kube::Config::infer().await?)?;
/// let elector = LeaderElector::builder(client, "default", "my-controller", "pod-7c9f_1f0a")
///     .release_on_cancel(true)
///     .on_new_leader(|identity| println!("{identity:?} leads"))
///     .build()?;
/// let stop = CancellationToken::new(); // cancelled at SIGTERM
/// let outcome = elector
///     .run(stop, |leadership| async move {
///         while leadership.is_leading() {
///             // … one step of the work, which carries `leadership.fencing_token()` …
///             # break;
///         }
///         "done"
///     })
///     .await?;
/// assert_eq!((outcome.end, outcome.output), (ElectionEnd::Finished, Some("done")));
/// assert!(outcome.released);
/// # Ok(())
/// # }
/// ```
///
/// # What is promised
///
/// No two electors of one Lease believe to lead at the same instant, as long as
///
/// - no machine's clock runs faster than another's by the factor lease duration / renew deadline or more (1.5 with the
///   defaults; clocks need *not* agree on the time);
/// - identities are unique: no two processes may ever use the same at once. Take the Pod's name and something random;
/// - nobody else empties or deletes the Lease. Who does that breaks the lock for up to a renew deadline.
///
/// The belief ends a renew deadline after the last renewal that succeeded was *sent*, by a clock that counts the time a
/// suspended machine sleeps. But what was begun while leading may take effect later: use the means of [`Leadership`].
///
/// A leader that dies is replaced within lease duration + 2.2 retry periods + one request. One that gives the Lease back is
/// followed within 2.2 retry periods. (For requests that take up to a tenth of a retry period; slower ones add to it.)
///
/// # What is not here
///
/// Coordinated leader election (`LeaseCandidate`, KEP-4355), where the server picks the holder, is left out: such Leases are
/// read, and their `strategy` and `preferredHolder` are kept, but neither is acted upon. Locks on other kinds than Leases are
/// left out, as client-go has done. Releasing only after the work has ended is what KEP-5366 asks for.
///
/// # Which client
///
/// Give the elector a client that nothing else uses, built by [`client`](crate::client): a busy connection or a rate limiter
/// shared with bulk traffic can starve renewals. Each request is given up after half a renew deadline, and with the belief at
/// the latest, whatever the client's own timeouts are. It needs `get`, `create` and `update` on the Lease.
///
/// The elector is driven by the task that awaits [`run`](Self::run); the work has a task of its own. Work that blocks its
/// thread needs a runtime with several, or `spawn_blocking`, or it blocks renewals, too.
#[derive(Clone)]
pub struct LeaderElector {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    /// Namespace and name, for messages.
    lease: String,
    endpoint: Arc<Endpoint>,
    clock: ElectionClock,
    machine: Mutex<LeaderElection>,
    on_new_leader: Option<NewLeaderHandler>,
    /// A run is not over, or its work is not.
    running: AtomicBool,
    told: Mutex<Told>,
}

impl LeaderElector {
    /// An elector of the Lease `namespace/name`, which is created if it does not exist; `identity` must be this process's alone.
    pub fn builder(
        client: Client,
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> LeaderElectorBuilder {
        LeaderElectorBuilder::new(client, namespace.into(), name.into(), identity.into())
    }

    fn new(
        endpoint: Arc<Endpoint>,
        options: ElectionOptions,
        clock: ElectionClock,
        on_new_leader: Option<NewLeaderHandler>,
    ) -> Self {
        let shared = Shared {
            lease: format!("{}/{}", endpoint.namespace, endpoint.name),
            endpoint,
            clock,
            machine: Mutex::new(LeaderElection::new(options, random_seed())),
            on_new_leader,
            running: AtomicBool::new(false),
            told: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Waits for leadership, does the work, and returns when the work has ended: one term.
    ///
    /// The work begins once, when leadership does, as a task of its own. When `stop` is cancelled or leadership is lost, its
    /// [`Leadership`] is [cancelled](Leadership::cancelled), and the work is awaited; if it does not stop
    /// [in time](LeaderElectorBuilder::stop_timeout), it is dropped at its next `.await`. Only after that is the Lease given
    /// back, if [asked for](LeaderElectorBuilder::release_on_cancel).
    ///
    /// Whoever wants to take part again calls it again (client-go's programs exit here instead):
    ///
    /// ```no_run
    /// # async fn example(elector: informer::LeaderElector, stop: tokio_util::sync::CancellationToken)
    /// #     -> Result<(), informer::LeaderElectionError> {
    /// while !stop.is_cancelled() {
    ///     elector.run(stop.clone(), |leadership| async move { leadership.cancelled().await }).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Failed requests do not end it: they are logged once, counted, and tried again. Dropping the future drops the work and
    /// gives nothing back: others wait for the lease duration.
    ///
    /// # Errors
    /// If it runs already, the work panics, or the work cannot be ended.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn run<F, Fut>(
        &self,
        stop: CancellationToken,
        work: F,
    ) -> Result<Outcome<Fut::Output>, LeaderElectionError>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let running = &self.shared.running;
        if running.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Err(LeaderElectionError::Running { lease: self.shared.lease.clone() });
        }
        Driver::new(Arc::clone(&self.shared)).run(stop, work).await
    }

    /// Takes part again and again until `stop` is cancelled: [`run`](Self::run) in a loop, with the work made anew for each term.
    ///
    /// Answers what the work of the last term returned, the default if there was none. A work that ends with an error ends the
    /// loop; one that ends well before it was told to gives the term up, and takes part again.
    ///
    /// # Errors
    /// As `run`.
    ///
    /// # Panics
    /// As `run`.
    pub async fn run_terms<F, Fut, T, E>(
        &self,
        stop: CancellationToken,
        work: F,
    ) -> Result<Result<T, E>, LeaderElectionError>
    where
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Default + Send + 'static,
        E: Send + 'static,
    {
        let work = Arc::new(work);
        loop {
            let work = Arc::clone(&work);
            match self.run(stop.clone(), move |leadership| work(leadership)).await?.output {
                Some(Err(error)) => return Ok(Err(error)),
                output if stop.is_cancelled() => return Ok(output.unwrap_or_else(|| Ok(T::default()))),
                _ => {}
            }
        }
    }

    /// An identity that no other process has: the name of the host, which is a Pod's own, and what tells its processes apart.
    pub fn unique_identity() -> String {
        let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
        let host = host.unwrap_or_else(|| "localhost".to_owned());
        format!("{host}_{}_{:016x}", std::process::id(), random_seed())
    }

    /// Whether this elector leads at this instant.
    pub fn is_leader(&self) -> bool {
        let now = self.shared.clock.now();
        self.shared.machine().leads(now)
    }

    /// For a health endpoint (client-go's `HealthzAdaptor`): fails if guarded work goes on more than the lease duration and
    /// `tolerance` after the last renewal, when another may lead beside it. Who does not lead is healthy.
    ///
    /// # Errors
    /// If so: the process should be ended.
    pub fn check(&self, tolerance: Duration) -> Result<(), NotRenewed> {
        let machine = self.shared.machine();
        let Some(renewed) = machine.unended_work_renewed_at() else { return Ok(()) };
        let since = self.shared.clock.mono().since(renewed);
        if since <= machine.options().lease_duration().saturating_add(tolerance) {
            return Ok(());
        }
        Err(NotRenewed { lease: self.shared.lease.clone(), since })
    }

    /// What it does and has done.
    pub fn metrics(&self) -> LeaderElectionMetrics {
        self.shared.metrics()
    }

    /// Namespace and name of the Lease.
    #[cfg(feature = "metrics")]
    pub(crate) fn lease(&self) -> &str {
        &self.shared.lease
    }

    /// The metrics without keeping the elector; `None` when it is gone.
    #[cfg(feature = "metrics")]
    pub(crate) fn observer(&self) -> impl Fn() -> Option<LeaderElectionMetrics> + Send + Sync + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || Some(shared.upgrade()?.metrics())
    }
}

impl Shared {
    fn metrics(&self) -> LeaderElectionMetrics {
        let now = self.clock.now();
        let last_error = self.told().last.clone();
        let machine = self.machine();
        let observed = machine.observed();
        LeaderElectionMetrics {
            lease: self.lease.clone(),
            identity: machine.options().identity().to_string(),
            is_leader: machine.leads(now),
            holder: observed.map(|record| record.holder.to_string()).unwrap_or_default(),
            transitions: observed.map(|record| record.transitions).unwrap_or_default(),
            last_error,
            counters: machine.counters(),
        }
    }

    /// How much later than a belief ends another may lead at the earliest, if clocks run alike.
    fn margin(&self) -> Duration {
        let machine = self.machine();
        machine.options().lease_duration().saturating_sub(machine.options().renew_deadline())
    }

    fn machine(&self) -> MutexGuard<'_, LeaderElection> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for LeaderElector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LeaderElector").field("lease", &self.shared.lease).finish_non_exhaustive()
    }
}
