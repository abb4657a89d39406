//! The result of sparing exchanges the link's delay.

use super::escape::{cut, printable};
use super::findings::finding_name;
use super::link::signed;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::{counted, duration_or_dash};
use model::{SavedTime, SparedOperation, SparingOutcome, format_duration};
use std::cmp::Reverse;
use std::time::Duration;

pub fn sparing_view(outcome: &SparingOutcome, style: &Style) -> String {
    let mut out = String::new();
    let mut add = |text: &str, indent: &str, ink| paragraph(text, indent, ink, style, &mut out);
    if is_control(outcome) || outcome.executions.removable > 0 {
        add(&spared(outcome), "", Ink::Heading);
    }
    let refusal = outcome.refusal();
    if let Some(refusal) = &refusal {
        add(&format!("Nothing is proved: {refusal}."), "", Ink::Plain);
    }
    let mut unstated = Vec::new();
    for operation in &outcome.operations {
        match operation.saved().filter(|_| refusal.is_none()) {
            Some(saved) => add(
                &line(operation, &result(outcome, operation, saved)),
                "",
                Ink::Plain,
            ),
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

/// Findings that longwire chose, each with its promise, then the control.
pub fn proofs_view(outcomes: &[SparingOutcome], style: &Style) -> String {
    let (mut proofs, controls): (Vec<_>, Vec<_>) =
        outcomes.iter().partition(|outcome| outcome.finding.is_some());
    proofs.sort_by_key(|proof| Reverse(proof.promised));
    let names: Vec<_> = proofs.iter().flat_map(|proof| &proof.operations).collect();
    let mut out = "\n".to_owned();
    let mut add = |text: &str, indent: &str, ink| paragraph(text, indent, ink, style, &mut out);
    add(&proved_heading(&proofs, &controls), "", Ink::Heading);
    let mut reason = None;
    for proof in &proofs {
        if let (Some(finding), Some(operation)) = (&proof.finding, proof.operations.first()) {
            let name = match &finding.fingerprint {
                Some(_) => finding_name(
                    finding.kind,
                    finding.fingerprint.as_ref(),
                    &finding.operation_name,
                ),
                None => finding.kind.to_string(),
            };
            add(&name, "", Ink::Plain);
            let is_repeated = proof.unspared.is_some() && proof.unspared == reason;
            reason.clone_from(&proof.unspared);
            add(&proof_line(proof, operation, is_repeated), INDENT, Ink::Plain);
        }
    }
    let of_control: Vec<_> = controls
        .iter()
        .flat_map(|control| control_lines(control, &names))
        .collect();
    of_control.iter().for_each(|line| add(line, "", Ink::Plain));
    out
}

/// Bursts have other names in findings.
fn control_lines(control: &SparingOutcome, names: &[&SparedOperation]) -> Vec<String> {
    let is_named = |operation: &&SparedOperation| names.iter().any(|named| named.name == operation.name);
    let mut same: Vec<_> = control.operations.iter().filter(is_named).collect();
    if same.is_empty() {
        same = control.operations.iter().take(MAX_UNSTATED).collect();
    }
    let each = same.into_iter().map(|operation| {
        let words = match operation.saved() {
            Some(saved) => result(control, operation, saved),
            None => format!(
                "no difference is stated: {}",
                operation.refusal().unwrap_or_default()
            ),
        };
        format!("control (nothing spared): {}", line(operation, &words))
    });
    each.collect()
}

fn proved_heading(proofs: &[&SparingOutcome], controls: &[&SparingOutcome]) -> String {
    let operations = controls.iter().flat_map(|control| &control.operations);
    let observed: u64 = operations
        .map(|operation| operation.with.count() + operation.without.count())
        .sum();
    let observed = counted(observed, "operation");
    match proofs.first() {
        None => format!("Nothing is proved: no finding that saves time was seen in {observed}."),
        Some(first) => format!(
            "Findings of {observed}, over a round trip of {}: promised by their price, proved by removing their delay from \
             every second operation after those",
            format_duration(first.rtt)
        ),
    }
}

fn proof_line(proof: &SparingOutcome, operation: &SparedOperation, has_same_reason: bool) -> String {
    let name = cut(&printable(&operation.name), MAX_NAME).into_owned();
    let promised = proof.promised.map_or_else(
        || "nothing promised".to_owned(),
        |promised| format!("promised {}", format_duration(promised)),
    );
    let counts = counts(operation);
    let unproved = proof.refusal().or_else(|| operation.refusal().map(str::to_owned));
    let proved = match (unproved, operation.saved()) {
        (None, Some(saved)) if saved.bounds_ns[0] <= 0 => {
            format!("not proved: {}", result(proof, operation, saved))
        }
        (None, Some(saved)) => {
            let margin = format_duration(saved.margin());
            let proved = signed(saved.saves_ns);
            let proved = proved.trim_start_matches('+');
            format!("proved {proved} +- {margin}{}", excess(proof, operation, saved))
        }
        _ if has_same_reason => "not proved for the same reason".to_owned(),
        (why, _) => format!("not proved: {}", why.unwrap_or_default()),
    };
    match proof.unspared {
        Some(_) => format!("{name}: {promised}, {proved}."),
        None => format!("{name}: {promised}, {proved} ({counts})."),
    }
}

fn is_control(outcome: &SparingOutcome) -> bool {
    outcome.spared == SparingOutcome::CONTROL
}

fn spared(outcome: &SparingOutcome) -> String {
    if is_control(outcome) {
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
    let counts = counts(operation);
    format!("{name}: {with} with, {without} without: {result} ({counts}).")
}

fn counts(operation: &SparedOperation) -> String {
    let mixed = match operation.mixed {
        0 => String::new(),
        mixed => format!(", {mixed} partly"),
    };
    let [with, without] = [&operation.with, &operation.without].map(|arm| arm.count());
    format!("{with} and {without} operations{mixed}")
}

fn result(outcome: &SparingOutcome, operation: &SparedOperation, saved: SavedTime) -> String {
    let (saves_ns, [low, high]) = (saved.saves_ns, saved.bounds_ns);
    let margin = format_duration(saved.margin());
    let saves = format_duration(Duration::from_nanos(saves_ns.unsigned_abs()));
    match () {
        () if is_control(outcome) => format!("a difference of {} +- {margin}", signed(saves_ns)),
        () if low > 0 => format!(
            "removing them saves {saves} +- {margin}{}",
            excess(outcome, operation, saved)
        ),
        () if high < 0 => format!("without them it takes longer by {saves} +- {margin}"),
        () => format!("no saving beyond the scatter, {} +- {margin}", signed(saves_ns)),
    }
}

fn excess(outcome: &SparingOutcome, operation: &SparedOperation, saved: SavedTime) -> String {
    match outcome.exceeds_delay(operation, saved) {
        false => String::new(),
        true => format!(
            ", more than the delay of {}: something else changed, or replies were long",
            counted(operation.max_removed, "round trip")
        ),
    }
}

/// Names of operations that were too few, or too often in both arms.
const INDENT: &str = "    ";
const MAX_UNSTATED: usize = 3;
const MAX_SPARED: usize = 100;
const MAX_NAME: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{FindingKey, FindingKind, SparedExecutions};
    use std::sync::Arc;

    fn outcome(spared: &str, without: u64) -> SparingOutcome {
        let mut operation = SparedOperation::new(Arc::from("GET /orders"));
        operation.max_removed = 38;
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
            rtt: Duration::from_millis(20),
            ..SparingOutcome::default()
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
    fn a_saving_beyond_the_removed_delay_is_not_only_that_of_the_delay() {
        let mut outcome = outcome("select ?", 96_000);
        outcome.operations[0].max_removed = 30;
        let text = view(&outcome);
        assert!(
            text.contains("+- 778 us, more than the delay of 30 round trips"),
            "{text}"
        );
    }

    #[test]
    fn a_promise_stands_next_to_its_proof_or_to_the_reason_for_none() {
        let finding = FindingKey {
            kind: FindingKind::NPlusOne,
            fingerprint: Some(Arc::from("select name from customers where id = ?")),
            operation_name: Arc::from("GET /orders"),
        };
        let proof = SparingOutcome {
            finding: Some(finding),
            promised: Some(Duration::from_millis(751)),
            ..outcome("select name from customers where id = ?", 96_000)
        };
        let untried = SparingOutcome {
            unspared: Some("the run ended before its turn".to_owned()),
            promised: Some(Duration::from_millis(40)),
            ..proof.clone()
        };
        let mut rare = proof.clone();
        rare.operations[0].without = model::DistributionBuilder::new();
        let unsaved = SparingOutcome {
            operations: outcome("control", 842_000).operations,
            ..proof.clone()
        };
        let all = [
            outcome("control", 842_000),
            untried.clone(),
            untried,
            proof,
            rare,
            unsaved,
        ];
        let view = proofs_view(&all, &Style::default());
        let text = view.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("promised 751 ms, proved 746 ms +- 778 us (30 and 30 operations)."),
            "{text}"
        );
        assert!(
            text.contains("promised 751 ms, not proved: no saving beyond the scatter"),
            "{text}"
        );
        let why = "promised 40.0 ms, not proved: the run ended before its turn.";
        assert!(text.find(why) > text.find("proved 746 ms"), "{text}");
        assert_eq!(text.matches("the run ended before its turn").count(), 1, "{text}");
        assert!(
            text.contains("promised 40.0 ms, not proved for the same reason."),
            "{text}"
        );
        assert!(
            text.contains("not proved: fewer than 6 operations with the delay, or without (30 and 0"),
            "{text}"
        );
        assert!(
            text.contains("control (nothing spared): GET /orders: 843 ms with"),
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
