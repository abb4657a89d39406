//! Variants of a lab: for each combination of other settings the columns of JMeter's aggregate
//! report, and the cost of an operation in processor time and bytes.

use super::short;
use crate::outcome::{LabOutcome, LabPoint, LabRound, LabTimes};
use crate::ranges::median_or_bounds;
use crate::text::paragraph::wrapped;
use crate::text::prediction::{error_text, number};
use crate::text::screen::Screen;
use crate::text::style::{Ink, Style};
use crate::text::table::Table;
use crate::text::{DASH, WITHHELD, duration_or_dash};
use model::{
    ByteCount, Direction, Distribution, DistributionBuilder, MeasuredDurations, Prediction, format_duration,
    median_number,
};
use std::time::Duration;

impl LabTimes {
    /// Compares each of `rounds` with the other point's round of the same pass. `None` if no pass
    /// has both.
    pub fn from_rounds(rounds: &[LabRound], others: &[LabRound]) -> Option<Self> {
        let times: Vec<f64> = rounds
            .iter()
            .zip(others)
            .map(|(round, other)| round.throughput() / other.throughput())
            .filter(|times| times.is_finite())
            .collect();
        Some(Self {
            median: median_number(times.iter().copied())?,
            low: times.iter().copied().min_by(f64::total_cmp)?,
            high: times.iter().copied().max_by(f64::total_cmp)?,
        })
    }
}

impl LabPoint {
    /// Operations per second over all rounds; `None` if not measured.
    pub fn throughput(&self) -> Option<f64> {
        let operations = self.measured.as_ref()?.operations as f64;
        let seconds: f64 = self.rounds.iter().map(|round| round.elapsed.as_secs_f64()).sum();
        Some(operations / seconds.max(1e-9))
    }

    /// Over all rounds together; if their samples are unknown, that of the middle round.
    pub fn spread(&self) -> Distribution {
        let mut all = DistributionBuilder::new();
        for round in &self.rounds {
            all.merge(round.durations.clone());
        }
        match (&self.measured, all.count()) {
            (Some(measured), 0) => measured.spread,
            _ => all.distribution(),
        }
    }
}

/// Three tables for each combination of the settings other than the variant.
pub(super) fn tables(outcome: &LabOutcome, style: &Style, screen: &mut Screen<'_>) {
    let mut withheld = false;
    for (place, points) in places(outcome) {
        let heading = match place.as_str() {
            "" => "\n".to_owned(),
            place => format!("\n{}", wrapped(place, "", Ink::Heading, style)),
        };
        let durations = durations(&points);
        withheld |= durations.has_dash(style);
        screen.table("durations", &heading, &durations, "");
        screen.table("throughput", "\n", &throughputs(&points), "");
        screen.table("bytes and processor time", "\n", &costs(&points), "");
    }
    if withheld {
        screen.add_note(WITHHELD);
    }
    screen.add_note(NOTE);
}

/// Groups points by their settings other than the variant, in the order of the file.
fn places(outcome: &LabOutcome) -> Vec<(String, Vec<(&str, &LabPoint)>)> {
    let (mut variant, mut beside) = (None, Vec::new());
    for column in outcome.shown_settings() {
        if outcome.settings[column] == VARIANT {
            variant = Some(column);
        } else {
            beside.push(column);
        }
    }
    let mut places: Vec<(String, Vec<(&str, &LabPoint)>)> = Vec::new();
    for point in &outcome.points {
        let words: Vec<String> = beside
            .iter()
            .map(|&column| format!("{} {}", short(&outcome.settings[column]), point.values[column]))
            .collect();
        let place = words.join(", ");
        let name = variant.map_or(DASH, |column| point.values[column].as_str());
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, points)) => points.push((name, point)),
            None => places.push((place, vec![(name, point)])),
        }
    }
    places
}

/// Durations and errors of JMeter's aggregate report.
fn durations(points: &[(&str, &LabPoint)]) -> Table {
    let headings = [
        VARIANT, "samples", "average", "median", "90 %", "95 %", "99 %", "min", "max", "error %",
    ];
    let mut table = Table::new(headings);
    for (name, point) in points {
        let spread = point.spread();
        let spans = [
            spread.mean,
            spread.p50,
            spread.p90,
            spread.p95,
            spread.p99,
            spread.min,
            spread.max,
        ];
        let mut cells = vec![(*name).to_owned()];
        let samples = point
            .measured
            .as_ref()
            .map(|measured| measured.operations.to_string());
        cells.push(samples.unwrap_or_else(|| DASH.to_owned()));
        cells.extend(spans.map(duration_or_dash));
        cells.push(point.measured.as_ref().map_or_else(|| DASH.to_owned(), failed));
        table.row(cells);
    }
    table
}

fn failed(measured: &MeasuredDurations) -> String {
    let (failed, succeeded) = (measured.errors as f64, measured.operations as f64);
    format!("{:.2} %", failed / (failed + succeeded).max(1.0) * 100.0)
}

