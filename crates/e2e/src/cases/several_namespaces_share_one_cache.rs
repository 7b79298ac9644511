//! One informer of several namespaces is the union of their lists, and of nothing else.

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{self, Kind, NAMESPACES, namespace_name};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    // One of them comes to be only later.
    let late = "team-late";
    let names = [namespace_name(2), namespace_name(5), namespace_name(11), late.to_owned()];
    let scope = Scope::of(Kind::Pod).namespaces(names.clone());
    let pods = Watched::pods(scope, context.cluster.client()?)?;
    pods.synced().await?;
    let api = &context.api;
    world::create_namespace(api, late).await?;
    let newcomers = (0..10).map(|number| informer::ObjectKey::new(late, &format!("pod-{number}")));
    let rounds = context.cluster.scaled(10, 3);
    let everywhere =
        (0..NAMESPACES).flat_map(|namespace| [21, 22, 23].map(|number| Kind::Pod.key(namespace, number)));
    tokio::try_join!(
        world::create_objects(api, Kind::Pod, newcomers),
        writer::write(api, Kind::Pod, everywhere, rounds, 4),
    )?;
    context.check(&pods).await?;
    let found = pods.informer.lister().namespace(late).all().len();
    ensure!(found == 10, "{found} Pods in the new namespace");
    let stray = pods
        .informer
        .store()
        .list()
        .into_iter()
        .find(|pod| !names.iter().any(|name| name == pod.key.namespace()));
    ensure!(stray.is_none(), "a Pod of another namespace: {stray:?}");
    Ok(())
}
