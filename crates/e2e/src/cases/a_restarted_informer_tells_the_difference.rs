//! An informer that was stopped while things changed keeps its cache, and tells its handlers the difference when it is
//! started again.

use serde_json::json;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::witness::End;
use crate::world::{self, Kind};

pub(super) async fn run(context: &Context) -> Result {
    let scope = || Scope::of(Kind::ConfigMap);
    let config_maps = Watched::config_maps(scope(), context.cluster.client()?)?;
    config_maps.synced().await?;
    context.check(&config_maps).await?;
    for round in 0..3 {
        config_maps.informer.stop().await;
        ensure!(config_maps.informer.is_stopped(), "it is not stopped");
        let before = config_maps.informer.store().len();
        let (deleted, recreated) = (Kind::ConfigMap.key(1, 60 + round), Kind::ConfigMap.key(2, 60 + round));
        let (changed, created) = (Kind::ConfigMap.key(3, 60 + round), Kind::ConfigMap.key(4, 200 + round));
        let (api, resource) = (&context.api, Kind::ConfigMap.resource());
        world::delete_objects(api, Kind::ConfigMap, [deleted.clone(), recreated.clone()].into_iter()).await?;
        world::create_objects(api, Kind::ConfigMap, [recreated.clone(), created.clone()].into_iter()).await?;
        api.patch(&resource, &changed, &json!({"data": {"round": round.to_string()}})).await?;
        ensure!(config_maps.informer.store().len() == before, "a stopped informer's cache changed");
        let told = config_maps.witness().history().counts;
        config_maps.informer.start();
        context.check(&config_maps).await?;
        let history = config_maps.witness().history();
        let now = history.counts;
        for key in [&deleted, &recreated] {
            ensure!(history.ends.get(key) == Some(&End::Stale), "{key} ended as {:?}", history.ends.get(key));
        }
        let difference = (now.added - told.added, now.updated - told.updated, now.deleted - told.deleted);
        // A real server writes a ConfigMap of its own now and then.
        let others = usize::from(context.cluster.is_real());
        let same = difference.0 == 2 && difference.2 == 2 && (1..=1 + others).contains(&difference.1);
        ensure!(same, "told were {difference:?} additions, updates and deletions, not (2, 1, 2)");
    }
    Ok(())
}
