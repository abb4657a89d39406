//! Terminal views are plain text for one screen, rendered from the same values as the records.
//!
//! Width and colour are arguments. Text from the wire (statements, names, versions) is sanitised
//! before it reaches a terminal, by [`escape`].
//!
//! Start reading at [`read`].

pub mod advise;
pub(crate) mod answer;
mod bar;
pub mod calibration;
pub mod check;
pub(crate) mod comparison;
pub mod demo;
pub mod echo;
pub mod escape;
pub mod estimate;
mod explain;
pub mod findings;
mod held;
pub mod lab;
pub mod lab_plan;
pub mod link;
pub mod load;
mod paragraph;
pub mod ping;
pub mod plan;
pub mod prediction;
pub mod program;
pub mod progress;
pub mod read;
pub mod rows;
mod screen;
mod sentences;
mod sparing;
pub mod split;
pub mod style;
mod table;
pub mod tune;
pub mod tunnel;
pub mod tunnel_metrics;
pub mod via;
mod waterfall;

pub use advise::advice_view;
pub use calibration::calibration_view;
pub use check::{check_view, github_view, junit_view};
pub use comparison::comparison_view;
pub use demo::demo_view;
pub use echo::echo_view;
pub use estimate::estimate_view;
pub use explain::explain_view;
pub use findings::findings_section;
pub use held::held_view;
pub use lab::lab_view;
pub use lab_plan::lab_plan_view;
pub use link::{link_line, link_warnings};
pub use load::{LoadStyle, load_progress_line, load_table, load_view};
pub use paragraph::wrapped_message;
pub use ping::{intermediary_note, ping_line, ping_opening, ping_table, ping_view};
pub use plan::plan_view;
pub(crate) use prediction::bound_words;
pub use prediction::{cores_line, prediction_view};
pub use program::program_view;
pub use progress::progress_line;
pub use read::{programs, read_view, summary_line};
pub use rows::rows_view;
pub use sentences::{finding_sentences, prediction_sentences, statement_sentences, summary_sentences};
pub use sparing::{proofs_view, sparing_view};
pub use split::split_view;
pub(crate) use split::{PREDICTED_CLIENT, busiest_words};
pub use tune::tune_view;
pub(crate) use tune::{NO_DIFFERENCE, factor};
pub use tunnel::tunnel_view;
pub use tunnel_metrics::tunnel_metrics;
pub use via::{via_line, via_view};

use model::format_duration;
use std::time::Duration;

/// A dash if unknown or withheld.
fn duration_or_dash(span: Option<Duration>) -> String {
    span.map_or_else(|| DASH.to_owned(), format_duration)
}

/// `1 turn`, `2 turns`: for words with a plural in s.
pub(crate) fn counted(count: u64, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}

/// A statement for display. Replaces an empty one, which only tests the connection.
pub fn shown_statement(fingerprint: &str) -> &str {
    match fingerprint.trim_matches([' ', ';']) {
        "" => "(empty statement)",
        _ => fingerprint,
    }
}

pub(crate) const DASH: &str = "-";
const WITHHELD: &str = "- = too few samples (p90 needs 100, p95 200, p99 1000)";
