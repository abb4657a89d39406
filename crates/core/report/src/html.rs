//! One self-contained HTML page, written from the same values as the view and the records.
//!
//! It makes no network requests: style, script and drawings are inline, and its content security
//! policy forbids everything else. It is readable without its script, which only redraws the
//! prediction when a slider moves. Its size is bounded: a list that is cut says so.
//!
//! Statements and names are shown as in the outcome (fingerprints, without literals). Literals kept
//! on request ([`model::Exchange::literal`]) never reach the page.
//!
//! Start reading at [`write()`]: one line per section. `maud` escapes text by its type.

mod advice;
mod attribution;
mod check;
mod compared;
mod comparison;
mod curve;
mod echo;
mod findings;
mod grid;
mod header;
mod held;
mod lanes;
mod legs;
mod links;
mod load;
mod markup;
mod measured;
mod notes;
mod opening;
mod operations;
mod ping;
mod plan;
mod predicted;
mod scale;
mod split;
mod spreads;
mod statements;
mod tune;
mod waterfall;

pub use advice::write_advice;
pub use check::write_check;
pub use comparison::write_comparison;
pub use echo::write_echo;
pub use load::{LoadCourse, write_load};
pub use ping::{PingPage, write_ping};
pub use plan::write_plan;
pub use split::write_split;
pub use tune::write_tune;

use crate::outcome::{LabOutcome, ReadOutcome};
use grid::View;
use model::{LinkOutcome, Operation, Prediction};
use std::io;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The measured file or server, in a few words.
    pub title: &'a str,
    /// Predictions are shown as requested, next to measurements where there are any.
    pub outcome: &'a ReadOutcome,
    /// The operation that is shown step by step.
    pub example: Option<&'a Operation>,
    /// For each step of the example, whether its connection moves to the other link. The list is
    /// empty if this is unknown.
    pub moves: &'a [bool],
    /// The grid of the sliders. Without it they use the outcome's predictions, if these suffice.
    pub grid: Option<&'a Grid>,
    pub links: &'a [LinkOutcome],
    pub lab: Option<&'a LabOutcome>,
}

/// Predictions for many links. The sliders interpolate linearly in the round-trip time, and in the
/// inverse of the rate (the time per byte).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// For each operation name every round-trip time with every rate and number of clients, the
    /// most time-consuming name first. A name with gaps is left out.
    pub predictions: Vec<Prediction>,
    pub seen: u64,
    /// Number of replayed operations, each counted once (a lab has several names for one
    /// operation).
    pub replayed: u64,
    pub names_left_out: u64,
    /// The connections that move to the predicted link, such as `all database connections`.
    pub moved: String,
    /// Minimum round-trip time of the measurement, on the connections that move.
    pub measured_rtt: Option<Duration>,
    /// The link's other impairments (loss, jitter, queue) in text form; empty if there are none.
    pub link: String,
}

pub fn write(page: &Page<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let view = View::new(page);
    let view = view.as_ref();
    let outcome = page.outcome;
    let sections = vec![
        notes::warnings(&outcome.warnings),
        compared::section(page.lab),
        legs::section(page.lab),
        findings::section(outcome),
        predicted::section(page, view),
        measured::section(&outcome.predictions, page.lab),
        operations::section(outcome),
        held::section(outcome),
        waterfall::section(page),
        statements::section(&outcome.statements),
        links::section(page.links),
        notes::connections(outcome),
        notes::conditions_of_run(&outcome.conditions),
    ];
    header::write(out, page.title, header::top(page, &sections), sections, view)
}
