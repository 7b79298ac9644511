//! Without the right to list, one clear line says so, once; with it, the informer syncs without a restart.

use std::time::Duration;

use informer::{FailureKind, Trouble};

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::Kind;

pub(super) async fn run(context: &Context) -> Result {
    let stranger = context.cluster.stranger(Kind::ConfigMap).await?;
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), informer::client(stranger)?)?;
    let forbidden = |report: &informer::TroubleReport| matches!(&report.trouble, Trouble::RequestFailed { failure, .. } if failure.kind == FailureKind::Forbidden);
    let seen = config_maps.trouble("a refusal", 0, forbidden).await?.to_string();
    let clear = ["configmaps", "list", "403", "forbidden"].iter().all(|part| seen.contains(part));
    ensure!(clear && seen.lines().count() == 1, "not one clear line: {seen:?}");
    let error = config_maps.informer.wait_for_sync(Duration::from_millis(100)).await;
    let text = error.err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(text.contains("forbidden"), "the wait's error does not say why: {text:?}");
    // It goes on trying, with a request of another kind perhaps, but says the same only once.
    config_maps.trouble("the same again", 1, |report| report.repeated > 0).await?;
    let first = config_maps.troubles().iter().filter(|report| report.repeated == 0).count();
    ensure!(first <= 2, "one refusal was told as {first}");
    context.cluster.permit(Kind::ConfigMap).await?;
    config_maps.synced().await?;
    config_maps
        .eventually("recovery", || config_maps.informer.status().last_error.is_none().then_some(()))
        .await?;
    context.check(&config_maps).await
}
