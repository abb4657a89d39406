//! The view of `split`.

use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use super::{
    DASH, counted,
    prediction::{bound_words, error_text, number},
};
use crate::outcome::SplitReport;
use model::{BoundBy, RoundTripSource, Share, SplitOutcome, SplitPrediction, format_duration};
use std::fmt::Write;
use std::time::Duration;

pub fn split_view(report: &SplitReport, style: &Style) -> String {
    let mut out = String::new();
    points(report, style, &mut out);
    if !report.predictions.is_empty() {
        predictions(report, style, &mut out);
    }
    if !report.proofs.is_empty() {
        proofs(report, style, &mut out);
    }
    out
}

fn points(report: &SplitReport, style: &Style, out: &mut String) {
    let heading = format!(
        "{} on {}: a transaction of one client, {} of {} a visit",
        super::escape::printable(&report.work),
        super::escape::printable(&report.server),
        counted(report.rounds.into(), "round"),
        format_duration(report.visit)
    );
    if let Some(point) = report.points.first() {
        paragraph(&network_sentence(point), "", Ink::Heading, style, out);
        out.push('\n');
    }
    paragraph(&heading, "", Ink::Heading, style, out);
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
    table.render(style, out);
    let mut faint = |text: &str| paragraph(text, "  ", Ink::Faint, style, out);
    faint("clients / per second = client + network + server; network = round trips x round-trip time");
    faint(&format!("low, high: of server; {}", confidence(report)));
    if let Some(point) = report.points.first() {
        faint(source_words(point.source));
    }
    if report.points.iter().any(is_saturated) {
        faint(
            "where clients wait for processors, network and server do too: their sum is exact, their split is not",
        );
    }
}

fn network_sentence(point: &SplitOutcome) -> String {
    let whole = point.transaction.median;
    let share = |part: Duration| {
        Share::from_parts(part, whole).map_or_else(|| DASH.to_owned(), |share| share.to_string())
    };
    let [up, down] = point.payload_bytes.into_array();
    let network = match point.source {
        RoundTripSource::UnixSocket => "the local socket",
        RoundTripSource::Echo | RoundTripSource::OwnEcho | RoundTripSource::Kernel => "the network",
    };
    format!(
        "{} of {} is {network}, with {}: {} round trips of {}, {up:.0} B there and {down:.0} B back; server {}, client {}.",
        share(point.network.median),
        format_duration(whole),
        counted(point.clients.into(), "client"),
        number(point.turns),
        format_duration(point.round_trip.median),
        share(point.server.median),
        share(point.client.median),
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

fn predictions(report: &SplitReport, style: &Style, out: &mut String) {
    let _ = writeln!(out, "\n{}", style.paint(Ink::Heading, "Predicted elsewhere"));
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
    table.render(style, out);
    let mut faint = |text: &str| paragraph(text, "  ", Ink::Faint, style, out);
    for prediction in &report.predictions {
        if let Some(refusal) = prediction.refusal() {
            let clients = counted(prediction.clients.into(), "client");
            faint(&format!(
                "{NOT_PREDICTED} {}, {clients}: {refusal}",
                prediction.place
            ));
        }
    }
    faint(PREDICTED_CLIENT);
    faint(
        "low, high: the rounds' spread and the error of the model; each round visited the workload with pauses in place of the distance",
    );
    faint("--link replaces the round-trip time of packets; wake-ups of processes stay");
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

fn proofs(report: &SplitReport, style: &Style, out: &mut String) {
    let _ = writeln!(
        out,
        "\n{}",
        style.paint(
            Ink::Heading,
            "Proved over emulated links, predicted from runs over them without delay"
        )
    );
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
    table.render(style, out);
    let note = "per second; low, high: of the measurement";
    let _ = writeln!(out, "  {}", style.paint(Ink::Faint, note));
    report
        .links
        .iter()
        .for_each(|link| out.push_str(&super::link_line(link)));
}

/// Printed next to each predicted throughput.
pub(crate) const PREDICTED_CLIENT: &str = "predicted for clients as fast as longwire's own on this machine; slower ones (pgbench, an application) reach less";
const NOT_PREDICTED: &str = "not predicted";
