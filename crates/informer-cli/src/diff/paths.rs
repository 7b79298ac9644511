//! Where two JSON values differ, as paths a person can read.

use crate::fields::text;
use serde_json::Value;
use std::collections::BTreeSet;

/// A place where the values differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) old: Value,
    pub(super) new: Value,
}

/// Changes beyond this many are counted by none of the callers: a phrase says "+97 more" and nobody needs more.
const LIMIT: usize = 100;

/// The changed leaves, spec before status, each level in key order. A subtree that only one side has is one change.
/// Items of lists are matched by `name` or `type` where all have one, else by position.
///
/// At most a hundred changes; paths for which `skip` answers true are not looked into.
pub(super) fn changes(old: &Value, new: &Value, skip: impl Fn(&str) -> bool) -> Vec<Change> {
    let mut found = Vec::new();
    walk(&mut String::new(), old, new, &skip, &mut found);
    found.sort_by_key(|change| change.path.starts_with("status"));
    found
}

fn walk(path: &mut String, old: &Value, new: &Value, skip: &impl Fn(&str) -> bool, found: &mut Vec<Change>) {
    if old == new || found.len() >= LIMIT || skip(path) {
        return;
    }
    let length = path.len();
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
                let side = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => walk(path, before, after, skip, found),
                    _ if skip(path) => {}
                    _ => found.push(Change { path: path.clone(), old: side(before), new: side(after) }),
                }
                path.truncate(length);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (name, before, after) in matched(before, after) {
                path.push_str(&format!("[{name}]"));
                match (before, after) {
                    (Some(before), Some(after)) => walk(path, before, after, skip, found),
                    _ if skip(path) => {}
                    (before, after) => {
                        let value = |side: Option<&Value>| side.cloned().unwrap_or_default();
                        found.push(Change { path: path.clone(), old: value(before), new: value(after) });
                    }
                }
                path.truncate(length);
            }
        }
        _ => found.push(Change { path: path.clone(), old: old.clone(), new: new.clone() }),
    }
    found.truncate(LIMIT);
}

type Pair<'a> = (String, Option<&'a Value>, Option<&'a Value>);

/// Items that belong together, new ones in their order, then those that are gone.
fn matched<'a>(old: &'a [Value], new: &'a [Value]) -> Vec<Pair<'a>> {
    let field = ["name", "type"].into_iter().find(|field| is_key(old, field) && is_key(new, field));
    match field {
        Some(field) => {
            let of = |items: &'a [Value], name: &str| items.iter().find(|item| text(item, field) == name);
            let mut pairs: Vec<Pair<'a>> = new
                .iter()
                .map(|item| (text(item, field).to_owned(), of(old, text(item, field)), Some(item)))
                .collect();
            let gone = old.iter().filter(|item| of(new, text(item, field)).is_none());
            pairs.extend(gone.map(|item| (text(item, field).to_owned(), Some(item), None)));
            pairs
        }
        None => {
            let count = old.len().max(new.len());
            (0..count).map(|at| (at.to_string(), old.get(at), new.get(at))).collect()
        }
    }
}

/// Whether each item has that field, each with another value.
fn is_key(items: &[Value], field: &str) -> bool {
    let names: BTreeSet<&str> = items.iter().map(|item| text(item, field)).collect();
    !names.contains("") && names.len() == items.len()
}
