//! What was deleted while an informer was cut off, and its version lost (410): every handler is told, as of a last known
//! state.

use informer::{FailureKind, Trouble, Typed};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::witness::End;
use crate::world::{self, Kind};

pub(super) async fn run(context: &Context) -> Result {
    let gate = context.cluster.gate().await?;
    let client = context.cluster.client_through(&gate)?;
    let watch_list = |enabled: bool| {
        let client = client.clone();
        Watched::start(Scope::of(Kind::Pod), client, Typed::<Pod>::new(), move |builder| {
            builder.reflector_options(|options| options.watch_list(enabled))
        })
    };
    let mut both = [watch_list(true)?, watch_list(false)?];
    for pods in &mut both {
        pods.add_witness("handler with a backlog of 3", 3);
        pods.synced().await?;
        context.check(pods).await?;
    }
    gate.cut().await;
    let (api, resource) = (&context.api, Kind::Pod.resource());
    let deleted = || (0..20).map(|namespace| Kind::Pod.key(namespace, 71));
    let recreated = || (0..10).map(|namespace| Kind::Pod.key(namespace, 72));
    let short_lived = || (0..5).map(|namespace| Kind::Pod.key(namespace, 300));
    // What exists before the cut is not chance.
    world::create_objects(api, Kind::Pod, short_lived()).await?;
    world::delete_objects(api, Kind::Pod, deleted().chain(recreated()).chain(short_lived())).await?;
    world::create_objects(api, Kind::Pod, recreated()).await?;
    for namespace in 0..10 {
        let change = json!({"metadata": {"labels": {"app": "app-3"}}});
        api.patch(&resource, &Kind::Pod.key(namespace, 73), &change).await?;
    }
    context.cluster.lose_versions().await?;
    gate.mend().await?;
    for pods in &both {
        context.check(pods).await?;
        let expired = |report: &informer::TroubleReport| matches!(&report.trouble, Trouble::RequestFailed { failure, .. } if failure.kind == FailureKind::Expired);
        ensure!(pods.troubles().iter().any(expired), "no version was lost");
        for witness in &pods.witnesses {
            let history = witness.history();
            for key in deleted().chain(recreated()) {
                let end = history.ends.get(&key);
                ensure!(end == Some(&End::Stale), "{}: the end of {key} was told as {end:?}", witness.name);
            }
            let never = short_lived().find(|key| history.ends.contains_key(key));
            ensure!(never.is_none(), "{}: told of an object it never saw, {never:?}", witness.name);
            ensure!(history.counts.relisted > 0, "{}: not told of the new list", witness.name);
        }
    }
    Ok(())
}
