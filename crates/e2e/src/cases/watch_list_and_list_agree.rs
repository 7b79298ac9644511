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
    let stream = || {
        Watched::start(pods.clone(), client()?, format(), |builder| {
            builder.reflector_options(|options| options.watch_list(true))
        })
    };
    let streamed = stream()?;
    streamed.synced().await?;
    let troubles = streamed.troubles();
    ensure!(troubles.is_empty(), "WatchList does not work: {}", troubles[0]);
    // Now they read the first list while things change. A real server cuts off a WatchList that it cannot send fast
    // enough then, so this one may take several attempts.
    let stream_in_a_storm = stream()?;
    let listed = Watched::start(pods.clone(), client()?, format(), |builder| {
        builder.reflector_options(|options| options.watch_list(false))
    })?;
    let paged = Watched::start(pods.clone(), client()?, format(), |builder| {
        builder
            .reflector_options(|options| options.watch_list(false).page_size(70).consistent_first_list(true))
    })?;
    // The client that kube makes by itself retries and decompresses below the informer: the result is the same.
    let plain_client = kube::Client::try_from(context.cluster.config())?;
    let plain = Watched::pods(pods.clone(), plain_client)?;
    let gzipped = Watched::start(pods.gzip(), client()?, format(), |builder| {
        builder.reflector_options(|options| options.watch_list(false))
    })?;
    let dynamic = Watched::start(widgets.clone(), client()?, Dynamic::new(&widgets.resource), |builder| {
        builder.reflector_options(|options| options.watch_list(false).page_size(30))
    })?;
    writer::write(&context.api, Kind::Pod, (0..NAMESPACES).map(|number| Kind::Pod.key(number, 11)), 5, 7)
        .await?;
    for watched in [&streamed, &stream_in_a_storm, &listed, &paged, &plain, &gzipped] {
        watched.synced().await?;
        context.check(watched).await?;
    }
    dynamic.synced().await?;
    context.check(&dynamic).await?;
    let requests = paged.informer.status().requests;
    ensure!(requests > 20, "pages of 70 took {requests} requests only");
    Ok(())
}
