//! Typed, dynamic and metadata-only informers of 20 namespaces sync, and equal the server's lists.

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};

pub(super) async fn run(context: &Context) -> Result {
    let client = context.cluster.client()?;
    let pods = Watched::pods(Scope::of(Kind::Pod), client.clone())?;
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), client.clone())?;
    let widgets = Watched::dynamic(Scope::of(Kind::Widget), client.clone())?;
    let metadata = Watched::metadata(Scope::of(Kind::Pod), client)?;
    pods.synced().await?;
    config_maps.synced().await?;
    widgets.synced().await?;
    metadata.synced().await?;
    for (kind, objects) in [
        (Kind::Pod, pods.informer.store().len()),
        (Kind::ConfigMap, config_maps.informer.store().len()),
        (Kind::Widget, widgets.informer.store().len()),
        (Kind::Pod, metadata.informer.store().len()),
    ] {
        // A real server has a few ConfigMaps of its own.
        let wanted = NAMESPACES * kind.per_namespace();
        ensure!(objects >= wanted, "{objects} objects of {kind:?}, not {wanted}");
    }
    context.check(&pods).await?;
    context.check(&config_maps).await?;
    context.check(&widgets).await?;
    context.check(&metadata).await?;
    let counts = pods.witness().history().counts;
    ensure!(
        counts.updated + counts.deleted + counts.relisted == 0,
        "nothing happened, but told was {counts:?}"
    );
    Ok(())
}
