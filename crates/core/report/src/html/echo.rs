//! The page of `echo`: round trips of each combination on one axis, or the rate each way.

use super::markup::{DASH, count, counted, number, section, small_print, time, time_or_dash};
use super::opening::{self, Opening};
use super::spreads;
use crate::outcome::EchoReport;
use maud::{Markup, html};
use model::{BulkOutcome, ByteCount, Conditions, Direction, EchoOutcome};
use std::io;

pub fn write_echo(report: &EchoReport, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    let floor = report.floor.map_or_else(String::new, |floor| {
        format!(
            " The floor, the round-trip time inside this process, is {}.",
            time(floor)
        )
    });
    let here = if report.same_host {
        " Both sides are on this machine and share its processors."
    } else {
        ""
    };
    opening::write(
        &Opening {
            title: &format!("TCP to {}", report.server),
            lead: &format!("Each combination for {}.{floor}{here}", time(report.time)),
            answer: &answer(report),
        },
        vec![trips(&report.echoes), rates(&report.bulks)],
        &report.warnings,
        conditions,
        out,
    )
}

fn answer(report: &EchoReport) -> String {
    if let Some(echo) = report.echoes.first() {
        return format!(
            "A round trip of {} takes {} (median of {}).",
            sizes(echo),
            time_or_dash(echo.spread.p50),
            count(echo.spread.count)
        );
    }
    let rates = report.bulks.iter().filter_map(|bulk| {
        bulk.rate
            .map(|rate| format!("{rate} {}", direction(bulk.direction)))
    });
    let rates: Vec<String> = rates.collect();
    match rates.is_empty() {
        true => "Nothing was measured.".to_owned(),
        false => format!("One connection carries {}.", rates.join(" and ")),
    }
}

fn sizes(echo: &EchoOutcome) -> String {
    format!(
        "{} there and {} back, {}",
        ByteCount::from_bytes(echo.request_bytes),
        ByteCount::from_bytes(echo.reply_bytes),
        counted(echo.streams.into(), "stream")
    )
}

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::ClientToServer => "there",
        Direction::ServerToClient => "back",
    }
}

fn trips(echoes: &[EchoOutcome]) -> Markup {
    if echoes.is_empty() {
        return Markup::default();
    }
    let drawn: Vec<spreads::Row<'_>> = echoes
        .iter()
        .map(|echo| {
            let name = format!(
                "{}/{} bytes, {} at once",
                echo.request_bytes, echo.reply_bytes, echo.streams
            );
            (name, &echo.spread)
        })
        .collect();
    let rows: Vec<Vec<String>> = echoes.iter().map(trip).collect();
    let content = html! {
        (spreads::draw(["request and reply, streams", "round trip"], &drawn))
        (opening::table(
            &[
                "request", "reply", "streams", "median", "95 %", "99 %", "longest", "per second",
                "processor here", "processor there", "kernel", "resent", "broken",
            ],
            &rows
        ))
        (small_print(
            "Round trips are whole ones, both ways; half of one is one way. Processor time is of one round trip. \
             A dash: too few samples, or not known."
        ))
    };
    section("trips", "Round trips", content)
}

fn trip(echo: &EchoOutcome) -> Vec<String> {
    vec![
        ByteCount::from_bytes(echo.request_bytes).to_string(),
        ByteCount::from_bytes(echo.reply_bytes).to_string(),
        echo.streams.to_string(),
        time_or_dash(echo.spread.p50),
        time_or_dash(echo.spread.p95),
        time_or_dash(echo.spread.p99),
        time_or_dash(echo.spread.max),
        number(echo.per_second),
        time_or_dash(echo.client_processor_each()),
        time_or_dash(echo.server_processor_each()),
        time_or_dash(echo.kernel_rtt),
        count(echo.retransmitted),
        count(echo.errors),
    ]
}

fn rates(bulks: &[BulkOutcome]) -> Markup {
    if bulks.is_empty() {
        return Markup::default();
    }
    let drawn: Vec<spreads::Row<'_>> = bulks
        .iter()
        .flat_map(|bulk| {
            let way = direction(bulk.direction);
            [
                (format!("{way}, idle"), &bulk.idle),
                (format!("{way}, loaded"), &bulk.loaded),
            ]
        })
        .collect();
    let rows: Vec<Vec<String>> = bulks.iter().map(rate).collect();
    let content = html! {
        (spreads::draw(["way of the load", "round trip"], &drawn))
        (opening::table(
            &["way", "rate", "rtt idle", "loaded", "queue's delay", "payload", "resent"],
            &rows
        ))
        (small_print("Rates are of payload by one connection, by the receiver's clock; headers come on top."))
    };
    section(
        "rates",
        "Rates, and round-trip times without and with that load",
        content,
    )
}

fn rate(bulk: &BulkOutcome) -> Vec<String> {
    vec![
        direction(bulk.direction).to_owned(),
        bulk.rate.map_or_else(|| DASH.to_owned(), |rate| rate.to_string()),
        time_or_dash(bulk.idle.p50),
        time_or_dash(bulk.loaded.p50),
        time_or_dash(bulk.queue_delay()),
        ByteCount::from_bytes(bulk.payload_bytes).to_string(),
        bulk.retransmitted.map_or_else(|| DASH.to_owned(), count),
    ]
}
