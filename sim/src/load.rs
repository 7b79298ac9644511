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
