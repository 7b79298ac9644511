//! A factory's informers, of some namespaces and a selector, are one for each resource, synced together.

use informer::SharedInformerFactory;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{DEADLINE, Kind, NAMESPACES, namespace_name};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let names = [namespace_name(4), namespace_name(13)];
    let mut factory = SharedInformerFactory::new(context.cluster.client()?).label_selector("app!=app-2");
    for name in &names {
        factory = factory.namespace(name);
    }
    let scope = |kind| Scope::of(kind).namespaces(names.clone()).labels("app!=app-2");
    let pods = Watched::around(scope(Kind::Pod), factory.informer::<Pod>()?);
    let config_maps = Watched::around(scope(Kind::ConfigMap), factory.informer::<ConfigMap>()?);
    let metadata = Watched::around(scope(Kind::Pod), factory.metadata::<Pod>()?);
    let widgets = Watched::around(scope(Kind::Widget), factory.dynamic(&Kind::Widget.resource())?);
    factory.start();
    factory.wait_for_sync(DEADLINE).await?;
    // The same informer again: there already, and for its handler a late one.
    let again = Watched::around(scope(Kind::Pod), factory.informer::<Pod>()?);
    ensure!(again.informer.has_synced(), "asked for again, it is another informer");
    let informers = factory.status().len();
    ensure!(informers == 4, "{informers} informers for four resources and forms");
    let rounds = context.cluster.scaled(10, 3);
    let keys =
        (0..NAMESPACES).flat_map(|namespace| [24, 25, 26].map(|number| Kind::Pod.key(namespace, number)));
    writer::write(&context.api, Kind::Pod, keys, rounds, 17).await?;
    context.check(&pods).await?;
    context.check(&again).await?;
    context.check(&config_maps).await?;
    context.check(&metadata).await?;
    context.check(&widgets).await?;
    factory.shutdown().await;
    ensure!(pods.informer.is_stopped(), "an informer outlives its factory's shutdown");
    ensure!(factory.informer::<Pod>().is_err(), "a factory that was shut down makes informers");
    Ok(())
}
