//! Several runs of a load, one row each.

use super::super::prediction::number;
use super::super::screen::Screen;
use super::super::style::Style;
use super::super::table::Table;
use super::super::{WITHHELD, duration_or_dash};
use crate::outcome::LoadReport;

/// A row for each number of clients.
pub fn load_table(reports: &[LoadReport], style: &Style) -> String {
    let mut table = Table::new([
        "clients",
        "per second",
        "median",
        "p90",
        "p99",
        "trips",
        "failed",
        "count",
    ]);
    for report in reports {
        table.row([
            report.clients.to_string(),
            number(report.per_second),
            duration_or_dash(report.spread.p50),
            duration_or_dash(report.spread.p90),
            duration_or_dash(report.spread.p99),
            number(report.each(report.turns)),
            report.failed.to_string(),
            report.succeeded.to_string(),
        ]);
    }
    let mut screen = Screen::new(style);
    let notes = match table.has_dash_below(style, |heading| heading.starts_with('p')) {
        true => format!("  {WITHHELD}\n"),
        false => String::new(),
    };
    screen.table("runs", "", &table, &notes);
    screen.finish("")
}
