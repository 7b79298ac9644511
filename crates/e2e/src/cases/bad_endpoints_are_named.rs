//! A server that is not there, or that a wrong authority vouches for, gives one clear line; the former recovers.

use std::time::Duration;

use informer::{SyncError, TroubleReport};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::Kind;

/// An authority that has signed nothing.
const OTHER_AUTHORITY: &[u8] = include_bytes!("other_ca.der");
/// The error is there already when it is waited for.
const SOON: Duration = Duration::from_millis(100);

pub(super) async fn run(context: &Context) -> Result {
    nobody_listens(context).await?;
    wrong_authority(context).await
}

async fn nobody_listens(context: &Context) -> Result {
    let gate = context.cluster.gate().await?;
    gate.cut().await;
    let config_maps =
        Watched::config_maps(Scope::of(Kind::ConfigMap), context.cluster.client_through(&gate)?)?;
    let seen = config_maps.trouble("an error", 0, |_| true).await?;
    one_line(&seen, "refused")?;
    let error = unsynced(&config_maps).await?;
    ensure!(error.to_string().contains("refused"), "the wait's error does not say why: {error}");
    config_maps.trouble("the same again", 1, |report| report.repeated > 0).await?;
    let others = config_maps.troubles().iter().filter(|report| report.repeated == 0).count();
    ensure!(others == 1, "one trouble was told as {others}");
    gate.mend().await?;
    config_maps.synced().await?;
    config_maps
        .eventually("recovery", || config_maps.informer.status().last_error.is_none().then_some(()))
        .await?;
    context.check(&config_maps).await
}

async fn wrong_authority(context: &Context) -> Result {
    let mut config = context.cluster.config();
    config.root_cert_file = None;
    config.root_cert = Some(vec![OTHER_AUTHORITY.to_vec()]);
    let cause = if context.cluster.is_real() {
        "certificate"
    } else {
        // The embedded server speaks no TLS at all.
        config.cluster_url = config.cluster_url.to_string().replace("http:", "https:").parse()?;
        "corrupt message"
    };
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), informer::client(config)?)?;
    let seen = config_maps.trouble("an error", 0, |_| true).await?;
    one_line(&seen, cause)?;
    unsynced(&config_maps).await?;
    ensure!(config_maps.informer.store().is_empty(), "something was read from a server that is not trusted");
    Ok(())
}

/// A report that says what failed and why, in one line.
fn one_line(report: &TroubleReport, cause: &str) -> Result {
    let text = report.to_string();
    let clear = text.contains("configmaps") && text.contains("list") && text.contains("failed");
    ensure!(clear && text.lines().count() == 1, "not one clear line: {text:?}");
    ensure!(text.contains(cause), "the cause, {cause:?}, is not in {text:?}");
    Ok(())
}

async fn unsynced(watched: &Watched<ConfigMap>) -> Result<SyncError> {
    match watched.informer.wait_for_sync(SOON).await {
        Err(error) => Ok(error),
        Ok(()) => Err("synced without a server".into()),
    }
}
