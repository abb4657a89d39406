//! The page of `check`: broken budgets, remedies, and changes since the baseline.

use super::markup::{DASH, count, counted, cut, time, time_or_dash};
use super::old::{self, Opening, name_cell};
use super::old::{Escaped, small_print};
use crate::outcome::CheckReport;
use crate::text::check::why_not_judged;
use model::{BudgetMeasure, BudgetVerdict, Change, Conditions, Judgement};
use std::fmt::Write;
use std::io;

pub fn write_check(
    report: &CheckReport,
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut html = String::with_capacity(1 << 15);
    let operations: u64 = report.operations.iter().map(|group| group.count).sum();
    let names = counted(report.operations.len() as u64, "name");
    old::begin(
        &Opening {
            title: &format!("Budgets of {}", report.title),
            lead: &format!("{} of {names}.", counted(operations, "operation")),
            answer: &answer(report),
        },
        &mut html,
    );
    budgets(report, &mut html);
    remedies(report, &mut html);
    changes(&report.changes, &mut html);
    old::end(html, &report.warnings, conditions, out)
}

fn answer(report: &CheckReport) -> String {
    let all = report.verdicts.len() as u64;
    let not_judged = report.verdicts_with(Judgement::NotJudged).count() as u64;
    match report.broken().count() as u64 {
        0 if not_judged > 0 => format!(
            "No budget is known to be broken, and {} of {} not judged: too little was seen.",
            count(not_judged),
            counted(all, "budget")
        ),
        0 if all == 0 => "No budget was given; changes since the baseline are below.".to_owned(),
        0 if all == 1 => "The budget is kept.".to_owned(),
        0 => format!("All {all} budgets are kept."),
        broken => format!(
            "{} of {} {} broken.",
            count(broken),
            counted(all, "budget"),
            if broken == 1 { "is" } else { "are" }
        ),
    }
}

fn budgets(report: &CheckReport, out: &mut String) {
    if report.verdicts.is_empty() {
        return;
    }
    old::section("budgets", "Budgets, broken ones first", out);
    let others = [Judgement::NotJudged, Judgement::Kept].map(|one| report.verdicts_with(one));
    let rows: Vec<Vec<String>> = report
        .broken()
        .chain(others.into_iter().flatten())
        .map(row)
        .collect();
    old::table(
        &["operations", "budget", "allowed", "found", "verdict"],
        &rows,
        out,
    );
    small_print(
        "Round trips are those of the operation with most of them; times are predicted medians, and of transactions how long their server \
         sees them open.",
        out,
    );
    out.push_str("</section>\n");
}

fn row(verdict: &BudgetVerdict) -> Vec<String> {
    let at = |link: &str| format!("<small>at {}</small>", name_cell(link));
    let (allowed, found) = match &verdict.measure {
        BudgetMeasure::Turns { allowed, found } => (counted(*allowed, "round trip"), count(*found)),
        BudgetMeasure::Predicted { link, allowed, found } => {
            (format!("{}{}", time(*allowed), at(link)), time_or_dash(*found))
        }
        BudgetMeasure::Held {
            link,
            transaction,
            allowed,
            found,
        } => {
            let by = transaction
                .as_deref()
                .map_or_else(String::new, |name| format!("<small>{}</small>", name_cell(name)));
            let link = link.as_deref().map_or_else(String::new, at);
            (
                format!("{}{link}", time(*allowed)),
                format!("{}{by}", time_or_dash(*found)),
            )
        }
        BudgetMeasure::Forbidden { kind, found } => (
            format!("no {kind}"),
            found.as_ref().map_or_else(
                || DASH.to_owned(),
                |waste| {
                    let of = waste.fingerprint.as_deref().unwrap_or_default();
                    format!(
                        "{}<small>{}</small>",
                        counted(waste.turns, "round trip"),
                        name_cell(of)
                    )
                },
            ),
        ),
    };
    let verdict_cell = match verdict.judgement() {
        Judgement::Kept => "kept".to_owned(),
        Judgement::Broken => "<b class=\"bad\">broken</b>".to_owned(),
        Judgement::NotJudged => format!("not judged<small>{}</small>", Escaped(why_not_judged(verdict))),
    };
    vec![
        name_cell(&verdict.operation_name),
        verdict.measure.name().to_owned(),
        allowed,
        found,
        verdict_cell,
    ]
}

fn remedies(report: &CheckReport, out: &mut String) {
    let with: Vec<(&BudgetVerdict, &str)> = report
        .broken()
        .filter_map(|verdict| Some((verdict, verdict.remedy.as_deref()?)))
        .collect();
    if with.is_empty() {
        return;
    }
    old::section("remedies", "Changes to make", out);
    out.push_str("<ul>\n");
    for (verdict, remedy) in with.iter().take(SHOWN) {
        let _ = writeln!(
            out,
            "<li><b>{}</b>, {}: {}</li>",
            name_cell(&verdict.operation_name),
            verdict.measure.name(),
            Escaped(&cut(remedy, MAX_REMEDY_LEN))
        );
    }
    out.push_str("</ul>\n");
    if with.len() > SHOWN {
        small_print(&format!("And {} more: --json has all.", with.len() - SHOWN), out);
    }
    out.push_str("</section>\n");
}

fn changes(all: &[Change], out: &mut String) {
    let Some(first) = all.first() else { return };
    old::section("changes", "Since the baseline", out);
    let changed: Vec<&Change> = all.iter().filter(|change| !change.is_none()).collect();
    if changed.is_empty() {
        let _ = writeln!(
            out,
            "<p>The same round trips and no new finding in {}.</p>\n</section>",
            counted(all.len() as u64, "name")
        );
        return;
    }
    let number = |number: Option<u64>| number.map_or_else(|| DASH.to_owned(), count);
    let rows: Vec<Vec<String>> = changed
        .iter()
        .map(|change| {
            let new = change.new_findings.iter().take(SHOWN).map(|(kind, of)| {
                let of = of.as_deref().map_or_else(String::new, name_cell);
                format!("{kind}<small>{of}</small>")
            });
            vec![
                name_cell(&change.operation_name),
                number(change.turns[0]),
                number(change.turns[1]),
                time_or_dash(change.predicted[0]),
                time_or_dash(change.predicted[1]),
                new.collect(),
            ]
        })
        .collect();
    let headings = [
        "operations",
        "round trips before",
        "now",
        "predicted before",
        "predicted now",
        "new findings",
    ];
    old::table(&headings, &rows, out);
    small_print(&format!("Predicted at {}.", name_cell(&first.link)), out);
    out.push_str("</section>\n");
}

const SHOWN: usize = 60;
const MAX_REMEDY_LEN: usize = 600;
