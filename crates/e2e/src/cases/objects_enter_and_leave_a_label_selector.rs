//! An object whose labels cease to match is deleted for the informer, and added when they match again.

use serde_json::json;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::witness::End;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let client = context.cluster.client()?;
    let selector = "app in (app-1,app-2),tier!=tier-0";
    let pods = Watched::pods(Scope::of(Kind::Pod).labels(selector), client.clone())?;
    let widgets = Watched::dynamic(Scope::of(Kind::Widget).labels("app=app-1"), client.clone())?;
    let metadata = Watched::metadata(Scope::of(Kind::Pod).labels("app=app-4"), client)?;
    pods.synced().await?;
    context.check(&pods).await?;
    let (api, resource) = (&context.api, Kind::Pod.resource());
    // 41 ends in 1: app-1 and tier-1.
    let key = Kind::Pod.key(7, 41);
    let relabel = async |app: &str| -> Result {
        api.patch(&resource, &key, &json!({"metadata": {"labels": {"app": app}}})).await.map(drop)
    };
    relabel("app-1").await?;
    let is_held = |held: bool| (pods.informer.store().contains(&key) == held).then_some(());
    pods.eventually("it matches", || is_held(true)).await?;
    for _ in 0..3 {
        relabel("elsewhere").await?;
        pods.eventually("it left", || is_held(false)).await?;
        pods.eventually("told that it left", || {
            (!pods.witness().history().held.contains_key(&key)).then_some(())
        })
        .await?;
        let end = pods.witness().history().ends.get(&key).copied();
        ensure!(end == Some(End::Known), "an object that left was told as {end:?}");
        relabel("app-2").await?;
        pods.eventually("it entered", || is_held(true)).await?;
    }
    let rounds = context.cluster.scaled(20, 5);
    tokio::try_join!(
        writer::write(
            api,
            Kind::Pod,
            (0..NAMESPACES).flat_map(|namespace| [41, 42].map(|number| Kind::Pod.key(namespace, number))),
            rounds,
            8
        ),
        writer::write(
            api,
            Kind::Widget,
            (0..NAMESPACES).map(|namespace| Kind::Widget.key(namespace, 5)),
            rounds,
            9
        ),
    )?;
    context.check(&pods).await?;
    context.check(&widgets).await?;
    context.check(&metadata).await
}
