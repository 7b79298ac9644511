//! Runs the cases one after the other, and says how each went.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::api::Api;
use crate::cases::CASES;
use crate::check::assert_equal_to_server;
use crate::cluster::{Cluster, ServerKind};
use crate::content::Content;
use crate::outcome::Result;
use crate::standing::Standing;
use crate::watched::Watched;
use crate::world;

/// A case that takes longer hangs: the slowest one makes some ten thousand writes and restarts a real server between them,
/// which takes more than two minutes on a machine that others keep busy.
const CASE_LIMIT: Duration = Duration::from_secs(4 * 60);

/// What a case is given.
pub(crate) struct Context {
    pub(crate) cluster: Cluster,
    pub(crate) api: Api,
}

/// A case: a claim, and what fails unless it holds.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: for<'c> fn(&'c Context) -> BoxFuture<'c, Result>,
}

impl Context {
    /// The check at the end of each case.
    pub(crate) async fn check<V: Content>(&self, watched: &Watched<V>) -> Result {
        assert_equal_to_server(watched, &self.api).await
    }
}

/// Runs all cases, or those with this in their name; answers how many failed.
pub(crate) async fn run(server: ServerKind, watch_cache: bool, only: Option<&str>) -> Result<usize> {
    let cases: Vec<&Case> =
        CASES.iter().filter(|case| only.is_none_or(|only| case.name.contains(only))).collect();
    if cases.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("no case has that in its name; there are {}", names.join(", ")).into());
    }
    let begun = Instant::now();
    let cluster = Cluster::start(server, watch_cache).await?;
    let api = Api::new(cluster.config())?;
    let context = Context { cluster, api };
    line("ready", "server", begun);
    let begun = Instant::now();
    world::create(&context.api).await?;
    line("ready", "world", begun);
    let standing = Standing::start(&context).await?;
    let mut failed = 0;
    for case in cases {
        failed += usize::from(!run_one(case, &context, &standing).await);
    }
    drop(standing);
    context.cluster.stop().await?;
    Ok(failed)
}

async fn run_one(case: &Case, context: &Context, standing: &Standing) -> bool {
    let begun = Instant::now();
    let mut result = limited((case.run)(context)).await;
    if let Err(error) = limited(context.cluster.repair()).await {
        result = result.and(Err(format!("the server is not well again: {error}").into()));
    }
    if result.is_ok() {
        let checked = limited(standing.check(context)).await;
        result = checked.map_err(|error| format!("afterwards, the informers that stay: {error}").into());
    }
    line(if result.is_ok() { "ok" } else { "FAILED" }, case.name, begun);
    if let Err(error) = &result {
        println!("       {error}");
    }
    result.is_ok()
}

async fn limited(step: impl Future<Output = Result>) -> Result {
    timeout(CASE_LIMIT, step).await.unwrap_or_else(|_| Err("did not end in time".into()))
}

fn line(verdict: &str, name: &str, begun: Instant) {
    println!("{verdict:<6} {name:<62} {:>6.1} s", begun.elapsed().as_secs_f64());
}
