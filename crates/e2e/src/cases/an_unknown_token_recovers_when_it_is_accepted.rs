//! With an expired or unknown token one clear line says so; once the server accepts it, the informer syncs by itself.

use informer::{FailureKind, Trouble};

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::Kind;

const TOKEN: &str = "a-token-that-is-not-known-yet";

pub(super) async fn run(context: &Context) -> Result {
    let mut config = context.cluster.config();
    config.auth_info = kube::config::AuthInfo { token: Some(TOKEN.to_owned().into()), ..Default::default() };
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), informer::client(config)?)?;
    let unauthorized = |report: &informer::TroubleReport| matches!(&report.trouble, Trouble::RequestFailed { failure, .. } if failure.kind == FailureKind::Unauthorized);
    let seen = config_maps.trouble("a refusal", 0, unauthorized).await?.to_string();
    let clear = ["configmaps", "list", "401", "Unauthorized"].iter().all(|part| seen.contains(part));
    ensure!(clear && seen.lines().count() == 1, "not one clear line: {seen:?}");
    ensure!(!seen.contains(TOKEN), "the token is in the message");
    context.cluster.accept_token(TOKEN).await?;
    config_maps.synced().await?;
    context.cluster.repair().await?;
    context.check(&config_maps).await
}