/// Measured throughput, next to the other variant's and the predicted one.
fn throughputs(points: &[(&str, &LabPoint)]) -> Table {
    let headings = [
        VARIANT,
        "a minute",
        "times (min to max)",
        "received KB/s",
        "predicted median",
        "error",
    ];
    let mut table = Table::new(headings);
    for (name, point) in points {
        let seconds: f64 = point.rounds.iter().map(|round| round.elapsed.as_secs_f64()).sum();
        let a_second = |amount: f64| number(amount / seconds.max(1e-9));
        let down = Direction::ServerToClient;
        let received: u64 = point
            .rounds
            .iter()
            .map(|round| round.payload[down].as_bytes())
            .sum();
        let operations = point.measured.as_ref().map(|measured| measured.operations as f64);
        let prediction = point.prediction.as_ref();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| DASH.to_owned());
        table.row([
            (*name).to_owned(),
            or_dash(operations.map(|operations| a_second(operations * 60.0))),
            or_dash(point.times.as_ref().map(times)),
            or_dash(operations.map(|_| a_second(received as f64 / KILOBYTE))),
            or_dash(prediction.map(median_or_bounds)),
            or_dash(prediction.and_then(Prediction::error).map(error_text)),
        ]);
    }
    table
}

/// Bytes and processor time of one operation.
fn costs(points: &[(&str, &LabPoint)]) -> Table {
    let hosts = hosts(points);
    let mut headings = [VARIANT, "bytes up", "bytes down", "cpu clients"]
        .map(str::to_owned)
        .to_vec();
    headings.extend(hosts.iter().map(|host| format!("cpu {host}")));
    let mut table = Table::new(headings);
    for (name, point) in points {
        let mut cells = vec![(*name).to_owned()];
        match point
            .measured
            .as_ref()
            .map(|measured| measured.operations)
            .filter(|count| *count > 0)
        {
            None => cells.extend((0..hosts.len() + 3).map(|_| DASH.to_owned())),
            Some(operations) => {
                let operations = operations as f64;
                let time = |time: Duration| format_duration(time.div_f64(operations));
                cells.push(wire_bytes(point, Direction::ClientToServer, operations));
                cells.push(wire_bytes(point, Direction::ServerToClient, operations));
                cells.push(time(
                    point.rounds.iter().map(|round| round.client_processor).sum(),
                ));
                cells.extend(hosts.iter().map(|host| time(processor(point, host))));
            }
        }
        table.row(cells);
    }
    table
}

fn times(times: &LabTimes) -> String {
    if times.low < times.high {
        format!("{:.2} ({:.2} to {:.2})", times.median, times.low, times.high)
    } else {
        format!("{:.2}", times.median)
    }
}

fn wire_bytes(point: &LabPoint, direction: Direction, operations: f64) -> String {
    let links = point.rounds.iter().flat_map(|round| &round.links);
    let bytes: u64 = links.map(|link| link.directions[direction].wire_bytes).sum();
    ByteCount::from_bytes((bytes as f64 / operations).round() as u64).to_string()
}

/// In the order in which services start.
fn hosts<'a>(points: &[(&str, &'a LabPoint)]) -> Vec<&'a str> {
    let mut hosts: Vec<&str> = Vec::new();
    let rounds = points.iter().flat_map(|(_, point)| &point.rounds);
    for used in rounds.flat_map(|round| &round.processors) {
        if !hosts.contains(&used.host.as_str()) {
            hosts.push(&used.host);
        }
    }
    hosts
}

fn processor(point: &LabPoint, host: &str) -> Duration {
    let used = point.rounds.iter().flat_map(|round| &round.processors);
    used.filter(|used| used.host == host).map(|used| used.time).sum()
}

const NOTE: &str = "Durations are those of all rounds together. A minute is over all the time to the end of the last operation, as JMeter counts. The column times is that over the same of the compared variant, in the same round. Bytes (of the links, with all headers) and processor time (logins included) are those of one operation.";
const VARIANT: &str = "variant";
/// A kilobyte as JMeter counts it.
const KILOBYTE: f64 = 1024.0;

#[cfg(test)]
mod tests {
    use super::*;
    use model::PerDirection;

    fn round(operations: u64, seconds: u64) -> LabRound {
        LabRound {
            measured: MeasuredDurations {
                operations,
                duration: Duration::from_secs(1),
                spread: Distribution::default(),
                per_second: 0.0,
                errors: 0,
            },
            durations: DistributionBuilder::new(),
            elapsed: Duration::from_secs(seconds),
            payload: PerDirection::splat(ByteCount::from_bytes(0)),
            client_processor: Duration::ZERO,
            processors: Vec::new(),
            links: Vec::new(),
        }
    }

    #[test]
    fn rounds_are_compared_with_their_own_neighbours() {
        let times = LabTimes::from_rounds(
            &[round(100, 10), round(300, 10), round(80, 10)],
            &[round(10, 10), round(20, 10)],
        );
        let times = times.expect("two rounds of both");
        assert_eq!((times.median, times.low, times.high), (12.5, 10.0, 15.0));
        assert_eq!(LabTimes::from_rounds(&[], &[round(1, 1)]), None);
    }
}
