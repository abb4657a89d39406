//! The page of `split`: parts of a transaction's time by number of clients, and throughput
//! elsewhere.

use super::attribution::{bar, labels};
use super::links;
use super::markup::{DASH, count, counted, number, section, small_print, time};
use super::opening::{self, Opening, name_cell};
use crate::outcome::SplitReport;
use crate::text::{PREDICTED_CLIENT, busiest_words};
use maud::{Markup, html};
use model::{Attribution, Conditions, RoundTripSource, SplitOutcome, SplitPrediction};
use std::io;

pub fn write_split(
    report: &SplitReport,
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    opening::write(
        &Opening {
            title: &format!("Where a transaction's time goes on {}", report.server),
            lead: &format!(
                "{}; {} of {} a visit.",
                report.work,
                counted(report.rounds.into(), "round"),
                time(report.visit)
            ),
            answer: &answer(report),
        },
        vec![
            parts(report),
            points(report),
            predictions(report),
            proofs(report),
            links::section(&report.links),
        ],
        &report.warnings,
        conditions,
        out,
    )
}

fn answer(report: &SplitReport) -> String {
    let Some(point) = report.points.first() else {
        return "Nothing was measured.".to_owned();
    };
    let parts = attribution(point);
    let largest = [
        ("client", parts.client),
        ("network", parts.round_trip),
        ("server", parts.server),
    ]
    .into_iter()
    .max_by_key(|(_, part)| *part);
    let (name, part) = largest.unwrap_or(("server", parts.server));
    format!(
        "A transaction of {} takes {}; {} of it is the {name}'s.",
        counted(point.clients.into(), "client"),
        time(point.transaction.median),
        time(part)
    )
}

/// Puts the three parts into the bars of all pages; the network is `round_trip`.
fn attribution(point: &SplitOutcome) -> Attribution {
    Attribution {
        client: point.client.median,
        round_trip: point.network.median,
        server: point.server.median,
        ..Attribution::default()
    }
}

fn parts(report: &SplitReport) -> Markup {
    if report.points.is_empty() {
        return Markup::default();
    }
    let content = html! {
        @for point in report.points.iter().take(SHOWN) {
            @let parts = attribution(point);
            div.whole {
                p { (counted(point.clients.into(), "client")) ", " (time(point.transaction.median)) " a transaction" }
                (bar(&parts))
                (labels(&parts, 1, "client"))
            }
        }
        p.small {
            "Network: round trips times the round-trip time."
            @if report.points.len() > SHOWN { " Further numbers of clients are in the table." }
        }
    };
    section("parts", "Client, network, server", content)
}

fn points(report: &SplitReport) -> Markup {
    let Some(first) = report.points.first() else {
        return Markup::default();
    };
    let rows: Vec<Vec<String>> = report.points.iter().map(measured).collect();
    let source = match first.source {
        RoundTripSource::Echo => {
            "an echo's on the server's host, of the same sizes, at the rate of the round trips"
        }
        RoundTripSource::OwnEcho => "an echo's on this machine, where the server is too",
        RoundTripSource::UnixSocket => "an echo's over Unix sockets: there is no network",
        RoundTripSource::Kernel => {
            "the kernel's, without wake-ups and waiting, so that the server's part is too long by these"
        }
    };
    let content = html! {
        (opening::table(
            &[
                "clients", "per second", "transaction", "client", "network", "server",
                "server, bounds", "rtt", "trips", "transactions", "errors",
            ],
            &rows
        ))
        p.small {
            "Clients / per second = client + network + server; the network's part is round trips times the \
             round-trip time. Round-trip times are " (source) ". Where clients wait for processors, the sum is \
             exact, the line between network and server is not."
        }
    };
    section("points", "Measured", content)
}

fn measured(point: &SplitOutcome) -> Vec<String> {
    vec![
        point.clients.to_string(),
        number(point.per_second()),
        time(point.transaction.median),
        time(point.client.median),
        time(point.network.median),
        time(point.server.median),
        format!("{} to {}", time(point.server.low), time(point.server.high)),
        time(point.round_trip.median),
        number(point.turns),
        count(point.transactions),
        count(point.errors),
    ]
}

fn predictions(report: &SplitReport) -> Markup {
    if report.predictions.is_empty() {
        return Markup::default();
    }
    let rows: Vec<Vec<String>> = report.predictions.iter().map(predicted).collect();
    let content = html! {
        (opening::table(
            &["place", "clients", "per second", "transaction", "low", "high", "bound by"],
            &rows
        ))
        (small_print(PREDICTED_CLIENT))
    };
    section("predictions", "Predicted elsewhere", content)
}

fn predicted(prediction: &SplitPrediction) -> Vec<String> {
    let figures = match prediction.forecast {
        Ok(forecast) => [
            prediction.per_second().map_or_else(String::new, number),
            time(forecast.transaction),
            time(forecast.low),
            time(forecast.high),
            busiest_words(forecast.bound_by).to_owned(),
        ],
        Err(_) => {
            let refusal = prediction.refusal().unwrap_or_default();
            let dash = || DASH.to_owned();
            [
                dash(),
                dash(),
                dash(),
                dash(),
                format!("not predicted: {refusal}"),
            ]
        }
    };
    let place = [name_cell(&prediction.place), prediction.clients.to_string()];
    place.into_iter().chain(figures).collect()
}

fn proofs(report: &SplitReport) -> Markup {
    if report.proofs.is_empty() {
        return Markup::default();
    }
    let rows: Vec<Vec<String>> = report.proofs.iter().map(proof).collect();
    let headings = ["link", "clients", "predicted per second", "measured", "error"];
    let table = opening::table(&headings, &rows);
    section("proofs", "Predicted and measured over emulated links", table)
}

fn proof(proof: &SplitPrediction) -> Vec<String> {
    let dash = || DASH.to_owned();
    vec![
        name_cell(&proof.place),
        proof.clients.to_string(),
        proof.per_second().map_or_else(dash, number),
        proof.measured_per_second().map_or_else(dash, number),
        proof
            .error()
            .map_or_else(dash, |error| format!("{:+.1} %", error * 100.0)),
    ]
}

const SHOWN: usize = 16;
