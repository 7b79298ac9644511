//! The options of an elector.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_core::leader_election::ElectionOptions;
use kube::Client;

use super::LeaderElector;
use super::clock::ElectionClock;
use super::exchange::Endpoint;
use super::outcome::LeaderElectionError;

/// Told who leads.
pub(super) type NewLeaderHandler = Box<dyn Fn(&str) + Send + Sync>;

/// The options of a [`LeaderElector`].
#[must_use]
pub struct LeaderElectorBuilder {
    client: Client,
    namespace: String,
    name: String,
    identity: String,
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
    release_on_cancel: bool,
    stop_timeout: Duration,
    labels: BTreeMap<String, String>,
    on_new_leader: Option<NewLeaderHandler>,
    clock: Option<ElectionClock>,
}

impl LeaderElectorBuilder {
    pub(super) fn new(client: Client, namespace: String, name: String, identity: String) -> Self {
        Self {
            client,
            namespace,
            name,
            identity,
            // What Kubernetes' own components use.
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            release_on_cancel: false,
            stop_timeout: Duration::from_secs(30),
            labels: BTreeMap::new(),
            on_new_leader: None,
            clock: None,
        }
    }

    /// How long others wait after they saw the last sign of life. In whole seconds, rounded up. Default: 15 s.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// How long the belief to lead lasts after the last renewal that succeeded was sent. Less than the lease duration: their
    /// ratio is by how much one clock may run faster than another. Default: 10 s.
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.renew_deadline = deadline;
        self
    }

    /// The time between two renewals; others look one to two of them apart. Less than 5/6 of the renew deadline. Default: 2 s.
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.retry_period = period;
        self
    }

    /// Whether the Lease is given back when the run was asked to stop, or the work came to its end: *after* the work has ended,
    /// so that another may lead at once. Default: no, as in client-go: others wait for the lease duration.
    pub fn release_on_cancel(mut self, release: bool) -> Self {
        self.release_on_cancel = release;
        self
    }

    /// How long the work may take to stop before it is dropped. When the run was asked to stop, the Lease is renewed
    /// meanwhile. When leadership was lost, the work is dropped as soon as another may lead, whatever this says. Default: 30 s.
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.stop_timeout = timeout;
        self
    }

    /// A label that the Lease is to have. It is set with each write; labels of others stay.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Told once of each change of the leader, this one included; the empty text is nobody. It is called between requests and
    /// must not block. If it panics, that is logged.
    pub fn on_new_leader(mut self, handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_new_leader = Some(Box::new(handler));
        self
    }

    /// The clock that decides. Default: [`ElectionClock::boottime`]. Tests with paused time need [`ElectionClock::tokio`].
    pub fn clock(mut self, clock: ElectionClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// The elector; it sends nothing before it runs.
    ///
    /// # Errors
    /// Unless `lease_duration > renew_deadline > 1.2 * retry_period > 0`, the identity is not empty, and namespace and name can be
    /// those of a Lease.
    pub fn build(self) -> Result<LeaderElector, LeaderElectionError> {
        let options =
            ElectionOptions::new(self.identity, self.lease_duration, self.renew_deadline, self.retry_period)?
                .release(self.release_on_cancel)
                .stop_timeout(self.stop_timeout);
        for (what, text) in [("namespace", &self.namespace), ("name", &self.name)] {
            if !is_name(text) {
                return Err(LeaderElectionError::Name { what });
            }
        }
        let endpoint =
            Endpoint { client: self.client, namespace: self.namespace, name: self.name, labels: self.labels };
        let clock = self.clock.unwrap_or_default();
        Ok(LeaderElector::new(Arc::new(endpoint), options, clock, self.on_new_leader))
    }
}

/// Whether this can be a name. More than an API server's rules it keeps the request's path what it is meant to be.
fn is_name(text: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    (1..=253).contains(&text.len()) && text.chars().all(is_fit) && !text.chars().all(|c| c == '.')
}
