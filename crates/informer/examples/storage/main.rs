//! Prints what a cached Pod costs in one storage format: CPU until it is in the cache, memory while it is.
//!
//! ```text
//! for format in metadata projection packed typed dynamic; do
//!     cargo run --release -p informer --features packed --example storage -- $format 20000 9
//! done
//! ```
//!
//! One process for each format, since freed memory is not given back. The list comes from this very process; what generating
//! it costs is measured first and taken off.

mod pods;
mod usage;

use std::hint::black_box;
use std::time::{Duration, Instant};

use informer::{
    BoxError, Dynamic, Format, Lister, MetadataOnly, Object, Packed, Projection, ReflectorOptions,
    SharedInformer, Typed,
};
use k8s_openapi::api::core::v1::Pod;
use kube::core::ApiResource;

use crate::pods::Size;

/// What a controller that looks at scheduling reads of a Pod.
#[derive(serde::Deserialize)]
struct PodPlace {
    spec: Spec,
    status: Status,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<Box<str>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    phase: Box<str>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let format = arguments.next().unwrap_or_else(|| "metadata".into());
    let count: u64 = arguments.next().map_or(Ok(20_000), |count| count.parse())?;
    let size = Size::of(arguments.next().as_deref().unwrap_or("9"));
    match &*format {
        "metadata" => measure(MetadataOnly, count, size, |pod| pod.labels().len()).await,
        "projection" => {
            let read = |pod: &Object<_>| {
                let pod: &informer::Projected<PodPlace> = pod;
                pod.spec.node_name.iter().len() + pod.status.phase.len() + pod.status.pod_ip.iter().len()
            };
            measure(Projection::<Pod, PodPlace>::new(), count, size, read).await
        }
        "packed" => {
            let format = Packed::<Pod>::new().field("/spec/nodeName");
            let stats = format.stats();
            measure(format, count, size, |pod| pod.decode().map_or(0, |pod| pod.spec.iter().len())).await?;
            println!(
                "  {} bytes packed to {} each, {} dictionaries",
                stats.bytes() / count,
                stats.packed_bytes() / count,
                stats.dictionaries()
            );
            Ok(())
        }
        "typed" => measure(Typed::<Pod>::new(), count, size, |pod| pod.spec.iter().len()).await,
        "dynamic" => {
            let resource = ApiResource::erase::<Pod>(&());
            measure(Dynamic::new(&resource), count, size, |pod| {
                pod.data.as_object().map_or(0, |data| data.len())
            })
            .await
        }
        other => Err(format!("no such format: {other}").into()),
    }
}

async fn measure<F: Format>(
    format: F,
    count: u64,
    size: Size,
    read: impl Fn(&Object<F::Value>) -> usize,
) -> Result<(), BoxError> {
    let (generating, mean) = generate(count, size);
    let informer = SharedInformer::builder(pods::source(count, size), format)
        .reflector_options(|options: ReflectorOptions| options.watch_list(false))
        .build()?;
    let (cpu, resident, wall) = (usage::cpu(), usage::resident(usage::NOW), Instant::now());
    informer.start();
    informer.wait_for_sync(Duration::from_secs(600)).await?;
    let wall = wall.elapsed();
    let cpu = (usage::cpu() - cpu).saturating_sub(generating);
    let resident = usage::resident(usage::NOW).saturating_sub(resident);
    let peak = usage::resident(usage::PEAK);

    assert_eq!(informer.store().len() as u64, count);
    let per_pod = |duration: Duration| duration.as_secs_f64() * 1e6 / count as f64;
    println!(
        "{}: {count} pods of {mean} bytes: {:.1} us CPU, {} bytes resident per pod (peak {} MiB in all); wall {wall:.2?}",
        std::any::type_name::<F>().rsplit("::").next().unwrap_or_default(),
        per_pod(cpu),
        resident / count,
        peak >> 20,
    );
    reads(&informer.lister(), &informer, read);
    informer.stop().await;
    Ok(())
}

/// Looks at every object once, as a handler would.
fn reads<V: Send + Sync + 'static>(
    lister: &Lister<V>,
    informer: &SharedInformer<V>,
    read: impl Fn(&Object<V>) -> usize,
) {
    black_box(lister);
    let objects = informer.snapshot();
    let start = Instant::now();
    let sum: usize = objects.iter().map(|object| read(object)).sum();
    black_box(sum);
    println!("  {:.0} ns to read one", start.elapsed().as_secs_f64() * 1e9 / objects.len() as f64);
}

/// CPU of generating, and the mean length.
fn generate(count: u64, size: Size) -> (Duration, usize) {
    let (mut pod, mut bytes) = (String::new(), 0);
    let start = usage::cpu();
    for position in 0..count {
        if position % 8 == 0 {
            pod = String::with_capacity(80_000);
        }
        pods::write_pod(&mut pod, position, size);
        bytes += if position % 8 == 7 || position + 1 == count { pod.len() } else { 0 };
    }
    (usage::cpu() - start, bytes / count as usize)
}
