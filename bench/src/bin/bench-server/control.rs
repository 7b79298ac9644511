//! The driver's words.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::state::Server;

/// How often a paced writer writes.
const TICK: Duration = Duration::from_millis(10);

/// Does what a line says.
pub(crate) fn obey(server: &Arc<Server>, words: &[String]) -> Value {
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    match (words.first().map(String::as_str), number(1), number(2)) {
        (Some("events"), Some(count), None) => json!({"version": server.change(count)}),
        (Some("events"), Some(count), Some(per_second)) => {
            tokio::spawn(write(Arc::clone(server), count, per_second));
            json!({"version": server.version() + count as u64})
        }
        (Some("relist"), Some(percent), None) => {
            // At least one, so that there is a new version.
            let count = (server.collection.len() * percent / 100).max(1);
            json!({"version": server.lose_versions(count)})
        }
        (Some("state"), None, None) => {
            json!({"version": server.version(), "watches": server.watches(), "last": last_key(server)})
        }
        _ => json!({"error": format!("not understood: {}", words.join(" "))}),
    }
}

/// The object that every series of changes ends with.
fn last_key(server: &Server) -> Option<String> {
    let collection = &server.collection;
    let number = collection.len().checked_sub(1)?;
    Some(format!("{}/{}", collection.namespace(number), collection.name(number)))
}

async fn write(server: Arc<Server>, mut count: usize, per_second: usize) {
    let per_tick = (per_second * TICK.as_millis() as usize / 1_000).max(1);
    let mut ticks = tokio::time::interval(TICK);
    while count > 0 {
        ticks.tick().await;
        let now = per_tick.min(count);
        server.change(now);
        count -= now;
    }
}
