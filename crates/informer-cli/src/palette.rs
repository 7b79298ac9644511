//! Colours on a terminal, nothing anywhere else.

use std::{borrow::Cow, io::IsTerminal};

/// What a piece of text means to the reader; the palette knows its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Changing,
    Bad,
    Heading,
}

/// Whether and how to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    on: bool,
}

impl Palette {
    /// Colours for standard output: on when it is a terminal and neither `NO_COLOR` is set to anything nor `TERM`
    /// says the terminal is dumb.
    pub(crate) fn for_stdout() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Self { on: std::io::stdout().is_terminal() && variable("NO_COLOR").is_none() && !dumb }
    }

    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { on: false };
    #[cfg(test)]
    pub(crate) const COLOURED: Self = Self { on: true };

    /// `text` in the colour of that tone.
    pub(crate) fn paint<'a>(self, tone: Tone, text: &'a str) -> Cow<'a, str> {
        if !self.on || text.is_empty() {
            return Cow::Borrowed(text);
        }
        let code = match tone {
            Tone::Good => 32,
            Tone::Changing => 33,
            Tone::Bad => 31,
            Tone::Heading => 1,
        };
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }
}

/// The tone of a cell under that header, if it has one.
pub(crate) fn tone_of(header: &str, cell: &str) -> Option<Tone> {
    match header {
        "STATUS" => Some(status_tone(cell)),
        "READY" => {
            let (ready, wanted) = cell.split_once('/')?;
            (ready != wanted).then_some(Tone::Changing)
        }
        "CHANGE" => match cell {
            "added" => Some(Tone::Good),
            deleted if deleted.starts_with("deleted") => Some(Tone::Bad),
            _ => None,
        },
        _ => None,
    }
}

fn status_tone(status: &str) -> Tone {
    const GOOD: &[&str] = &["Running", "Completed", "Complete", "Succeeded", "Ready", "Active", "Bound"];
    const CHANGING: &[&str] = &[
        "Pending",
        "ContainerCreating",
        "PodInitializing",
        "Terminating",
        "SchedulingGated",
        "Suspended",
        "NotReady",
        "SuccessCriteriaMet",
    ];
    let first = status.split(',').next().unwrap_or_default();
    let counting = |status: &str| {
        let init = status.strip_prefix("Init:").unwrap_or_default();
        init.split_once('/').is_some_and(|(n, m)| n.parse::<u32>().is_ok() && m.parse::<u32>().is_ok())
    };
    if GOOD.contains(&first) && status == first {
        Tone::Good
    } else if GOOD.contains(&first) || CHANGING.contains(&first) || counting(status) {
        Tone::Changing
    } else {
        Tone::Bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_the_tone_of_their_meaning() {
        for (status, tone) in [
            ("Running", Tone::Good),
            ("Completed", Tone::Good),
            ("Init:0/2", Tone::Changing),
            ("Terminating", Tone::Changing),
            ("Ready,SchedulingDisabled", Tone::Changing),
            ("CrashLoopBackOff", Tone::Bad),
            ("Init:Error", Tone::Bad),
            ("OOMKilled", Tone::Bad),
        ] {
            assert_eq!(tone_of("STATUS", status), Some(tone), "{status}");
        }
        assert_eq!(tone_of("READY", "1/2"), Some(Tone::Changing));
        assert_eq!(tone_of("READY", "2/2"), None);
        assert_eq!(tone_of("NAME", "CrashLoopBackOff"), None);
    }

    #[test]
    fn a_plain_palette_leaves_text_alone() {
        assert_eq!(Palette::PLAIN.paint(Tone::Bad, "x"), "x");
        assert_eq!(Palette::COLOURED.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
