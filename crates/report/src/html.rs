//! The page: one self-contained HTML file, written from the same values as the view and the records.
//!
//! It asks the network for nothing: style, script and drawings are inside, and its content security policy
//! forbids everything else. All of it is readable without its script, which only redraws the prediction when
//! a slider moves. Its size is bounded whatever was seen: each list that is cut is marked as cut.
//!
//! Statements and names are shown as they are in the outcome (fingerprints, without literals); texts kept on
//! request ([`model::Exchange::literal`]) never reach the page.
//!
//! Start reading at [`write()`]: one line a section.

mod advice;
mod attribution;
mod check;
mod compared;
mod curve;
mod echo;
mod findings;
mod grid;
mod header;
mod held;
mod lanes;
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

/// Everything the page is made from.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// What was measured, in a few words: a file name, a server.
    pub title: &'a str,
    /// Conditions, totals, operations, statements, connections, warnings; its predictions are shown as
    /// requested, next to what was measured where they have it.
    pub outcome: &'a ReadOutcome,
    /// The operation that is shown step by step.
    pub example: Option<&'a Operation>,
    /// For each of its steps, whether its connection moves to the other link; empty where that is not known.
    pub moves: &'a [bool],
    /// What the sliders move over. Without it they move over the outcome's predictions, where these are
    /// enough.
    pub grid: Option<&'a Grid>,
    /// Emulated links of the run: what was requested and what was realised.
    pub links: &'a [LinkOutcome],
    /// The lab whose outcome it is.
    pub lab: Option<&'a LabOutcome>,
}

/// Predictions for many links, between which the sliders interpolate: in the round-trip time linearly, in the
/// rate linearly over its inverse (the time a byte takes).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// For each operation name every round trip with every rate and number of clients; the most
    /// time-consuming name first. A name with gaps is left out.
    pub predictions: Vec<Prediction>,
    /// How many operations of these names were seen.
    pub seen: u64,
    /// How many of them were replayed: once each, under however many names (a lab has one for each link that
    /// changes).
    pub replayed: u64,
    /// Operation names seen that are not in the grid.
    pub names_left_out: u64,
    /// Which connections move to the predicted link, in words: `all database connections`.
    pub moved: String,
    /// Shortest round trip at which the operations were measured, on the connections that move.
    pub measured_rtt: Option<Duration>,
    /// What else was asked of the link (loss, jitter, a queue), in its text form; empty when nothing was.
    pub link: String,
}

/// Writes the page.
///
/// # Errors
/// When `out` does not take it.
pub fn write(page: &Page<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let view = View::new(page);
    let mut sections = String::with_capacity(1 << 17);
    notes::warnings(&page.outcome.warnings, &mut sections);
    compared::section(page.lab, &mut sections);
    findings::section(page.outcome, &mut sections);
    predicted::section(page, view.as_ref(), &mut sections);
    measured::section(&page.outcome.predictions, page.lab, &mut sections);
    operations::section(page.outcome, &mut sections);
    held::section(page.outcome, &mut sections);
    waterfall::section(page, &mut sections);
    statements::section(&page.outcome.statements, &mut sections);
    links::section(page.links, &mut sections);
    notes::conditions(page.outcome, &mut sections);
    let mut html = String::with_capacity(sections.len() + (1 << 15));
    header::begin(page, &sections, &mut html);
    html.push_str(&sections);
    header::end(view.as_ref(), &mut html);
    out.write_all(html.as_bytes())?;
    out.flush()
}
