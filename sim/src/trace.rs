//! What happened in a run: a hash always, words when asked for.

use std::fmt::Write as _;

use informer_core::Mono;

/// The story of one run.
#[derive(Debug)]
pub(crate) struct Trace {
    /// FNV-1a over everything that was noted.
    pub(crate) hash: u64,
    /// In words; empty unless verbose.
    pub(crate) lines: Vec<String>,
    verbose: bool,
    echo: bool,
}

impl Trace {
    pub(crate) fn new(verbose: bool, echo: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, lines: Vec::new(), verbose, echo }
    }

    /// Notes numbers that must be the same in each run of a seed, and a line that tells a person what they mean.
    pub(crate) fn note(&mut self, now: Mono, numbers: &[u64], line: impl FnOnce() -> String) {
        self.mix(now.0);
        numbers.iter().for_each(|&number| self.mix(number));
        if self.verbose {
            let mut text = String::new();
            let _ = write!(text, "{:>12.3} {}", now.0 as f64 / 1e9, line());
            text.bytes().for_each(|byte| self.mix(u64::from(byte)));
            if self.echo {
                println!("{text}");
            }
            self.lines.push(text);
        }
    }

    fn mix(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
