//! Every version of a collection's objects, as the server's own watch tells them: apart from everything under test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, pin_mut};
use informer::ObjectKey;
use kube::core::{ApiResource, WatchEvent};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::api::{key_of, path};
use crate::outcome::{Error, Result};

/// Between two requests to a server that may be down.
const PAUSE: Duration = Duration::from_millis(50);

/// What was seen of a collection since the journal was begun. Dropping it ends it.
pub(crate) struct Journal {
    pages: Arc<Mutex<Pages>>,
    _task: JoinSet<()>,
}

/// A journal's contents.
#[derive(Default)]
pub(crate) struct Pages {
    /// Everything that was told, in the order of versions.
    pub(crate) entries: Vec<Entry>,
    /// What exists, by what was told.
    pub(crate) held: BTreeMap<ObjectKey, Value>,
    /// How often the server could not say what had happened in between.
    pub(crate) gaps: usize,
}

/// An object that was created, changed or deleted.
pub(crate) struct Entry {
    pub(crate) key: ObjectKey,
    pub(crate) version: u64,
    pub(crate) is_deletion: bool,
    pub(crate) object: Value,
}

impl Journal {
    /// Begins one of a namespace's objects, with what exists; `changed` is counted up with each entry.
    pub(crate) async fn begin(
        config: kube::Config,
        resource: &ApiResource,
        namespace: &str,
        changed: watch::Sender<u64>,
    ) -> Result<Self> {
        let mut scribe = Scribe {
            client: kube::Client::try_from(config)?,
            path: path(resource, namespace, ""),
            pages: Arc::default(),
            changed,
        };
        let pages = Arc::clone(&scribe.pages);
        let mut version = scribe.list().await?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                match scribe.watch(&mut version).await {
                    Ok(()) => {}
                    Err(kube::Error::Api(status)) if status.code == 410 => {
                        scribe.pages().gaps += 1;
                        while let Err(_gone) = scribe.list().await.map(|listed| version = listed) {
                            sleep(PAUSE).await;
                        }
                    }
                    Err(_) => sleep(PAUSE).await,
                }
            }
        });
        Ok(Self { pages, _task: task })
    }

    /// What it has seen until now.
    pub(crate) fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Scribe {
    client: kube::Client,
    path: String,
    pages: Arc<Mutex<Pages>>,
    changed: watch::Sender<u64>,
}

impl Scribe {
    /// Takes in what exists, and answers the version at which that is so.
    async fn list(&mut self) -> Result<u64> {
        let request = http::Request::get(&self.path).body(Vec::new())?;
        let list: Value = self.client.request(request).await?;
        let items = list["items"].as_array().ok_or("a list without items")?;
        let mut gone = self.pages().held.clone();
        for item in items {
            let known = gone.remove(&key_of(item));
            if known.is_none_or(|known| number(&known) != number(item)) {
                self.write(item.clone(), false);
            }
        }
        gone.into_values().for_each(|object| self.write(object, true));
        Ok(number(&list))
    }

    /// Takes in changes after `version` for as long as the connection lasts.
    async fn watch(&mut self, version: &mut u64) -> Result<(), kube::Error> {
        let uri = format!("{}?watch=true&resourceVersion={version}", self.path);
        let request = http::Request::get(uri).body(Vec::new()).map_err(kube::Error::HttpError)?;
        let events = self.client.request_events::<Value>(request).await?;
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let (object, is_deletion) = match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            };
            *version = number(&object);
            self.write(object, is_deletion);
        }
        Ok(())
    }

    fn write(&self, object: Value, is_deletion: bool) {
        let (key, version) = (key_of(&object), number(&object));
        let mut pages = self.pages();
        if is_deletion {
            pages.held.remove(&key);
        } else {
            pages.held.insert(key.clone(), object.clone());
        }
        pages.entries.push(Entry { key, version, is_deletion, object });
        drop(pages);
        self.changed.send_modify(|times| *times += 1);
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The version of an object or a list as the number that both servers make it.
pub(crate) fn number(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Waits until something can be found, asking whenever a journal has a new entry. The error says what is missing at last.
pub(crate) async fn eventually<T>(
    changed: &watch::Sender<u64>,
    limit: Duration,
    what: &str,
    mut find: impl FnMut() -> Result<T, String>,
) -> Result<T> {
    let mut changes = changed.subscribe();
    let mut missing = String::new();
    let found = tokio::time::timeout(limit, async {
        loop {
            changes.mark_unchanged();
            match find() {
                Ok(found) => return found,
                Err(text) => missing = text,
            }
            // The sender is the caller's: it cannot be gone.
            let _ = changes.changed().await;
        }
    });
    let found = found.await;
    found.map_err(|_| Error::from(format!("{what}: not within {} s: {missing}", limit.as_secs())))
}
