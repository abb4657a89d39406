//! The page of `plan`: the answer, a map of places and services, the placements, and the reasons
//! that hold services back.

mod map;

use super::markup::{DASH, time, time_or_dash};
use super::old::{self, Opening, name_cell};
use super::old::{Escaped, small_print};
use crate::text::plan::{held_back_sentence, money, placement_name, plan_answer};
use model::{Conditions, OrderOfMoves, PlanOutcome};
use std::fmt::Write;
use std::io;

pub fn write_plan(plan: &PlanOutcome, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    let mut html = String::with_capacity(1 << 15);
    old::begin(
        &Opening {
            title: &format!("Placements of {}", plan.title),
            lead: &format!("{} placements predicted.", plan.predicted.len()),
            answer: &plan_answer(plan),
        },
        &mut html,
    );
    map::write("today", "Today", plan, &plan.today, &mut html);
    if let Some(best) = plan.cheapest.as_ref().filter(|best| best.moved > 0) {
        map::write(
            "cheapest",
            "The cheapest that keeps all budgets",
            plan,
            best,
            &mut html,
        );
    }
    moves(plan, &mut html);
    held_back(plan, &mut html);
    placements(plan, &mut html);
    links(plan, &mut html);
    old::end(html, &plan.warnings, conditions, out)
}

fn links(plan: &PlanOutcome, out: &mut String) {
    old::section("links", "Links between places", out);
    let rows = plan.links.iter().map(|link| {
        vec![
            name_cell(&format!("{} and {}", link.between[0], link.between[1])),
            name_cell(&link.link),
            Escaped(&money(plan, link.price)).to_string(),
        ]
    });
    old::table(&["between", "link", "a GB"], &rows.collect::<Vec<_>>(), out);
    out.push_str("</section>\n");
}

fn moves(plan: &PlanOutcome, out: &mut String) {
    if plan.order == OrderOfMoves::Nothing {
        return;
    }
    old::section("moves", "The order of moves", out);
    if plan.order == OrderOfMoves::AllAtOnce {
        out.push_str("<p>No order keeps all budgets at every step: these move together.</p>\n");
    }
    let rows = plan.moves.iter().map(|step| {
        vec![
            name_cell(&step.service),
            name_cell(&step.from),
            name_cell(&step.to),
            Escaped(&money(plan, step.price)).to_string(),
        ]
    });
    old::table(
        &["service", "from", "to", "a month after it"],
        &rows.collect::<Vec<_>>(),
        out,
    );
    out.push_str("</section>\n");
}

fn held_back(plan: &PlanOutcome, out: &mut String) {
    if plan.held_back.is_empty() {
        return;
    }
    old::section("held-back", "Obstacles to moving services", out);
    for held in &plan.held_back {
        let _ = writeln!(out, "<p>{}</p>\n<ul>", Escaped(&held_back_sentence(plan, held)));
        for statement in &held.statements {
            let text = statement.fingerprint.as_deref().unwrap_or("opening connections");
            let _ = writeln!(
                out,
                "<li>{} of the added time, {:.1} round trips, {} to {}: <code>{}</code></li>",
                statement.share,
                statement.turns,
                Escaped(&statement.between[0]),
                Escaped(&statement.between[1]),
                name_cell(text)
            );
        }
        for fix in &held.fixes {
            let _ = writeln!(
                out,
                "<li>{} saves {}: {}</li>",
                fix.kind.name(),
                time(fix.saves),
                Escaped(&fix.remedy)
            );
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
}

fn placements(plan: &PlanOutcome, out: &mut String) {
    old::section("placements", "Placements", out);
    let mut rows = Vec::new();
    for outcome in plan.asked.iter().chain(&plan.predicted) {
        for (index, operation) in outcome.operations.iter().enumerate() {
            let of_placement = |text: String| if index == 0 { text } else { String::new() };
            let is_broken = outcome
                .broken
                .iter()
                .any(|broken| broken.operation_name == operation.name);
            let held = outcome
                .transactions
                .iter()
                .filter(|held| held.operation_name == operation.name);
            rows.push(vec![
                of_placement(name_cell(&placement_name(plan, outcome))),
                name_cell(&operation.name),
                time(operation.median),
                time_or_dash(operation.p95),
                format!("{:.1}", operation.per_second),
                held.map(|held| held.median)
                    .max()
                    .map_or_else(|| DASH.to_owned(), time),
                of_placement(format!("{:.3}", outcome.gigabytes)),
                of_placement(Escaped(&money(plan, outcome.price)).to_string()),
                if is_broken {
                    "<b class=\"bad\">broken</b>".to_owned()
                } else {
                    "kept".to_owned()
                },
            ]);
        }
    }
    old::table(
        &[
            "placement",
            "operation",
            "median",
            "p95",
            "a second",
            "open",
            "GB a month",
            "a month",
            "verdict",
        ],
        &rows,
        out,
    );
    small_print(
        "Times are predicted. A second: with as many operations in flight as were measured. Open: how long the longest transaction is open.",
        out,
    );
    out.push_str("</section>\n");
}
