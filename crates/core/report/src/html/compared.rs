//! Variants of a lab next to each other.

use super::markup::{DASH, count, number, time_or_dash};
use super::old::{Escaped, small_print};
use crate::outcome::{LabOutcome, LabPoint};
use std::fmt::Write;

pub fn section(lab: Option<&LabOutcome>, out: &mut String) {
    let Some(lab) = lab.filter(|lab| lab.is_comparison()) else {
        return;
    };
    out.push_str("<section aria-labelledby=\"h-compared\">\n<h2 id=\"h-compared\">Variants compared</h2>\n<table>\n<thead><tr>");
    for setting in lab.shown_settings() {
        let _ = write!(out, "<th scope=\"col\">{}</th>", Escaped(&lab.settings[setting]));
    }
    for heading in FIGURES {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{heading}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for point in lab.points.iter().take(SHOWN) {
        row(lab, point, out);
    }
    out.push_str("</tbody>\n</table>\n");
    let more = match lab.points.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("And {more} more. "),
    };
    small_print(&format!("{more}{NOTE}"), out);
    out.push_str("</section>\n");
}

fn row(lab: &LabOutcome, point: &LabPoint, out: &mut String) {
    out.push_str("<tr>");
    for setting in lab.shown_settings() {
        let _ = write!(out, "<td>{}</td>", Escaped(&point.values[setting]));
    }
    let spread = point.spread();
    let operations = point.measured.as_ref().map(|measured| measured.operations);
    let figures = [
        operations.map_or_else(|| DASH.to_owned(), count),
        time_or_dash(spread.mean),
        time_or_dash(spread.p50),
        time_or_dash(spread.p95),
        point
            .throughput()
            .map_or_else(|| DASH.to_owned(), |a_second| number(a_second * 60.0)),
        point
            .times
            .map_or_else(|| DASH.to_owned(), |times| number(times.median)),
    ];
    for (figure, heading) in figures.iter().zip(FIGURES) {
        let _ = write!(out, "<td class=\"n\" data-label=\"{heading}\">{figure}</td>");
    }
    out.push_str("</tr>\n");
}

const FIGURES: [&str; 6] = ["operations", "average", "median", "95 %", "a minute", "times"];
const NOTE: &str = "A minute: operations over all the time to the end of the last. Times: that over the same of the variant it is compared \
                    with, in the same round (median). A dash: too few operations, or compared with none.";
const SHOWN: usize = 400;
