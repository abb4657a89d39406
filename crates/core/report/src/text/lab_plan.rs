//! The view of `lab check`: placement of services, and the points of the sweep.

use super::counted;
use super::escape::printable;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::LabOutline;
use std::fmt::Write;

pub fn lab_plan_view(outline: &LabOutline, style: &Style) -> String {
    let mut out = style.paint(Ink::Heading, &format!("Lab {}", printable(&outline.name)));
    out.push('\n');
    for (name, [a, b]) in &outline.links {
        let line = format!("  link      {name}: {a} to {b}");
        let _ = writeln!(out, "{}", printable(&line));
    }
    for [name, kind, host] in &outline.services {
        let line = format!("  service   {name}: {kind} on {host}");
        let _ = writeln!(out, "{}", printable(&line));
    }
    let _ = writeln!(out, "  workload  {}", printable(&outline.workload));
    let _ = writeln!(
        out,
        "  measured  {}, {}, after {} without distance\n",
        counted(outline.points.len() as u64, "point"),
        outline.amount,
        counted(outline.baselines as u64, "capture")
    );
    if !outline.settings.is_empty() {
        let mut headings = vec!["point".to_owned()];
        headings.extend(outline.settings.iter().cloned());
        let mut table = Table::new(headings);
        for (index, values) in outline.points.iter().enumerate() {
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(values.iter().cloned());
            table.row(cells);
        }
        table.render(style, &mut out);
    }
    out
}
