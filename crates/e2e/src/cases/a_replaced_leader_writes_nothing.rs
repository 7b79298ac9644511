//! Three replicas of the sample controller, whose leader is killed, frozen and cut off: no write of a replaced leader is
//! accepted after its successor's first, and the work goes on.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::foos::{Editor, Foos};
use crate::gate::Gate;
use crate::journal::Journal;
use crate::outcome::{Result, ensure};
use crate::sample_controller::SampleController;
use crate::suite::Context;

const NAMESPACE: &str = "replicas";
const LEASE: &str = "sample-controller";
const REPLICAS: usize = 3;
const FOOS: usize = 20;
/// Between two edits of Foos: the controller always has something to do, and so has whoever leads wrongly.
const EDIT: Duration = Duration::from_millis(50);
/// A Lease is free 15 s after its last renewal, is asked for every 2 to 4.4 s, and requests may take their time.
const TAKEOVER: Duration = Duration::from_secs(25);
/// From an edit to its Deployment, on a busy machine and with the retries of a change of leaders.
const WORK: Duration = Duration::from_secs(10);

pub(super) async fn run(context: &Context) -> Result {
    let foos = Foos::begin(context, NAMESPACE).await?;
    foos.editor.create(FOOS).await?;
    let leases = ApiResource::from_gvk(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"));
    let leases = Journal::begin(context.cluster.config(), &leases, NAMESPACE, foos.changed.clone()).await?;
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        let gate = context.cluster.gate().await?;
        let kubeconfig = context.cluster.kubeconfig(Some(&gate), NAMESPACE)?;
        let controller = SampleController::new(&kubeconfig, &["--leader-elect", LEASE])?;
        replicas.push(Replica { gate, controller });
    }
    let mut election = Election { foos, leases, replicas, edits: 0 };
    let result = election.go_through().await;
    result.map_err(|error| election.replicas.iter().fold(error, |error, it| it.controller.explain(&error)))
}

/// A process, and its wire to the server.
struct Replica {
    gate: Gate,
    controller: SampleController,
}

struct Election {
    foos: Foos,
    leases: Journal,
    replicas: Vec<Replica>,
    edits: usize,
}

impl Election {
    async fn go_through(&mut self) -> Result {
        for replica in &mut self.replicas {
            replica.controller.start()?;
        }
        let first = self.successor(None).await?;
        self.works().await?;
        let mut writer = JoinSet::new();
        writer.spawn(edit(self.foos.editor.clone()));

        // Killed, and started again as a replica like the others.
        self.replicas[first].controller.kill()?;
        let second = self.successor(Some(first)).await?;
        self.works().await?;
        self.replicas[first].controller.start()?;

        // Frozen: it does not know how much time has passed when it goes on.
        self.replicas[second].controller.signal("STOP")?;
        let third = self.successor(Some(second)).await?;
        self.works().await?;
        self.replicas[second].controller.signal("CONT")?;
        self.renewed(third).await?;
        self.works().await?;

        // Cut off: it goes on working, but reaches nobody until its wire is mended.
        self.replicas[third].gate.cut().await;
        let fourth = self.successor(Some(third)).await?;
        self.works().await?;
        self.replicas[third].gate.mend().await?;
        self.renewed(fourth).await?;
        self.works().await?;

        ensure!(writer.try_join_next().is_none(), "the writer ended by itself");
        writer.shutdown().await;
        self.foos.settled(WORK).await?;
        ensure!(self.leases.pages().gaps == 0, "the Lease's journal has a gap");
        self.foos.check_terms(4)?;
        self.replicas.iter_mut().try_for_each(|replica| replica.controller.stop())
    }

    /// Waits until another replica than this one holds the Lease, and answers which.
    async fn successor(&self, of: Option<usize>) -> Result<usize> {
        let find = || {
            let holder = self.holder();
            holder.filter(|holder| Some(*holder) != of).ok_or(format!("replica {holder:?} has the Lease"))
        };
        self.foos.eventually(TAKEOVER, "another leader", find).await
    }

    /// Waits until the leader has renewed its Lease twice: by then every other has looked at it, too.
    async fn renewed(&self, leader: usize) -> Result {
        let seen = self.leases.pages().entries.len();
        let find = || match (self.holder(), self.leases.pages().entries.len() - seen) {
            (Some(holder), more) if holder == leader && more >= 2 => Ok(()),
            (holder, more) => Err(format!("replica {holder:?} has it, {more} renewals")),
        };
        self.foos.eventually(WORK, "the leader renews its Lease", find).await
    }

    /// Waits until an edit that is made now is carried out.
    async fn works(&mut self) -> Result {
        self.edits += 1;
        let wanted = 100 + self.edits;
        self.foos.editor.scale(0, wanted).await?;
        let (foo, deployments) = (self.foos.editor.key(0), &self.foos.deployments);
        let find = || match deployments.pages().held.get(&foo).map(|it| it["spec"]["replicas"].clone()) {
            Some(replicas) if replicas == wanted => Ok(()),
            other => Err(format!("the Deployment has {other:?} replicas")),
        };
        self.foos.eventually(WORK, "an edit is carried out", find).await
    }

    /// Which replica holds the Lease.
    fn holder(&self) -> Option<usize> {
        let pages = self.leases.pages();
        let lease = pages.held.values().next()?;
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        self.replicas
            .iter()
            .position(|replica| replica.controller.id().is_some_and(|id| holder.contains(&format!("_{id}_"))))
    }
}

/// Scales one Foo after the other, all but the first, until it is ended.
async fn edit(editor: Editor) -> Result {
    let mut tick = interval(EDIT);
    for round in 0.. {
        for foo in 1..FOOS {
            tick.tick().await;
            editor.scale(foo, 1 + (round + foo) % 7).await?;
        }
    }
    Ok(())
}
