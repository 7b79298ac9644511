//! Rows in aligned columns, as kubectl lays them out, with widths that hold still while rows stream in.

use crate::{
    palette::{Palette, Tone, tone_of},
    text::escape,
};

/// Spaces between two columns.
const GAP: usize = 3;
/// The least room a column takes, gap included.
const MIN_WIDTH: usize = 6;

/// A table under construction: it prints its header with the first rows, and remembers how wide each column is.
///
/// The first rows decide the widths; a longer cell later widens its column from that row on, nothing narrows it again.
#[derive(Debug)]
pub(crate) struct Table {
    headers: Vec<String>,
    widths: Vec<usize>,
    header_due: bool,
    palette: Palette,
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
        Self { headers, widths, header_due: show_header, palette }
    }

    /// Lays out rows, measuring all of them first. Cells are escaped and cut to their first line; a row that is too
    /// short ends early, one that is too long is cut.
    ///
    /// The header comes with the first row there is; no rows, no header.
    pub(crate) fn render(&mut self, rows: &[Vec<String>]) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|c| clean(c)).collect()).collect();
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = width_of(cell).max(*width);
            }
        }
        let mut out = String::new();
        if std::mem::take(&mut self.header_due) {
            self.line(&mut out, &self.headers, |_, _| Some(Tone::Heading));
        }
        for row in &rows {
            self.line(&mut out, row, tone_of);
        }
        out
    }

    fn line(&self, out: &mut String, cells: &[String], tone: impl Fn(&str, &str) -> Option<Tone>) {
        let shown = cells.len().min(self.headers.len());
        for (column, (header, cell)) in self.headers.iter().zip(cells).enumerate() {
            match tone(header, cell) {
                Some(tone) => out.push_str(&self.palette.paint(tone, cell)),
                None => out.push_str(cell),
            }
            // No blanks after the last column; colours do not count as width.
            if column + 1 < shown {
                out.extend(std::iter::repeat_n(
                    ' ',
                    self.widths[column].saturating_sub(cell.chars().count()),
                ));
            }
        }
        out.push('\n');
    }
}

fn width_of(cell: &str) -> usize {
    (cell.chars().count() + GAP).max(MIN_WIDTH)
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
