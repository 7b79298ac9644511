//! Lists at any version, pages and watches against a naive model that remembers every state.

mod common;

use std::collections::BTreeMap;

use common::get_all;
use informer_testserver::TestServer;
use informer_testserver::workload::{Workload, WorkloadOptions};
use serde_json::{Value, json};

/// Name and namespace to label and version: what there was at one version.
type World = BTreeMap<String, (String, u64)>;

/// A linear congruential generator: enough to vary a test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct Model {
    server: TestServer,
    dice: Dice,
    /// The state after each version.
    worlds: BTreeMap<u64, World>,
}

const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];

impl Model {
    fn new(seed: u64, history: usize) -> Self {
        let server = TestServer::builder().create_namespaces(true).history_length(history).build();
        for namespace in NAMESPACES {
            server.create("ns", json!({"metadata": {"name": namespace}})).unwrap();
        }
        let worlds = BTreeMap::from([(server.resource_version(), World::new())]);
        Self { server, dice: Dice(seed), worlds }
    }

    fn now(&self) -> (u64, &World) {
        let (version, world) = self.worlds.last_key_value().unwrap();
        (*version, world)
    }

    fn step(&mut self) {
        let namespace = NAMESPACES[self.dice.below(3) as usize];
        let name = format!("o{}", self.dice.below(12));
        let key = format!("{namespace}/{name}");
        let label = ["x", "y"][self.dice.below(2) as usize];
        let mut world = self.now().1.clone();
        let object = json!({"metadata": {"name": name, "namespace": namespace, "labels": {"l": label}}});
        if world.contains_key(&key) && self.dice.below(3) == 0 {
            self.server.delete("cm", namespace, &name).unwrap();
            world.remove(&key);
        } else {
            let stored = self.server.put("cm", object).unwrap();
            world.insert(key, (label.into(), version_of(&stored)));
        }
        self.worlds.insert(self.server.resource_version(), world);
    }
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn key_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{}/{}", metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap())
}

fn entry(object: &Value) -> (String, u64) {
    (object["metadata"]["labels"]["l"].as_str().unwrap().to_owned(), version_of(object))
}

fn world_of(list: &Value) -> World {
    list["items"].as_array().unwrap().iter().map(|object| (key_of(object), entry(object))).collect()
}

async fn list(server: &TestServer, query: &str) -> Value {
    let answer = get_all(server, &format!("/api/v1/configmaps?{query}")).await;
    assert_eq!(answer.code, 200, "{query}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn selected(world: &World, label: &str) -> World {
    world
        .iter()
        .filter(|(_, (known, _))| known == label)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_version_lists_as_it_was() {
    for seed in 0..2 {
        let mut model = Model::new(seed, 100);
        for _ in 0..150 {
            model.step();
        }
        let oldest = *model.worlds.keys().nth_back(100).unwrap();
        for (version, world) in model.worlds.range(..oldest) {
            let path = format!("/api/v1/configmaps?resourceVersionMatch=Exact&resourceVersion={version}");
            assert_eq!(get_all(&model.server, &path).await.code, 410, "{}", world.len());
        }
        for (version, world) in model.worlds.range(oldest..) {
            let at = format!("resourceVersionMatch=Exact&resourceVersion={version}");
            let answer = list(&model.server, &at).await;
            assert_eq!(version_of(&answer), *version);
            assert_eq!(&world_of(&answer), world);
            let answer = list(&model.server, &format!("{at}&labelSelector=l%3Dx")).await;
            assert_eq!(world_of(&answer), selected(world, "x"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_one_snapshot_in_key_order() {
    for seed in 0..20 {
        let mut model = Model::new(seed, 1000);
        for _ in 0..60 {
            model.step();
        }
        let (version, world) = (model.now().0, model.now().1.clone());
        let mut query = "limit=4".to_owned();
        let (mut keys, mut found) = (Vec::new(), World::new());
        loop {
            let page = list(&model.server, &query).await;
            assert_eq!(version_of(&page), version);
            keys.extend(page["items"].as_array().unwrap().iter().map(key_of));
            found.extend(world_of(&page));
            let metadata = &page["metadata"];
            let Some(token) = metadata["continue"].as_str() else { break };
            assert_eq!(metadata["remainingItemCount"], world.len() - keys.len());
            query = format!("limit=4&continue={token}");
            model.step();
        }
        assert_eq!(found, world);
        // As the real store orders: "a-b/…" comes before "a/…".
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn watches_lead_from_any_version_to_the_present() {
    for seed in 0..3 {
        let mut model = Model::new(seed, 1000);
        for _ in 0..80 {
            model.step();
        }
        let (now, present) = model.now();
        for (start, world) in &model.worlds {
            for (selector, label) in [("", None), ("&labelSelector=l%3Dx", Some("x"))] {
                let part =
                    |world: &World| label.map_or_else(|| world.clone(), |label| selected(world, label));
                let path =
                    format!("/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion={start}{selector}");
                let mut state = part(world);
                let mut last = *start;
                for line in get_all(&model.server, &path).await.body.lines() {
                    let event: Value = serde_json::from_str(line).unwrap();
                    let object = &event["object"];
                    assert!(version_of(object) > last && version_of(object) <= now);
                    last = version_of(object);
                    let known = match event["type"].as_str().unwrap() {
                        "DELETED" => state.remove(&key_of(object)).is_some(),
                        "ADDED" => state.insert(key_of(object), entry(object)).is_none(),
                        "MODIFIED" => state.insert(key_of(object), entry(object)).is_some(),
                        other => panic!("{other}"),
                    };
                    assert!(known, "{line}");
                }
                assert_eq!(state, part(present));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_slower_than_the_history_is_cut_off() {
    let mut model = Model::new(1, 10);
    let response = common::get(&model.server, "/api/v1/configmaps?watch=1&timeoutSeconds=60").await;
    for _ in 0..50 {
        model.step();
    }
    assert_eq!(common::finished(response).await.body, "");
}

#[test]
fn workload_keeps_its_size_and_repeats_itself() {
    let run = |seed| {
        let server = TestServer::builder().clock(|| jiff::Timestamp::UNIX_EPOCH).build();
        let options = WorkloadOptions { objects: 60, seed, ..WorkloadOptions::default() };
        let mut workload = Workload::new(server.clone(), options).unwrap();
        let mut phases = std::collections::BTreeSet::new();
        for step in 0..600 {
            workload.step().unwrap();
            assert!((45..=60).contains(&workload.pods()), "{}", workload.pods());
            if step % 20 == 0 {
                let pods = server.list("pods").unwrap();
                phases.extend(pods.iter().map(|pod| pod["status"]["phase"].to_string()));
            }
        }
        assert!(phases.len() > 1);
        assert_eq!(server.count("pods"), workload.pods());
        server.list("pods").unwrap()
    };
    let pods = run(3);
    assert_eq!(pods, run(3));
    assert_ne!(pods, run(4));
    let size = pods.iter().map(|pod| pod.to_string().len()).sum::<usize>() / pods.len();
    assert!((3000..7000).contains(&size), "{size}");
}
