//! A connection that falls silent is given up and replaced, without an error, a relist or a lost change.

use std::time::Duration;

use informer::{FailureKind, Trouble, Typed};
use k8s_openapi::api::core::v1::Pod;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let gate = context.cluster.gate().await?;
    let client = context.cluster.client_through(&gate)?;
    let second = Duration::from_secs(1);
    let pods = Watched::start(Scope::of(Kind::Pod), client, Typed::<Pod>::new(), |builder| {
        builder.reflector_options(|options| options.idle(second).headers_timeout(second))
    })?;
    pods.synced().await?;
    context.check(&pods).await?;

    // The wire is cut without a word; what was written meanwhile arrives on the next connection.
    gate.silence();
    let keys = || (0..NAMESPACES).map(|namespace| Kind::Pod.key(namespace, 51));
    writer::write(&context.api, Kind::Pod, keys(), 3, 11).await?;
    context.check(&pods).await?;
    let relisted = pods.witness().history().counts.relisted;
    ensure!(relisted == 0, "the collection was read {relisted} more times");
    let troubles = pods.troubles();
    ensure!(troubles.is_empty(), "a silent connection was told as trouble: {}", troubles[0]);

    // Now the server itself stands still: it takes connections, but answers nobody.
    context.cluster.freeze()?;
    let silent = |report: &informer::TroubleReport| matches!(&report.trouble, Trouble::RequestFailed { failure, .. } if failure.kind == FailureKind::HeadersTimeout);
    let seen = pods.trouble("a request without an answer", 0, silent).await;
    context.cluster.thaw()?;
    seen?;
    let age = pods.informer.status().last_heard;
    ensure!(age.is_some_and(|age| age > second), "the server was heard while it stood still");
    writer::write(&context.api, Kind::Pod, keys(), 3, 12).await?;
    context.check(&pods).await?;
    pods.eventually("recovery", || pods.informer.status().last_error.is_none().then_some(())).await
}
