//! Pods that are scheduled, replaced, or change their phase enter and leave the informers that select by field.

use serde_json::json;

use crate::outcome::{Result, ensure};
use crate::scope::Scope;
use crate::suite::Context;
use crate::watched::Watched;
use crate::world::{Kind, NAMESPACES};
use crate::writer;

pub(super) async fn run(context: &Context) -> Result {
    let client = context.cluster.client()?;
    let on_node = Watched::pods(Scope::of(Kind::Pod).fields("spec.nodeName=node-3"), client.clone())?;
    let running = Watched::pods(Scope::of(Kind::Pod).fields("status.phase=Running"), client.clone())?;
    let metadata = Watched::metadata(Scope::of(Kind::Pod).fields("spec.nodeName=node-3"), client)?;
    on_node.synced().await?;
    context.check(&on_node).await?;
    let (api, resource) = (&context.api, Kind::Pod.resource());
    for namespace in [0, 1, 2] {
        // 48 ends in 8: not scheduled.
        let key = Kind::Pod.key(namespace, 48);
        let (space, name) = (key.namespace(), key.name());
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": space},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-3"},
        });
        api.delete(&resource, &key).await?;
        api.create(&resource, &Kind::Pod.object(&key)).await?;
        ensure!(!on_node.informer.store().contains(&key), "{key} is there before it is scheduled");
        api.post(&format!("/api/v1/namespaces/{space}/pods/{name}/binding"), &binding).await?;
        on_node
            .eventually("it was scheduled", || on_node.informer.store().contains(&key).then_some(()))
            .await?;
        api.patch_status(&resource, &key, &json!({"status": {"phase": "Running"}})).await?;
        running.eventually("it runs", || running.informer.store().contains(&key).then_some(())).await?;
        api.patch_status(&resource, &key, &json!({"status": {"phase": "Failed"}})).await?;
        running.eventually("it failed", || (!running.informer.store().contains(&key)).then_some(())).await?;
        api.delete(&resource, &key).await?;
        on_node.eventually("it is gone", || (!on_node.informer.store().contains(&key)).then_some(())).await?;
    }
    let rounds = context.cluster.scaled(20, 5);
    let keys = (0..NAMESPACES).flat_map(|namespace| [43, 49].map(|number| Kind::Pod.key(namespace, number)));
    writer::write(api, Kind::Pod, keys, rounds, 10).await?;
    context.check(&on_node).await?;
    context.check(&running).await?;
    context.check(&metadata).await
}
