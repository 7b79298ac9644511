//! A server that is killed in the middle of a storm and started again: nothing is lost, told twice, or asked for too often.

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let client = context.cluster.client()?;
    let mut pods = Watched::pods(Scope::of(Kind::Pod), client.clone())?;
    pods.add_stream_witness("stream");
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), client.clone())?;
    let widgets = Watched::dynamic(Scope::of(Kind::Widget), client.clone())?;
    let metadata = Watched::metadata(Scope::of(Kind::Pod), client)?;
    pods.synced().await?;
    widgets.synced().await?;
    let requests = pods.informer.status().requests;
    let rounds = context.cluster.scaled(12, 4);
    let api = context.api.clone();
    // The writers repeat what was not answered, so they go on when the server is back.
    let storm = tokio::spawn(async move {
        let keys =
            |kind: Kind, number: usize| (0..NAMESPACES).map(move |namespace| kind.key(namespace, number));
        tokio::try_join!(
            writer::write(&api, Kind::Pod, keys(Kind::Pod, 61).chain(keys(Kind::Pod, 62)), rounds, 14),
            writer::write(&api, Kind::ConfigMap, keys(Kind::ConfigMap, 61), rounds, 15),
            writer::write(&api, Kind::Widget, keys(Kind::Widget, 7), rounds, 16),
        )
    });
    let told = pods.witness().history().counts.updated;
    let more = || (storm.is_finished() || pods.witness().history().counts.updated > told + 10).then_some(());
    pods.eventually("changes", more).await?;
    ensure!(!storm.is_finished(), "the storm was over before the server was killed");
    context.cluster.kill().await?;
    pods.trouble("an error", 0, |_| true).await?;
    context.cluster.start_again().await?;
    storm.await??;
    context.check(&pods).await?;
    context.check(&config_maps).await?;
    context.check(&widgets).await?;
    context.check(&metadata).await?;
    // An attempt a second at most, and the streams of a second or three in between.
    let requests = pods.informer.status().requests - requests;
    ensure!(requests < 60, "{requests} requests");
    if !context.cluster.is_real() {
        let relisted = pods.witness().history().counts.relisted;
        ensure!(relisted == 0, "the server remembers, but the collection was read {relisted} more times");
    }
    Ok(())
}
