//! Rows in aligned columns, as kubectl lays them out, with widths that hold still while rows stream in.

use crate::{
    palette::{Palette, Tone, tone_of},
    text::{escape, shorten},
};

/// Spaces between two columns, as kubectl has them.
const GAP: usize = 3;
/// Spaces between two columns where there is little room.
const TIGHT_GAP: usize = 2;
/// The least room a column takes, without its gap.
const MIN_WIDTH: usize = 3;

/// The header over notes.
const NOTES: &str = "CHANGE";
/// What notes below their rows are indented by.
const INDENT: &str = "    ";

/// A table under construction: it prints its header with the first rows, and remembers how wide each column is.
///
/// The first rows decide the widths; a longer cell later widens its column from that row on, nothing narrows it again.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    headers: Vec<String>,
    /// Without gaps.
    widths: Vec<usize>,
    gap: usize,
    header_due: bool,
    palette: Palette,
}

/// Rows that were measured, ready to be printed.
#[derive(Debug)]
pub(crate) struct Measured(Vec<Vec<String>>);

/// Where the notes on rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    /// Into a last column, which is as long as it likes.
    Beside,
    /// Each into a line of its own, indented; rows are cut at the screen's edge.
    Below { screen: usize },
}

impl Table {
    /// An empty table. Without `show_header` only rows are printed.
    pub(crate) fn new<H: Into<String>>(
        headers: impl IntoIterator<Item = H>,
        palette: Palette,
        show_header: bool,
    ) -> Self {
        let headers: Vec<String> = headers.into_iter().map(|h| escape(&h.into()).into_owned()).collect();
        let widths = headers.iter().map(|h| width_of(if show_header { h } else { "" })).collect();
        Self { headers, widths, gap: GAP, header_due: show_header, palette }
    }

    /// Makes room for cells that are likely to come, the likeliest first, so that they need not move the columns then;
    /// on a screen of limited width only as much as leaves room for notes, or else for the columns themselves, which
    /// move closer together if need be.
    ///
    /// To be called when the first rows are measured and before anything is printed.
    pub(crate) fn settle(&mut self, likely: &[(&str, &str)], screen: Option<usize>) {
        let counts = [likely.len(), likely.len().min(2), 0];
        let candidates: Vec<Self> = counts
            .iter()
            .flat_map(|&count| [GAP, TIGHT_GAP].map(|gap| self.with_room(&likely[..count], gap)))
            .collect();
        let screen = screen.unwrap_or(usize::MAX);
        let beside = candidates.iter().position(|table| table.width() + LEAST_NOTE <= screen);
        // Behind the last column comes nothing then, so it needs no gap.
        let below = || candidates.iter().position(|table| table.width() - table.gap <= screen);
        let best = beside.or_else(below).unwrap_or(candidates.len() - 1);
        self.widths.clone_from(&candidates[best].widths);
        self.gap = candidates[best].gap;
    }

    fn with_room(&self, likely: &[(&str, &str)], gap: usize) -> Self {
        let mut table = Self { gap, ..self.clone() };
        for (header, width) in table.headers.iter().zip(&mut table.widths) {
            if let Some((_, cell)) = likely.iter().find(|(likely, _)| likely == header) {
                *width = width_of(cell).max(*width);
            }
        }
        table
    }

    /// The characters that all columns take, each with its gap.
    pub(crate) fn width(&self) -> usize {
        self.widths.iter().map(|width| width + self.gap).sum()
    }

    /// Lays out rows, measuring all of them first. Cells are escaped and cut to their first line; a row that is too
    /// short ends early, one that is too long is cut.
    ///
    /// The header comes with the first row there is; no rows, no header.
    pub(crate) fn render(&mut self, rows: &[Vec<String>]) -> String {
        let measured = self.measure(rows);
        self.print(&measured, &[], Notes::Below { screen: usize::MAX })
    }

