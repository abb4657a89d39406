//! The view of `plan` with the answer, the predictions, the reasons against moves, and the order of
//! moves.

use super::escape::{cut, printable};
use super::style::{Ink, Style};
use super::table::Table;
use super::{counted, duration_or_dash};
use crate::outcome::placement_words;
use model::{HeldBack, OrderOfMoves, PlacementOutcome, PlanOutcome, format_duration};
use std::fmt::Write;

pub fn plan_view(plan: &PlanOutcome, style: &Style) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}\n",
        style.paint(Ink::Heading, &printable(&plan_answer(plan)))
    );
    placements(plan, style, &mut out);
    moves(plan, &mut out);
    for held in plan.held_back.iter().take(style.rows(USUAL_ROWS)) {
        held_back(plan, held, &mut out);
    }
    let more = plan.held_back.len().saturating_sub(style.rows(USUAL_ROWS));
    if more > 0 {
        let _ = writeln!(
            out,
            "and {} that break a budget: --all lists all",
            counted(more as u64, "move")
        );
    }
    out
}

pub fn plan_answer(plan: &PlanOutcome) -> String {
    let extent = if plan.is_exact() {
        format!("of all {} placements", plan.predicted.len())
    } else {
        format!(
            "of the {} of {} placements that move fewest services (none can cost less than {})",
            plan.predicted.len(),
            plan.possible,
            money(plan, plan.price_at_least)
        )
    };
    let budgets = counted(plan.budgets, "budget");
    match &plan.cheapest {
        None => format!("No placement keeps the {budgets}, {extent}."),
        Some(best) if best.moved == 0 => format!(
            "Cheapest {extent} that keeps the {budgets} is today's: {} a month.",
            money(plan, best.price)
        ),
        Some(best) => format!(
            "Cheapest {extent} that keeps the {budgets}: {}, {} a month instead of {}{}.",
            moved(plan, best),
            money(plan, best.price),
            money(plan, plan.today.price),
            if plan.today.broken.is_empty() {
                ""
            } else {
                ", where budgets are broken"
            }
        ),
    }
}

/// Services that move, as in `shop to frankfurt, orders to frankfurt`.
pub fn moved(plan: &PlanOutcome, outcome: &PlacementOutcome) -> String {
    let pairs = outcome.services.iter().zip(&plan.today.services);
    let elsewhere = pairs.filter(|(then, now)| then.place != now.place);
    let words: Vec<String> = elsewhere
        .map(|(then, _)| format!("{} to {}", then.service, then.place))
        .collect();
    match words.as_slice() {
        [] => "today".to_owned(),
        words => words.join(", "),
    }
}

pub fn money(plan: &PlanOutcome, amount: f64) -> String {
    format!("{amount:.2} {}", plan.currency).trim_end().to_owned()
}

/// Today's placement, those requested, the cheapest; with `all`, every placement.
fn shown<'a>(plan: &'a PlanOutcome, style: &Style) -> Vec<(String, &'a PlacementOutcome)> {
    let named = |outcome: &'a PlacementOutcome| (moved(plan, outcome), outcome);
    let mut shown = vec![("today".to_owned(), &plan.today)];
    shown.extend(plan.asked.iter().map(named));
    if let Some(best) = plan.cheapest.as_ref().filter(|best| best.moved > 0) {
        shown.push((format!("cheapest: {}", moved(plan, best)), best));
    }
    if style.rows(0) > 0 {
        shown.extend(plan.predicted.iter().skip(1).map(named));
    }
    shown
}

