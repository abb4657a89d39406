//! The view of `split`.

use super::bar::{self, Part};
use super::paragraph::paragraph;
use super::screen::{PAGE, Screen};
use super::style::{Ink, Style};
use super::table::Table;
use super::{
    DASH, counted,
    prediction::{bound_words, error_text, number},
};
use crate::outcome::SplitReport;
use model::{BoundBy, RoundTripSource, Share, SplitOutcome, SplitPrediction, format_duration};
use std::time::Duration;

pub fn split_view(report: &SplitReport, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if let Some(point) = report.points.first() {
        screen.put(&answer(point, style));
    }
    if !report.predictions.is_empty() {
        screen.keep(ELSEWHERE_LINES);
    }
    screen.table("points", &heading(report, style), &points(report), "");
    screen.keep(0);
    proofs(report, style, &mut screen);
    predictions(report, style, &mut screen);
    notes(report, style, &mut screen);
    screen.finish(PAGE)
}

/// The network's share, and all shares in one bar.
fn answer(point: &SplitOutcome, style: &Style) -> String {
    let mut out = String::new();
    paragraph(&network_sentence(point), "", Ink::Heading, style, &mut out);
    let parts = [
        (bar::CLIENT, point.client.median),
        (bar::NETWORK, point.network.median),
        (bar::SERVER, point.server.median),
    ];
    let parts = parts.map(|(kind, time)| {
        let share = share(time, point.transaction.median);
        Part::new(kind, time, &format!("{share} ({})", format_duration(time)))
    });
    bar::bar(&parts, style, &mut out);
    out
}

fn heading(report: &SplitReport, style: &Style) -> String {
    let heading = format!(
        "{} on {}; {} of {} a visit",
        super::escape::printable(&report.work),
        super::escape::printable(&report.server),
        counted(report.rounds.into(), "round"),
        format_duration(report.visit)
    );
    let mut out = "\n".to_owned();
    paragraph(&heading, "", Ink::Heading, style, &mut out);
    out
}

fn points(report: &SplitReport) -> Table {
    let mut table = Table::new([
        "clients",
        "per second",
        "transaction",
        "client",
        "network",
        "server",
        "low",
        "high",
        "rtt",
        "trips",
        "bytes",
        "count",
    ]);
    for point in &report.points {
        let [up, down] = point.payload_bytes.into_array();
        table.row([
            point.clients.to_string(),
            number(point.per_second()),
            format_duration(point.transaction.median),
            format_duration(point.client.median),
            format_duration(point.network.median),
            format_duration(point.server.median),
            format_duration(point.server.low),
            format_duration(point.server.high),
            format_duration(point.round_trip.median),
            number(point.turns),
            format!("{up:.0}/{down:.0}"),
            point.transactions.to_string(),
        ]);
    }
    table
}

/// How to read the tables; the most important first.
fn notes(report: &SplitReport, style: &Style, screen: &mut Screen<'_>) {
    let mut notes = Vec::new();
    if report.points.iter().any(is_saturated) {
        notes.push(SATURATED.to_owned());
    }
    notes.extend(
        report
            .points
            .first()
            .map(|point| source_words(point.source).to_owned()),
    );
    notes.push(ARITHMETIC.to_owned());
    notes.push(format!("low, high of the server: {}", confidence(report)));
    if !report.predictions.is_empty() {
        notes.extend([PREDICTED_BOUNDS, REPLACED].map(str::to_owned));
    }
    notes.iter().for_each(|note| screen.add_note(note));
    let mut links = String::new();
    for link in &report.links {
        paragraph(&super::link_line(link), "", Ink::Faint, style, &mut links);
    }
    screen.section("links", &links);
}

fn share(part: Duration, whole: Duration) -> String {
    Share::from_parts(part, whole).map_or_else(|| DASH.to_owned(), |share| share.to_string())
}

fn network_sentence(point: &SplitOutcome) -> String {
    let whole = point.transaction.median;
    let [up, down] = point.payload_bytes.into_array();
    let network = match point.source {
        RoundTripSource::UnixSocket => "the local socket",
        RoundTripSource::Echo | RoundTripSource::OwnEcho | RoundTripSource::Kernel => "the network",
    };
    format!(
        "{} of {} is {network}, with {}: {} round trips of {}, {up:.0} B there and {down:.0} B back.",
        share(point.network.median, whole),
        format_duration(whole),
        counted(point.clients.into(), "client"),
        number(point.turns),
        format_duration(point.round_trip.median),
    )
}

/// Several clients, and more than a quarter of a transaction is network.
fn is_saturated(point: &SplitOutcome) -> bool {
    point.clients > 1 && point.network.median > point.transaction.median / 4
}

fn confidence(report: &SplitReport) -> String {
    let rounds = report.points.first().map_or(0, |point| point.server.rounds);
    let of = 1_u64.checked_shl(rounds.saturating_sub(1)).unwrap_or(u64::MAX);
    match rounds {
        0 | 1 => "one round does not show how it varies".to_owned(),
        _ => format!(
            "an interval of the true median that holds in {} of {of} such runs",
            of - 1
        ),
    }
}

