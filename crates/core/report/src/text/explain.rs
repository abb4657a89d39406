//! The view of a prediction's basis.

use super::counted;
use super::escape::printable;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::ExplainOutcome;
use model::{
    Assigned, BoundsMargin, BoundsScale, ByteCount, Direction, MarginSource, MeasuredCells, Prediction,
    format_duration,
};
use std::fmt::Write;
use std::time::Duration;

/// The assumptions, then the longest operation step by step.
pub fn explain_view(explained: &ExplainOutcome, style: &Style) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n{}",
        style.paint(Ink::Heading, "Assumptions of the prediction")
    );
    for (text, source) in &explained.assumptions {
        paragraph(&format!("- {text} [{source}]"), "  ", Ink::Plain, style, &mut out);
    }
    if let Some(prediction) = &explained.prediction {
        margins(prediction, explained.is_calibrated, style, &mut out);
    }
    let heading = format!(
        "The longest operation, {}, on a link of {}: measured {}, predicted {}",
        printable(&explained.operation_name),
        printable(&explained.link),
        format_duration(explained.measured),
        format_duration(explained.predicted),
    );
    out.push('\n');
    paragraph(&heading, "", Ink::Heading, style, &mut out);
    paragraph(&unexplained(explained), "  ", Ink::Plain, style, &mut out);
    steps_table(explained, style).render(style, &mut out);
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

/// Margins of the interval of a name, largest first.
fn margins(prediction: &Prediction, is_calibrated: bool, style: &Style, out: &mut String) {
    let heading = format!(
        "The interval of {}, {} to {} at {}, is made of",
        printable(&prediction.operation_name),
        format_duration(prediction.low),
        format_duration(prediction.high),
        printable(&prediction.link),
    );
    out.push('\n');
    paragraph(&heading, "", Ink::Heading, style, out);
    let mut margins = prediction.margins.clone();
    margins.sort_by(|a, b| size(b).total_cmp(&size(a)));
    for margin in &margins {
        let [below, above] = margin
            .seconds
            .map(|seconds| format_duration(Duration::from_secs_f64(seconds)));
        let narrowed = match is_calibrated && margin.source == MarginSource::WakingUp {
            true => CALIBRATED,
            false => narrowing(margin.source),
        };
        let words = words(margin.source);
        let line = format!("- {words}: {below} shorter, {above} longer. {narrowed}");
        paragraph(&line, "  ", Ink::Plain, style, out);
    }
    paragraph(&scale(prediction.scale), "  ", Ink::Plain, style, out);
}

fn scale(scale: BoundsScale) -> String {
    let BoundsScale { class, factor, .. } = scale;
    match scale.measured {
        Some(MeasuredCells {
            count,
            applications,
            inside_percent,
        }) => format!(
            "- scaled by {factor:.2}. Of {count} measured predictions of {applications} applications ({class}), {inside_percent} % \
             were inside when their application was left out."
        ),
        None => "- not backed by measurements, which have other links, fewer clients or more operations: docs/accuracy.md#real-products."
            .to_owned(),
    }
}

/// The source of the largest margin.
pub(super) fn largest_margin(prediction: &Prediction) -> Option<&'static str> {
    let largest = prediction
        .margins
        .iter()
        .max_by(|a, b| size(a).total_cmp(&size(b)))?;
    Some(words(largest.source))
}

fn size(margin: &BoundsMargin) -> f64 {
    margin.seconds[0].max(margin.seconds[1])
}

const fn words(source: MarginSource) -> &'static str {
    match source {
        MarginSource::Sampling => "few operations, or unlike ones",
        MarginSource::Model => "TCP's model",
        MarginSource::Loss => "random losses",
        MarginSource::Computing => "client and server times of another run",
        MarginSource::WakingUp => "waking up after longer rests",
        MarginSource::ServerTime => "round-trip times of the measurement that vary",
        MarginSource::Pacing => "senders that pace packets (BBR)",
        MarginSource::KeptWindows => "windows that a server may keep while idle",
        MarginSource::Owners => "round trips that may belong to other operations",
        MarginSource::Hosts => "addresses that may be one host",
    }
}

/// A way to narrow it.
const fn narrowing(source: MarginSource) -> &'static str {
    match source {
        MarginSource::Sampling => "Narrower with more operations in the measurement.",
        MarginSource::Model => "Nothing narrows it: docs/accuracy.md has its errors.",
        MarginSource::Loss => "Narrower on a link without loss.",
        MarginSource::Computing => "15 % is assumed; `watch --link` measures your own.",
        MarginSource::WakingUp => {
            "Assumed; a measurement behind `watch --link`, at such a distance, contains it."
        }
        MarginSource::ServerTime => "Narrower with a capture on the server's host, or a steadier path.",
        MarginSource::Pacing => "Narrower with cubic on both hosts.",
        MarginSource::KeptWindows => "Not visible without distance.",
        MarginSource::Owners => "Narrower with fewer requests at once, or with `--host`.",
        MarginSource::Hosts => "`--host` names them.",
    }
}

fn steps_table(explained: &ExplainOutcome, style: &Style) -> Table {
    let mut columns = vec![
        "exchange", "begins", "takes", "trips", "request", "reply", "moved",
    ];
    let is_assigned = explained.steps.iter().any(|step| step.assigned.is_some());
    if is_assigned {
        columns.push("belongs by");
    }
    let mut table = Table::new(columns);
    for step in explained.steps.iter().take(style.rows(SHOWN_STEPS)) {
        let mut row = vec![
            step.name.clone(),
            format_duration(step.started),
            format_duration(step.completed.saturating_sub(step.started)),
            step.turns.to_string(),
            ByteCount::from_bytes(step.bytes[Direction::ClientToServer]).to_string(),
            ByteCount::from_bytes(step.bytes[Direction::ServerToClient]).to_string(),
            if step.moved { "yes" } else { "no" }.to_owned(),
        ];
        if is_assigned {
            let by = step.assigned.map_or("", Assigned::name);
            row.push(
                step.probability
                    .map_or_else(|| by.to_owned(), |likely| format!("{by} ({likely})")),
            );
        }
        table.row(row);
    }
    table
}

/// The measured time next to its replay at the measured distance.
fn unexplained(explained: &ExplainOutcome) -> String {
    let rest = Duration::from_nanos(explained.unexplained_ns.unsigned_abs());
    let percent = 100.0 * rest.as_secs_f64() / explained.measured.as_secs_f64().max(1e-9);
    let rest = format_duration(rest);
    match explained.unexplained_ns {
        _ if percent < 1.0 => {
            "replayed at the measured distance, it takes the measured time, to less than 1 %".to_owned()
        }
        0.. => format!(
            "unexplained wait: {rest} ({percent:.0} %) of the measured time is neither client, server nor distance; it is assumed not to change with distance"
        ),
        ..0 => format!(
            "unexplained: replayed at the measured distance, it takes {rest} ({percent:.0} %) longer than measured"
        ),
    }
}

const CALIBRATED: &str =
    "The calibration's scatter; as assumed for a side or rest without a factor, and for the link.";
const SHOWN_STEPS: usize = 20;
