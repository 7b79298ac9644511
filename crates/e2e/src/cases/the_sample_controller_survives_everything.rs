//! The sample controller is killed, loses its server and finds its work undone: each Foo gets its one Deployment all the same.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::foos::Foos;
use crate::outcome::{Result, ensure};
use crate::sample_controller::SampleController;
use crate::suite::Context;

const FOOS: usize = 500;
const NAMESPACE: &str = "sample-controller";
/// For all of the work: five requests for each Foo, with four under way. A real server on a busy machine answers 50 a second.
const LIMIT: Duration = Duration::from_secs(90);

pub(super) async fn run(context: &Context) -> Result {
    let kubeconfig = context.cluster.kubeconfig(None, NAMESPACE)?;
    let mut controller = SampleController::new(&kubeconfig, &[])?;
    let result = go_through(context, &mut controller).await;
    result.map_err(|error| controller.explain(&error))
}

async fn go_through(context: &Context, controller: &mut SampleController) -> Result {
    let foos = Foos::begin(context, NAMESPACE).await?;
    foos.editor.create(FOOS).await?;

    // It dies with a part of its work done, and starts again.
    controller.start()?;
    foos.deployments_reach(FOOS / 5, LIMIT).await?;
    controller.kill()?;
    let done = foos.deployments.pages().held.len();
    ensure!(done < FOOS, "all was done before the controller was killed");
    controller.start()?;

    // The server dies while the controller works.
    foos.deployments_reach(done + FOOS / 5, LIMIT).await?;
    context.cluster.kill().await?;
    let done = foos.deployments.pages().held.len();
    ensure!(done < FOOS, "all was done before the server was killed");
    context.cluster.start_again().await?;
    foos.settled(LIMIT).await?;

    // Somebody undoes its work, first while it looks, then while it does not.
    undo(&foos, 0).await?;
    foos.settled(LIMIT).await?;
    controller.kill()?;
    undo(&foos, 1).await?;
    controller.start()?;
    foos.settled(LIMIT).await?;

    let incarnations = foos.incarnations();
    let mut wanted: BTreeMap<_, _> = (0..FOOS).map(|number| (foos.editor.key(number), 1)).collect();
    for number in (0..2).flat_map(deleted) {
        *wanted.entry(foos.editor.key(number)).or_default() += 1;
    }
    for (key, count) in &incarnations {
        let wanted = wanted.get(key).copied().unwrap_or_default();
        ensure!(*count == wanted, "Deployment {key} was created {count} times, not {wanted} times");
    }
    ensure!(incarnations.len() == FOOS, "there were {} Deployments", incarnations.len());
    controller.stop()
}

/// The Deployments that are deleted in a round; some in both.
fn deleted(round: usize) -> impl Iterator<Item = usize> {
    (0..20).map(move |number| number * (10 + round))
}

/// Deletes Deployments, edits others, and changes what some Foos ask for.
async fn undo(foos: &Foos, round: usize) -> Result {
    for number in deleted(round) {
        foos.editor.delete_deployment(number).await?;
    }
    for number in (0..20).map(|number| 301 + 5 * number + round) {
        foos.editor.tamper(number, &json!({"spec": {"replicas": 17}})).await?;
        let containers = json!([{"name": "nginx", "image": "registry.example/other:1"}]);
        let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        foos.editor.tamper(number + 2, &change).await?;
    }
    for number in 0..20 {
        foos.editor.scale(number, 6 + round).await?;
    }
    Ok(())
}
