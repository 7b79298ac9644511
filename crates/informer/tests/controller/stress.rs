//! Seeded chaos: whatever reconciles do, each key is reconciled after its last change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer::{Action, BoxError, ItemExponential, ObjectKey, TerminalError};
use serde_json::{Value, json};

use crate::support::*;

/// A small generator, so that a seed means the same for ever (splitmix64).
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What a reconcile saw in its caches: the version of the owner, and those of its children.
type Seen = (Option<String>, Vec<String>);

const OWNERS: u64 = 6;
const STEPS: u64 = 150;

#[tokio::test(start_paused = true)]
async fn each_key_is_reconciled_after_its_last_change_whatever_reconciles_do() {
    let mut outcomes = [0; 6];
    for seed in 0..10 {
        for (sum, count) in outcomes.iter_mut().zip(stress(seed).await) {
            *sum += count;
        }
    }
    assert!(outcomes.iter().all(|&count| count > 20), "each result was seen often: {outcomes:?}");
}

async fn stress(seed: u64) -> [u64; 6] {
    let world = World::new();
    let seen: Arc<Mutex<BTreeMap<ObjectKey, Seen>>> = Arc::default();
    let random = Arc::new(Mutex::new(Random(seed)));
    let (own_seen, own_random) = (Arc::clone(&seen), Arc::clone(&random));
    let (deployments, config_maps) = (world.deployments.store(), world.config_maps.store());
    let owned_by = world.config_maps.add_index("owner", |object: &k8s_openapi::api::core::v1::ConfigMap| {
        let owner = object.metadata.owner_references.as_ref()?.first()?;
        Some(owner.name.clone())
    });
    let builder = world
        .builder()
        .owns(&world.config_maps)
        .concurrency(3)
        .reconcile_timeout(Duration::from_secs(2))
        .queue(|queue| {
            queue.rate_limiter(ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1)))
        });
    let handle = builder.handle();
    let informer = world.config_maps.clone();
    let controller = builder.build(move |key: ObjectKey| {
        let mut children: Vec<_> =
            owned_by.objects(key.name()).iter().map(|child| format!("{child:?}")).collect();
        children.sort();
        let owner = deployments.get(&key).map(|owner| format!("{owner:?}"));
        let mut random = own_random.lock().unwrap();
        let (delay, outcome) = (random.below(40), random.below(12));
        drop(random);
        if outcome == 5 {
            // A version that the cache has or will have soon.
            let version = config_maps.version();
            handle.wrote_version(&key, &informer, key.clone(), version);
        }
        let seen = Arc::clone(&own_seen);
        async move {
            pass(delay as f64 / 100.0).await;
            match outcome {
                0 => return Err(BoxError::from("an error")),
                1 => panic!("a panic"),
                2 => std::future::pending().await,
                _ => {}
            }
            // All others have seen what they saw, a terminal error too: nothing leads to another reconcile.
            seen.lock().unwrap().insert(key.clone(), (owner, children));
            match outcome {
                3 => Err(TerminalError::new("for good").into()),
                4 => Ok(Action::RequeueAfter(Duration::from_secs(1))),
                _ => Ok(Action::Done),
            }
        }
    });
    let mut running = world.run(controller.unwrap());
    let mut live: BTreeMap<u64, Value> = BTreeMap::new();
    for step in 0..STEPS {
        let (pause, number, what) = {
            let mut random = random.lock().unwrap();
            (random.below(60), random.below(OWNERS), random.below(16))
        };
        act(&world, &mut live, number, what, step);
        pass(pause as f64 / 100.0).await;
        if step % 50 == 49 {
            // Stopped in the middle of everything; what runs is finished or dropped, and begun again.
            let (controller, _unfinished) = running.stop().await;
            running = world.run(controller);
        }
    }
    // One that asks to come back, again and again, has to stop that some time; with one in twelve it does at once.
    pass(120.0).await;
    check(&world, &seen.lock().unwrap(), seed);
    let results = running.results();
    let metrics = running.handle.metrics();
    assert_eq!((metrics.active, metrics.queue.depth, metrics.waiting_for_cache), (0, 0, 0), "seed {seed}");
    running.stop().await.1.unwrap();
    results
}

