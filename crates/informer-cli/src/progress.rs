//! One line on stderr that says how far a long sync is, and goes away when it is done.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// A sync shorter than this shows nothing at all.
const QUIET: Duration = Duration::from_millis(500);
/// The eye follows no more than this.
const INTERVAL: Duration = Duration::from_millis(100);
/// To the start of the line, and clear it.
const CLEAR: &str = "\r\x1b[K";

/// The progress of one sync. Anything but a terminal sees nothing.
#[derive(Debug)]
pub(crate) struct Progress<W: Write> {
    out: W,
    on: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl Progress<io::Stderr> {
    /// On stderr, if that is a terminal.
    pub(crate) fn on_stderr(now: Instant) -> Self {
        Self::new(io::stderr(), io::stderr().is_terminal(), now)
    }
}

impl<W: Write> Progress<W> {
    /// A progress line that starts now; `on` says whether `out` is a terminal.
    pub(crate) fn new(out: W, on: bool, now: Instant) -> Self {
        Self { out, on, started: now, drawn: None }
    }

    /// Says that so many items of that resource have arrived, `of` so many if the server told. Draws at most ten
    /// times a second and nothing in the first half second. Errors of the terminal are nobody's concern here.
    pub(crate) fn update(&mut self, resource: &str, items: u64, of: Option<u64>, now: Instant) {
        let elapsed = now.saturating_duration_since(self.started);
        let too_soon = self.drawn.is_some_and(|at| now.saturating_duration_since(at) < INTERVAL);
        if !self.on || elapsed < QUIET || too_soon {
            return;
        }
        self.drawn = Some(now);
        let line = line(resource, items, of, elapsed);
        // A line that wraps could not be cleared.
        let most = crate::screen::stderr_width().map_or(usize::MAX, |width| width.saturating_sub(1));
        let _ = write!(self.out, "{CLEAR}{}", crate::text::shorten(&line, most));
        let _ = self.out.flush();
    }

    /// Removes the line, if there is one: to be called before anything else is printed.
    pub(crate) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(self.out, "{CLEAR}");
            let _ = self.out.flush();
        }
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(resource: &str, items: u64, of: Option<u64>, elapsed: Duration) -> String {
    let rate = items as f64 / elapsed.as_secs_f64().max(1e-9);
    let resource = crate::text::excerpt(resource, 40);
    match of {
        // The server's total is an estimate: never more than 100 %.
        Some(of) if of >= items && of > 0 => {
            format!("{resource}: {items} of {of} ({}%), {rate:.0}/s", items * 100 / of)
        }
        _ => format!("{resource}: {items}, {rate:.0}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(on: bool, updates: &[(u64, u64)]) -> String {
        let start = Instant::now();
        let mut out = Vec::new();
        let mut progress = Progress::new(&mut out, on, start);
        for (millis, items) in updates {
            progress.update("pods", *items, Some(1000), start + Duration::from_millis(*millis));
        }
        drop(progress);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_long_sync_draws_and_clears_its_line() {
        let text = drawn(true, &[(100, 10), (500, 100), (550, 150), (1000, 500)]);
        let expected = "\r\x1b[Kpods: 100 of 1000 (10%), 200/s\r\x1b[Kpods: 500 of 1000 (50%), 500/s\r\x1b[K";
        assert_eq!(text, expected);
    }

    #[test]
    fn short_syncs_and_other_outputs_see_nothing() {
        assert_eq!(drawn(true, &[(100, 10), (499, 999)]), "");
        assert_eq!(drawn(false, &[(1000, 10), (5000, 999)]), "");
    }

    #[test]
    fn an_unknown_or_wrong_total_is_left_out() {
        assert_eq!(line("pods", 20, None, Duration::from_secs(2)), "pods: 20, 10/s");
        assert_eq!(line("pods", 20, Some(5), Duration::from_secs(2)), "pods: 20, 10/s");
    }
}
