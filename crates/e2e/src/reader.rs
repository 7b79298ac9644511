//! A reader of snapshots, which must never see a state that the server was not in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use informer::Store;
use tokio::task::JoinHandle;

use crate::outcome::{Result, ensure};

/// Reads as fast as it can until it is told to finish.
pub(crate) struct Reader {
    finish: Arc<AtomicBool>,
    task: JoinHandle<Result<usize>>,
}

impl Reader {
    /// Starts to read the cache of an informer of one source.
    pub(crate) fn start<V: Send + Sync + 'static>(store: Store<V>) -> Self {
        let finish = Arc::new(AtomicBool::new(false));
        let finished = Arc::clone(&finish);
        let task = tokio::spawn(async move {
            let mut seen = 0;
            let mut last = store.snapshot();
            while !finished.load(Ordering::Relaxed) {
                let next = store.snapshot();
                ensure!(
                    next.version() >= last.version(),
                    "{} was read after {}",
                    next.version(),
                    last.version()
                );
                if next.version() != last.version() {
                    seen += 1;
                    let mut all = BTreeMap::new();
                    for object in next.iter() {
                        ensure!(object.version <= *next.version(), "{object:?} in {}", next.version());
                        let twin = all.insert(&object.key, object);
                        ensure!(twin.is_none(), "{object:?} and {twin:?} in one snapshot");
                    }
                } else {
                    let same = next.len() == last.len();
                    ensure!(same, "{} or {} objects at {}", next.len(), last.len(), next.version());
                }
                last = next;
                tokio::task::yield_now().await;
            }
            Ok(seen)
        });
        Self { finish, task }
    }

    /// Fails if it ever read what cannot be, or nothing that moved.
    pub(crate) async fn finish(self) -> Result {
        self.finish.store(true, Ordering::Relaxed);
        let seen = self.task.await??;
        ensure!(seen > 10, "only {seen} states were read");
        Ok(())
    }
}
