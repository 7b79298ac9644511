//! What was measured: a list of values for each quantity and side, and their medians.

use std::collections::BTreeMap;

use super::Side;

/// A quantity: `typed.sync-cpu`.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) id: String,
    pub(crate) about: String,
    pub(crate) unit: Unit,
    values: BTreeMap<Side, Vec<f64>>,
}

/// What a value counts, as people read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Bytes,
    Kilobytes,
    Megabytes,
    /// A multiple of something.
    Times,
    PerSecond,
    MillionsPerSecond,
    Instructions,
}

/// Every quantity, in the order in which each was measured first.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Metric>);

impl Samples {
    pub(crate) fn add(&mut self, side: Side, id: &str, about: &str, unit: Unit, value: f64) {
        let at = self.0.iter().position(|metric| metric.id == id).unwrap_or_else(|| {
            let (id, about) = (id.to_owned(), about.to_owned());
            self.0.push(Metric { id, about, unit, values: BTreeMap::new() });
            self.0.len() - 1
        });
        self.0[at].values.entry(side).or_default().push(value);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Metric> {
        self.0.iter()
    }

    pub(crate) fn median(&self, id: &str, side: Side) -> Option<f64> {
        self.0.iter().find(|metric| metric.id == id)?.median(side)
    }
}

impl Metric {
    pub(crate) fn median(&self, side: Side) -> Option<f64> {
        let mut values = self.values.get(&side)?.clone();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        Some(if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 })
    }

    /// How many times better ours is than a peer: above 1 it is.
    pub(crate) fn times_better(&self, peer: Side) -> Option<f64> {
        let (ours, peer) = (self.median(Side::Ours)?, self.median(peer)?);
        let ratio = if self.unit.more_is_better() { ours / peer } else { peer / ours };
        ratio.is_finite().then_some(ratio)
    }
}

impl Unit {
    fn more_is_better(self) -> bool {
        matches!(self, Self::PerSecond | Self::MillionsPerSecond)
    }

    /// A value with its unit, in as many digits as mean something.
    pub(crate) fn text(self, value: f64) -> String {
        let unit = match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Kilobytes => "KB",
            Self::Megabytes => "MB",
            Self::Times => "×",
            Self::PerSecond => "/s",
            Self::MillionsPerSecond => "M/s",
            Self::Instructions => "",
        };
        let number = match value.abs() {
            large if large >= 1_000.0 => grouped(value.round() as i64),
            large if large >= 100.0 => format!("{value:.0}"),
            middle if middle >= 10.0 => format!("{value:.1}"),
            _ => format!("{value:.2}"),
        };
        format!("{number} {unit}").trim_end().to_owned()
    }
}

/// `12345` as `12,345`.
fn grouped(number: i64) -> String {
    let digits = number.abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_value_counts() {
        let mut samples = Samples::default();
        for value in [9.0, 1.0, 2.0] {
            samples.add(Side::Ours, "a", "", Unit::Microseconds, value);
        }
        samples.add(Side::ClientGo, "a", "", Unit::Microseconds, 4.0);
        samples.add(Side::ClientGo, "a", "", Unit::Microseconds, 6.0);
        let metric = samples.iter().next().unwrap();
        assert_eq!(metric.median(Side::Ours), Some(2.0));
        assert_eq!(metric.median(Side::ClientGo), Some(5.0));
        assert_eq!(metric.times_better(Side::ClientGo), Some(2.5));
        assert_eq!(metric.times_better(Side::KubeRuntime), None);
    }

    #[test]
    fn more_events_are_better() {
        let mut samples = Samples::default();
        samples.add(Side::Ours, "a", "", Unit::PerSecond, 30.0);
        samples.add(Side::KubeRuntime, "a", "", Unit::PerSecond, 10.0);
        assert_eq!(samples.iter().next().unwrap().times_better(Side::KubeRuntime), Some(3.0));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(Unit::PerSecond.text(1_234_567.0), "1,234,567 /s");
        assert_eq!(Unit::Microseconds.text(31.26), "31.3 µs");
        assert_eq!(Unit::Times.text(1.2), "1.20 ×");
        assert_eq!(Unit::Instructions.text(-1_000.0), "-1,000");
    }
}
