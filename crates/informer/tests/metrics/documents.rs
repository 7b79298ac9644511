//! Documents, alerts and the dashboard speak of the metrics that there are.

use std::collections::BTreeSet;
use std::path::Path;

use crate::names::GOLDEN;

const PREFIXES: [&str; 6] =
    ["informer_", "reflector_", "workqueue_", "controller_runtime_", "rest_client_", "leader_election_"];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn golden() -> BTreeSet<&'static str> {
    GOLDEN.lines().map(|line| line.split(' ').nth(1).expect("type, name, labels")).collect()
}

/// The metrics that a text speaks of, without what a histogram adds to its name.
fn spoken_of(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    let metrics = words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)));
    let suffixes = ["_bucket", "_sum", "_count"];
    metrics.map(|word| suffixes.iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word)).collect()
}

#[test]
fn every_metric_is_explained() {
    let text = read("operations.md");
    let missing: Vec<_> =
        golden().into_iter().filter(|name| !text.contains(&format!("| `{name}` |"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn nothing_is_said_of_metrics_that_do_not_exist() {
    for name in [
        "operations.md",
        "operations/alerts.yaml",
        "operations/alerts_test.yaml",
        "operations/dashboard.json",
    ] {
        let text = read(name);
        let known = golden();
        let unknown: Vec<_> = spoken_of(&text).into_iter().filter(|metric| !known.contains(metric)).collect();
        assert_eq!(unknown, [""; 0], "{name}");
        assert!(!spoken_of(&text).is_empty(), "{name}");
    }
}

#[test]
fn the_page_shows_the_alerts_as_they_are() {
    assert!(read("operations.md").contains(read("operations/alerts.yaml").trim_end()));
}

#[test]
fn the_dashboard_is_json_whose_panels_do_not_overlap() {
    let dashboard: serde_json::Value = serde_json::from_str(&read("operations/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut cells = BTreeSet::new();
    for panel in panels {
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{}", panel["title"]);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{} overlaps", panel["title"]);
        }
        let targets = panel["targets"].as_array().map_or(0, Vec::len);
        assert!(targets > 0 || panel["type"] == "row", "{} is empty", panel["title"]);
    }
    assert!(panels.len() > 20);
}
