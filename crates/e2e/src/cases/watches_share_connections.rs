//! Many informers share few connections where the server offers HTTP/2, and all see what changes, also after these are lost.

use informer::MetadataOnly;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES, namespace_name};
use crate::writer;

/// Informers of one namespace: with those of the other namespaces more than fit on two connections.
const A_NAMESPACE: usize = 6;
/// For 120 watches of 50 each, for the lists before them, and for those that connected at the same moment.
const CONNECTIONS: usize = 12;

pub(super) async fn run(context: &Context) -> Result {
    let gate = context.cluster.gate().await?;
    let client = context.cluster.client_through(&gate)?;
    let mut informers = Vec::new();
    for namespace in (0..NAMESPACES).map(namespace_name).cycle().take(NAMESPACES * A_NAMESPACE) {
        let scope = Scope::of(Kind::ConfigMap).namespaces([namespace]);
        informers.push(Watched::start(scope, client.clone(), MetadataOnly, |builder| builder)?);
    }
    for watched in &informers {
        watched.synced().await?;
    }
    let keys = || (0..NAMESPACES).map(|namespace| Kind::ConfigMap.key(namespace, 7));
    for round in [21, 22] {
        writer::write(&context.api, Kind::ConfigMap, keys(), 3, round).await?;
        for watched in &informers {
            context.check(watched).await?;
        }
        let connections = gate.connections();
        if context.cluster.is_real() {
            ensure!(connections <= CONNECTIONS, "{} watches have {connections} connections", informers.len());
        }
        // All at once.
        gate.cut().await;
        gate.mend().await?;
    }
    Ok(())
}
