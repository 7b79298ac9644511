//! `informer get`: what there is, once, from a synced copy.

use crate::{
    args::{Format, Global, Query},
    failure::Failure,
    output::{document, plain, reference, to_json, to_yaml, write_text},
    progress::Progress,
    screen::Screen,
    session::{DynamicInformer, Session, Target},
    table::Table,
    view::View,
};
use informer::{Object, Phase, TroubleReport};
use jiff::Timestamp;
use kube::core::DynamicObject;
use std::{
    io::Write,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// How often the progress line looks at an informer that lists.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The objects found of one target.
struct Found {
    target: Target,
    objects: Vec<Arc<Object<DynamicObject>>>,
}

/// Prints the objects asked for to `out`.
///
/// # Errors
/// The first thing that keeps it from being done: what the server refuses at once, everything else after the request
/// timeout. Named objects that do not exist are an error after the others were printed.
pub(crate) async fn get(
    global: &Global,
    query: &Query,
    out: &mut impl Write,
    screen: Screen,
) -> Result<(), Failure> {
    let wanted = query.check(global)?;
    let session = Session::open(global, query, None).await?;
    let targets = session.targets(query, wanted).await?;
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for target in targets {
        let mut objects = Vec::new();
        for (informer, name) in sync(&session, &target).await?.into_iter().zip(names(&target)) {
            let listed = informer.store().list();
            let status = informer.status();
            tracing::info!("{}: {} objects, {} requests", status.informer, status.objects, status.requests);
            if let (true, Some(name)) = (listed.is_empty(), name) {
                missing.push((target.name(), name));
            }
            objects.extend(listed);
            informer.stop().await;
        }
        found.push(Found { target, objects });
    }
    print(&session, query, &found, out, screen).await?;
    if missing.is_empty() { Ok(()) } else { Err(Failure::Missing(missing)) }
}

/// The names in the order of the informers.
fn names(target: &Target) -> Vec<Option<String>> {
    if target.names.is_empty() { vec![None] } else { target.names.iter().cloned().map(Some).collect() }
}

/// Starts the target's informers and waits until each has its first list.
async fn sync(session: &Session, target: &Target) -> Result<Vec<DynamicInformer>, Failure> {
    let (sender, mut troubles) = mpsc::unbounded_channel();
    let informers = session.informers(target, &sender)?;
    informers.iter().for_each(DynamicInformer::start);
    let started = Instant::now();
    let mut progress = Progress::on_stderr(started);
    for informer in &informers {
        loop {
            // Forbidden, say: no use in waiting for the end of the timeout.
            while let Ok(report) = troubles.try_recv() {
                if let Some(failure) = session.fatal(target, &report) {
                    return Err(failure);
                }
            }
            let left = session.timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            let step = left.unwrap_or(PROGRESS_INTERVAL).min(PROGRESS_INTERVAL);
            match wait(informer, step, &mut troubles, session, target).await? {
                Ok(()) => break,
                Err(_) if left.is_none_or(|left| left > step) => show(&mut progress, target, informer),
                Err(error) => {
                    let waited = started.elapsed().as_secs_f64();
                    let why = error.missing().iter().find_map(|m| m.last_error.clone());
                    let why = why.map_or_else(String::new, |why| format!(": {why}"));
                    return Err(Failure::NotSynced(format!(
                        "{}: no list after {waited:.1} s{why}",
                        informer.name()
                    )));
                }
            }
        }
    }
    Ok(informers)
}

/// One step of waiting, ended early by a trouble that does not heal.
async fn wait(
    informer: &DynamicInformer,
    step: Duration,
    troubles: &mut mpsc::UnboundedReceiver<TroubleReport>,
    session: &Session,
    target: &Target,
) -> Result<Result<(), informer::SyncError>, Failure> {
    let sync = informer.wait_for_sync(step);
    tokio::pin!(sync);
    loop {
        tokio::select! {
            synced = &mut sync => return Ok(synced),
            Some(report) = troubles.recv() => {
                if let Some(failure) = session.fatal(target, &report) {
                    return Err(failure);
                }
            }
        }
    }
}

/// Shows how far the informer is.
pub(crate) fn show(progress: &mut Progress<std::io::Stderr>, target: &Target, informer: &DynamicInformer) {
    if let Phase::Listing { items, total } = informer.status().phase {
        progress.update(&target.name(), items as u64, total, Instant::now());
    }
}

async fn print(
    session: &Session,
    query: &Query,
    found: &[Found],
    out: &mut impl Write,
    screen: Screen,
) -> Result<(), Failure> {
    let values = || {
        found
            .iter()
            .flat_map(|found| found.objects.iter().map(|object| plain(&object.value, &found.target.resource)))
    };
    // A single name that is not there prints nothing at all.
    let single = found.iter().map(|found| found.target.names.len()).sum::<usize>() == 1 && found.len() == 1;
    let nothing = single && found.iter().all(|found| found.objects.is_empty());
    let text = match query.output {
        _ if nothing => String::new(),
        Some(Format::Json) => to_json(&document(values().collect(), single)),
        Some(Format::Yaml) => to_yaml(&document(values().collect(), single)),
        Some(Format::Jsonl) => values().map(|value| format!("{value}\n")).collect(),
        Some(Format::Name) => found
            .iter()
            .flat_map(|found| {
                found.objects.iter().map(|o| format!("{}\n", reference(&found.target.resource, o.key.name())))
            })
            .collect(),
        None | Some(Format::Wide) => return print_tables(session, query, found, out, screen).await,
    };
    Ok(write_text(out, &text)?)
}

async fn print_tables(
    session: &Session,
    query: &Query,
    found: &[Found],
    out: &mut impl Write,
    screen: Screen,
) -> Result<(), Failure> {
    let wide = query.output == Some(Format::Wide);
    let mut text = String::new();
    let mut empty = true;
    for Found { target, objects } in found {
        if objects.is_empty() {
            continue;
        }
        if !std::mem::take(&mut empty) {
            text.push('\n');
        }
        let view = View::open(&session.requester, target, wide, found.len() > 1).await;
        let now = Timestamp::now();
        let rows: Vec<Vec<String>> = objects.iter().map(|object| view.row(&object.value, now)).collect();
        text.push_str(&Table::new(view.headers(), screen.palette, true).render(&rows));
    }
    // Of what was asked for by name each missing one is told later.
    if let Some(Found { target, .. }) = found.first()
        && empty
        && found.iter().all(|found| found.target.names.is_empty())
    {
        eprintln!("{}", target.nothing());
    }
    Ok(write_text(out, &text)?)
}
