//! A handler added in the middle of a storm is told of everything: first what is there, then every change.

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let mut pods = Watched::pods(Scope::of(Kind::Pod), context.cluster.client()?)?;
    pods.synced().await?;
    let rounds = context.cluster.scaled(10, 3);
    let api = context.api.clone();
    let keys =
        (0..NAMESPACES).flat_map(|namespace| [31, 32, 33].map(|number| Kind::Pod.key(namespace, number)));
    let storm = tokio::spawn(async move { writer::write(&api, Kind::Pod, keys, rounds, 5).await });
    for name in ["a first late handler", "a second late handler", "a third late handler"] {
        let told = pods.witness().history().counts.updated;
        let more =
            || (storm.is_finished() || pods.witness().history().counts.updated > told + 5).then_some(());
        pods.eventually("more changes", more).await?;
        pods.add_witness(name, 16);
    }
    pods.add_stream_witness("a late stream");
    storm.await??;
    context.check(&pods).await?;
    // One that is removed hears nothing more.
    pods.registrations[1].remove().await;
    let removed = pods.witnesses.remove(1);
    let before = removed.history().counts;
    writer::write(&context.api, Kind::Pod, (0..3).map(|number| Kind::Pod.key(number, 34)), 3, 6).await?;
    context.check(&pods).await?;
    let after = removed.history().counts;
    ensure!(
        after.updated == before.updated && after.added == before.added,
        "a removed handler was told {after:?}"
    );
    Ok(())
}
