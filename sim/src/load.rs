//! How much really happened: a simulation that does nothing finds nothing.

use std::collections::BTreeMap;

/// Counts by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Load(BTreeMap<&'static str, u64>);

impl Load {
    /// Counts one.
    pub(crate) fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }

    /// Counts several.
    pub(crate) fn add(&mut self, what: &'static str, number: u64) {
        *self.0.entry(what).or_default() += number;
    }

    /// Adds another run's counts.
    pub fn merge(&mut self, other: &Self) {
        for (what, number) in &other.0 {
            self.add(what, *number);
        }
    }

    /// How often this happened.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Every count, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, number)| (*what, *number))
    }
}

/// What a thousand seeds must have brought about at least, about half of what they do: otherwise they prove little.
const FLOOR_OF_A_THOUSAND: [(&str, u64); 65] = [
    ("applies", 38_000),
    ("blocked", 440),
    ("compactions", 1_000),
    ("conflations", 1_900),
    ("events", 56_000),
    ("fault: 400", 110),
    ("fault: 401", 95),
    ("fault: 403", 120),
    ("fault: 404", 96),
    ("fault: 410", 78),
    ("fault: 429", 960),
    ("fault: 500", 950),
    ("fault: 503", 1_000),
    ("fault: 504", 120),
    ("fault: ERROR 410", 100),
    ("fault: ERROR 429", 110),
    ("fault: ERROR 500", 120),
    ("fault: bookmark went back", 100),
    ("fault: cut", 150),
    ("fault: duplicate", 86),
    ("fault: event went back", 100),
    ("fault: malformed", 130),
    ("fault: no end bookmark", 1_200),
    ("fault: no headers", 990),
    ("fault: plain bookmark", 20),
    ("fault: refused", 950),
    ("fault: reset before headers", 980),
    ("fault: short watch", 92),
    ("fault: stalled", 110),
    ("fault: unknown event", 120),
    ("fault: unreadable", 110),
    ("fault: watch-list rejected", 20),
    ("frozen replicas", 660),
    ("handlers disconnected", 54),
    ("handlers removed", 390),
    ("late handlers", 790),
    ("late indices", 220),
    ("notifications", 110_000),
    ("outages", 420),
    ("requests", 12_000),
    ("resets", 370),
    ("resources removed", 200),
    ("resyncs", 9_500),
    ("server restarts", 440),
    ("server restores", 29),
    ("server: continue token expired", 28),
    ("server: expired as event", 100),
    ("server: expired as status", 200),
    ("server: not found", 390),
    ("server: pages", 1_600),
    ("server: version too large", 120),
    ("server: watches", 3_200),
    ("steps", 320_000),
    ("stops", 620),
    ("trouble: bookmark went back", 100),
    ("trouble: older list", 10),
    ("trouble: recovered", 1_600),
    ("trouble: request failed", 8_800),
    ("trouble: resource gone", 160),
    ("trouble: short watches", 10),
    ("trouble: version went back", 110),
    ("trouble: watch-list given up", 74),
    ("unchanged items", 4_600),
    ("undecodable items", 1_600),
    ("writes", 85_000),
];

impl Load {
    /// What happened less often than so many seeds should have made it happen: the checker `LoadFloor`.
    ///
    /// Fewer than a thousand seeds may miss the rarer things, so ask about a thousand or more.
    pub fn shortfalls(&self, seeds: u64) -> Vec<String> {
        let short = FLOOR_OF_A_THOUSAND.iter().filter_map(|&(what, floor)| {
            let (has, wants) = (self.of(what), floor * seeds / 1_000);
            (has < wants).then(|| format!("{what}: {has}, but at least {wants} expected"))
        });
        short.collect()
    }
}
