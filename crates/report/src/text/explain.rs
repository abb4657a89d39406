//! What a prediction rests on: one operation step by step, and what the model takes for granted.

use super::escape::printable;
use super::style::{Ink, Style};
use super::table::Table;
use crate::records::phase_word;
use model::{Attribution, ByteCount, ConnectionId, Fingerprint, Phase, format_duration};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// One operation as it was replayed on one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainOutcome {
    /// The operation's name.
    pub operation_name: Arc<str>,
    /// The target link, in its text form.
    pub link: String,
    /// How long the operation took where it was measured.
    pub measured: Duration,
    /// How long it takes on the link.
    pub predicted: Duration,
    /// Where the predicted time goes.
    pub attribution: Attribution,
    /// Its exchanges in their order.
    pub steps: Vec<ExplainStep>,
    /// Everything the model takes for granted.
    pub assumptions: Vec<ExplainAssumption>,
}

/// One exchange of a predicted operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainStep {
    /// Its connection.
    pub connection: ConnectionId,
    /// What it is for.
    pub phase: Phase,
    /// Its statement, where it has one.
    pub fingerprint: Option<Fingerprint>,
    /// Whether its connection was moved to the link.
    pub moved: bool,
    /// Its turns.
    pub turns: u32,
    /// Payload bytes of the request.
    pub request_bytes: u64,
    /// Payload bytes of the reply.
    pub reply_bytes: u64,
    /// Index of the step it waited for; absent when it began with the operation.
    pub after: Option<u32>,
    /// When its client began to send, from the operation's begin.
    pub started: Duration,
    /// When its client had the reply, from the operation's begin.
    pub completed: Duration,
}

/// One thing the model takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExplainAssumption {
    /// What is assumed.
    pub text: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// The view of `predict --explain` for one operation on one link. The longest [`SHOWN_STEPS`] steps are shown, in
/// their order.
pub fn explain_view(outcome: &ExplainOutcome, style: &Style) -> String {
    let parts = &outcome.attribution;
    let heading = format!(
        "How {} was predicted on {}: {} (measured: {})",
        printable(&outcome.operation_name),
        printable(&outcome.link),
        format_duration(outcome.predicted),
        format_duration(outcome.measured),
    );
    let mut out = style.paint(Ink::Heading, &heading);
    let _ = writeln!(
        out,
        "\n  round trips {}, transfer {}, recovery {}, server {}, client {}, unknown {}\n",
        format_duration(parts.round_trip),
        format_duration(parts.transfer),
        format_duration(parts.recovery),
        format_duration(parts.server),
        format_duration(parts.client),
        format_duration(parts.unknown),
    );
    steps_table(&outcome.steps).render(style, &mut out);
    let left_out = outcome.steps.len().saturating_sub(SHOWN_STEPS);
    if left_out > 0 {
        let more = format!("and {left_out} shorter ones");
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, &more));
    }
    let _ = writeln!(
        out,
        "\n{}",
        style.paint(Ink::Heading, "What is taken for granted")
    );
    for ExplainAssumption { text, source } in &outcome.assumptions {
        let _ = writeln!(out, "  - {text} ({source})");
    }
    out
}

fn steps_table(steps: &[ExplainStep]) -> Table {
    let mut table = Table::new([
        "step",
        "begins",
        "ends",
        "takes",
        "turns",
        "link",
        "after",
        "request",
        "reply",
        "connection",
    ]);
    for (index, step) in longest(steps) {
        let what = step.fingerprint.as_deref().unwrap_or(phase_word(step.phase));
        table.row([
            format!("{index} {what}"),
            format_duration(step.started),
            format_duration(step.completed),
            format_duration(step.completed.saturating_sub(step.started)),
            step.turns.to_string(),
            if step.moved { "target" } else { "measured" }.to_owned(),
            step.after
                .map_or_else(|| "begin".to_owned(), |after| after.to_string()),
            ByteCount::from_bytes(step.request_bytes).to_string(),
            ByteCount::from_bytes(step.reply_bytes).to_string(),
            step.connection.to_string(),
        ]);
    }
    table
}

/// The longest steps with their indices, in their order.
fn longest(steps: &[ExplainStep]) -> Vec<(usize, &ExplainStep)> {
    let mut longest: Vec<(usize, &ExplainStep)> = steps.iter().enumerate().collect();
    longest.sort_by_key(|(_, step)| std::cmp::Reverse(step.completed.saturating_sub(step.started)));
    longest.truncate(SHOWN_STEPS);
    longest.sort_by_key(|(index, _)| *index);
    longest
}

/// Steps that are shown.
pub const SHOWN_STEPS: usize = 20;