/// Changes something on the server.
fn act(world: &World, live: &mut BTreeMap<u64, Value>, number: u64, what: u64, step: u64) {
    let name = format!("web-{number}");
    let server = &world.server;
    let child = format!("child-{number}-{}", step % 4);
    match (what, live.get(&number)) {
        (0..=3, None) => drop(live.insert(number, world.deploy(&name))),
        (0..=1, Some(_)) => {
            server.delete("deployments", "default", &name).unwrap();
            live.remove(&number);
        }
        (2..=6, Some(_)) => world.scale(&name, 2 + step as u32),
        (7..=11, Some(owner)) => drop(server.put("configmaps", owned(&child, owner)).unwrap()),
        (12, _) => drop(
            server.modify("configmaps", "default", &child, |it| it["data"] = json!({"s": step.to_string()})),
        ),
        (13, _) => drop(server.delete("configmaps", "default", &child)),
        (14, Some(owner)) => {
            // Another owner's child becomes this one's.
            let other = format!("child-{}-0", (number + 1) % OWNERS);
            let owner = reference(owner);
            let change = |it: &mut Value| it["metadata"]["ownerReferences"] = json!([owner]);
            drop(server.modify("configmaps", "default", &other, change));
        }
        (15, _) => drop(if step.is_multiple_of(2) {
            server.reset_watches("configmaps")
        } else {
            server.compact();
            server.end_watches("deployments")
        }),
        _ => {}
    }
}

/// The last reconcile of each key that got anywhere saw what is there now.
fn check(world: &World, seen: &BTreeMap<ObjectKey, Seen>, seed: u64) {
    for (key, (owner, children)) in seen {
        let now = world.deployments.store().get(key).map(|owner| format!("{owner:?}"));
        assert_eq!(*owner, now, "seed {seed}: {key}");
        let mut there: Vec<_> = world.config_maps.store().list();
        there.retain(|child| {
            let owners = child.metadata.owner_references.iter().flatten();
            owners.take(1).any(|owner| owner.name == key.name())
        });
        let there: Vec<_> = there.iter().map(|child| format!("{child:?}")).collect();
        assert_eq!(*children, there, "seed {seed}: children of {key}");
    }
    let servers: Vec<_> = world.server.list("deployments").unwrap();
    for object in servers {
        let key = key(object["metadata"]["name"].as_str().unwrap());
        let (owner, _) = seen.get(&key).unwrap_or_else(|| panic!("seed {seed}: {key} was never reconciled"));
        let version = object["metadata"]["resourceVersion"].as_str().unwrap();
        assert!(owner.as_ref().unwrap().contains(&format!("@{version} ")), "seed {seed}: {key} {owner:?}");
    }
}

/// The same in earnest, on several threads: no key is forgotten between those who enqueue, take, put aside and put back.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_each_key_is_reconciled_after_its_last_change() {
    let world = World::new();
    let seen: Arc<Mutex<BTreeMap<ObjectKey, String>>> = Arc::default();
    let builder = world.builder().owns(&world.config_maps).concurrency(8).queue(|queue| {
        queue.rate_limiter(ItemExponential::new(Duration::from_millis(1), Duration::from_millis(4)))
    });
    let (handle, informer) = (builder.handle(), world.config_maps.clone());
    let (deployments, own_seen) = (world.deployments.store(), Arc::clone(&seen));
    let random = Mutex::new(Random(7));
    let controller = builder.build(move |key: ObjectKey| {
        let outcome = random.lock().unwrap().below(10);
        let version = deployments.get(&key).map(|object| object.version.to_string());
        if outcome < 3 {
            // The store's version: shown at once, or as soon as the notes and the cache have met.
            handle.wrote_version(&key, &informer, key.clone(), informer.store().version());
        }
        let seen = Arc::clone(&own_seen);
        async move {
            tokio::task::yield_now().await;
            match outcome {
                0 | 4 => return Err("an error"),
                5 => return Ok(Action::RequeueAfter(Duration::from_millis(1))),
                _ => {}
            }
            seen.lock().unwrap().insert(key, version.unwrap_or_default());
            Ok(Action::Done)
        }
    });
    let running = world.run(controller.unwrap());
    let keys: Vec<_> = (0..20).map(|number| format!("web-{number}")).collect();
    let owners: Vec<_> = keys.iter().map(|name| world.deploy(name)).collect();
    let writers = (0..2).map(|writer| {
        let (server, owners, keys) = (world.server.clone(), owners.clone(), keys.clone());
        tokio::spawn(async move {
            let mut random = Random(writer);
            for step in 0..1000 {
                let number = random.below(20) as usize;
                let change = |it: &mut Value| it["spec"]["replicas"] = json!(step);
                server.modify("deployments", "default", &keys[number], change).unwrap();
                let child = owned(&format!("child-{writer}-{number}"), &owners[number]);
                server.put("configmaps", child).unwrap();
                tokio::task::yield_now().await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let begun = std::time::Instant::now();
    for name in &keys {
        let object = world.server.get("deployments", "default", name).unwrap();
        let version = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        while seen.lock().unwrap().get(&key(name)) != Some(&version) {
            assert!(
                begun.elapsed() < LIMIT,
                "{name} was not reconciled at {version}: {:?}",
                running.handle.metrics()
            );
            tokio::task::yield_now().await;
        }
    }
    running.stop().await.1.unwrap();
}