fn source_words(source: RoundTripSource) -> &'static str {
    match source {
        RoundTripSource::Echo => {
            "round-trip times are those of an echo on the server's host with the same message sizes and rate"
        }
        RoundTripSource::OwnEcho => {
            "the server is local: round-trip times are those of a local echo with the same message sizes and rate"
        }
        RoundTripSource::UnixSocket => {
            "the server is behind a Unix socket: the network is that of an echo over Unix sockets with the same message sizes and rate"
        }
        RoundTripSource::Kernel => {
            "round-trip times are the kernel's (TCP_INFO), without wake-ups and waiting, which count as server time; see --echo"
        }
    }
}

fn predictions(report: &SplitReport, style: &Style, screen: &mut Screen<'_>) {
    if report.predictions.is_empty() {
        return;
    }
    let mut table = Table::new([
        "place",
        "clients",
        "per second",
        "low",
        "high",
        "transaction",
        "bound by",
    ]);
    for prediction in &report.predictions {
        table.row(predicted(prediction));
    }
    let mut notes = String::new();
    let mut faint = |text: &str| paragraph(text, "  ", Ink::Faint, style, &mut notes);
    if report
        .predictions
        .iter()
        .any(|prediction| prediction.forecast.is_ok())
    {
        faint(PREDICTED_CLIENT);
    }
    let refused = |prediction: &SplitPrediction| {
        let clients = counted(prediction.clients.into(), "client");
        let refusal = prediction.refusal()?;
        Some(format!(
            "{NOT_PREDICTED} {}, {clients}: {refusal}",
            prediction.place
        ))
    };
    let refusals: Vec<String> = report.predictions.iter().filter_map(refused).collect();
    let shown = refusals.len().min(style.rows(1));
    refusals[..shown].iter().for_each(|text| faint(text));
    if refusals.len() > shown {
        screen.omit("reasons");
    }
    let heading = format!("\n{}\n", style.paint(Ink::Heading, "Predicted elsewhere"));
    screen.table("predictions", &heading, &table, &notes);
}

fn predicted(prediction: &SplitPrediction) -> Vec<String> {
    let clients = prediction.clients;
    let figures = match prediction.forecast {
        Ok(forecast) => {
            let [low, high] = rates(clients, forecast.low, forecast.high);
            [
                prediction.per_second().map_or_else(String::new, number),
                number(low),
                number(high),
                format_duration(forecast.transaction),
                busiest_words(forecast.bound_by).to_owned(),
            ]
        }
        Err(_) => [DASH, DASH, DASH, DASH, NOT_PREDICTED].map(str::to_owned),
    };
    let place = [prediction.place.to_string(), clients.to_string()];
    place.into_iter().chain(figures).collect()
}

/// The near side's work is not distinguished here.
pub(crate) fn busiest_words(bound: BoundBy) -> &'static str {
    if bound == BoundBy::Server {
        return "processors";
    }
    bound_words(bound)
}

fn rates(clients: u32, low: Duration, high: Duration) -> [f64; 2] {
    [high, low].map(|span| f64::from(clients) / span.as_secs_f64().max(f64::MIN_POSITIVE))
}

fn proofs(report: &SplitReport, style: &Style, screen: &mut Screen<'_>) {
    if report.proofs.is_empty() {
        return;
    }
    let mut heading = "\n".to_owned();
    paragraph(PROVED, "", Ink::Heading, style, &mut heading);
    let mut table = Table::new([
        "link",
        "clients",
        "predicted",
        "measured",
        "error",
        "low",
        "high",
        "bound by",
    ]);
    for proof in &report.proofs {
        let measured = proof
            .measured
            .map(|measured| rates(proof.clients, measured.low, measured.high));
        let dash = || DASH.to_owned();
        table.row([
            proof.place.to_string(),
            proof.clients.to_string(),
            proof.per_second().map_or_else(dash, number),
            proof.measured_per_second().map_or_else(dash, number),
            proof.error().map_or_else(dash, error_text),
            measured.map_or_else(dash, |[low, _]| number(low)),
            measured.map_or_else(dash, |[_, high]| number(high)),
            proof
                .forecast
                .map_or(NOT_PREDICTED, |forecast| busiest_words(forecast.bound_by))
                .to_owned(),
        ]);
    }
    screen.table("proofs", &heading, &table, "");
}

/// Printed next to each predicted throughput.
pub(crate) const PREDICTED_CLIENT: &str = "predicted for clients as fast as longwire's own on this machine; slower ones (pgbench, an application) reach less";
const NOT_PREDICTED: &str = "not predicted";
const PROVED: &str = "Proved over emulated links, predicted from runs over them without delay, per second; low, high: of the measurement";
const ARITHMETIC: &str =
    "clients / per second = client + network + server; network = round trips x round-trip time";
const SATURATED: &str =
    "where clients wait for processors, network and server do too: their sum is exact, their split is not";
const PREDICTED_BOUNDS: &str = "low, high: the rounds' spread and the model's error, scaled by measured errors; each round ran the workload with pauses for the distance";
const REPLACED: &str = "--link replaces the round-trip time of packets; wake-ups of processes stay";
/// An empty line, two headings, six rows and two of notes.
const ELSEWHERE_LINES: usize = 11;
