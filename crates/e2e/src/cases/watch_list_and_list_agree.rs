//! With WatchList and without it, whole or in pages, the result is the same.

use informer::{Dynamic, Typed};
use k8s_openapi::api::core::v1::Pod;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let client = || context.cluster.client();
    let pods = Scope::of(Kind::Pod);
    let widgets = Scope::of(Kind::Widget);
    let format = Typed::<Pod>::new;
    let streamed = Watched::start(pods.clone(), client()?, format(), |builder| {
        builder.reflector_options(|options| options.watch_list(true))
    })?;
    let listed = Watched::start(pods.clone(), client()?, format(), |builder| {
        builder.reflector_options(|options| options.watch_list(false))
    })?;
    let paged = Watched::start(pods, client()?, format(), |builder| {
        builder.reflector_options(|options| options.watch_list(false).page_size(70).consistent_first_list(true))
    })?;
    let dynamic = Watched::start(widgets.clone(), client()?, Dynamic::new(&widgets.resource), |builder| {
        builder.reflector_options(|options| options.watch_list(false).page_size(30))
    })?;
    // They read the first list while things change.
    writer::write(&context.api, Kind::Pod, (0..NAMESPACES).map(|number| Kind::Pod.key(number, 11)), 5, 7).await?;
    for watched in [&streamed, &listed, &paged] {
        watched.synced().await?;
        context.check(watched).await?;
    }
    dynamic.synced().await?;
    context.check(&dynamic).await?;
    let requests = paged.informer.status().requests;
    ensure!(requests > 20, "pages of 70 took {requests} requests only");
    let troubles = streamed.troubles();
    ensure!(troubles.is_empty(), "WatchList does not work: {}", troubles[0]);
    Ok(())
}
