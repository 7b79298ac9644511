//! A stand-in for Kubernetes' own Deployment controller, which an API server alone has not.

use std::time::Duration;

use serde_json::json;
use tokio::time::interval;

use crate::server::TestServer;

/// How soon replicas become available.
const PERIOD: Duration = Duration::from_millis(200);

/// Makes the replicas of every Deployment available, in its status; there are no Pods. Runs until it is dropped.
///
/// # Panics
/// Outside of a tokio runtime with time enabled.
pub async fn make_deployments_available(server: TestServer) {
    let mut tick = interval(PERIOD);
    loop {
        tick.tick().await;
        for found in server.list("deployments").unwrap_or_default() {
            let wanted = &found["spec"]["replicas"];
            if *wanted == found["status"]["availableReplicas"] {
                continue;
            }
            let [namespace, name] =
                ["namespace", "name"].map(|field| found["metadata"][field].as_str().unwrap_or_default());
            let status = json!({
                "observedGeneration": found["metadata"]["generation"], "replicas": wanted,
                "updatedReplicas": wanted, "readyReplicas": wanted, "availableReplicas": wanted,
            });
            // It may have been deleted meanwhile.
            let _ = server.modify("deployments", namespace, name, |deployment| deployment["status"] = status);
        }
    }
}
