//! Changed paths in words: conditions by their names, moved clocks only when nothing else is to be told.

use super::{VALUE_LENGTH, arrow, paths::Change};
use crate::{fields::text, text::excerpt};
use jiff::Timestamp;
use serde_json::Value;

/// Last parts of paths outside of `status` that are clocks and not somebody's wish.
const CLOCKS: &[&str] =
    &["renewTime", "acquireTime", "firstTimestamp", "lastTimestamp", "lastObservedTime", "eventTime"];

/// What the changed paths come to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Details {
    /// One part of the phrase each, in the order of the changes.
    pub(super) words: Vec<String>,
    /// The part for when there is no other one: which clocks have moved.
    pub(super) clocks: Option<String>,
}

/// Tells the changes; with `headline` those of the status are left out, which would only repeat it.
pub(super) fn tell(changes: &[Change], headline: bool) -> Details {
    let (clocks, others): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| is_observed(change) || is_clock(change));
    let mut words = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for change in &others {
        if headline && change.path.starts_with("status") {
            continue;
        }
        match condition(&change.path) {
            Some((kind, _)) if told.contains(&kind) => {}
            Some((kind, _)) => {
                told.push(kind);
                let mut own = others.iter().filter(|c| condition(&c.path).is_some_and(|(k, _)| k == kind));
                words.push(condition_word(kind, &mut own));
            }
            None => words.push(format!("{} {}", excerpt(&change.path, 80), arrow(&change.old, &change.new))),
        }
    }
    Details { words, clocks: clock_word(&clocks) }
}

/// Type and field of `status.conditions[Ready].status`; the field is empty for a whole condition.
fn condition(path: &str) -> Option<(&str, &str)> {
    let (kind, field) = path.strip_prefix("status.conditions[")?.split_once(']')?;
    // Conditions without types of their own are told apart by their places, which say nothing to a person.
    let named = !kind.bytes().all(|byte| byte.is_ascii_digit());
    named.then(|| (kind, field.trim_start_matches('.')))
}

/// One condition, by the most telling of its fields: its status, else reason, else message, else whatever it is.
fn condition_word(kind: &str, changes: &mut dyn Iterator<Item = &&Change>) -> String {
    let weight = |change: &Change| match condition(&change.path).map(|(_, field)| field) {
        Some("" | "status") => 0,
        Some("reason") => 1,
        Some("message") => 2,
        _ => 3,
    };
    let kind_text = excerpt(kind, 2 * VALUE_LENGTH);
    let Some(change) = changes.min_by_key(|change| weight(change)) else {
        return kind_text;
    };
    match condition(&change.path).map(|(_, field)| field) {
        Some("") => {
            let status = |side: &Value| Value::from(text(side, "status"));
            format!("{kind_text} {}", arrow(&status(&change.old), &status(&change.new)))
        }
        Some("status") => format!("{kind_text} {}", arrow(&change.old, &change.new)),
        Some(field) => {
            format!("{kind_text} {} {}", excerpt(field, VALUE_LENGTH), arrow(&change.old, &change.new))
        }
        None => kind_text,
    }
}

fn is_observed(change: &Change) -> bool {
    change.path == "observedGeneration" || change.path.ends_with(".observedGeneration")
}

/// Whether only a time moved, and nobody wished it: every time in a status, and a few fields elsewhere.
fn is_clock(change: &Change) -> bool {
    let time = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.parse::<Timestamp>().is_ok(),
        _ => false,
    };
    let last = change.path.rsplit('.').next().unwrap_or_default();
    (change.path.starts_with("status.") || CLOCKS.contains(&last)) && time(&change.old) && time(&change.new)
}

fn clock_word(changes: &[&Change]) -> Option<String> {
    let times: Vec<&&Change> = changes.iter().filter(|change| !is_observed(change)).collect();
    match times.as_slice() {
        [] => changes.first().map(|_| "observedGeneration".to_owned()),
        times if times.iter().all(|change| condition(&change.path).is_some()) => {
            Some("condition times".to_owned())
        }
        [one] => Some(excerpt(&one.path, 80)),
        _ => Some("times".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(path: &str, old: Value, new: Value) -> Change {
        Change { path: path.to_owned(), old, new }
    }

    fn words(changes: &[Change], headline: bool) -> Vec<String> {
        tell(changes, headline).words
    }

    #[test]
    fn a_condition_is_told_by_its_status_else_by_its_reason() {
        let old = "2026-01-01T00:00:00Z";
        let new = "2026-01-01T00:00:09.5Z";
        let changes = [
            change("status.conditions[Ready].lastTransitionTime", json!(old), json!(new)),
            change("status.conditions[Ready].reason", json!("A"), json!("B")),
            change("status.conditions[Ready].status", json!("False"), json!("True")),
            change("status.conditions[Synced].reason", json!("A"), json!("B")),
            change("status.conditions[New]", Value::Null, json!({"type": "New", "status": "Unknown"})),
            change("status.phase", json!("a"), json!("b")),
        ];
        let expected = ["Ready False→True", "Synced reason A→B", "New →Unknown", "status.phase a→b"];
        assert_eq!(words(&changes, false), expected);
        assert_eq!(words(&changes, true), Vec::<String>::new());
    }

    #[test]
    fn moved_clocks_are_one_short_word() {
        let moved = |paths: &[&str]| {
            let at = |second: u8| json!(format!("2026-01-01T00:00:0{second}Z"));
            let changes: Vec<Change> = paths.iter().map(|path| change(path, at(1), at(2))).collect();
            let details = tell(&changes, false);
            assert!(details.words.is_empty(), "{details:?}");
            details.clocks.unwrap()
        };
        let beat = "status.conditions[Ready].lastHeartbeatTime";
        assert_eq!(moved(&[beat, "status.conditions[Disk].lastHeartbeatTime"]), "condition times");
        assert_eq!(moved(&["status.startTime"]), "status.startTime");
        assert_eq!(moved(&["status.startTime", beat]), "times");
        assert_eq!(moved(&["spec.renewTime"]), "spec.renewTime");
        let observed = change("status.observedGeneration", json!(1), json!(2));
        assert_eq!(tell(&[observed], false).clocks.unwrap(), "observedGeneration");
    }

    #[test]
    fn a_time_that_somebody_wished_is_news() {
        let changes = [change("spec.until", Value::Null, json!("2026-01-01T00:00:00Z"))];
        assert_eq!(words(&changes, true), ["spec.until →2026-01-01T00:00:00Z"]);
        let changes = [change("status.when", json!("2026-01-01T00:00:00Z"), json!("never"))];
        assert_eq!(words(&changes, false), ["status.when 2026-01-01T00:00:00Z→never"]);
    }
}
