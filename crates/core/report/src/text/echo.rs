//! The view of `echo`.

use super::paragraph::{paragraph, wrapped};
use super::screen::{PAGE, Screen};
use super::style::{Ink, Style};
use super::table::Table;
use super::{WITHHELD, counted, duration_or_dash, prediction::number};
use crate::outcome::EchoReport;
use model::{ByteCount, Direction, EchoOutcome, Warning, WarningKind, format_duration};

impl EchoReport {
    pub fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.warnings.push(Warning::new(kind, text));
    }

    /// The listener's processor time includes that of other clients.
    pub fn note_other_clients(&mut self) {
        let most = self
            .echoes
            .iter()
            .map(|echo| echo.other_clients)
            .max()
            .unwrap_or(0);
        if most > 0 {
            let others = counted(most.into(), "other client");
            self.warn(
                WarningKind::MachineBusy,
                format!(
                    "the other side served {others} at the same time: they count in its processor time, and may lengthen round-trip times"
                ),
            );
        }
        let broken: u64 = self.echoes.iter().map(|echo| echo.errors).sum();
        if broken > 0 {
            let text = format!("{} broke before the end", counted(broken, "stream"));
            self.warn(WarningKind::OperationsFailed, text);
        }
    }

    pub fn has_failures(&self) -> bool {
        self.echoes.iter().any(|echo| echo.errors > 0)
            || (self.echoes.is_empty() && self.bulks.is_empty())
            || self.bulks.iter().any(|bulk| bulk.rate.is_none())
    }
}

pub fn echo_view(report: &EchoReport, style: &Style) -> String {
    if report.echoes.is_empty() && report.bulks.is_empty() {
        return "Nothing was measured.\n".to_owned();
    }
    let mut screen = Screen::new(style);
    if !report.echoes.is_empty() {
        trips(report, style, &mut screen);
    }
    if !report.bulks.is_empty() {
        rates(report, style, &mut screen);
    }
    notes(report).iter().for_each(|note| screen.add_note(note));
    screen.finish(PAGE)
}

fn notes(report: &EchoReport) -> Vec<String> {
    let mut notes = Vec::new();
    if report.same_host {
        notes.push("both sides are on this machine and share its processors".to_owned());
    }
    notes.extend(polling_line(&report.echoes));
    if let Some(floor) = report.floor {
        notes.push(format!(
            "floor {}: the median round-trip time of one stream inside this process, over loopback",
            format_duration(floor)
        ));
    }
    if !report.echoes.is_empty() {
        notes.push(PROCESSOR_TIME.to_owned());
    }
    notes
}

fn trips(report: &EchoReport, style: &Style, screen: &mut Screen<'_>) {
    let spin = if report.echoes.iter().any(|echo| echo.spin) {
        ", both sides polling"
    } else {
        ""
    };
    let mut heading = String::new();
    if let Some(sentence) = report.echoes.first().and_then(|echo| sentence(report, echo)) {
        paragraph(&sentence, "", Ink::Heading, style, &mut heading);
        heading.push('\n');
    }
    let words = format!(
        "TCP round-trip times to {}, {} each{spin}; half of one is one way, as qperf's tcp_lat has it",
        super::escape::printable(&report.server),
        format_duration(report.time)
    );
    paragraph(&words, "", Ink::Heading, style, &mut heading);
    let table = trips_table(&report.echoes);
    let withheld = match table.has_dash(style) {
        true => wrapped(WITHHELD, "  ", Ink::Faint, style),
        false => String::new(),
    };
    screen.table("round-trip times", &heading, &table, &withheld);
}

fn trips_table(echoes: &[EchoOutcome]) -> Table {
    let mut table = Table::new([
        "request",
        "reply",
        "streams",
        "median",
        "p95",
        "p99",
        "per second",
        "cpu here",
        "cpu there",
        "mean",
        "min",
        "max",
        "kernel min",
        "resent",
    ]);
    for echo in echoes {
        table.row([
            ByteCount::from_bytes(echo.request_bytes).to_string(),
            ByteCount::from_bytes(echo.reply_bytes).to_string(),
            echo.streams.to_string(),
            duration_or_dash(echo.spread.p50),
            duration_or_dash(echo.spread.p95),
            duration_or_dash(echo.spread.p99),
            number(echo.per_second),
            duration_or_dash(echo.client_processor_each()),
            duration_or_dash(echo.server_processor_each()),
            duration_or_dash(echo.spread.mean),
            duration_or_dash(echo.spread.min),
            duration_or_dash(echo.spread.max),
            duration_or_dash(echo.kernel_rtt),
            echo.retransmitted.to_string(),
        ]);
    }
    table
}

/// `None` unless this side polled.
fn polling_line(echoes: &[EchoOutcome]) -> Option<String> {
    let sleeping = echoes.iter().filter(|echo| !echo.spin);
    let waited: u64 = sleeping.map(|echo| echo.spread.count).sum();
    let polled: u64 = echoes.iter().map(|echo| echo.polled).sum();
    (polled > 0).then(|| {
        format!(
            "polling found {:.0} % of the replies without a wake-up of this side; --no-spin sleeps, as most applications do",
            polled as f64 / waited as f64 * 100.0
        )
    })
}

/// Of the first combination; `None` without a median.
fn sentence(report: &EchoReport, echo: &EchoOutcome) -> Option<String> {
    let median = echo.spread.p50?;
    let floor = report.floor.map_or_else(String::new, |floor| {
        format!(
            "; {} of it without any distance, inside this machine",
            format_duration(floor.min(median))
        )
    });
    Some(format!(
        "A round trip takes {}, one way {}, in the median{floor}.",
        format_duration(median),
        format_duration(median / 2),
    ))
}

fn rates(report: &EchoReport, style: &Style, screen: &mut Screen<'_>) {
    let words = format!(
        "Rates to and from {}, {} each, and round-trip times without and with that load",
        super::escape::printable(&report.server),
        format_duration(report.time)
    );
    let heading = wrapped(&words, "", Ink::Heading, style);
    let mut table = Table::new([
        "way",
        "rate",
        "rtt idle",
        "rtt loaded",
        "p99 loaded",
        "queue's delay",
        "payload",
        "cpu here",
        "cpu there",
        "resent",
    ]);
    for bulk in &report.bulks {
        table.row([
            match bulk.direction {
                Direction::ClientToServer => "there",
                Direction::ServerToClient => "back",
            }
            .to_owned(),
            bulk.rate
                .map_or_else(|| super::DASH.to_owned(), |rate| rate.to_string()),
            duration_or_dash(bulk.idle.p50),
            duration_or_dash(bulk.loaded.p50),
            duration_or_dash(bulk.loaded.p99),
            duration_or_dash(bulk.queue_delay()),
            ByteCount::from_bytes(bulk.payload_bytes).to_string(),
            duration_or_dash(Some(bulk.client_processor)),
            duration_or_dash(bulk.server_processor),
            bulk.retransmitted
                .map_or_else(|| super::DASH.to_owned(), |count| count.to_string()),
        ]);
    }
    let note = wrapped(RATES, "  ", Ink::Faint, style);
    screen.table("rates", &heading, &table, &note);
}

const PROCESSOR_TIME: &str =
    "cpu: processor time per round trip, of this side's threads and of the other side's process";
const RATES: &str = "rates are of payload by one connection, by the receiver's clock; headers come on top";
