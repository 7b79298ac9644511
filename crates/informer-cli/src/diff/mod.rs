//! What changed between two versions of an object, in one short phrase.

use crate::{
    columns::{Kind, PodSummary},
    fields::*,
    text::{excerpt, fit, shorten},
};
use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::Value;
use std::collections::BTreeMap;

mod details;
mod paths;
#[cfg(test)]
mod tests;

/// Characters of a value that are shown.
const VALUE_LENGTH: usize = 24;
/// Changed paths that are named; the others are counted.
const PATHS: usize = 3;
/// Changed keys of a map (labels, annotations, data) that are named.
const KEYS: usize = 4;

/// The phrase, such as `phase Pending→Running, node →node-3`, or `None` when nothing changed that a person could see
/// (only managedFields, versions and other bookkeeping).
///
/// Values of Secrets, of ConfigMaps' data and of annotations are never in it, only their keys. The phrase is one line,
/// escaped, and at most `room` characters long; what does not fit is counted. Times are told only where nothing else
/// has changed.
pub(crate) fn phrase(
    kind: Option<Kind>,
    old: &DynamicObject,
    new: &DynamicObject,
    room: usize,
) -> Option<String> {
    let mut parts = Vec::new();
    lifetime(&mut parts, old, new);
    match kind {
        Some(Kind::Pod) => pod(&mut parts, old, new),
        Some(kind) => cells(&mut parts, kind, old, new),
        None => {}
    }
    let headline = !parts.is_empty();
    images(&mut parts, &old.data, &new.data);
    scalar(&mut parts, &old.data, &new.data, "spec.replicas");
    metadata(&mut parts, old, new);
    if matches!(kind, Some(Kind::Secret | Kind::ConfigMap)) {
        for map in ["data", "binaryData", "stringData"] {
            let (old, new) = (value_map(at(&old.data, map)), value_map(at(&new.data, map)));
            keys(&mut parts, map, &old, &new);
        }
    }
    let changes = paths::changes(&old.data, &new.data, |path| is_covered(kind, path));
    let details = details::tell(&changes, headline);
    let unnamed = details.words.len().saturating_sub(PATHS);
    parts.extend(details.words.into_iter().take(PATHS));
    if parts.is_empty() {
        parts.extend(details.clocks);
    }
    (!parts.is_empty()).then(|| fit(&parts, unnamed, room))
}

/// Paths that other parts of the phrase tell, or that nobody wants to read.
fn is_covered(kind: Option<Kind>, path: &str) -> bool {
    let told = path == "spec.replicas" || (path.contains("ontainers[") && path.ends_with("].image"));
    let own = match kind {
        Some(Kind::Secret) => !matches!(path, "" | "type" | "immutable"),
        Some(Kind::ConfigMap) => ["data", "binaryData", "stringData"].iter().any(|map| {
            path == *map || path.strip_prefix(map).is_some_and(|rest| rest.starts_with(['.', '[']))
        }),
        Some(Kind::Pod) => matches!(path, "spec.nodeName" | "status.phase"),
        Some(Kind::Node) => path == "spec.unschedulable",
        _ => false,
    };
    told || own
}

fn lifetime(parts: &mut Vec<String>, old: &DynamicObject, new: &DynamicObject) {
    if old.metadata.uid != new.metadata.uid && new.metadata.uid.is_some() && old.metadata.uid.is_some() {
        parts.push("recreated".to_owned());
    }
    match (&old.metadata.deletion_timestamp, &new.metadata.deletion_timestamp) {
        (None, Some(_)) => parts.push("deletionTimestamp set".to_owned()),
        (Some(_), None) => parts.push("deletionTimestamp removed".to_owned()),
        _ => {}
    }
}

