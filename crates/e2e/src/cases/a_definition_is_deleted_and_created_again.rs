//! When a custom resource's definition goes, its objects are deleted for everybody, and the informer waits; when it is back,
//! the informer goes on by itself.

use informer::{Phase, Trouble};

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{self, Kind};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let client = context.cluster.client()?;
    let widgets = Watched::dynamic(Scope::of(Kind::Widget), client.clone())?;
    let metadata = Watched::metadata(Scope::of(Kind::Widget), client)?;
    widgets.synced().await?;
    metadata.synced().await?;
    let before = widgets.informer.store().len();
    ensure!(before > 300, "only {before} widgets");
    world::undefine_widgets(&context.api).await?;
    widgets.trouble("told that it is gone", 0, |report| report.trouble == Trouble::ResourceGone).await?;
    metadata.trouble("told that it is gone", 0, |report| report.trouble == Trouble::ResourceGone).await?;
    let is_told = || widgets.witness().history().held.is_empty().then_some(());
    widgets.eventually("every object was deleted", is_told).await?;
    let status = widgets.informer.status();
    ensure!(
        status.objects == 0 && status.phase == Phase::ResourceGone,
        "{} objects, {}",
        status.objects,
        status.phase
    );
    world::define_widgets(&context.api).await?;
    let api = &context.api;
    tokio::try_join!(
        world::create_objects(api, Kind::Widget, Kind::Widget.keys().step_by(2)),
        writer::write(api, Kind::Widget, Kind::Widget.keys().skip(1).step_by(8), 3, 13),
    )?;
    context.check(&widgets).await?;
    context.check(&metadata).await?;
    let told = widgets.troubles().iter().filter(|report| report.trouble == Trouble::ResourceGone).count();
    ensure!(told == 1, "that it is gone was told {told} times");
    let phase = widgets.informer.status().phase;
    ensure!(phase == Phase::Watching, "it is back, but: {phase}");
    Ok(())
}
