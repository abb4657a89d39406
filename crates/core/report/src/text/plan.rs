//! The view of `plan` with the answer, the predictions, the reasons against moves, and the order of
//! moves.

use super::escape::{cut, printable};
use super::paragraph::wrapped;
use super::screen::{PAGE, Screen};
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash};
use crate::outcome::placement_words;
use crate::ranges::between;
use model::{
    BrokenBudget, HeldBack, OrderOfMoves, PlacedOperation, PlacementOutcome, PlanMeasure, PlanOutcome,
    format_duration,
};

pub fn plan_view(plan: &PlanOutcome, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.put(&wrapped(&plan_answer(plan), "", Ink::Heading, style));
    screen.put("\n");
    let moves = moves(plan);
    screen.keep(moves.lines().count() + plan.held_back.len().min(1) * HELD_BACK_LINES);
    for (name, outcome) in shown(plan, style) {
        let heading = wrapped(&placement_sentence(plan, &name, outcome), "", Ink::Plain, style);
        screen.table("all placements", &heading, &operations(outcome), "");
    }
    screen.keep(0);
    screen.section("order of moves", &moves);
    for held in &plan.held_back {
        held_back(plan, held, style, &mut screen);
    }
    screen.finish(PAGE)
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
    let that_keeps = match plan.budgets {
        0 => ", without budgets for durations,".to_owned(),
        budgets => format!(" that keeps the {}", counted(budgets, "budget")),
    };
    match &plan.cheapest {
        None => format!(
            "No placement keeps the {}, {extent}.",
            counted(plan.budgets, "budget")
        ),
        Some(best) if best.moved == 0 => format!(
            "Cheapest {extent}{that_keeps} is today's: {} a month.",
            money(plan, best.price)
        ),
        Some(best) => format!(
            "Cheapest {extent}{that_keeps}: {}, {} a month instead of {}{}.",
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

fn placement_sentence(plan: &PlanOutcome, name: &str, outcome: &PlacementOutcome) -> String {
    let currency = match plan.currency.as_str() {
        "" => "price",
        currency => currency,
    };
    format!(
        "{name}: {:.2} {currency} a month, {:.3} GB between places{}",
        outcome.price,
        outcome.gigabytes,
        if outcome.broken.is_empty() {
            ""
        } else {
            "; breaks budgets"
        }
    )
}

fn operations(outcome: &PlacementOutcome) -> Table {
    let mut table = Table::new(["operation", "median", "p95", "a second", "open", "verdict"]);
    for operation in &outcome.operations {
        let held = outcome
            .transactions
            .iter()
            .filter(|held| held.operation_name == operation.name);
        table.row([
            cut(&printable(&operation.name), MAX_NAME_LEN).into_owned(),
            operation.median.map_or_else(
                || between([operation.low, operation.high].map(format_duration)),
                format_duration,
            ),
            duration_or_dash(operation.p95),
            operation
                .median
                .map_or_else(|| DASH.to_owned(), |_| format!("{:.1}", operation.per_second)),
            duration_or_dash(held.map(|held| held.median).max()),
            verdict(outcome, operation).to_owned(),
        ]);
    }
    table
}

/// Of the budgets for an operation.
pub(crate) fn verdict(outcome: &PlacementOutcome, operation: &PlacedOperation) -> &'static str {
    let is_open = |broken: &BrokenBudget| {
        let is_of_bounds = broken.measure == PlanMeasure::Median && operation.median.is_none();
        is_of_bounds && operation.low <= broken.allowed
    };
    let all = outcome.broken.iter();
    let broken: Vec<&BrokenBudget> = all
        .filter(|broken| broken.operation_name == operation.name)
        .collect();
    match broken.iter().all(|broken| is_open(broken)) {
        _ if broken.is_empty() => "kept",
        true => "may be broken",
        false => "broken",
    }
}

fn moves(plan: &PlanOutcome) -> String {
    match plan.order {
        OrderOfMoves::Nothing => String::new(),
        OrderOfMoves::AllAtOnce => {
            "\nOrder of moves: no order keeps all budgets at every step; these move together.\n".to_owned()
        }
        OrderOfMoves::Found => {
            let steps = plan.moves.iter().enumerate().map(|(index, step)| {
                format!(
                    "  {}. {} from {} to {}: {} a month\n",
                    index + 1,
                    printable(&step.service),
                    printable(&step.from),
                    printable(&step.to),
                    money(plan, step.price)
                )
            });
            let steps: String = steps.collect();
            format!("\nOrder of moves, each of which keeps the budgets:\n{steps}")
        }
    }
}

/// The sentence, then its statements and remedies, as far as they fit.
fn held_back(plan: &PlanOutcome, held: &HeldBack, style: &Style, screen: &mut Screen<'_>) {
    let sentence = wrapped(&held_back_sentence(plan, held), "", Ink::Plain, style);
    let mut details = Vec::new();
    for statement in &held.statements {
        let text = statement.fingerprint.as_deref().unwrap_or("opening connections");
        details.push(format!(
            "{} of the added time, {:.1} round trips, {} to {}: {}",
            statement.share,
            statement.turns,
            statement.between[0],
            statement.between[1],
            cut(&printable(text), MAX_NAME_LEN)
        ));
    }
    for fix in &held.fixes {
        let of = fix.fingerprint.as_deref().map_or_else(String::new, |text| {
            format!(" ({})", cut(&printable(text), MAX_NAME_LEN))
        });
        details.push(format!(
            "{}{of} saves {}: {}",
            fix.kind.name(),
            format_duration(fix.saves),
            fix.remedy
        ));
    }
    screen.section(MOVES_HELD_BACK, &format!("\n{sentence}"));
    for detail in details {
        screen.section(MOVES_HELD_BACK, &wrapped(&detail, "    ", Ink::Plain, style));
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

const MOVES_HELD_BACK: &str = "moves that break a budget";
/// An empty line, a sentence and two details.
const HELD_BACK_LINES: usize = 8;
const MAX_NAME_LEN: usize = 60;
