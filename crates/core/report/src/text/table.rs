//! Aligned columns within a width.

use super::escape::{columns, cut, printable};
use super::paragraph::paragraph;
use super::style::{Extent, Ink, Style};
use std::borrow::Cow;
use std::fmt::Write;

/// A table with a first column of text, which is cut, and short columns aligned right. Columns that
/// do not fit are omitted from the right and named below, so the most important come first.
pub(super) struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row with a long text has two lines.
pub(super) struct RenderedTable {
    pub(super) heading: String,
    pub(super) rows: Vec<String>,
    /// Whole lines; may be empty.
    pub(super) below: String,
}

impl Table {
    pub(super) fn new<H: Into<String>>(headings: impl IntoIterator<Item = H>) -> Self {
        Self {
            headings: headings.into_iter().map(shown).collect(),
            rows: Vec::new(),
        }
    }

    /// Sanitises cells, which may come from the wire or from a file.
    pub(super) fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(shown).collect());
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether any visible cell is withheld.
    pub(super) fn has_dash(&self, style: &Style) -> bool {
        self.has_dash_below(style, |_| true)
    }

    /// In columns with these headings.
    pub(super) fn has_dash_below(&self, style: &Style, of: impl Fn(&str) -> bool) -> bool {
        let shown = self.widths(style.table_columns() - INDENT.len()).len();
        self.rows
            .iter()
            .flat_map(|row| self.headings.iter().zip(row).take(shown))
            .any(|(heading, cell)| cell == super::DASH && of(heading))
    }

    pub(super) fn render(&self, style: &Style, out: &mut String) {
        self.render_first(self.rows.len(), style, out);
    }

    /// Writes the first rows, and below them the number of others and the hidden columns.
    pub(super) fn render_first(&self, most: usize, style: &Style, out: &mut String) {
        let RenderedTable { heading, rows, below } = self.rendered(most, style);
        for line in std::iter::once(heading).chain(rows) {
            out.push_str(&line);
            out.push('\n');
        }
        out.push_str(&below);
    }

    pub(super) fn rendered(&self, most: usize, style: &Style) -> RenderedTable {
        let mut widths = self.widths(style.table_columns() - INDENT.len());
        let with_long_texts = style.extent == Extent::All;
        if let Some(text) = widths.first_mut().filter(|_| with_long_texts) {
            *text = (*text).min(MAX_TEXT);
        }
        let heading = style.paint(Ink::Heading, &line(&self.headings, &widths));
        let rows = self.rows.iter().take(most).map(|row| match row.split_first() {
            Some((text, _)) if with_long_texts && columns(text) > MAX_TEXT => below(row, &widths),
            _ => line(row, &widths),
        });
        RenderedTable {
            heading,
            rows: rows.collect(),
            below: self.left_out(most, &widths, style),
        }
    }

    /// Names hidden rows and columns.
    fn left_out(&self, most: usize, widths: &[usize], style: &Style) -> String {
        let hidden = self.headings.get(widths.len()..).unwrap_or_default();
        let hidden = hidden.join(", ");
        let left_out = match (self.rows.len().saturating_sub(most), hidden.as_str()) {
            _ if self.rows.is_empty() => return String::new(),
            (0, "") => return String::new(),
            (0, hidden) => format!("hidden at this width: {hidden} (use --all)"),
            (more, "") => format!("and {more} more: --all lists all"),
            (more, hidden) => format!("and {more} more: --all lists all; hidden at this width: {hidden}"),
        };
        let mut out = String::new();
        paragraph(&left_out, INDENT, Ink::Faint, style, &mut out);
        out
    }

    fn widths(&self, room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| columns(heading)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(cell));
            }
        }
        let numbers = |widths: &[usize]| widths.iter().skip(1).map(|width| width + GAP).sum::<usize>();
        let wanted = widths
            .first()
            .copied()
            .unwrap_or(0)
            .min(room * MIN_TEXT_PERCENT / 100);
        while widths.len() > 1 && numbers(&widths) + wanted > room {
            widths.pop();
        }
        let left = room.saturating_sub(numbers(&widths));
        if let Some(text) = widths.first_mut() {
            *text = (*text).min(left);
        }
        widths
    }
}

fn shown(text: impl Into<String>) -> String {
    let text = text.into();
    match printable(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(printable) => printable,
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::from(INDENT);
    for (index, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let cell = cut(cell, width);
        let padding = width - columns(&cell);
        // Writing to a String cannot fail.
        let _ = match index {
            0 => write!(line, "{cell}{:padding$}", ""),
            _ => write!(line, "{:GAP$}{:padding$}{cell}", "", ""),
        };
    }
    line.truncate(line.trim_end().len());
    line
}

/// A text that is longer than its column on a line of its own, and the numbers below it.
fn below(cells: &[String], widths: &[usize]) -> String {
    let (text, numbers) = cells.split_at(1);
    let numbers = [&[String::new()], numbers].concat();
    format!("{INDENT}{}\n{}", text.concat(), line(&numbers, widths))
}

const INDENT: &str = "  ";
/// Columns of a text that all rows show in line.
const MAX_TEXT: usize = 60;
const GAP: usize = 2;
/// Minimum share of the width for the text column, before numbers are omitted.
const MIN_TEXT_PERCENT: usize = 35;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::style::Colour;

    fn rendered(width: usize) -> String {
        let mut table = Table::new(["statement", "trips", "rows"]);
        table.row([
            "select * from a_table_with_a_long_name where id = ?",
            "12",
            "3456",
        ]);
        table.row(["commit", "1", "-"]);
        let mut out = String::new();
        let style = Style {
            width,
            colour: Colour::Plain,
            extent: Extent::First,
        };
        table.render(&style, &mut out);
        out
    }

    #[test]
    fn text_is_cut_before_numbers_are_left_out() {
        assert_eq!(
            rendered(46),
            "  statement                        trips  rows\n  \
             select * from a_table_with_a...     12  3456\n  \
             commit                               1     -\n"
        );
    }

    #[test]
    fn what_is_left_out_is_named() {
        let mut table = Table::new(["statement", "calls in all", "time in all", "rows in all"]);
        for _ in 0..8 {
            table.row(["commit", "1", "2", "3"]);
        }
        let style = Style {
            width: 46,
            colour: Colour::Plain,
            extent: Extent::First,
        };
        let mut out = String::new();
        table.render_first(1, &style, &mut out);
        assert!(
            out.ends_with("\n  and 7 more: --all lists all; hidden at this\n  width: rows in all\n"),
            "{out}"
        );
    }

    #[test]
    fn a_row_with_a_long_text_is_one_row() {
        let long = "select * from a_table_with_a_long_name where id = ? and another_column = ?";
        let mut table = Table::new(["statement", "trips"]);
        table.row([long, "12"]);
        table.row(["commit", "1"]);
        let style = Style {
            width: 80,
            colour: Colour::Plain,
            extent: Extent::All,
        };
        let rows = table.rendered(2, &style).rows;
        assert!(rows[0].contains(long) && rows[0].ends_with("12"), "{rows:?}");
        assert!(rows[1].contains("commit"), "{rows:?}");
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for width in 40..90 {
            let out = rendered(width);
            assert!(out.lines().all(|line| line.chars().count() <= width), "{out}");
        }
    }
}