fn placements(plan: &PlanOutcome, style: &Style, out: &mut String) {
    let month = format!(
        "{} a month",
        if plan.currency.is_empty() {
            "price"
        } else {
            &plan.currency
        }
    );
    let mut table = Table::new(["operation", "median", "p95", "a second", "open", "verdict"]);
    for (name, outcome) in shown(plan, style) {
        let _ = writeln!(
            out,
            "{}: {:.2} {month}, {:.3} GB between places{}",
            printable(&name),
            outcome.price,
            outcome.gigabytes,
            if outcome.broken.is_empty() {
                ""
            } else {
                "; breaks budgets"
            }
        );
        for operation in outcome.operations.iter().take(style.rows(USUAL_ROWS)) {
            let held = outcome
                .transactions
                .iter()
                .filter(|held| held.operation_name == operation.name);
            let is_broken = outcome
                .broken
                .iter()
                .any(|broken| broken.operation_name == operation.name);
            table.row([
                cut(&printable(&operation.name), MAX_NAME_LEN).into_owned(),
                format_duration(operation.median),
                duration_or_dash(operation.p95),
                format!("{:.1}", operation.per_second),
                duration_or_dash(held.map(|held| held.median).max()),
                if is_broken { "broken" } else { "kept" }.to_owned(),
            ]);
        }
        table.render(style, out);
        table = Table::new(["operation", "median", "p95", "a second", "open", "verdict"]);
    }
    out.push('\n');
}

fn moves(plan: &PlanOutcome, out: &mut String) {
    match plan.order {
        OrderOfMoves::Nothing => {}
        OrderOfMoves::AllAtOnce => {
            out.push_str(
                "Order of moves: no order keeps all budgets at every step; these move together.\n\n",
            );
        }
        OrderOfMoves::Found => {
            out.push_str("Order of moves, each of which keeps the budgets:\n");
            for (index, step) in plan.moves.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "  {}. {} from {} to {}: {} a month",
                    index + 1,
                    printable(&step.service),
                    printable(&step.from),
                    printable(&step.to),
                    money(plan, step.price)
                );
            }
            out.push('\n');
        }
    }
}

fn held_back(plan: &PlanOutcome, held: &HeldBack, out: &mut String) {
    let _ = writeln!(out, "{}", printable(&held_back_sentence(plan, held)));
    for statement in &held.statements {
        let text = statement.fingerprint.as_deref().unwrap_or("opening connections");
        let _ = writeln!(
            out,
            "    {} of the added time, {:.1} round trips, {} to {}: {}",
            statement.share,
            statement.turns,
            printable(&statement.between[0]),
            printable(&statement.between[1]),
            cut(&printable(text), MAX_NAME_LEN)
        );
    }
    for fix in &held.fixes {
        let of = fix.fingerprint.as_deref().map_or_else(String::new, |text| {
            format!(" ({})", cut(&printable(text), MAX_NAME_LEN))
        });
        let _ = writeln!(
            out,
            "    {}{of} saves {}: {}",
            fix.kind.name(),
            format_duration(fix.saves),
            printable(&fix.remedy)
        );
    }
}

pub fn held_back_sentence(plan: &PlanOutcome, held: &HeldBack) -> String {
    let broken = &held.broken;
    let change = match held.price_change {
        change if change < 0.0 => format!("saves {} a month", money(plan, -change)),
        change => format!("costs {} more a month", money(plan, change)),
    };
    let fixed = match (held.fixed, held.may_move) {
        (Some(fixed), true) => format!("; with these fixed {}, and it may move", format_duration(fixed)),
        (Some(fixed), false) => format!("; with these fixed {}, still too much", format_duration(fixed)),
        (None, _) => String::new(),
    };
    format!(
        "{} to {} {change}, but breaks {} of {}: {} instead of {}{fixed}",
        held.service,
        held.place,
        broken.measure.name(),
        broken.operation_name,
        format_duration(broken.found),
        format_duration(broken.allowed),
    )
}

pub fn placement_name(plan: &PlanOutcome, outcome: &PlacementOutcome) -> String {
    match outcome.moved {
        0 => format!("today: {}", placement_words(outcome)),
        _ => moved(plan, outcome),
    }
}

const USUAL_ROWS: usize = 5;
const MAX_NAME_LEN: usize = 60;