fn pod(parts: &mut Vec<String>, old: &DynamicObject, new: &DynamicObject) {
    let (before, after) = (PodSummary::of(old), PodSummary::of(new));
    // The most telling first: what does not fit is cut off at the end.
    let restarted = before.restarts != after.restarts;
    if restarted {
        let why = if is_trouble(&after.status) {
            format!(" ({})", excerpt(&after.status, 40))
        } else {
            String::new()
        };
        parts.push(format!("restarts {}→{}{why}", before.restarts, after.restarts));
    }
    scalar(parts, &old.data, &new.data, "status.phase");
    let phase = text(&new.data, "status.phase");
    let moved = phase != text(&old.data, "status.phase");
    // The status often is the phase, the reason of the restart or another word for a deletion: say it once.
    let said = (moved && after.status == phase)
        || (restarted && is_trouble(&after.status))
        || after.status == "Terminating";
    if before.status != after.status && !said {
        parts.push(format!("status {}", arrow_text(&before.status, &after.status)));
    }
    let node = (text(&old.data, "spec.nodeName"), text(&new.data, "spec.nodeName"));
    if node.0 != node.1 {
        parts.push(format!("node {}", arrow_text(node.0, node.1)));
    }
    if (before.ready, before.total) != (after.ready, after.total) {
        parts.push(format!("ready {}/{}→{}/{}", before.ready, before.total, after.ready, after.total));
    }
}

fn is_trouble(status: &str) -> bool {
    !matches!(
        status,
        "Running" | "Pending" | "Completed" | "Succeeded" | "Terminating" | "ContainerCreating" | ""
    )
}

/// Cells of the kind's own columns that differ and are drawn from the status.
fn cells(parts: &mut Vec<String>, kind: Kind, old: &DynamicObject, new: &DynamicObject) {
    // Any one instant will do: nothing that depends on it is compared.
    let now = Timestamp::UNIX_EPOCH;
    let (before, after) = (kind.row(old, now, false), kind.row(new, now, false));
    for ((header, before), after) in kind.headers(false).into_iter().zip(before).zip(after) {
        let told = match (kind, header) {
            (Kind::Event, _) => false,
            // Of a READY like 2/3 the second number is spec.replicas, which is told by its name.
            (_, "READY") => before.split('/').next() != after.split('/').next(),
            (Kind::DaemonSet, "DESIRED") => true,
            (
                _,
                "STATUS" | "UP-TO-DATE" | "AVAILABLE" | "CURRENT" | "COMPLETIONS" | "EXTERNAL-IP" | "VERSION",
            ) => true,
            _ => false,
        };
        if told && before != after {
            parts.push(format!("{} {}", header.to_lowercase(), arrow_text(&before, &after)));
        }
    }
}

fn images(parts: &mut Vec<String>, old: &Value, new: &Value) {
    for list_path in ["spec.initContainers", "spec.containers"] {
        for prefix in ["", "spec.template."] {
            let path = format!("{prefix}{list_path}");
            let (old, new) = (list(old, &path), list(new, &path));
            let changed: Vec<(&str, &str, &str)> = new
                .iter()
                .filter_map(|container| {
                    let name = text(container, "name");
                    let before = old.iter().find(|other| text(other, "name") == name)?;
                    let (before, after) = (text(before, "image"), text(container, "image"));
                    (before != after).then_some((name, before, after))
                })
                .collect();
            for (name, before, after) in changed {
                let (before, after) = image_difference(before, after);
                let name =
                    if new.len() > 1 { format!(" {}", excerpt(name, VALUE_LENGTH)) } else { String::new() };
                parts.push(format!("image{name} {}", arrow_text(before, after)));
            }
        }
    }
}

/// The same repository is said once by leaving it out of both: what differs is the tag.
fn image_difference<'a>(before: &'a str, after: &'a str) -> (&'a str, &'a str) {
    let short = |image: &'a str| image.rsplit_once('/').map_or(image, |(_, last)| last);
    if before.rsplit_once('/').map(|(front, _)| front) == after.rsplit_once('/').map(|(front, _)| front) {
        (short(before), short(after))
    } else {
        (before, after)
    }
}

fn scalar(parts: &mut Vec<String>, old: &Value, new: &Value, path: &str) {
    let (before, after) = (at(old, path), at(new, path));
    if before != after {
        let name = path.strip_prefix("status.").unwrap_or(path);
        parts.push(format!("{name} {}", arrow(before, after)));
    }
}

