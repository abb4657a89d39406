//! The view of `lab check`: placement of services, and the points of the sweep.

use super::counted;
use super::paragraph::wrapped;
use super::screen::Screen;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::LabOutline;

pub fn lab_plan_view(outline: &LabOutline, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let name = format!("Lab {}", outline.name);
    screen.put(&wrapped(&name, "", Ink::Heading, style));
    let line = |text: &str| wrapped(text, "  ", Ink::Plain, style);
    let measured = line(&format!(
        "measured: {}, {}, after {} without distance",
        counted(outline.points.len() as u64, "point"),
        outline.amount,
        counted(outline.baselines as u64, "capture")
    ));
    screen.keep(measured.lines().count() + 1 + POINTS_LINES);
    for (name, [a, b]) in &outline.links {
        screen.section("links", &line(&format!("link {name}: {a} to {b}")));
    }
    for [name, kind, host] in &outline.services {
        screen.section("services", &line(&format!("service {name}: {kind} on {host}")));
    }
    screen.section("workload", &line(&format!("workload: {}", outline.workload)));
    screen.keep(0);
    screen.put(&measured);
    if !outline.settings.is_empty() {
        let mut headings = vec!["point".to_owned()];
        headings.extend(outline.settings.iter().cloned());
        let mut table = Table::new(headings);
        for (index, values) in outline.points.iter().enumerate() {
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(values.iter().cloned());
            table.row(cells);
        }
        screen.table("points", "\n", &table, "");
    }
    screen.finish("")
}

const POINTS_LINES: usize = 6;
