//! The view of `estimate`.

use super::escape::printable;
use super::paragraph::wrapped;
use super::screen::Screen;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::{EstimateBase, EstimateReport};
use model::{BitRate, Compression, Estimate, Share};
use std::time::Duration;

pub fn estimate_view(report: &EstimateReport, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if let Some(here) = &report.here {
        screen.put(&wrapped(&base_words(here), "", Ink::Heading, style));
    }
    let compression = report.compression.as_ref().map(compression_words);
    let model = match report.here {
        Some(_) => WITH_WORK,
        None => NETWORK_ONLY,
    };
    let notes = compression.as_deref().into_iter().chain([model]);
    let notes: String = notes.map(|note| wrapped(note, "  ", Ink::Faint, style)).collect();
    screen.table("estimates", "", &table(&report.estimates), &notes);
    screen.finish("")
}

fn base_words(here: &EstimateBase) -> String {
    let trips = match here.round_trips {
        1.0 => format!("a round trip of {}", precise(here.rtt)),
        trips => format!("{trips} round trips of {}", precise(here.rtt)),
    };
    let all = precise(here.time);
    if here.rtt.is_zero() {
        return format!("{all} is client and server: no --measured-rtt was given");
    }
    let share = Share::from_parts(here.time - here.work, here.time);
    let share = share.map_or_else(|| super::DASH.to_owned(), |share| share.to_string());
    format!(
        "{share} of {all} is the network, {trips}; client and server take {}",
        precise(here.work)
    )
}

type Cell = fn(&Estimate) -> Option<String>;

/// A column without any value is left out.
const COLUMNS: [(&str, Cell); 12] = [
    ("link", |estimate| Some(printable(&estimate.link).into_owned())),
    ("buffer", |estimate| {
        estimate.rows.map(|rows| rows.buffer.to_string())
    }),
    ("trips", |estimate| Some(trips(estimate.operation.round_trips))),
    ("packets", |estimate| {
        estimate.packets.map(|packets| packets.to_string())
    }),
    ("bytes", |estimate| {
        (estimate.sent.as_bytes() > 0).then(|| estimate.sent.to_string())
    }),
    ("time", |estimate| Some(precise(estimate.time()))),
    ("per second", |estimate| estimate.per_second().map(rate)),
    ("network", |estimate| {
        estimate.network_share().map(|share| share.to_string())
    }),
    ("round trips", |estimate| span(estimate.round_trips)),
    ("transfer", |estimate| span(estimate.transfer)),
    ("waiting", |estimate| span(estimate.waiting)),
    ("compressing", |estimate| span(estimate.compressing)),
];

fn table(estimates: &[Estimate]) -> Table {
    let columns: Vec<(&str, Cell)> = COLUMNS
        .into_iter()
        .filter(|(_, cell)| estimates.iter().any(|estimate| cell(estimate).is_some()))
        .collect();
    let mut table = Table::new(columns.iter().map(|(heading, _)| *heading));
    for estimate in estimates {
        let cells = columns.iter().map(|(_, cell)| cell(estimate));
        table.row(cells.map(|cell| cell.unwrap_or_else(|| super::DASH.to_owned())));
    }
    table
}

fn compression_words(compression: &Compression) -> String {
    let below = compression.pays_below().map(|rate| rate.round() as u64);
    match below.map(BitRate::from_bits_per_second) {
        None => "compression pays at every rate: its own time was not given (--compress-rate)".to_owned(),
        Some(None) => "compression never pays: it saves no byte".to_owned(),
        Some(Some(rate)) => format!(
            "compression pays below {rate} ({:.1} MB/s)",
            rate.as_bits_per_second() as f64 / 8e6
        ),
    }
}

fn span(span: Duration) -> Option<String> {
    (!span.is_zero()).then(|| precise(span))
}

/// Four significant digits: inputs are as exact as they were typed.
fn precise(span: Duration) -> String {
    let nanos = span.as_nanos() as f64;
    let (value, unit) = match nanos {
        nanos if nanos < 1e3 => return format!("{} ns", span.as_nanos()),
        nanos if nanos < 999_950.0 => (nanos / 1e3, "us"),
        nanos if nanos < 999_950_000.0 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    let decimals = match value {
        value if value < 9.9995 => 3,
        value if value < 99.995 => 2,
        value if value < 999.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

fn trips(trips: f64) -> String {
    let decimals = usize::from(trips.fract() != 0.0);
    format!("{trips:.decimals$}")
}

fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 100.0 => format!("{rate:.2}"),
        rate => format!("{rate:.0}"),
    }
}

const WITH_WORK: &str = "client and server + round trips x rtt + bytes / rate; predict also knows TCP";
const NETWORK_ONLY: &str = "round trips x rtt + bytes / rate; for client and server give --duration";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        let of = |nanos| precise(Duration::from_nanos(nanos));
        assert_eq!(
            [
                of(999),
                of(16_752),
                of(52_300_000),
                of(1_100_300_000),
                of(340_000_000_000)
            ],
            ["999 ns", "16.75 us", "52.30 ms", "1.100 s", "340.0 s"]
        );
    }
}
