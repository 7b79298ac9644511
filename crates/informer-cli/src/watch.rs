//! `informer watch`: what there is, and then every change, until interrupted.

use crate::{
    age,
    args::{Global, Query, ResourceArg},
    exposed::Exposed,
    failure::Failure,
    get::show,
    output::write_text,
    progress::Progress,
    screen::Screen,
    session::{DynamicInformer, Session, Target},
    text::{escape, excerpt},
};
use futures_util::{StreamExt, stream::select_all};
use informer::{FailureKind, Notification, Trouble, TroubleReport};
use jiff::Timestamp;
use std::{
    io::{self, IsTerminal, Write},
    pin::pin,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

mod printer;
#[cfg(test)]
mod tests;

use printer::Printer;

/// How often the progress line of a sync is drawn.
const TICK: Duration = Duration::from_millis(100);
/// Between attempts at discovery, doubled each time up to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What happened while we watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    added: u64,
    updated: u64,
    deleted: u64,
    relists: u64,
    synced_after: Option<Duration>,
    last_trouble: Option<String>,
    trouble_is_over: bool,
}

impl Tally {
    fn trouble(&mut self, line: String) {
        self.last_trouble = Some(line);
        self.trouble_is_over = false;
    }
}

/// One target with its informers and the printer of its notifications.
struct Watched {
    target: Target,
    informers: Vec<DynamicInformer>,
    printer: Printer,
    /// Informers that have not told their first list yet.
    unsynced: usize,
}

/// Prints objects and changes to `out` until `stop` completes; then a summary of two lines goes to stderr.
///
/// A server that cannot be reached is told of once and tried again for ever.
///
/// # Errors
/// What trying again cannot cure: bad arguments, no cluster, an unknown resource, output that cannot be written.
pub(crate) async fn watch(
    global: &Global,
    query: &Query,
    exposed: &Exposed,
    out: &mut impl Write,
    screen: Screen,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let wanted = query.check(global)?;
    let mut stop = pin!(stop);
    let started = Instant::now();
    let mut tally = Tally::default();
    let found = tokio::select! {
        found = find(global, query, exposed, wanted, &mut tally) => Some(found?),
        () = &mut stop => None,
    };
    let Some((session, targets)) = found else {
        let names = excerpt(&query.resources.join(" "), 80);
        tell_end(&summary(&names, 0, None, &tally, started.elapsed()));
        return Ok(());
    };
    let (sender, mut troubles) = mpsc::unbounded_channel();
    let mut watched = Vec::new();
    let among_others = targets.len() > 1;
    for target in targets {
        let informers = session.informers(&target, &sender)?;
        exposed.add(&target.name(), &informers)?;
        let printer = Printer::open(&session, &target, query.output, among_others, screen).await;
        watched.push(Watched { unsynced: informers.len(), target, informers, printer });
    }
    exposed.complete();
    let result = {
        let follow = follow(&mut watched, out, &mut troubles, &mut tally, started, global.verbose > 0);
        tokio::select! {
            result = follow => result,
            () = &mut stop => Ok(()),
        }
    };
    if result.is_ok() {
        summarize(&watched, &tally, started.elapsed());
    }
    result
}

