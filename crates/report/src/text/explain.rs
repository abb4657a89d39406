//! What a prediction rests on.

use super::counted;
use super::escape::printable;
use super::style::{Ink, Style};
use super::table::Table;
use model::{ByteCount, format_duration};
use std::fmt::Write;
use std::time::Duration;

/// A prediction's assumptions, and one operation replayed step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainOutcome {
    /// The operation's name.
    pub operation_name: String,
    /// What it took when it was measured.
    pub measured: Duration,
    /// What it takes on the link.
    pub predicted: Duration,
    /// The link, in its text form.
    pub link: String,
    /// What the model takes for granted, each with where that comes from.
    pub assumptions: Vec<(String, String)>,
    /// The exchanges, in order of their start.
    pub steps: Vec<ExplainedExchange>,
}

/// One exchange of a replayed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedExchange {
    /// Its statement, or its phase where it has none.
    pub name: String,
    /// Whether its connection was moved to the link.
    pub moved: bool,
    /// Its turns.
    pub turns: u32,
    /// Payload bytes of the request and of the reply.
    pub bytes: [u64; 2],
    /// When it begins on the link, counted from the operation's begin.
    pub started: Duration,
    /// When its reply is complete.
    pub completed: Duration,
}

/// The assumptions, then the longest operation step by step, at most 20 of them.
pub fn explain_view(explained: &ExplainOutcome, style: &Style) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n{}",
        style.paint(Ink::Heading, "What the prediction takes for granted")
    );
    for (text, source) in &explained.assumptions {
        let _ = writeln!(
            out,
            "  - {text} {}",
            style.paint(Ink::Faint, &format!("[{source}]"))
        );
    }
    let heading = format!(
        "The longest operation, {}, on a link of {}: measured {}, predicted {}",
        printable(&explained.operation_name),
        printable(&explained.link),
        format_duration(explained.measured),
        format_duration(explained.predicted),
    );
    let _ = writeln!(out, "\n{}", style.paint(Ink::Heading, &heading));
    let mut table = Table::new([
        "exchange", "begins", "takes", "turns", "request", "reply", "moved",
    ]);
    for step in explained.steps.iter().take(style.rows(SHOWN_STEPS)) {
        table.row([
            step.name.clone(),
            format_duration(step.started),
            format_duration(step.completed.saturating_sub(step.started)),
            step.turns.to_string(),
            ByteCount::from_bytes(step.bytes[0]).to_string(),
            ByteCount::from_bytes(step.bytes[1]).to_string(),
            if step.moved { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.render(style, &mut out);
    if let Some(more) = explained
        .steps
        .len()
        .checked_sub(style.rows(SHOWN_STEPS))
        .filter(|more| *more > 0)
    {
        let more = counted(more as u64, "more exchange");
        let _ = writeln!(
            out,
            "  {}",
            style.paint(Ink::Faint, &format!("and {more}: --all lists all"))
        );
    }
    out
}

/// Steps shown; the others are only counted.
const SHOWN_STEPS: usize = 20;
