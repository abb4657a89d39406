//! The page of two runs: their operations side by side.

use super::attribution::rectangles;
use super::markup::{DASH, cell, count, per_one, section, share, small_print, time_or_dash};
use super::opening::{self, Opening, name_cell};
use crate::outcome::ComparisonReport;
use crate::text::comparison::{NOTE, RUNS, answer, change_words, range_words};
use maud::{Markup, Render, html};
use model::{ComparedOperation, Conditions, OperationGroup};
use std::io;

pub fn write_comparison(
    report: &ComparisonReport,
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let [before, now] = &report.titles;
    opening::write(
        &Opening {
            title: &format!("{now} against {before}"),
            lead: "Two runs of the same work, before and now.",
            answer: &answer(report),
        },
        vec![runs(report), operations(&report.operations)],
        &report.warnings,
        conditions,
        out,
    )
}

fn runs(report: &ComparisonReport) -> Markup {
    let rows = RUNS
        .into_iter()
        .zip(&report.titles)
        .zip(&report.summaries)
        .zip(report.rtts);
    let rows: Vec<Vec<Markup>> = rows
        .map(|(((word, title), summary), rtt)| {
            let whole = summary.attribution.total();
            vec![
                html! { (word) " " span.kind { (name_cell(title)) } },
                count(summary.operations).render(),
                time_or_dash(summary.spread.p50).render(),
                count(summary.turns).render(),
                share(summary.attribution.network(), whole).render(),
                time_or_dash(rtt).render(),
            ]
        })
        .collect();
    let headings = [
        "run",
        "operations",
        "median",
        "round trips",
        "network",
        "round-trip time",
    ];
    section("runs", "The runs", opening::table(&headings, &rows))
}

fn operations(pairs: &[ComparedOperation]) -> Markup {
    let more = pairs.len().saturating_sub(SHOWN);
    let content = html! {
        ul.parts.key {
            @for (class, name) in [("client", "client"), ("server", "server"), ("trip", "distance"), ("transfer", "transfer")] {
                li { i class={ "swatch s-" (class) } {} b { (name) } }
            }
        }
        table.stack.runs {
            thead { tr {
                th scope="col" { "operation" }
                th scope="col" { "run" }
                @for heading in HEADINGS { th.n scope="col" { (heading) } }
                th scope="col" { "mean of one operation" }
            } }
            @for pair in pairs.iter().take(SHOWN) { (rows(pair)) }
        }
        @if more > 0 { (small_print(format!("And {more} more: --json has all."))) }
        (small_print(NOTE))
        (small_print(
            "Both bars of a name have one scale, that of the longer. Round trips and network are means of an operation; network is distance, \
             transfer and recovery."
        ))
    };
    section("operations", "Operations, the largest change first", content)
}

fn rows(pair: &ComparedOperation) -> Markup {
    let means = pair
        .groups
        .each_ref()
        .map(|group| group.as_ref().map_or(0.0, mean));
    let longest = means[0].max(means[1]);
    html! {
        tbody {
            @for (run, group) in pair.groups.iter().enumerate() {
                tr {
                    @if run == 0 {
                        th scope="rowgroup" rowspan="2" {
                            (name_cell(&pair.name))
                            small { (change_words(pair)) }
                        }
                    }
                    td.way data-label="run" { (RUNS[run]) }
                    @if let Some(group) = group { (figures(group)) } @else { (nothing()) }
                    td.lane { (bar(group.as_ref(), means[run] / longest.max(f64::MIN_POSITIVE))) }
                }
            }
        }
    }
}

fn figures(group: &OperationGroup) -> Markup {
    let cells = [
        count(group.count),
        time_or_dash(group.spread.p50),
        group.median_range.map_or_else(
            || DASH.to_owned(),
            |range| range_words(range).replace(" us", " µs"),
        ),
        per_one(group.turns, group.count),
        share(group.attribution.network(), group.attribution.total()),
    ];
    html! { @for (heading, figure) in HEADINGS.iter().zip(cells) { (cell(heading, figure)) } }
}

fn nothing() -> Markup {
    html! { @for (place, heading) in HEADINGS.iter().enumerate() { (cell(heading, if place == 0 { "0" } else { DASH })) } }
}

/// In seconds.
fn mean(group: &OperationGroup) -> f64 {
    group.attribution.total().as_secs_f64() / group.count.max(1) as f64
}

fn bar(group: Option<&OperationGroup>, length: f64) -> Markup {
    html! {
        @if let Some(group) = group {
            svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                g transform={ "scale(" (format!("{length:.4}")) " 1)" } { (rectangles(&group.attribution)) }
            }
        }
    }
}

const HEADINGS: [&str; 5] = ["count", "median", "95 % range", "round trips", "network"];
const SHOWN: usize = 60;
