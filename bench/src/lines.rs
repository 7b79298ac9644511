//! The conversation with the driver: its words on standard input, one line of JSON in answer to each.

use std::io::{self, Write as _};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};

/// The driver's words.
pub struct Lines(tokio::io::Lines<BufReader<Stdin>>);

impl Lines {
    /// Standard input, which nobody else reads.
    #[must_use]
    pub fn stdin() -> Self {
        Self(BufReader::new(tokio::io::stdin()).lines())
    }

    /// The words of the next line; `None` when the driver has gone, and this process should go too.
    ///
    /// # Errors
    /// If standard input cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Vec<String>>> {
        let line = self.0.next_line().await?;
        Ok(line.map(|line| line.split_whitespace().map(str::to_owned).collect()))
    }
}

/// Answers the driver.
///
/// # Errors
/// If standard output is closed.
pub fn say(answer: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()
}