    /// Cleans the rows, and widens the columns for them.
    pub(crate) fn measure(&mut self, rows: &[Vec<String>]) -> Measured {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|c| clean(c)).collect()).collect();
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = width_of(cell).max(*width);
            }
        }
        Measured(rows)
    }

    /// Lays out measured rows, with a note on each that is not empty.
    pub(crate) fn print(&mut self, Measured(rows): &Measured, notes: &[String], place: Notes) -> String {
        let mut out = String::new();
        if rows.is_empty() {
            return out;
        }
        let (beside, screen) = match place {
            Notes::Beside => (Some(NOTES).filter(|_| !notes.is_empty()), usize::MAX),
            Notes::Below { screen } => (None, screen),
        };
        if std::mem::take(&mut self.header_due) {
            self.line(&mut out, &self.headers, beside, screen, |_, _| Some(Tone::Heading));
        }
        for (index, row) in rows.iter().enumerate() {
            let note = notes.get(index).map(|note| clean(note)).filter(|note| !note.is_empty());
            match place {
                Notes::Beside => self.line(&mut out, row, note.as_deref(), screen, tone_of),
                Notes::Below { .. } => {
                    self.line(&mut out, row, None, screen, tone_of);
                    if let Some(note) = note {
                        out.push_str(INDENT);
                        self.cell(&mut out, &note, tone_of(NOTES, &note));
                        out.push('\n');
                    }
                }
            }
        }
        out
    }

    fn line(
        &self,
        out: &mut String,
        cells: &[String],
        note: Option<&str>,
        screen: usize,
        tone: impl Fn(&str, &str) -> Option<Tone>,
    ) {
        let shown = cells.len().min(self.headers.len());
        let mut room = screen;
        for (column, (header, cell)) in self.headers.iter().zip(cells).enumerate() {
            if room == 0 {
                break;
            }
            self.cell(out, &shorten(cell, room), tone(header, cell));
            let length = cell.chars().count();
            // No blanks after the last column; colours do not count as width.
            if column + 1 < shown || note.is_some() {
                let blanks = (self.widths[column] + self.gap).saturating_sub(length);
                let blanks = blanks.min(room.saturating_sub(length));
                out.extend(std::iter::repeat_n(' ', blanks));
                room = room.saturating_sub(length + blanks);
            }
        }
        if let Some(note) = note {
            self.cell(out, note, tone(NOTES, note));
        }
        out.push('\n');
    }

    fn cell(&self, out: &mut String, cell: &str, tone: Option<Tone>) {
        match tone {
            Some(tone) => out.push_str(&self.palette.paint(tone, cell)),
            None => out.push_str(cell),
        }
    }
}

/// The room that a note has, and where it goes, behind columns of that width.
pub(crate) fn place_notes(columns: usize, screen: Option<usize>) -> (usize, Notes) {
    match screen {
        // Nobody's terminal: long enough to say it, short enough for a line of a log.
        None => (UNBOUNDED_NOTE, Notes::Beside),
        Some(screen) if screen >= columns + LEAST_NOTE => (screen - columns, Notes::Beside),
        Some(screen) => (screen.saturating_sub(INDENT.len()).max(LEAST_NOTE), Notes::Below { screen }),
    }
}

/// A note with less room is not worth a column: `status Pending→ContainerCreating` should not be cut.
pub(crate) const LEAST_NOTE: usize = 36;
const UNBOUNDED_NOTE: usize = 100;

fn width_of(cell: &str) -> usize {
    cell.chars().count().max(MIN_WIDTH)
}

