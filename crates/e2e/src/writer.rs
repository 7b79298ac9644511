//! A writer at full speed: changes, deletes and recreates objects, several at a time, in an order given by a seed.

use futures_util::{StreamExt, TryStreamExt, stream};
use informer::ObjectKey;
use serde_json::json;

use crate::api::Api;
use crate::outcome::Result;
use crate::world::{Kind, WRITERS};

/// Writes `rounds` times to each of the objects; each key's writes come one after the other.
///
/// In the end some of the objects do not exist.
pub(crate) async fn write(
    api: &Api,
    kind: Kind,
    keys: impl Iterator<Item = ObjectKey>,
    rounds: usize,
    seed: u64,
) -> Result {
    let writers = keys.enumerate().map(|(position, key)| async move {
        write_one(api, kind, &key, rounds, seed ^ ((position as u64) << 32)).await
    });
    stream::iter(writers).buffer_unordered(WRITERS).try_collect().await
}

async fn write_one(api: &Api, kind: Kind, key: &ObjectKey, rounds: usize, seed: u64) -> Result {
    let resource = kind.resource();
    let mut random = Random(seed);
    let mut exists = api.get(&crate::api::path(&resource, key.namespace(), key.name())).await.is_ok();
    for round in 0..rounds {
        if !exists {
            api.create(&resource, &kind.object(key)).await?;
            exists = true;
            continue;
        }
        match random.below(10) {
            0 => {
                api.delete(&resource, key).await?;
                exists = false;
            }
            1 | 2 => {
                api.delete(&resource, key).await?;
                api.create(&resource, &kind.object(key)).await?;
            }
            3 | 4 if kind == Kind::Pod => {
                let phase = ["Pending", "Running", "Succeeded"][random.below(3)];
                api.patch_status(&resource, key, &json!({"status": {"phase": phase}})).await?;
            }
            _ => {
                let app = format!("app-{}", random.below(5));
                let change = json!({
                    "metadata": {"labels": {"app": app}, "annotations": {"demo.informer.dev/round": round.to_string()}},
                });
                api.patch(&resource, key, &change).await?;
            }
        }
    }
    Ok(())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // The bias of a remainder does not matter here.
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}
