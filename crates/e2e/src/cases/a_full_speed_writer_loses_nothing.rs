//! While a writer changes, deletes and recreates at full speed, every handler's history stays true, however slow it is.

use std::time::Duration;

use tokio::task::spawn_blocking;

use crate::outcome::{Result, ensure};
use crate::reader::Reader;
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let client = context.cluster.client()?;
    let mut pods = Watched::pods(Scope::of(Kind::Pod), client.clone())?;
    pods.add_witness("handler with a backlog of 3", 3);
    pods.add_stream_witness("stream");
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), client.clone())?;
    let widgets = Watched::dynamic(Scope::of(Kind::Widget), client.clone())?;
    let metadata = Watched::metadata(Scope::of(Kind::Pod), client)?;
    pods.synced().await?;
    // A slow consumer: its backlog overflows, and it is told fewer and later states.
    let slow = pods.witnesses[1].clone();
    let brake = spawn_blocking(move || {
        for _ in 0..20 {
            let _held_up = slow.history();
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let reader = Reader::start(pods.informer.store());
    let rounds = context.cluster.scaled(10, 3);
    let api = &context.api;
    // Every second object of every namespace.
    let keys = |kind: Kind| {
        (0..NAMESPACES).flat_map(move |namespace| {
            (0..20).map(move |number| kind.key(namespace, number * 2 % kind.per_namespace()))
        })
    };
    tokio::try_join!(
        writer::write(api, Kind::Pod, keys(Kind::Pod).step_by(2), rounds, 1),
        writer::write(api, Kind::ConfigMap, keys(Kind::ConfigMap).step_by(4), rounds, 2),
        writer::write(
            api,
            Kind::Widget,
            (0..NAMESPACES).map(|namespace| Kind::Widget.key(namespace, 3)),
            rounds,
            3
        ),
    )?;
    brake.await?;
    reader.finish().await?;
    context.check(&pods).await?;
    context.check(&config_maps).await?;
    context.check(&widgets).await?;
    context.check(&metadata).await?;
    let counts = pods.witness().history().counts;
    ensure!(counts.updated > 100 && counts.deleted > 50, "hardly anything happened: {counts:?}");
    ensure!(counts.relisted == 0, "nothing was lost, but the list was read {} more times", counts.relisted);
    Ok(())
}
