//! The result of sparing exchanges the link's delay.

use super::escape::{cut, printable};
use super::link::signed;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::{counted, duration_or_dash};
use model::{SavedTime, SparedOperation, SparingOutcome, format_duration};
use std::time::Duration;

pub fn sparing_view(outcome: &SparingOutcome, style: &Style) -> String {
    let mut out = String::new();
    let mut add = |text: &str, indent: &str, ink| paragraph(text, indent, ink, style, &mut out);
    let is_control = outcome.spared == SparingOutcome::CONTROL;
    if is_control || outcome.executions.removable > 0 {
        add(&spared(outcome), "", Ink::Heading);
    }
    let refusal = outcome.refusal();
    if let Some(refusal) = &refusal {
        add(&format!("Nothing is proved: {refusal}."), "", Ink::Plain);
    }
    let mut unstated = Vec::new();
    for operation in outcome.concerned() {
        match operation.saved().filter(|_| refusal.is_none()) {
            Some(saved) => add(&line(operation, &result(saved, is_control)), "", Ink::Plain),
            None => unstated.push(operation),
        }
    }
    for operation in unstated.iter().take(MAX_UNSTATED) {
        add(&line(operation, "no difference is stated"), "", Ink::Plain);
    }
    match unstated.len().saturating_sub(MAX_UNSTATED) {
        0 => {}
        more => add(
            &format!("And {}.", counted(more as u64, "such name")),
            "",
            Ink::Plain,
        ),
    }
    out
}

fn spared(outcome: &SparingOutcome) -> String {
    if outcome.spared == SparingOutcome::CONTROL {
        return "Control: nothing was spared; every second operation is compared with the others.".to_owned();
    }
    let executions = outcome.executions;
    let text = cut(&printable(&outcome.spared), MAX_SPARED).into_owned();
    let kept = executions.all.saturating_sub(executions.removable);
    let mut words = format!(
        "Spared {} of {} of {text} in every second operation: {}",
        executions.spared,
        counted(executions.all, "execution"),
        match kept {
            0 => "all".to_owned(),
            _ => "all but the first".to_owned(),
        }
    );
    let left = executions.removable.saturating_sub(executions.spared);
    if left > 0 {
        words += &format!(
            ", except {left} ({} beside bytes on their way, {} together with other statements)",
            executions.not_at_rest,
            left.saturating_sub(executions.not_at_rest)
        );
    }
    words + "."
}

fn line(operation: &SparedOperation, result: &str) -> String {
    let name = cut(&printable(&operation.name), MAX_NAME).into_owned();
    let [with, without] = operation.medians().map(duration_or_dash);
    let mixed = match operation.mixed {
        0 => String::new(),
        mixed => format!(", {mixed} partly"),
    };
    format!(
        "{name}: {with} with, {without} without: {result} ({} and {} operations{mixed}).",
        operation.with.count(),
        operation.without.count()
    )
}

fn result(SavedTime { saves_ns, bounds_ns }: SavedTime, is_control: bool) -> String {
    let [low, high] = bounds_ns;
    let margin = format_duration(Duration::from_nanos(
        (saves_ns - low).max(high - saves_ns).unsigned_abs(),
    ));
    let saves = format_duration(Duration::from_nanos(saves_ns.unsigned_abs()));
    match () {
        () if is_control => format!("a difference of {} +- {margin}", signed(saves_ns)),
        () if low > 0 => format!("removing them saves {saves} +- {margin}"),
        () if high < 0 => format!("without them it takes longer by {saves} +- {margin}"),
        () => format!("no saving beyond the scatter, {} +- {margin}", signed(saves_ns)),
    }
}

/// Names of operations that were too few, or too often in both arms.
const MAX_UNSTATED: usize = 3;
const MAX_SPARED: usize = 100;
const MAX_NAME: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use model::SparedExecutions;
    use std::sync::Arc;

    fn outcome(spared: &str, without: u64) -> SparingOutcome {
        let mut operation = SparedOperation::new(Arc::from("GET /orders"));
        operation.concerned = 60;
        for step in 0..30 {
            operation.with.add(Duration::from_micros(842_000 + 100 * step));
            operation.without.add(Duration::from_micros(without + 100 * step));
        }
        SparingOutcome {
            spared: spared.to_owned(),
            executions: SparedExecutions {
                all: 600,
                removable: 570,
                spared: 570,
                not_at_rest: 0,
            },
            operations: vec![operation],
            unreadable: 0,
        }
    }

    fn view(outcome: &SparingOutcome) -> String {
        sparing_view(outcome, &Style::default()).replace('\n', " ")
    }

    #[test]
    fn the_saving_stands_with_its_interval() {
        let text = view(&outcome("select name from customers where id = ?", 96_000));
        assert!(text.contains("Spared 570 of 600 executions"), "{text}");
        assert!(
            text.contains("843 ms with, 97.5 ms without: removing them saves 746 ms +- 778 us"),
            "{text}"
        );
        let text = view(&outcome("select ?", 942_000));
        assert!(
            text.contains("without them it takes longer by 100 ms +- 778 us"),
            "{text}"
        );
    }

    #[test]
    fn executions_that_were_removable_only_do_not_underflow() {
        let mut outcome = outcome("select ?", 96_000);
        (outcome.executions.all, outcome.executions.spared) = (500, 580);
        let text = view(&outcome);
        assert!(text.contains("Spared 580 of 500 executions of select ? in every second operation: all."));
    }

    #[test]
    fn names_that_occur_once_take_few_lines() {
        let mut outcome = outcome("select ?", 96_000);
        outcome.operations[0].without = model::DistributionBuilder::new();
        outcome.operations = vec![outcome.operations[0].clone(); 5];
        let text = view(&outcome);
        assert_eq!(text.matches("no difference is stated").count(), 3, "{text}");
        assert!(text.contains("And 2 such names."), "{text}");
        outcome.executions = SparedExecutions::default();
        assert!(!view(&outcome).contains("Spared"));
    }

    #[test]
    fn a_control_and_a_refusal_claim_no_saving() {
        let text = view(&outcome("control", 842_000));
        assert!(text.contains("a difference of +0 ns +- 778 us"), "{text}");
        let mut few = outcome("select ?", 96_000);
        (few.executions.spared, few.executions.not_at_rest) = (100, 470);
        let text = view(&few);
        assert!(
            text.contains("Nothing is proved: only 100 of 570 could be spared"),
            "{text}"
        );
        assert!(!text.contains("saves"), "{text}");
    }
}
