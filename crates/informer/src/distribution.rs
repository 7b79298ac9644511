//! How many values fell between which bounds: a histogram with bounds of its own.

use std::fmt;

/// How many values fell between which bounds, and their sum.
///
/// ```
/// use informer::Distribution;
///
/// let mut seconds = Distribution::new(&[0.1, 1.0]);
/// for value in [0.05, 0.1, 3.0] {
///     seconds.observe(value);
/// }
/// assert_eq!(seconds.counts(), [2, 0, 1]);
/// assert_eq!(seconds.count(), 3);
/// ```
#[derive(Clone, PartialEq)]
pub struct Distribution {
    bounds: &'static [f64],
    /// By bound; the last one is beyond all of them.
    counts: Box<[u64]>,
    sum: f64,
}

impl Distribution {
    /// An empty one with these upper bounds, inclusive and ascending.
    pub fn new(bounds: &'static [f64]) -> Self {
        debug_assert!(bounds.is_sorted(), "bounds ascend");
        Self { bounds, counts: vec![0; bounds.len() + 1].into(), sum: 0.0 }
    }

    /// Counts one value more. Costs a look at each bound below it.
    pub fn observe(&mut self, value: f64) {
        let bucket = self.bounds.iter().position(|&bound| value <= bound).unwrap_or(self.bounds.len());
        self.counts[bucket] += 1;
        self.sum += value;
    }

    /// The upper bounds, inclusive and ascending.
    pub fn bounds(&self) -> &'static [f64] {
        self.bounds
    }

    /// How many values were within each bound and beyond the one before; the last: beyond all bounds.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

impl Default for Distribution {
    /// Without bounds: count and sum alone.
    fn default() -> Self {
        Self::new(&[])
    }
}

impl fmt::Debug for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Distribution({} values, sum {})", self.count(), self.sum)
    }
}
