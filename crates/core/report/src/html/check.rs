//! The page of `check`: broken budgets, remedies, and changes since the baseline.

use super::markup::{DASH, count, counted, cut, section, small_print, time, time_or_dash};
use super::opening::{self, Opening, name_cell};
use crate::outcome::CheckReport;
use crate::ranges::between;
use crate::text::check::why_not_judged;
use maud::{Markup, Render, display, html};
use model::{BudgetMeasure, BudgetVerdict, Change, Conditions, Judgement, PredictedDuration};
use std::io;

pub fn write_check(
    report: &CheckReport,
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let operations: u64 = report.operations.iter().map(|group| group.count).sum();
    let names = counted(report.operations.len() as u64, "name");
    opening::write(
        &Opening {
            title: &format!("Budgets of {}", report.title),
            lead: &format!("{} of {names}.", counted(operations, "operation")),
            answer: &answer(report),
        },
        vec![budgets(report), remedies(report), changes(&report.changes)],
        &report.warnings,
        conditions,
        out,
    )
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

fn budgets(report: &CheckReport) -> Markup {
    if report.verdicts.is_empty() {
        return Markup::default();
    }
    let others = [Judgement::NotJudged, Judgement::Kept].map(|one| report.verdicts_with(one));
    let rows: Vec<Vec<Markup>> = report
        .broken()
        .chain(others.into_iter().flatten())
        .map(row)
        .collect();
    let content = html! {
        (opening::table(&["operations", "budget", "allowed", "found", "verdict"], &rows))
        (small_print(
            "Round trips are those of the operation with most of them; times are predicted medians, and of \
             transactions how long their server sees them open."
        ))
    };
    section("budgets", "Budgets, broken ones first", content)
}

fn row(verdict: &BudgetVerdict) -> Vec<Markup> {
    let [allowed, found] = amounts(&verdict.measure);
    let judgement = html! {
        @match verdict.judgement() {
            Judgement::Kept => "kept",
            Judgement::Broken => b.bad { "broken" },
            Judgement::NotJudged => { "not judged" small { (why_not_judged(verdict)) } },
        }
    };
    vec![
        name_cell(&verdict.operation_name).render(),
        verdict.measure.name().render(),
        allowed,
        found,
        judgement,
    ]
}

/// Allowed and found.
fn amounts(measure: &BudgetMeasure) -> [Markup; 2] {
    let at = |link: &str| html! { small { "at " (name_cell(link)) } };
    match measure {
        BudgetMeasure::Turns { allowed, found } => {
            [counted(*allowed, "round trip").render(), count(*found).render()]
        }
        BudgetMeasure::Predicted { link, allowed, found } => [
            html! { (time(*allowed)) (at(link)) },
            match *found {
                Some(PredictedDuration::Bounds { low, high }) => between([low, high].map(time)).render(),
                Some(PredictedDuration::Median { median }) => time(median).render(),
                None => time_or_dash(None).render(),
            },
        ],
        BudgetMeasure::Held {
            link,
            transaction,
            allowed,
            found,
        } => [
            html! { (time(*allowed)) @if let Some(link) = link { (at(link)) } },
            html! {
                (time_or_dash(*found))
                @if let Some(name) = transaction { small { (name_cell(name)) } }
            },
        ],
        BudgetMeasure::Forbidden { kind, found } => [
            html! { "no " (display(kind)) },
            html! {
                @if let Some(waste) = found {
                    (counted(waste.turns, "round trip"))
                    small { (name_cell(waste.fingerprint.as_deref().unwrap_or_default())) }
                } @else { (DASH) }
            },
        ],
    }
}

fn remedies(report: &CheckReport) -> Markup {
    let with: Vec<(&BudgetVerdict, &str)> = report
        .broken()
        .filter_map(|verdict| Some((verdict, verdict.remedy.as_deref()?)))
        .collect();
    if with.is_empty() {
        return Markup::default();
    }
    let content = html! {
        ul {
            @for (verdict, remedy) in with.iter().take(SHOWN) {
                li {
                    b { (name_cell(&verdict.operation_name)) }
                    ", " (verdict.measure.name()) ": " (cut(remedy, MAX_REMEDY_LEN))
                }
            }
        }
        @if with.len() > SHOWN {
            (small_print(format!("And {} more: --json has all.", with.len() - SHOWN)))
        }
    };
    section("remedies", "Changes to make", content)
}

fn changes(all: &[Change]) -> Markup {
    let Some(first) = all.first() else {
        return Markup::default();
    };
    let changed: Vec<Vec<Markup>> = all
        .iter()
        .filter(|change| !change.is_none())
        .map(changed)
        .collect();
    let content = html! {
        @if changed.is_empty() {
            p { "The same round trips and no new finding in " (counted(all.len() as u64, "name")) "." }
        } @else {
            (opening::table(
                &[
                    "operations", "round trips before", "now", "predicted before", "predicted now",
                    "new findings",
                ],
                &changed
            ))
            p.small { "Predicted at " (name_cell(&first.link)) "." }
        }
    };
    section("changes", "Since the baseline", content)
}

fn changed(change: &Change) -> Vec<Markup> {
    let number = |number: Option<u64>| number.map_or_else(|| DASH.to_owned(), count).render();
    vec![
        name_cell(&change.operation_name).render(),
        number(change.turns[0]),
        number(change.turns[1]),
        time_or_dash(change.predicted[0]).render(),
        time_or_dash(change.predicted[1]).render(),
        html! {
            @for (kind, of) in change.new_findings.iter().take(SHOWN) {
                (display(kind)) small { @if let Some(of) = of { (name_cell(of)) } }
            }
        },
    ]
}

const SHOWN: usize = 60;
const MAX_REMEDY_LEN: usize = 600;
