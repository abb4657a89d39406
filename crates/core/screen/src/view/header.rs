use super::bar;
use super::cell_writer::CellWriter;
use crate::look::Ink;
use crate::rows::short;
use crate::state::Screen;
use crate::tab::Tab;
use model::{ByteCount, Direction, Share, counted, format_duration};
use report::text::escape::{cut, printable};
use std::time::Duration;

/// Draws the observation, rates, open connections, waiting time, distance and tabs.
pub(super) fn draw(screen: &Screen, writer: &mut CellWriter<'_>) {
    title(screen, writer, 0);
    writer.write(0, 1, &rates(screen), Ink::Plain);
    open(screen, writer, 2);
    waiting(screen, writer, 3);
    distance(screen, writer, 4);
    let line = writer.look.line().repeat(usize::from(writer.width()));
    writer.write(0, 5, &line, Ink::Faint);
    tabs(screen, writer, 6);
}

fn title(screen: &Screen, writer: &mut CellWriter<'_>, line: u16) {
    let snapshot = &screen.snapshot;
    let mut right = match snapshot.position {
        Some(position) => format!("at {} of {}", clock(position.at), clock(position.of)),
        None => format!("observed {}", clock(snapshot.observed)),
    };
    if let Some(since) = snapshot.since_baseline {
        right = format!("since baseline {}, {right}", clock(since));
    }
    if screen.paused {
        right = format!("PAUSED  {right}");
    }
    let at = writer.write(0, line, "longwire top", Ink::Heading) + 2;
    let room = usize::from(writer.width() - at).saturating_sub(right.len() + 2);
    writer.write(at, line, &cut(&printable(&snapshot.place), room), Ink::Plain);
    writer.write_before(writer.width(), line, &right, Ink::Heading);
}

/// Formats a minute or more as `0:01:12`, less, as in short captures, as `12.3 s`.
fn clock(span: Duration) -> String {
    if span < Duration::from_secs(60) {
        return format!("{:.1} s", span.as_secs_f64());
    }
    let seconds = span.as_secs();
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn rates(screen: &Screen) -> String {
    let current = &screen.snapshot.current;
    let span = |span: Option<Duration>| span.map_or_else(|| "?".to_owned(), format_duration);
    let rates = screen.history.rates();
    let number = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), short);
    let bytes = |of: Option<f64>| match of {
        Some(bytes) => format!("{}/s", ByteCount::from_bytes(bytes.round() as u64)),
        None => "-".to_owned(),
    };
    format!(
        "rtt {}, min {}   round trips/s {}   bytes to server {}, to client {}",
        span(current.rtt),
        span(current.least_rtt),
        number(rates.map(|rates| rates.turns)),
        bytes(rates.map(|rates| rates.payload_bytes[Direction::ClientToServer])),
        bytes(rates.map(|rates| rates.payload_bytes[Direction::ServerToClient])),
    )
}

fn open(screen: &Screen, writer: &mut CellWriter<'_>, line: u16) {
    let current = &screen.snapshot.current;
    let oldest = current.oldest_transaction.map_or_else(String::new, |since| {
        format!(" (oldest {})", format_duration(current.now.since(since)))
    });
    let text = format!(
        "open: {}, {}{oldest}; closed: {}",
        counted(current.open, "connection", "connections"),
        counted(current.transactions, "transaction", "transactions"),
        counted(current.closed, "connection", "connections")
    );
    let mut at = writer.write(0, line, &text, Ink::Plain);
    if let Some(ring) = screen.snapshot.ring {
        let ink = match ring.dropped {
            0 => Ink::Plain,
            _ => Ink::Warning,
        };
        let text = format!(
            "dropped {} of {}",
            ring.dropped,
            counted(ring.passed, "packet", "packets")
        );
        at = writer.write(at + 3, line, &text, ink);
    }
    let warnings = &screen.snapshot.outcome.warnings;
    if let Some(first) = warnings.first() {
        let text = format!("warnings {}: {}", warnings.len(), printable(&first.text));
        writer.write(at + 3, line, &text, Ink::Warning);
    }
}

/// The division of a second of waiting: shares, then the bar.
fn waiting(screen: &Screen, writer: &mut CellWriter<'_>, line: u16) {
    let (parts, mean) = screen.sources().all();
    let mut at = writer.write(0, line, "a second of waiting ", Ink::Plain);
    if mean.is_none() {
        writer.write(at, line, "-", Ink::Plain);
        return;
    }
    let total = parts.total();
    for (name, part, ink) in bar::parts(&parts) {
        if part.is_zero() && matches!(ink, Ink::Pooler | Ink::Faint) {
            continue;
        }
        let share = match Share::from_parts(part, total) {
            Some(share) if !part.is_zero() && share.as_fraction() < 0.005 => "<1 %".to_owned(),
            Some(share) => share.to_string(),
            None => "-".to_owned(),
        };
        at = writer.write(at, line, writer.look.block(ink), ink);
        at = writer.write(at, line, &format!(" {name} {share}  "), Ink::Plain);
    }
    let room = writer.width().saturating_sub(at);
    bar::draw(writer, at, line, room.min(MAX_BAR_WIDTH), &parts);
}

fn distance(screen: &Screen, writer: &mut CellWriter<'_>, line: u16) {
    let Some(link) = screen.distance else {
        let at = writer.write(0, line, "as measured; + moves the database away", Ink::Faint);
        writer.write(at + 3, line, &printable(&screen.snapshot.note), Ink::Plain);
        return;
    };
    let at = writer.write(0, line, &format!("PREDICTED over {link}"), Ink::Predicted);
    let sources = screen.sources();
    let text = match (sources.forecast, sources.all().1) {
        (None, _) => "  ...".to_owned(),
        (Some(forecast), mean) => {
            let here = crate::figures::Sources {
                elsewhere: false,
                ..sources
            };
            let from = here.all().1.map_or_else(|| "-".to_owned(), format_duration);
            let to = mean.map_or_else(|| "-".to_owned(), format_duration);
            let pace = sources
                .pace()
                .map_or_else(String::new, |pace| format!(", calls/s to {:.0} %", pace * 100.0));
            format!(
                "  mean {from} -> {to}{pace}; from the last {} operations",
                forecast.replayed
            )
        }
    };
    writer.write(at, line, &text, Ink::Plain);
}

fn tabs(screen: &Screen, writer: &mut CellWriter<'_>, line: u16) {
    let mut at = 0;
    for tab in Tab::ALL {
        let ink = match tab == screen.tab {
            true => Ink::Selected,
            false => Ink::Plain,
        };
        at = writer.write(at, line, &format!(" {} {} ", tab.index() + 1, tab.title()), ink) + 1;
    }
    if !screen.filter.is_empty() {
        let filter = printable(&screen.filter);
        writer.write(at, line, &format!("filter: {filter}"), Ink::Warning);
    }
}

const MAX_BAR_WIDTH: u16 = 100;
