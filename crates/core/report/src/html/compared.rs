//! Variants of a lab next to each other.

use super::markup::{self, DASH, cell, count, number, small_print, time_or_dash};
use crate::outcome::{LabOutcome, LabPoint};
use maud::{Markup, html};

pub fn section(lab: Option<&LabOutcome>) -> Markup {
    let Some(lab) = lab.filter(|lab| lab.is_comparison()) else {
        return Markup::default();
    };
    let more = match lab.points.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("And {more} more. "),
    };
    let content = html! {
        table {
            thead { tr {
                @for setting in lab.shown_settings() { th scope="col" { (lab.settings[setting]) } }
                @for heading in FIGURES { th.n scope="col" { (heading) } }
            } }
            tbody { @for point in lab.points.iter().take(SHOWN) { (row(lab, point)) } }
        }
        (small_print(format!("{more}{NOTE}")))
    };
    markup::section("compared", "Variants compared", content)
}

fn row(lab: &LabOutcome, point: &LabPoint) -> Markup {
    let spread = point.spread();
    let operations = point.measured.as_ref().map(|measured| measured.operations);
    let a_minute = point.throughput().map(|a_second| number(a_second * 60.0));
    let times = point.times.map(|times| number(times.median));
    let dash = || DASH.to_owned();
    let figures = [
        operations.map_or_else(dash, count),
        time_or_dash(spread.mean),
        time_or_dash(spread.p50),
        time_or_dash(spread.p95),
        a_minute.unwrap_or_else(dash),
        times.unwrap_or_else(dash),
    ];
    html! {
        tr {
            @for setting in lab.shown_settings() { td { (point.values[setting]) } }
            @for (heading, figure) in FIGURES.iter().zip(figures) { (cell(heading, figure)) }
        }
    }
}

const FIGURES: [&str; 6] = ["operations", "average", "median", "95 %", "a minute", "times"];
const NOTE: &str = "A minute: operations over all the time to the end of the last. Times: that over the same of the variant it is compared \
                    with, in the same round (median). A dash: too few operations, or compared with none.";
const SHOWN: usize = 400;
