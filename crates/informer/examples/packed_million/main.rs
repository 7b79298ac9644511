//! Holds a million packed Pods, and prints what that takes and how fast they are read.
//!
//! `cargo run --release -p informer --features packed --example packed_million [pods]`

#[path = "../storage/pods.rs"]
mod pods;
#[path = "../storage/usage.rs"]
mod usage;

use std::hint::black_box;
use std::time::{Duration, Instant};

use informer::{BoxError, Packed, ReflectorOptions, SharedInformer};
use k8s_openapi::api::core::v1::Pod;

use crate::pods::Size;

/// Reads of each kind.
const READS: usize = 2_000_000;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let count: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse())?;
    let format = Packed::<Pod>::new().field("/spec/nodeName");
    let stats = format.stats();
    let pods = SharedInformer::builder(pods::source(count, Size::of("9")), format)
        .reflector_options(|options: ReflectorOptions| options.watch_list(false))
        .build()?;
    let start = Instant::now();
    pods.start();
    pods.wait_for_sync(Duration::from_secs(1_800)).await?;
    println!(
        "{} pods in {:.1?} ({:.1?} of CPU, generating them included); {} MiB resident, {} MiB at the peak",
        pods.store().len(),
        start.elapsed(),
        usage::cpu(),
        usage::resident(usage::NOW) >> 20,
        usage::resident(usage::PEAK) >> 20,
    );
    println!("{} bytes packed to {} each", stats.bytes() / count, stats.packed_bytes() / count);

    let keys: Vec<_> = pods.snapshot().iter().step_by(7).map(|object| object.key.clone()).collect();
    let store = pods.store();
    // By processor time: the machine may have other things to do.
    let start = usage::cpu();
    for key in keys.iter().cycle().take(READS) {
        let pod = store.get(key).expect("it is cached");
        black_box((pod.labels().get("team").is_some(), pod.field("/spec/nodeName").is_some()));
    }
    println!(
        "{:.2} M reads of a label and a field in a second of CPU, by key",
        READS as f64 / (usage::cpu() - start).as_secs_f64() / 1e6
    );

    let start = usage::cpu();
    let decoded =
        keys.iter().take(20_000).filter(|key| store.get(key).is_some_and(|pod| pod.decode().is_ok())).count();
    println!("{:.1} us to read and decode one", (usage::cpu() - start).as_secs_f64() * 1e6 / decoded as f64);
    println!("{} MiB resident in the end", usage::resident(usage::NOW) >> 20);
    pods.stop().await;
    Ok(())
}
