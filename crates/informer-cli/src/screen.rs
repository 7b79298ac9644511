//! What standard output looks like to its reader: colours and width of a terminal, neither anywhere else.

use crate::palette::Palette;
use std::io::{IsTerminal, stderr, stdout};
use terminal_size::{Width, terminal_size_of};

/// Where tables go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) palette: Palette,
    width: Columns,
}

#[derive(Clone, Copy, Debug)]
enum Columns {
    /// Asked for anew each time: a window can be resized.
    OfStdout,
    #[cfg(test)]
    Fixed(Option<usize>),
}

impl Screen {
    /// That of this process.
    pub(crate) fn of_stdout() -> Self {
        Self { palette: Palette::for_stdout(), width: Columns::OfStdout }
    }

    /// No terminal: no colours, no width.
    #[cfg(test)]
    pub(crate) const FILE: Self = Self { palette: Palette::PLAIN, width: Columns::Fixed(None) };

    /// A terminal without colours of that width.
    #[cfg(test)]
    pub(crate) fn wide(columns: usize) -> Self {
        Self { palette: Palette::PLAIN, width: Columns::Fixed(Some(columns)) }
    }

    /// How many characters fit into a line; `None` where that is no question.
    pub(crate) fn width(self) -> Option<usize> {
        match self.width {
            Columns::OfStdout if stdout().is_terminal() => columns(terminal_size_of(stdout())),
            Columns::OfStdout => None,
            #[cfg(test)]
            Columns::Fixed(width) => width,
        }
    }
}

/// How many characters fit into a line of standard error, if that is a terminal.
pub(crate) fn stderr_width() -> Option<usize> {
    columns(terminal_size_of(stderr()))
}

/// A terminal that does not know its size says 0.
fn columns(size: Option<(Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(Width(width), _)| usize::from(width)).filter(|width| *width > 0)
}
