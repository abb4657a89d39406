//! The view of a database link: the path from one database to another.

use super::escape::printable;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::{counted, duration_or_dash};
use model::{DatabaseLinkOutcome, Sample, format_duration};
use std::fmt::Write;

pub fn via_line(sample: &Sample, style: &Style) -> String {
    let number = sample.number;
    match (&sample.error, sample.round_trip()) {
        (Some(error), _) => style.paint(Ink::Warning, &format!("{number}: {}\n", printable(error))),
        (None, Some(round_trip)) => {
            let mut line = format!("{number}: rtt {}", format_duration(round_trip));
            if let (Some(duration), Some(turns)) = (sample.duration, sample.turns.filter(|turns| *turns > 1))
            {
                let _ = write!(
                    line,
                    " ({} in {})",
                    counted(turns, "round trip"),
                    format_duration(duration)
                );
            }
            if let Some(server) = sample.server {
                let _ = write!(line, ", far server {}", format_duration(server));
            }
            line.push('\n');
            line
        }
        (None, None) => format!("{number}: no answer\n"),
    }
}

/// Printed at the end of `ping --via`, and by `read` for a script's output.
pub fn via_view(outcome: &DatabaseLinkOutcome, style: &Style) -> String {
    let mut view = String::new();
    let heading = format!("--- {} through {} ---", outcome.link, outcome.through);
    paragraph(&heading, "", Ink::Heading, style, &mut view);
    for line in lines(outcome) {
        paragraph(&line, "", Ink::Plain, style, &mut view);
    }
    if outcome.failed > 0 {
        let failed = format!("{} failed.", counted(outcome.failed, "sample"));
        paragraph(&failed, "", Ink::Warning, style, &mut view);
    }
    view
}

fn lines(outcome: &DatabaseLinkOutcome) -> Vec<String> {
    let mut lines = Vec::new();
    let trips = &outcome.round_trips;
    if trips.count > 0 {
        lines.push(format!(
            "Round-trip time between the databases: median {}, mean {}, min {}, p90 {}, p99 {}, max {} ({}).",
            duration_or_dash(trips.p50),
            duration_or_dash(trips.mean),
            duration_or_dash(trips.min),
            duration_or_dash(trips.p90),
            duration_or_dash(trips.p99),
            duration_or_dash(trips.max),
            counted(trips.count, "sample")
        ));
    }
    let turns = outcome.turns_per_call.map_or_else(
        || "round trips unknown".to_owned(),
        |turns| counted(turns, "round trip"),
    );
    lines.push(format!(
        "A call: {turns}, median {}, mean {}, min {}.",
        duration_or_dash(outcome.calls.p50),
        duration_or_dash(outcome.calls.mean),
        duration_or_dash(outcome.calls.min)
    ));
    lines.push(format!("Round trips: {}.", outcome.evidence));
    lines.extend(rows_line(outcome));
    if let Some(connect) = outcome.connect {
        lines.push(format!("Opening the link: {}.", format_duration(connect)));
    }
    if let Some(first) = outcome.first_call {
        lines.push(format!("First call: {}.", format_duration(first)));
    }
    if let Some(rtt) = outcome.client_rtt {
        lines.push(format!(
            "From here to the source: {}, in none of these figures: the source timed them.",
            format_duration(rtt)
        ));
    }
    lines
}

fn rows_line(outcome: &DatabaseLinkOutcome) -> Option<String> {
    let rows = outcome.rows.as_ref()?;
    let turns = match (rows.turns, outcome.rows_in_round_trips()) {
        (Some(turns), _) => counted(turns, "round trip"),
        (None, Some(ratio)) => format!("as long as {ratio:.1} round trips"),
        (None, None) => "round trips unknown".to_owned(),
    };
    Some(format!(
        "A call for {}: {turns}, median {}, min {}.",
        counted(rows.rows, "row"),
        duration_or_dash(rows.calls.p50),
        duration_or_dash(rows.calls.min)
    ))
}