/// The first line of a cell, escaped; dots say that there was more.
fn clean(cell: &str) -> String {
    match cell.split_once(['\n', '\r', '\x0c']) {
        None => escape(cell).into_owned(),
        Some((first, _)) => format!("{}...", escape(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|c| (*c).to_owned()).collect()
    }

    #[test]
    fn columns_are_three_spaces_apart_and_at_least_six_wide() {
        let mut table = Table::new(["NAME", "READY", "STATUS", "AGE"], Palette::PLAIN, true);
        let text =
            table.render(&[row(&["web-0", "1/1", "Running", "5s"]), row(&["a", "0/1", "Pending", "3m12s"])]);
        assert_eq!(
            text,
            "NAME    READY   STATUS    AGE\n\
             web-0   1/1     Running   5s\n\
             a       0/1     Pending   3m12s\n"
        );
        let mut narrow = Table::new(["A", "B"], Palette::PLAIN, true);
        assert_eq!(narrow.render(&[row(&["x", "y"])]), "A     B\nx     y\n");
    }

    #[test]
    fn the_header_comes_once_and_columns_only_grow() {
        let mut table = Table::new(["NAME", "AGE"], Palette::PLAIN, true);
        assert_eq!(table.render(&[]), "");
        assert_eq!(table.render(&[row(&["web-0", "5s"])]), "NAME    AGE\nweb-0   5s\n");
        assert_eq!(table.render(&[row(&["x", "6s"])]), "x       6s\n");
        assert_eq!(table.render(&[row(&["web-12345", "7s"])]), "web-12345   7s\n");
        assert_eq!(table.render(&[row(&["x", "8s"])]), "x           8s\n");
    }

    #[test]
    fn notes_stand_beside_or_below_their_rows() {
        let rows = [row(&["web-0", "5s"]), row(&["a", "12s"])];
        let notes = ["".to_owned(), "phase a→b".to_owned()];
        let mut table = Table::new(["NAME", "AGE"], Palette::PLAIN, true);
        let measured = table.measure(&rows);
        assert_eq!(
            table.print(&measured, &notes, Notes::Beside),
            "NAME    AGE   CHANGE\nweb-0   5s\na       12s   phase a→b\n"
        );
        assert_eq!(
            table.print(&measured, &notes, Notes::Below { screen: 80 }),
            "web-0   5s\na       12s\n    phase a→b\n"
        );
        assert_eq!(table.width(), 14);
        let narrow = table.print(&measured, &notes, Notes::Below { screen: 9 });
        assert_eq!(narrow, "web-0   …\na       …\n    phase a→b\n");
    }

    #[test]
    fn notes_go_below_where_there_is_no_room_beside() {
        assert_eq!(place_notes(60, None), (100, Notes::Beside));
        assert_eq!(place_notes(60, Some(120)), (60, Notes::Beside));
        assert_eq!(place_notes(60, Some(80)), (76, Notes::Below { screen: 80 }));
        assert_eq!(place_notes(60, Some(5)), (LEAST_NOTE, Notes::Below { screen: 5 }));
    }

    #[test]
    fn room_for_what_is_likely_is_there_from_the_start_where_it_fits() {
        let first = |screen: Option<usize>| {
            let mut table = Table::new(["STATUS", "AGE", "R"], Palette::PLAIN, true);
            let rows = table.measure(&[row(&["x", "1s", "0"])]);
            let likely = [("STATUS", "123456789"), ("AGE", "9m59s"), ("R", "1 (10s ago)"), ("NONE", "a")];
            table.settle(&likely, screen);
            let text = table.print(&rows, &["note".to_owned()], Notes::Beside);
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(first(None), "STATUS      AGE     R             CHANGE");
        assert_eq!(first(Some(34 + LEAST_NOTE)), "STATUS      AGE     R             CHANGE");
        assert_eq!(first(Some(33 + LEAST_NOTE)), "STATUS     AGE    R            CHANGE");
        assert_eq!(first(Some(26 + LEAST_NOTE)), "STATUS      AGE     R     CHANGE");
        // No room for notes: as much as fits of the rest.
        assert_eq!(first(Some(26)), "STATUS      AGE     R     CHANGE");
        assert_eq!(first(Some(5)), "STATUS  AGE  R    CHANGE");
    }

    #[test]
    fn hostile_cells_stay_in_their_line() {
        let mut table = Table::new(["NAME", "MESSAGE"], Palette::PLAIN, true);
        let text =
            table.render(&[row(&["a\x1b[2J", "one\ntwo"]), row(&["short"]), row(&["x", "y", "dropped"])]);
        assert_eq!(text, "NAME     MESSAGE\na^[[2J   one...\nshort\nx        y\n");
    }

    #[test]
    fn colours_do_not_move_columns() {
        let mut table = Table::new(["STATUS", "AGE"], Palette::COLOURED, true);
        let text = table.render(&[row(&["Running", "5s"]), row(&["Error", "6s"])]);
        assert_eq!(
            text,
            "\x1b[1mSTATUS\x1b[0m    \x1b[1mAGE\x1b[0m\n\
             \x1b[32mRunning\x1b[0m   5s\n\x1b[31mError\x1b[0m     6s\n"
        );
    }

    #[test]
    fn without_a_header_only_rows_decide_the_widths() {
        let mut table = Table::new(["A LONG HEADER", "B"], Palette::PLAIN, false);
        assert_eq!(table.render(&[row(&["a", "b"])]), "a     b\n");
    }
}