fn metadata(parts: &mut Vec<String>, old: &DynamicObject, new: &DynamicObject) {
    let (before, after) = (&old.metadata, &new.metadata);
    labels(parts, before.labels.as_ref(), after.labels.as_ref());
    let empty = BTreeMap::new();
    let (a, b) =
        (before.annotations.as_ref().unwrap_or(&empty), after.annotations.as_ref().unwrap_or(&empty));
    keys(parts, "annotations", &a.iter().collect(), &b.iter().collect());
    let set = |list: &Option<Vec<String>>| list.iter().flatten().map(|name| (name.clone(), ())).collect();
    keys(parts, "finalizers", &set(&before.finalizers), &set(&after.finalizers));
    if before.owner_references != after.owner_references {
        let owner = |object: &DynamicObject| {
            let owners = object.metadata.owner_references.iter().flatten();
            owners.map(|owner| format!("{}/{}", owner.kind, owner.name)).collect::<Vec<_>>().join(" ")
        };
        let (before, after) = (owner(old), owner(new));
        if before != after {
            parts.push(format!("owner {}", arrow_text(&before, &after)));
        }
    }
}

fn labels(
    parts: &mut Vec<String>,
    old: Option<&BTreeMap<String, String>>,
    new: Option<&BTreeMap<String, String>>,
) {
    let empty = BTreeMap::new();
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    let mut words = Vec::new();
    for (key, value) in new {
        let key_text = excerpt(key, 2 * VALUE_LENGTH);
        match old.get(key) {
            None => words.push(format!("+{key_text}={}", excerpt(value, VALUE_LENGTH))),
            Some(before) if before != value => {
                words.push(format!("{key_text}={}", arrow_text(before, value)));
            }
            Some(_) => {}
        }
    }
    words
        .extend(old.keys().filter(|key| !new.contains_key(*key)).map(|key| format!("-{}", excerpt(key, 48))));
    push_words(parts, "labels", words);
}

/// The keys that came (`+`), went (`-`) or got another value (`~`), without the values.
fn keys<K: Ord + AsRef<str>, V: PartialEq>(
    parts: &mut Vec<String>,
    name: &str,
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
) {
    let mut words = Vec::new();
    for (key, value) in new {
        match old.get(key) {
            None => words.push(format!("+{}", excerpt(key.as_ref(), 2 * VALUE_LENGTH))),
            Some(before) if before != value => {
                words.push(format!("~{}", excerpt(key.as_ref(), 2 * VALUE_LENGTH)))
            }
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    words.extend(gone.map(|key| format!("-{}", excerpt(key.as_ref(), 2 * VALUE_LENGTH))));
    push_words(parts, name, words);
}

fn push_words(parts: &mut Vec<String>, name: &str, words: Vec<String>) {
    if !words.is_empty() {
        let more = words.len().saturating_sub(KEYS);
        let shown = words.into_iter().take(KEYS).collect::<Vec<_>>().join(" ");
        let more = if more == 0 { String::new() } else { format!(" +{more} more") };
        parts.push(format!("{name} {shown}{more}"));
    }
}

fn value_map(value: &Value) -> BTreeMap<&String, &Value> {
    value.as_object().into_iter().flatten().collect()
}

fn arrow(old: &Value, new: &Value) -> String {
    arrow_text(&value_text(old), &value_text(new))
}

/// `old→new`; nothing stands for what was not there.
fn arrow_text(old: &str, new: &str) -> String {
    let word = |text: &str| match text {
        "<none>" => String::new(),
        text => excerpt(text, VALUE_LENGTH),
    };
    format!("{}→{}", word(old), word(new))
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => shorten(text, VALUE_LENGTH).into_owned(),
        Value::Array(items) => format!("[{}]", items.len()),
        Value::Object(map) => format!("{{{}}}", map.len()),
        other => other.to_string(),
    }
}
