//! The table of the tab, and the selected row in full.

use super::bar;
use super::cell_writer::CellWriter;
use crate::look::Ink;
use crate::rows::{Row, Shown, Table};
use crate::state::Screen;
use report::text::escape::{columns, cut};

struct Place {
    column: usize,
    width: u16,
}

/// Draws headings and rows in `height` lines, then the selected row in `detail` lines.
pub(super) fn draw(screen: &Screen, writer: &mut CellWriter<'_>, line: u16, height: u16, detail: u16) {
    let table = screen.table();
    let places = lay(&table, writer.width());
    headings(screen, &table, &places, writer, line);
    let seen = usize::from(height.saturating_sub(1));
    let selected = screen.selected(table.rows.len());
    let from = (selected + 1).saturating_sub(seen);
    for (line, (place, row)) in (line + 1..).zip(table.rows.iter().enumerate().skip(from).take(seen)) {
        draw_row(row, &places, writer, line);
        if place == selected {
            writer.underlay(line, Ink::Selected);
        }
    }
    if table.rows.is_empty() {
        let text = match screen.filter.is_empty() {
            true => "nothing yet",
            false => "nothing has the filter in its name",
        };
        writer.write(0, line + 1, text, Ink::Faint);
    }
    let rule = writer.look.line().repeat(usize::from(writer.width()));
    let end = writer.write(0, line + height, &rule, Ink::Faint);
    let more = table.rows.len().saturating_sub(from + seen);
    if more > 0 {
        writer.write_before(end, line + height, &format!(" and {more} more "), Ink::Faint);
    }
    if let Some(row) = table.rows.get(selected) {
        writer.paragraph(0, line + height + 1, &row.detail, detail);
    }
}

/// Chooses visible columns and their widths; names get the remaining width.
fn lay(table: &Table, width: u16) -> Vec<Place> {
    let widths: Vec<u16> = (0..table.columns.len())
        .map(|column| column_width(table, column, width))
        .collect();
    let mut kept: Vec<usize> = (1..table.columns.len()).collect();
    let taken = |kept: &[usize]| kept.iter().map(|&column| widths[column] + 1).sum::<u16>();
    while width.saturating_sub(taken(&kept)) < MIN_NAME_WIDTH {
        let rank = |column: usize| table.columns[column].rank;
        // The last column of the highest rank.
        let Some(least) = kept
            .iter()
            .copied()
            .rev()
            .max_by_key(|&column| (rank(column), column))
        else {
            break;
        };
        if rank(least) <= 1 {
            break;
        }
        kept.retain(|&column| column != least);
    }
    let names = Place {
        column: 0,
        width: width.saturating_sub(taken(&kept)),
    };
    let figures = kept.into_iter().map(|column| Place {
        column,
        width: widths[column],
    });
    std::iter::once(names).chain(figures).collect()
}

/// Width of the widest text.
fn column_width(table: &Table, column: usize, width: u16) -> u16 {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    let widest = cells.map(|cell| match &cell.shown {
        Shown::Text(text, None) => columns(text),
        Shown::Text(text, Some(change)) => columns(text) + 1 + columns(change),
        Shown::Bar(_) => usize::from((width / 10).clamp(8, 24)),
    });
    // Plus the sort arrow.
    let heading = columns(&table.columns[column].heading) + 1;
    u16::try_from(widest.max().unwrap_or(0).max(heading))
        .unwrap_or(u16::MAX)
        .min(width / 3)
}

fn headings(screen: &Screen, table: &Table, places: &[Place], writer: &mut CellWriter<'_>, line: u16) {
    let sort = screen.sort();
    let mut at = 0;
    for place in places {
        let mut heading = table.columns[place.column].heading.clone();
        if place.column == sort.column {
            heading.push_str(writer.look.arrow(sort.ascending));
        }
        match place.column {
            0 => {
                writer.write(at, line, &heading, Ink::Heading);
            }
            _ => writer.write_before(at + place.width, line, &heading, Ink::Heading),
        }
        at += place.width + 1;
    }
}

fn draw_row(row: &Row, places: &[Place], writer: &mut CellWriter<'_>, line: u16) {
    let mut at = 0;
    for place in places {
        match row.cells.get(place.column).map(|cell| &cell.shown) {
            Some(Shown::Bar(parts)) => bar::draw(writer, at, line, place.width, parts),
            Some(Shown::Text(text, _)) if place.column == 0 => {
                writer.write_in(
                    at,
                    line,
                    &cut(text, usize::from(place.width)),
                    Ink::Plain,
                    place.width,
                );
            }
            Some(Shown::Text(text, change)) => {
                let end = at + place.width;
                let before = change.as_ref().map_or(0, |change| columns(change) + 1);
                let before = u16::try_from(before).unwrap_or(0);
                writer.write_before(end - before.min(place.width), line, text, Ink::Plain);
                if let Some(change) = change {
                    writer.write_before(end, line, change, Ink::Predicted);
                }
            }
            None => {}
        }
        at += place.width + 1;
    }
}

const MIN_NAME_WIDTH: u16 = 24;