/// Finds the cluster and in it the targets, again and again while the server cannot be asked.
async fn find(
    global: &Global,
    query: &Query,
    exposed: &Exposed,
    wanted: Vec<ResourceArg>,
    tally: &mut Tally,
) -> Result<(Session, Vec<Target>), Failure> {
    let session = Session::open(global, query, exposed.metrics()).await?;
    let mut told = String::new();
    let mut pause = FIRST_PAUSE;
    loop {
        match session.targets(query, wanted.clone()).await {
            Err(Failure::Request(error)) => {
                let line = error.to_string();
                if line != told {
                    eprintln!("{line}; trying again");
                    tally.trouble(line.trim_start_matches("error: ").to_owned());
                    told = line;
                }
            }
            other => {
                if !told.is_empty() && other.is_ok() {
                    eprintln!("the server answers now");
                    tally.trouble_is_over = true;
                }
                return other.map(|targets| (session, targets));
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn follow(
    watched: &mut [Watched],
    out: &mut impl Write,
    troubles: &mut mpsc::UnboundedReceiver<TroubleReport>,
    tally: &mut Tally,
    started: Instant,
    verbose: bool,
) -> Result<(), Failure> {
    let subscriptions = watched.iter().enumerate().flat_map(|(index, one)| {
        one.informers.iter().map(move |informer| informer.subscribe().map(move |batch| (index, batch)))
    });
    let mut batches = select_all(subscriptions);
    watched.iter().flat_map(|one| &one.informers).for_each(DynamicInformer::start);
    let mut progress = Progress::on_stderr(started);
    let mut ticks = tokio::time::interval(TICK);
    let mut printed: Option<usize> = None;
    loop {
        tokio::select! {
            next = batches.next() => {
                let Some((index, batch)) = next else { return Ok(()) };
                progress.clear();
                let one = &mut watched[index];
                count(tally, &batch);
                let synced = batch.iter().filter(|n| matches!(n, Notification::Synced { .. })).count();
                one.unsynced = one.unsynced.saturating_sub(synced);
                let behind = printed.is_some_and(|before| before != index);
                let synced_now = one.unsynced == 0;
                let text = one.printer.print(&one.target, &batch, synced_now, behind, Timestamp::now()).await;
                write_text(out, &text)?;
                printed = printed.or((!text.is_empty()).then_some(index));
                if synced > 0 && one.unsynced == 0 {
                    greet(one);
                }
                if tally.synced_after.is_none() && watched.iter().all(|one| one.unsynced == 0) {
                    tally.synced_after = Some(started.elapsed());
                    tracing::info!("everything is synced after {} ms", started.elapsed().as_millis());
                }
            }
            Some(report) = troubles.recv() => {
                if let Some(line) = line(&report) {
                    progress.clear();
                    // With -v the log has said it already.
                    if !verbose {
                        eprintln!("{line}");
                    }
                    match report.trouble {
                        Trouble::Recovered => tally.trouble_is_over = true,
                        _ => tally.trouble(without_next_try(&line).to_owned()),
                    }
                }
            }
            _ = ticks.tick(), if tally.synced_after.is_none() => {
                let waiting = watched.iter().find(|one| one.unsynced > 0);
                if let Some((one, informer)) = waiting.and_then(|one| Some((one, one.informers.first()?))) {
                    show(&mut progress, &one.target, informer);
                }
            }
        }
    }
}

/// An empty table would look like a command that hangs.
fn greet(one: &Watched) {
    if one.printer.is_table() && one.informers.iter().all(|informer| informer.store().is_empty()) {
        eprintln!("No {} yet; waiting for the first", one.target.name());
    }
}

fn count<V>(tally: &mut Tally, batch: &[Notification<V>]) {
    for notification in batch {
        match notification {
            Notification::Added { in_initial_list: false, .. } => tally.added += 1,
            Notification::Updated { .. } => tally.updated += 1,
            Notification::Deleted { .. } => tally.deleted += 1,
            Notification::Relisted { .. } => tally.relists += 1,
            _ => {}
        }
    }
}

/// The line for stderr, if the trouble is news and worth one.
fn line(report: &TroubleReport) -> Option<String> {
    let usual = match &report.trouble {
        // A lost version is part of a watch's life, and so is the choice between LIST and WatchList.
        Trouble::RequestFailed { failure, .. } => failure.kind == FailureKind::Expired,
        Trouble::WatchListGivenUp { .. } | Trouble::UnknownEvent { .. } => true,
        _ => false,
    };
    (!usual && report.repeated == 0).then(|| escape(&report.to_string()).into_owned())
}

fn summarize(watched: &[Watched], tally: &Tally, elapsed: Duration) {
    let names: Vec<String> = watched.iter().map(|one| one.target.name()).collect();
    let informers = || watched.iter().flat_map(|one| &one.informers);
    let objects: usize = informers().map(|informer| informer.store().len()).sum();
    let requests: u64 = informers().map(|informer| informer.status().requests).sum();
    tell_end(&summary(&names.join(", "), objects, Some(requests), tally, elapsed));
}

fn tell_end(summary: &str) {
    if io::stderr().is_terminal() {
        // The terminal has just echoed ^C.
        eprintln!();
    }
    eprint!("{summary}");
}

/// The moment of the next try is history when the trouble is told once more.
fn without_next_try(line: &str) -> &str {
    line.rsplit_once("; next try in ").map_or(line, |(trouble, _)| trouble)
}

/// Two lines; no number of requests where none of the watch was ever sent.
fn summary(names: &str, objects: usize, requests: Option<u64>, tally: &Tally, elapsed: Duration) -> String {
    let Tally { added, updated, deleted, relists, synced_after, last_trouble, trouble_is_over } = tally;
    let seconds = i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX);
    let from = Timestamp::UNIX_EPOCH;
    let watched =
        Timestamp::from_second(seconds).map_or_else(|_| "ages".to_owned(), |to| age::between(from, to));
    let synced = match synced_after {
        Some(after) if after.as_secs() == 0 => format!("synced in {} ms", after.as_millis()),
        Some(after) => format!("synced in {:.1} s", after.as_secs_f64()),
        None => "never synced".to_owned(),
    };
    let trouble = match (last_trouble, trouble_is_over) {
        (None, _) => "no trouble".to_owned(),
        (Some(line), true) => format!("last trouble (over): {line}"),
        (Some(line), false) => format!("last trouble: {line}"),
    };
    let plural = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let requests = requests.map_or_else(String::new, |requests| {
        format!(", {}, {}", plural(requests, "request", "requests"), plural(*relists, "relist", "relists"))
    });
    format!(
        "{names}: {objects} now, {added} added, {updated} updated, {deleted} deleted in {watched}\n{synced}{requests}, \
         {trouble}\n"
    )
}
