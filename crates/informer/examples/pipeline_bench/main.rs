//! Prints what the pipeline costs an object: from bytes to the store and to handlers.
//!
//! `cargo run --release -p informer --example pipeline_bench -- FORMAT WHAT [OBJECTS] [HANDLERS] [tcp]`
//!
//! FORMAT is `typed`, `dynamic`, `metadata` or `projection`. WHAT is `list` or `watch-list` (CPU and memory of the first
//! sync), `relist` (a second list in which one object in twenty has changed), `events` (changes to the store and to HANDLERS
//! handlers that count), `reads` (by several threads, beside some thousand changes a second), `idle` (a minute without a byte). The bytes are rendered before; they come from this process, or
//! with `tcp` from another one over plain HTTP, whose CPU does not count.

mod objects;
mod process;
mod reads;
mod source;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use informer::{
    DecodeError, EventHandler, Format, MetadataOnly, Overflow, Owner, RawObject, ReflectorOptions,
    ResourceListWatch, ResourceVersion, SharedInformer, Typed, list_watch_fn,
};
use k8s_openapi::api::core::v1::Pod;

use process::{Usage, resident, resident_peak};
use source::{Plan, Source};

const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Clone)]
struct Run {
    what: String,
    plan: Plan,
    handlers: usize,
    tcp: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let tcp = words.last().is_some_and(|word| word == "tcp");
    words.truncate(words.len() - usize::from(tcp));
    if words.first().is_some_and(|word| word == "serve") {
        let plan = Plan::parse(&words[1], words[2].parse()?, words[3] == "true");
        return Ok(source::serve(Source::new(plan))?);
    }
    let format = words.first().map_or("typed", String::as_str);
    let what = words.get(1).map_or("list", String::as_str);
    let objects = words.get(2).map_or(Ok(20_000), |word| word.parse())?;
    let handlers = words.get(3).map_or(Ok(1), |word| word.parse())?;
    let run =
        Run { what: what.to_owned(), plan: Plan::parse(what, objects, format == "metadata"), handlers, tcp };
    print!("{format} {what}: ");
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        match format {
            "metadata" => measure(run, MetadataOnly).await,
            "projection" => measure(run, Projection).await,
            _ => measure(run, Typed::<Pod>::new()).await,
        }
    })
}

/// What a scheduler's view of a Pod might be.
struct Projection;

#[derive(serde::Deserialize)]
struct Projected {
    spec: ProjectedSpec,
    status: ProjectedStatus,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProjectedSpec {
    node_name: Option<Box<str>>,
}

#[derive(serde::Deserialize)]
struct ProjectedStatus {
    phase: Box<str>,
}

impl Format for Projection {
    type Value = (Option<Box<str>>, Box<str>);

    fn decode(&self, object: &mut RawObject<'_>) -> Result<Self::Value, DecodeError> {
        let Projected { spec, status } = object.decode()?;
        Ok((spec.node_name, status.phase))
    }

    fn label<'v>(_value: &'v Self::Value, _name: &str) -> Option<&'v str> {
        None
    }

    fn owners(_value: &Self::Value) -> Vec<Owner<'_>> {
        Vec::new()
    }
}

async fn measure<F: Format>(run: Run, format: F) -> Result<(), Box<dyn std::error::Error>> {
    let Run { what, plan, handlers, tcp } = run;
    let mut child = None;
    let builder = if tcp {
        let (server, port) = source::spawn_server(&plan)?;
        child = Some(server);
        let client = informer::client(kube::Config::new(format!("http://127.0.0.1:{port}").parse()?))?;
        SharedInformer::builder(ResourceListWatch::of::<Pod>(client), format)
    } else {
        let source = Arc::new(Source::new(plan.clone()));
        SharedInformer::builder(list_watch_fn("pods", move |request| source.answer(request)), format)
    };
    let watch_list = what == "watch-list";
    let options = |options: ReflectorOptions| options.watch_list(watch_list);
    let informer = builder.reflector_options(options).build()?;
    let told = Arc::new(AtomicU64::new(0));
    for _ in 0..handlers {
        let (added, updated) = (Arc::clone(&told), Arc::clone(&told));
        let handler = EventHandler::new()
            .on_added(move |_, _| _ = added.fetch_add(1, Ordering::Relaxed))
            .on_updated(move |_, _| _ = updated.fetch_add(1, Ordering::Relaxed))
            .overflow(Overflow::Block);
        informer.add_event_handler(handler);
    }
    let (resident_before, before, clock) = (resident(), Usage::now(), Instant::now());
    informer.start();
    informer.wait_for_sync(PATIENCE).await?;
    let objects = plan.objects as u64;
    assert_eq!(informer.store().len() as u64, objects);
    let first = before.elapsed();
    if matches!(&*what, "list" | "watch-list") {
        println!(
            "{} wall {:.1} us",
            first.per(objects),
            clock.elapsed().as_secs_f64() * 1e6 / objects as f64
        );
        print_memory(resident_before, objects);
    } else if what == "reads" {
        println!();
        tokio::task::block_in_place(|| reads::measure(&informer));
    } else if what == "idle" {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = Usage::now();
        tokio::time::sleep(Duration::from_secs(60)).await;
        println!("{}", before.elapsed().per(1));
    } else {
        let (count, before, clock) = (plan.changes as u64, Usage::now(), Instant::now());
        let last = ResourceVersion::from(plan.last_version());
        informer.wait_until(&last, PATIENCE).await?;
        while told.load(Ordering::Relaxed) < (objects + count) * handlers as u64 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let usage = before.elapsed();
        if what == "events" {
            let wall = clock.elapsed().as_secs_f64();
            println!("{} {:.0}/s of CPU, {:.0}/s", usage.per(count), usage.rate(count), count as f64 / wall);
        } else {
            println!("{}", usage.per(objects));
            print_memory(resident_before, objects);
        }
    }
    informer.stop().await;
    if let Some(mut child) = child {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

fn print_memory(before: u64, objects: u64) {
    let (now, peak) = (resident() - before, resident_peak() - before);
    let ratio = peak as f64 / now as f64;
    println!("  resident {:.2} KB an object, peak/steady {ratio:.2}", now as f64 / objects as f64 / 1e3);
}
