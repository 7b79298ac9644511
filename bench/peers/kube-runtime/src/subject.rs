//! The reflectors, and the driver's words about them.

use std::fmt::Debug;
use std::future::ready;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use kube::runtime::reflector::{self, Lookup, Store};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, reflector::store::Writer};
use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};

use crate::lines::{Lines, say};
use crate::reads::Reads;
use crate::seen::Seen;
use crate::{Arguments, Events, Result};

/// Events that a subscriber may be behind: kube's own examples take 256.
const SUBSCRIBER_BUFFER: usize = 256;

/// What is cached here.
pub(crate) trait Cached:
    Resource<DynamicType: Clone + Debug + Eq + Hash + Unpin + Send + Sync>
    + Lookup<DynamicType = <Self as Resource>::DynamicType>
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Cached for K where
    K: Resource<DynamicType: Clone + Debug + Eq + Hash + Unpin + Send + Sync>
        + Lookup<DynamicType = <K as Resource>::DynamicType>
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

pub(crate) struct Subject<K: Cached> {
    dynamic_type: <K as Resource>::DynamicType,
    stores: Vec<Store<K>>,
    seen: Vec<Arc<Seen>>,
    /// What runs them, not started yet.
    tasks: Vec<BoxFuture<'static, ()>>,
    reads: Option<Reads<K>>,
}

/// The events of a namespace, or of all.
type Source<'a, K> = dyn Fn(Option<&str>) -> Events<K> + 'a;

impl<K: Cached> Subject<K>
where
    <K as Resource>::DynamicType: Default,
{
    /// The same with as many handlers as are asked for: subscribers, if there are several.
    pub(crate) fn with_handlers(arguments: &Arguments, events: &Source<'_, K>) -> Self {
        let types = <K as Resource>::DynamicType::default();
        if arguments.handlers == 1 {
            return Self::new(arguments, types, events);
        }
        let mut subject = Self::empty(types);
        for events in sources(arguments, events) {
            let writer = Writer::new_shared(SUBSCRIBER_BUFFER, subject.dynamic_type.clone());
            subject.stores.push(writer.as_reader());
            for _ in 0..arguments.handlers {
                let seen = Seen::new(&arguments.last);
                subject.seen.push(Arc::clone(&seen));
                let objects = writer.subscribe().expect("a shared writer has subscribers");
                subject.tasks.push(Box::pin(objects.for_each(move |object| {
                    seen.see(&*object);
                    ready(())
                })));
            }
            subject.tasks.push(Box::pin(events.reflect_shared(writer).for_each(|_| ready(()))));
        }
        subject
    }
}

impl<K: Cached> Subject<K> {
    /// A reflector for each informer, with one handler that takes its events as they come.
    pub(crate) fn new(
        arguments: &Arguments,
        types: <K as Resource>::DynamicType,
        events: &Source<'_, K>,
    ) -> Self {
        let mut subject = Self::empty(types);
        for events in sources(arguments, events) {
            let writer = Writer::new(subject.dynamic_type.clone());
            subject.stores.push(writer.as_reader());
            let seen = Seen::new(&arguments.last);
            subject.seen.push(Arc::clone(&seen));
            subject.tasks.push(Box::pin(reflector::reflector(writer, events).for_each(move |event| {
                if let Ok(Event::Apply(object) | Event::InitApply(object)) = &event {
                    seen.see(object);
                }
                ready(())
            })));
        }
        subject
    }

    fn empty(dynamic_type: <K as Resource>::DynamicType) -> Self {
        Self { dynamic_type, stores: Vec::new(), seen: Vec::new(), tasks: Vec::new(), reads: None }
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
                for seen in &self.seen {
                    seen.wait(version).await;
                }
                Ok(json!({"told": self.told()}))
            }
            [what, ..] => {
                let (store, dynamic_type) = (&self.stores[0], &self.dynamic_type);
                let reads = self.reads.get_or_insert_with(|| Reads::new(store, dynamic_type));
                match (what, &words[1..]) {
                    ("prepare", []) => Ok(json!({})),
                    ("get", [readers, milliseconds]) => {
                        reads.get(readers.parse()?, Duration::from_millis(milliseconds.parse()?))
                    }
                    ("look", [iterations]) => Ok(reads.look(iterations.parse()?)),
                    ("namespace", [iterations]) => Ok(reads.namespaces(iterations.parse()?)),
                    ("label", [iterations]) => Ok(reads.labels(iterations.parse()?)),
                    ("select", [iterations]) => Ok(reads.select(iterations.parse()?)),
                    _ => Err(format!("not understood: {words:?}").into()),
                }
            }
            [] => Err("an empty line".into()),
        }
    }

    async fn start(&mut self) -> Result<Value> {
        for task in self.tasks.drain(..) {
            tokio::spawn(task);
        }
        for store in &self.stores {
            store.wait_until_ready().await?;
        }
        let objects: usize = self.stores.iter().map(Store::len).sum();
        Ok(json!({"objects": objects, "told": self.told()}))
    }

    fn told(&self) -> u64 {
        self.seen.iter().map(|seen| seen.told()).sum()
    }
}

fn sources<K: Cached>(arguments: &Arguments, events: &Source<'_, K>) -> Vec<Events<K>> {
    let source = |number| {
        let namespace = (arguments.informers > 1).then(|| format!("empty-{number}"));
        let events = events(namespace.as_deref()).default_backoff();
        events.modify(|object| object.managed_fields_mut().clear()).boxed()
    };
    (0..arguments.informers).map(source).collect()
}
