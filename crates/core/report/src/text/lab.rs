//! The view of a lab: measured and predicted times, the cost of each link, accuracy.

mod comparison;

use super::escape::printable;
use super::paragraph::wrapped;
use super::prediction::{bound_words, error_text, number};
use super::screen::{PAGE, Screen};
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash};
use crate::accuracy::Accuracy;
use crate::outcome::{LabDrift, LabErrors, LabOutcome, LabPoint, LabRound, LabSlope};
use crate::ranges::median_or_bounds;
use model::{LinkOutcome, Prediction, format_duration};
use std::fmt::Write;
use std::time::Duration;

impl LabRound {
    /// Operations per second as JMeter counts them: over the time to the end of the last one. With
    /// few operations per client the sum of the clients' rates
    /// ([`model::MeasuredDurations::per_second`]) is too high, because clients finish at different
    /// times.
    pub fn throughput(&self) -> f64 {
        self.measured.operations as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

impl LabPoint {
    /// Links of the point's last measurement.
    pub fn links(&self) -> &[LinkOutcome] {
        self.rounds.last().map_or(&[], |round| &round.links)
    }
}

impl LabOutcome {
    /// `None` if no point has both a measurement and a prediction.
    pub fn errors(&self) -> Option<LabErrors> {
        let accuracy = self.accuracy(|point| !point.is_baseline)?;
        Some(LabErrors {
            points: accuracy.points,
            median: accuracy.median,
            worst: accuracy.worst,
            worst_point: accuracy.worst_index,
            within_bounds: accuracy.within_bounds,
        })
    }

    fn accuracy(&self, counts: impl Fn(&LabPoint) -> bool) -> Option<Accuracy> {
        let points = self.points.iter().enumerate().filter(|(_, point)| counts(point));
        Accuracy::from_predictions(
            points.filter_map(|(index, point)| Some((index, point.prediction.as_ref()?))),
        )
    }

    pub(crate) fn is_comparison(&self) -> bool {
        self.points.iter().any(|point| point.against.is_some())
    }

    /// Indices of settings that distinguish points. The amount of work does not.
    pub(crate) fn shown_settings(&self) -> Vec<usize> {
        let settings = self.settings.iter().enumerate();
        settings
            .filter(|(_, setting)| !setting.starts_with("measure."))
            .map(|(column, _)| column)
            .collect()
    }

    /// Minimum and maximum deviation of later measurements without distance from the first, as a
    /// share. `None` if there was no later one.
    pub fn drift(&self) -> Option<(f64, f64)> {
        let shares = self.drifts.iter().flat_map(|drift| {
            let later = drift.later.iter();
            later.map(|later| share_beyond(*later, drift.first))
        });
        shares.fold(None, |range: Option<(f64, f64)>, share| match range {
            Some((least, most)) => Some((least.min(share), most.max(share))),
            None => Some((share, share)),
        })
    }
}

fn share_beyond(later: Duration, first: Duration) -> f64 {
    later.as_secs_f64() / first.as_secs_f64().max(1e-12) - 1.0
}

pub fn lab_view(outcome: &LabOutcome, style: &Style) -> String {
    let done = outcome.points.iter().filter(|point| point.measured.is_some());
    let (done, all) = (done.count(), outcome.points.len());
    let (name, operation) = (printable(&outcome.name), printable(&outcome.operation));
    let heading = if done < all {
        format!("Lab {name}: {done} of {}", counted(all as u64, "point"))
    } else {
        format!("Lab {name}: {}", counted(all as u64, "point"))
    };
    let heading = if outcome.is_comparison() {
        format!("{heading}, time of one {operation}")
    } else {
        format!("{heading}, time of one {operation}, measured and predicted")
    };
    let mut screen = Screen::new(style);
    screen.put(&wrapped(&heading, "", Ink::Heading, style));
    let closing = closing(outcome);
    let closing: Vec<String> = closing
        .iter()
        .map(|line| wrapped(line, "", Ink::Plain, style))
        .collect();
    let warned = screen.lines_of_warnings(&outcome.warnings);
    screen.keep(1 + closing.iter().map(|text| text.lines().count()).sum::<usize>() + warned);
    if outcome.is_comparison() {
        comparison::tables(outcome, style, &mut screen);
    } else {
        screen.lines("all points", &with_chart(outcome, style));
    }
    screen.keep(0);
    screen.put("\n");
    closing.iter().for_each(|text| screen.put(text));
    screen.warnings(&outcome.warnings);
    screen.finish(PAGE)
}

/// Slopes, drifts, the links and the errors of predictions, a sentence each.
fn closing(outcome: &LabOutcome) -> Vec<String> {
    let slopes = outcome
        .slopes
        .iter()
        .map(|slope| slope_line(slope, &outcome.operation));
    let drifts = outcome.drifts.iter().filter(|drift| !drift.later.is_empty());
    let mut lines: Vec<String> = slopes.chain(drifts.map(drift_line)).collect();
    lines.push(floor_line(outcome));
    if let Some(errors) = outcome.errors() {
        lines.push(errors_line(outcome, &errors));
    }
    lines.push(baseline_line(outcome));
    lines
}

/// Adds a bar to each row if there is room: its length is the measurement, its mark the prediction.
fn with_chart(outcome: &LabOutcome, style: &Style) -> String {
    let table = table(outcome);
    let mut text = String::new();
    table.render(style, &mut text);
    let plain = Style {
        colour: super::style::Colour::Plain,
        ..*style
    };
    let mut widths = String::new();
    table.render(&plain, &mut widths);
    let width = widths.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let room = style.columns().saturating_sub(width + BAR_GAP).min(MAX_BAR_WIDTH);
    if room < MIN_BAR_WIDTH {
        return text;
    }
    let longest = longest(outcome);
    let mut out = String::new();
    for (index, (line, plain)) in text.lines().zip(widths.lines()).enumerate() {
        out.push_str(line);
        let point = index.checked_sub(1).and_then(|index| outcome.points.get(index));
        let bar = match point {
            Some(point) => bar(point, longest, room),
            None => "measured \u{2588}  predicted \u{2502}"
                .chars()
                .take(room)
                .collect(),
        };
        let padding = width + BAR_GAP - plain.chars().count();
        let _ = write!(out, "{:padding$}{bar}", "");
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

fn longest(outcome: &LabOutcome) -> Duration {
    let measured = outcome
        .points
        .iter()
        .filter_map(|point| point.measured.as_ref().map(|measured| measured.duration));
    let predicted = outcome
        .points
        .iter()
        .filter_map(|point| point.prediction.as_ref()?.bounded());
    measured.chain(predicted).max().unwrap_or_default()
}

fn bar(point: &LabPoint, longest: Duration, room: usize) -> String {
    let place = |duration: Duration| {
        let share = duration.as_secs_f64() / longest.as_secs_f64().max(1e-12);
        (share * (room - 1) as f64).round() as usize
    };
    let measured = point.measured.as_ref().map(|measured| place(measured.duration));
    let predicted = point
        .prediction
        .as_ref()
        .and_then(|prediction| prediction.bounded().map(place));
    let cell = |column: usize| {
        if predicted == Some(column) {
            '\u{2502}'
        } else if measured.is_some_and(|measured| column <= measured) {
            '\u{2588}'
        } else {
            ' '
        }
    };
    (0..room).map(cell).collect()
}

fn table(outcome: &LabOutcome) -> Table {
    let shown = outcome.shown_settings();
    let mut headings: Vec<String> = shown
        .iter()
        .map(|&column| short(&outcome.settings[column]))
        .collect();
    if headings.is_empty() {
        headings.push("point".to_owned());
    }
    let figures = ["measured", "predicted", "error", "per second", "bound by"];
    headings.extend(figures.map(str::to_owned));
    let mut table = Table::new(headings);
    for point in &outcome.points {
        let mut cells: Vec<String> = shown.iter().map(|&column| point.values[column].clone()).collect();
        if shown.is_empty() {
            cells.push("as in the file".to_owned());
        }
        cells.extend(figures_of(point));
        table.row(cells);
    }
    table
}

fn figures_of(point: &LabPoint) -> [String; 5] {
    let prediction = point.prediction.as_ref();
    let dash = || DASH.to_owned();
    [
        duration_or_dash(point.measured.as_ref().map(|measured| measured.duration)),
        prediction.map_or_else(dash, median_or_bounds),
        prediction
            .and_then(Prediction::error)
            .map_or_else(dash, error_text),
        point
            .measured
            .as_ref()
            .map_or_else(dash, |measured| number(measured.per_second)),
        prediction.map_or_else(dash, |prediction| bound_words(prediction.bound_by).to_owned()),
    ]
}

/// `links.web-database.rtt` becomes `web-database rtt`.
fn short(setting: &str) -> String {
    let setting = setting
        .strip_prefix("links.")
        .or_else(|| setting.strip_prefix("workload."))
        .or_else(|| setting.strip_prefix("services."))
        .unwrap_or(setting);
    setting.replace(".settings.", " ").replacen('.', " ", 1)
}

fn beside_words(beside: &[(String, String)]) -> String {
    let words: Vec<String> = beside
        .iter()
        .map(|(setting, value)| printable(&format!("{} {value}", short(setting))).into_owned())
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join(", "))
    }
}

fn slope_line(slope: &LabSlope, operation: &str) -> String {
    let mut line = format!(
        "Each ms of {} rtt{} adds {} ms to a {operation}",
        printable(&slope.link),
        beside_words(&slope.beside),
        ratio(slope.measured),
    );
    if let Some(predicted) = slope.predicted {
        let _ = write!(line, "; predicted {}", ratio(predicted));
    }
    if let Some(turns) = slope.turns {
        let _ = write!(line, "; round trips counted {}", ratio(turns));
    }
    line.push_str(".\n");
    line
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

fn drift_line(drift: &LabDrift) -> String {
    let least = drift.later.iter().min().copied().unwrap_or_default();
    let most = drift.later.iter().max().copied().unwrap_or_default();
    format!(
        "Without distance{}: {} at first, {} to {} later ({} to {}).\n",
        beside_words(&drift.beside),
        format_duration(drift.first),
        format_duration(least),
        format_duration(most),
        error_text(share_beyond(least, drift.first)),
        error_text(share_beyond(most, drift.first)),
    )
}

/// The machine's overhead, and the error of round-trip times.
fn floor_line(outcome: &LabOutcome) -> String {
    let links = || outcome.points.iter().flat_map(LabPoint::links);
    let floor = links().filter_map(|link| link.floor).max();
    let off = links()
        .filter_map(|link| link.rtt_error_p50_ns)
        .max_by_key(|error| error.unsigned_abs());
    match (floor, off) {
        (Some(floor), Some(off)) => format!(
            "Links: round-trip times off by {} at most (median of a point); this machine's floor is {}.\n",
            format_duration(Duration::from_nanos(off.unsigned_abs())),
            format_duration(floor)
        ),
        _ => String::new(),
    }
}

/// Rows that [`LabOutcome::errors`] leaves out, because the captured point verifies no prediction.
fn baseline_line(outcome: &LabOutcome) -> String {
    let Some(accuracy) = outcome.accuracy(|point| point.is_baseline) else {
        return String::new();
    };
    format!(
        "Not counted: {} without distance, whose captures the predictions are made of: off by {} at worst{}.\n",
        counted(accuracy.points as u64, "point"),
        error_text(accuracy.worst),
        place_of(outcome, accuracy.worst_index),
    )
}

fn place_of(outcome: &LabOutcome, point: usize) -> String {
    let shown = outcome.shown_settings().into_iter();
    let place: Vec<(String, String)> = shown
        .map(|column| {
            (
                outcome.settings[column].clone(),
                outcome.points[point].values[column].clone(),
            )
        })
        .collect();
    beside_words(&place)
}

fn errors_line(outcome: &LabOutcome, errors: &LabErrors) -> String {
    format!(
        "Predictions of {}: off by {} (median), {} at worst{}; {} within their bounds.\n",
        counted(errors.points as u64, "point"),
        error_text(errors.median).trim_start_matches('+'),
        error_text(errors.worst),
        place_of(outcome, errors.worst_point),
        errors.within_bounds,
    )
}

const BAR_GAP: usize = 2;
const MIN_BAR_WIDTH: usize = 16;
const MAX_BAR_WIDTH: usize = 40;
