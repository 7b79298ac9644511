//! Deployments that move: a new image step by step, or another number of replicas.

use serde_json::{Value, json};

use super::pod::APPS;
use crate::names::Rng;
use crate::server::TestServer;
use crate::status::ApiError;

/// Replicas a Deployment starts with.
pub(super) const REPLICAS: u64 = 3;

/// The one Deployment that is on its way somewhere.
#[derive(Debug)]
pub(super) struct Rollout {
    namespace: String,
    app: &'static str,
    /// A new image, or only another number of replicas.
    image: bool,
    /// Pods that are up to date and ready.
    done: u64,
}

impl Rollout {
    /// Begins one, by a change of the spec.
    pub(super) fn begin(rng: &mut Rng, namespaces: usize, server: &TestServer) -> Result<Self, ApiError> {
        let namespace = format!("team-{}", rng.below(namespaces));
        let app = APPS[rng.below(APPS.len())];
        let image = rng.chance(60);
        let tag = rng.below(40);
        let replicas = 2 + rng.below(4) as u64;
        server.modify("deployments.apps", &namespace, app, |object| {
            if image {
                let name = format!("registry.example.dev/{app}:1.{tag}");
                object["spec"]["template"]["spec"]["containers"][0]["image"] = name.into();
            } else {
                object["spec"]["replicas"] = replicas.into();
            }
        })?;
        Ok(Self { namespace, app, image, done: 0 })
    }

    /// One more Pod is ready; answers whether that was the last one.
    pub(super) fn advance(&mut self, server: &TestServer) -> Result<bool, ApiError> {
        let mut finished = false;
        server.modify("deployments.apps", &self.namespace, self.app, |object| {
            let wanted = object["spec"]["replicas"].as_u64().unwrap_or(REPLICAS);
            let ready = object["status"]["readyReplicas"].as_u64().unwrap_or_default();
            if self.image {
                self.done += 1;
                finished = self.done >= wanted;
                let updated = self.done.min(wanted);
                object["status"]["updatedReplicas"] = updated.into();
                // One more than wanted while old Pods are replaced by new ones.
                object["status"]["replicas"] = (wanted + u64::from(!finished)).into();
            } else {
                let next = if ready < wanted { ready + 1 } else { wanted };
                finished = next == wanted;
                for field in ["replicas", "readyReplicas", "updatedReplicas", "availableReplicas"] {
                    object["status"][field] = next.into();
                }
            }
            object["status"]["observedGeneration"] = object["metadata"]["generation"].clone();
        })?;
        Ok(finished)
    }
}

/// The status of a Deployment that is where it should be.
pub(super) fn settled() -> Value {
    let replicas = REPLICAS;
    json!({"replicas": replicas, "readyReplicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1})
}
