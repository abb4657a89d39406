//! The page of `plan`: the answer, a map of places and services, the placements, and the reasons
//! that hold services back.

mod map;

use super::markup::{DASH, section, small_print, time, time_or_dash};
use super::opening::{self, Opening, name_cell};
use crate::ranges::between;
use crate::text::plan::{held_back_sentence, money, placement_name, plan_answer, verdict};
use maud::{Markup, Render, display, html};
use model::{Conditions, HeldBack, OrderOfMoves, PlacementOutcome, PlanOutcome};
use std::io;

pub fn write_plan(plan: &PlanOutcome, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    opening::write(
        &Opening {
            title: &format!("Placements of {}", plan.title),
            lead: &format!("{} placements predicted.", plan.predicted.len()),
            answer: &plan_answer(plan),
        },
        vec![
            maps(plan),
            moves(plan),
            held_back(plan),
            placements(plan),
            links(plan),
        ],
        &plan.warnings,
        conditions,
        out,
    )
}

fn maps(plan: &PlanOutcome) -> Markup {
    let best = plan.cheapest.as_ref().filter(|best| best.moved > 0);
    let content = html! {
        div.pair {
            (map::figure("Today", plan, &plan.today))
            @if let Some(best) = best { (map::figure("The cheapest that keeps all budgets", plan, best)) }
        }
        (small_print(
            "A dot is a place, with its services. A line is a link, with its round-trip time and the price of a gigabyte. The table of \
             links has those without room here. Distances are not to scale."
        ))
    };
    section("map", "Places and services", content)
}

fn links(plan: &PlanOutcome) -> Markup {
    let rows = plan.links.iter().map(|link| {
        vec![
            name_cell(&format!("{} and {}", link.between[0], link.between[1])),
            name_cell(&link.link),
            money(plan, link.price),
        ]
    });
    let table = opening::table(&["between", "link", "a GB"], &rows.collect::<Vec<_>>());
    section("links", "Links between places", table)
}

fn moves(plan: &PlanOutcome) -> Markup {
    if plan.order == OrderOfMoves::Nothing {
        return Markup::default();
    }
    let rows = plan.moves.iter().map(|step| {
        vec![
            name_cell(&step.service),
            name_cell(&step.from),
            name_cell(&step.to),
            money(plan, step.price),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let content = html! {
        @if plan.order == OrderOfMoves::AllAtOnce {
            @if let Some(best) = &plan.cheapest {
                p { "No order keeps all budgets at every step. Move together: " (placement_name(plan, best)) "." }
            }
        }
        @if !rows.is_empty() { (opening::table(&["service", "from", "to", "a month after it"], &rows)) }
    };
    section("moves", "The order of moves", content)
}

fn held_back(plan: &PlanOutcome) -> Markup {
    if plan.held_back.is_empty() {
        return Markup::default();
    }
    let content = html! {
        div.pair { @for held in &plan.held_back { div { (obstacles(plan, held)) } } }
    };
    section("held-back", "Obstacles to moving services", content)
}

fn obstacles(plan: &PlanOutcome, held: &HeldBack) -> Markup {
    html! {
        p { (held_back_sentence(plan, held)) }
        ul {
            @for statement in &held.statements {
                @let text = statement.fingerprint.as_deref().unwrap_or("opening connections");
                li {
                    (display(statement.share)) " of the added time, " (format_args!("{:.1}", statement.turns))
                    " round trips, " (statement.between[0]) " to " (statement.between[1]) ": "
                    code { (name_cell(text)) }
                }
            }
            @for fix in &held.fixes {
                li { (fix.kind.name()) " saves " (time(fix.saves)) ": " (fix.remedy) }
            }
        }
    }
}

fn placements(plan: &PlanOutcome) -> Markup {
    let outcomes = plan.asked.iter().chain(&plan.predicted);
    let rows: Vec<Vec<Markup>> = outcomes.flat_map(|outcome| operations(plan, outcome)).collect();
    let content = html! {
        (opening::table(
            &[
                "placement", "operation", "median", "p95", "a second", "open", "GB a month", "a month",
                "verdict",
            ],
            &rows
        ))
        (small_print(
            "Times are predicted. A second: with as many operations in flight as were measured. Open: how long the \
             longest transaction is open."
        ))
    };
    section("placements", "Placements", content)
}

/// One row per operation. The first also has the figures of the placement.
fn operations<'a>(
    plan: &'a PlanOutcome,
    outcome: &'a PlacementOutcome,
) -> impl Iterator<Item = Vec<Markup>> + 'a {
    outcome
        .operations
        .iter()
        .enumerate()
        .map(move |(index, operation)| {
            let of_placement = |text: String| {
                if index == 0 {
                    text.render()
                } else {
                    Markup::default()
                }
            };
            let verdict = verdict(outcome, operation);
            let held = outcome
                .transactions
                .iter()
                .filter(|held| held.operation_name == operation.name);
            vec![
                of_placement(name_cell(&placement_name(plan, outcome))),
                name_cell(&operation.name).render(),
                match operation.median {
                    Some(median) => time(median).render(),
                    None => between([operation.low, operation.high].map(time)).render(),
                },
                time_or_dash(operation.p95).render(),
                operation
                    .median
                    .map_or_else(|| DASH.to_owned(), |_| format!("{:.1}", operation.per_second))
                    .render(),
                time_or_dash(held.map(|held| held.median).max()).render(),
                of_placement(format!("{:.3}", outcome.gigabytes)),
                of_placement(money(plan, outcome.price)),
                html! { @if verdict == "kept" { (verdict) } @else { b.bad { (verdict) } } },
            ]
        })
}
