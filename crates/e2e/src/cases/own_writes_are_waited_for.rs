//! After a write, `wait_until` its version makes the cache show it.

use informer::ResourceVersion;
use serde_json::json;
use std::time::Duration;

use crate::api::version_of;
use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::Kind;

pub(super) async fn run(context: &Context) -> Result {
    let config_maps = Watched::config_maps(Scope::of(Kind::ConfigMap), context.cluster.client()?)?;
    config_maps.synced().await?;
    let resource = Kind::ConfigMap.resource();
    let lister = config_maps.informer.lister().namespace("team-03");
    for round in 0..20 {
        let key = Kind::ConfigMap.key(3, 50 + round % 4);
        let colour = format!("colour-{round}");
        let written = context.api.patch(&resource, &key, &json!({"data": {"colour": colour}})).await?;
        config_maps.reached(&version_of(&written)).await?;
        let data = lister.get(key.name()).and_then(|found| found.data.clone()).unwrap_or_default();
        ensure!(
            data.get("colour") == Some(&colour),
            "the cache does not show version {} of {key}",
            version_of(&written)
        );
    }
    let far = ResourceVersion::from(u64::MAX);
    let error = config_maps.informer.wait_until(&far, Duration::from_millis(10)).await;
    ensure!(error.is_err(), "a version of the far future was reached");
    context.check(&config_maps).await
}
