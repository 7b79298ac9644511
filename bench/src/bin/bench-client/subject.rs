//! The informers, and the driver's words about them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer::{Format, Index, ObjectKey, Registration, ResourceListWatch, SharedInformer};
use informer_bench::{Lines, say};
use serde_json::{Value, json};

use crate::reads::Reads;
use crate::seen::Seen;
use crate::{Arguments, Result};

/// The label that has an index.
pub(crate) const LABEL: &str = "app";

/// Longer than anything takes: the driver gives up before.
const LIMIT: Duration = Duration::from_secs(600);

pub(crate) struct Subject<V: Send + Sync + 'static> {
    informers: Vec<SharedInformer<V>>,
    by_label: Index<V>,
    label_length: fn(&V) -> Option<usize>,
    handlers: Vec<(Registration<V>, Arc<Seen>)>,
    reads: Option<Reads<V>>,
}

impl<V: Send + Sync + 'static> Subject<V> {
    pub(crate) fn new<F: Format<Value = V>>(
        arguments: &Arguments,
        list_watch: ResourceListWatch,
        format: impl Fn() -> F,
        label: fn(&V) -> Option<String>,
        label_length: fn(&V) -> Option<usize>,
    ) -> Result<Self> {
        let mut informers = Vec::new();
        let mut handlers = Vec::new();
        let (namespace, name) = arguments.last.split_once('/').unwrap_or_default();
        for number in 0..arguments.informers {
            let source = match arguments.informers {
                1 => list_watch.clone(),
                _ => list_watch.clone().namespace(format!("empty-{number}")),
            };
            let informer = SharedInformer::builder(source, format()).build()?;
            for _ in 0..arguments.handlers {
                let seen = Seen::new(ObjectKey::new(namespace, name));
                handlers.push((informer.add_event_handler(seen.handler()), seen));
            }
            informers.push(informer);
        }
        let by_label = informers.first().ok_or("no informer")?.add_index("label", label);
        Ok(Self { informers, by_label, label_length, handlers, reads: None })
    }

    pub(crate) async fn obey(mut self) -> Result {
        say(&json!({"ready": true}))?;
        let mut lines = Lines::stdin();
        while let Some(words) = lines.next().await? {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let started = Instant::now();
            let mut answer = self.answer(&words).await?;
            answer["wall_ns"] = json!(started.elapsed().as_nanos() as u64);
            say(&answer)?;
        }
        Ok(())
    }

    async fn answer(&mut self, words: &[&str]) -> Result<Value> {
        match *words {
            ["start"] => self.start().await,
            ["await", version] => {
                let version = version.parse()?;
                for (_, seen) in &self.handlers {
                    seen.wait(version).await;
                }
                Ok(json!({"told": self.told()}))
            }
            [what, ..] => {
                let (informer, by_label, label_length) =
                    (&self.informers[0], &self.by_label, self.label_length);
                let reads = self.reads.get_or_insert_with(|| Reads::new(informer, by_label, label_length));
                match (what, &words[1..]) {
                    ("prepare", []) => Ok(json!({})),
                    ("get", [readers, milliseconds]) => {
                        reads.get(readers.parse()?, Duration::from_millis(milliseconds.parse()?))
                    }
                    ("look", [iterations]) => Ok(reads.look(iterations.parse()?)),
                    ("namespace", [iterations]) => Ok(reads.namespaces(iterations.parse()?)),
                    ("label", [iterations]) => Ok(reads.labels(iterations.parse()?)),
                    ("select", [iterations]) => reads.select(iterations.parse()?),
                    _ => Err(format!("not understood: {words:?}").into()),
                }
            }
            [] => Err("an empty line".into()),
        }
    }

    async fn start(&self) -> Result<Value> {
        for informer in &self.informers {
            informer.start();
        }
        for informer in &self.informers {
            informer.wait_for_sync(LIMIT).await?;
        }
        for (registration, _) in &self.handlers {
            registration.wait_for_sync(LIMIT).await?;
        }
        let objects: usize = self.informers.iter().map(|informer| informer.store().len()).sum();
        Ok(json!({"objects": objects, "told": self.told()}))
    }

    fn told(&self) -> u64 {
        self.handlers.iter().map(|(_, seen)| seen.told()).sum()
    }
}
