//! A whole controller: for each Foo there is the Deployment it asks for.

mod demo;
mod foo;
mod reconcile;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use informer::{
    BoxError, Controller, EventRecorder, EventSink, LeaderElector, Leadership, Metrics, MetricsServer,
    ObjectKey, SharedInformerFactory,
};
use kube::config::{Config, Kubeconfig};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::reconcile::{Context, reconcile};

/// Keeps, for each Foo, the Deployment it asks for.
#[derive(Parser)]
struct Args {
    /// How to reach the cluster; otherwise as kubectl finds it, or the cluster this runs in
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Only one of several replicas works: the one that has this Lease in the default namespace
    #[arg(long)]
    leader_elect: Option<String>,
    /// Where /metrics, /healthz and /readyz are served, such as :8080
    #[arg(long)]
    metrics_addr: Option<String>,
    /// Show it at work on an API server within this process, and explain
    #[arg(long, conflicts_with = "kubeconfig")]
    embedded: bool,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let args = Args::parse();
    tracing_subscriber::fmt().without_time().with_target(false).with_writer(std::io::stderr).init();
    let (stop, mut terminate) = (CancellationToken::new(), signal(SignalKind::terminate())?);
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = tokio::signal::ctrl_c() => {} }
        stopped.cancel();
    });
    if args.embedded {
        return demo::run(args, stop).await;
    }
    let config = match &args.kubeconfig {
        Some(path) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &Default::default()).await?
        }
        None => Config::infer().await?,
    };
    run(config, args, stop).await
}

/// Runs the controller until it is stopped.
async fn run(config: Config, args: Args, stop: CancellationToken) -> Result<(), BoxError> {
    let metrics = Metrics::new();
    let client = informer::client_with_metrics(config.clone(), &metrics)?;
    let recorder = EventRecorder::builder("sample-controller").sink(EventSink::v1(client.clone())).build()?;
    let factory = SharedInformerFactory::new(client.clone());
    let (foos, deployments) = (factory.informer()?, factory.informer()?);
    let builder = Controller::builder("foo", &foos).owns(&deployments).concurrency(4);
    let controller = builder.handle();
    metrics.factory("sample-controller", &factory)?;
    metrics.controller(&controller)?;
    metrics.event_recorder("sample-controller", &recorder)?;
    let writer = Mutex::new((client, 0));
    let context = Arc::new(Context { writer, foos, deployments, controller, recorder });
    let shared = Arc::clone(&context);
    let controller = Arc::new(builder.build(move |key: ObjectKey| reconcile(Arc::clone(&shared), key))?);
    let mut health = MetricsServer::builder(metrics.clone()).synced(&factory);
    let mut elector = None;
    if let Some(lease) = args.leader_elect {
        // A client of its own: however busy the other one is, the Lease is renewed.
        let (namespace, own) = (config.default_namespace.clone(), informer::client(config.clone())?);
        let one = LeaderElector::builder(own, namespace, lease, LeaderElector::unique_identity());
        let one = elector.insert(one.release_on_cancel(true).build()?).clone();
        metrics.leader_elector(&one)?;
        health = health.live_check("leader election", move || one.check(Duration::from_secs(20)));
    }
    let _serving = match args.metrics_addr {
        Some(address) => Some(health.bind(&address).await?),
        None => None,
    };
    factory.start();
    let (shared, leading) = (Arc::clone(&context), Arc::clone(&controller));
    let lead = move |leadership: Leadership| {
        let (over, controller) = (leadership.cancellation_token(), Arc::clone(&leading));
        // A client that sends nothing once the term is over, however late that is noticed here.
        let client = leadership.client_with_metrics(config.clone(), &metrics);
        let ready =
            client.map(|client| *shared.writer.lock().unwrap() = (client, leadership.fencing_token().0));
        async move { Ok::<_, BoxError>(controller.run(ready.map(|()| over)?).await?) }
    };
    match elector {
        Some(elector) => elector.run_terms(stop, lead).await??,
        None => controller.run(stop).await?,
    }
    context.recorder.shutdown(Duration::from_secs(5)).await?;
    factory.shutdown().await;
    Ok(())
}
