//! The view of one end of a tunnel.

use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash};
use model::{ByteCount, PerDirection, TunnelDirection, TunnelTotals, format_duration};
use std::fmt::Write;

pub fn tunnel_view(end: &str, totals: &TunnelTotals, style: &Style) -> String {
    let heading = format!(
        "Tunnel, {end} end: {} in {}",
        counted(totals.streams, "stream"),
        format_duration(totals.elapsed)
    );
    let mut out = format!("{}\n", style.paint(Ink::Heading, &heading));
    ways(totals, style, &mut out);
    for (way, name) in totals.ways.iter().zip(&NAMES) {
        if let Some(levels) = levels(way) {
            let text = format!("levels {name}: {levels}");
            paragraph(&text, "  ", Ink::Plain, style, &mut out);
        }
    }
    let mut line = |text: &str| paragraph(text, "  ", Ink::Plain, style, &mut out);
    line(&processor(totals));
    line(&lanes(totals));
    if let Some(trouble) = trouble(totals) {
        line(&trouble);
    }
    out
}

fn ways(totals: &TunnelTotals, style: &Style, out: &mut String) {
    let mut table = Table::new([
        "",
        "payload",
        "tunnelled",
        "ratio",
        "codec",
        "stalls",
        "stalled",
        "at reader",
    ]);
    for (way, name) in totals.ways.iter().zip(&NAMES) {
        table.row([
            (*name).to_owned(),
            ByteCount::from_bytes(way.payload_bytes).to_string(),
            ByteCount::from_bytes(way.tunnel_bytes).to_string(),
            way.ratio()
                .filter(|_| way.payload_bytes > 0)
                .map_or_else(|| DASH.to_owned(), |ratio| format!("{ratio:.1}")),
            duration_or_dash(way.is_sent_here().then_some(way.codec_time)),
            way.stalls.to_string(),
            format_duration(way.stalled),
            way.reader_stalls.to_string(),
        ]);
    }
    table.render(style, out);
}

/// Share of payload by level, as in `0 4 %, 1 96 %`. `None` if this end sent no payload.
fn levels(way: &TunnelDirection) -> Option<String> {
    let all: u64 = way.payload_bytes_at.iter().sum();
    let shares = way
        .payload_bytes_at
        .iter()
        .zip(0..)
        .filter(|(bytes, _)| **bytes > 0);
    let words: Vec<_> = shares
        .map(|(bytes, level)| {
            let name = if level == 0 {
                "off".to_owned()
            } else {
                format!("level {level}")
            };
            match bytes * 100 / all.max(1) {
                0 => format!("{name} under 1 %"),
                percent => format!("{name} {percent} %"),
            }
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn processor(totals: &TunnelTotals) -> String {
    let time = format_duration(totals.processor);
    match totals.processors() {
        Some(processors) => format!("processor time {time}: {processors:.2} of one on average"),
        None => format!("processor time {time}"),
    }
}

fn lanes(totals: &TunnelTotals) -> String {
    let mut text = format!("{} up", counted(totals.lanes, "lane"));
    if totals.lane_losses > 0 {
        let _ = write!(text, ", {} lost", totals.lane_losses);
    }
    if totals.open_streams > 0 {
        let _ = write!(text, "; {} still open", counted(totals.open_streams, "stream"));
    }
    text
}

/// Lists failures, or `None` if there were none.
fn trouble(totals: &TunnelTotals) -> Option<String> {
    let parts: Vec<_> = [
        (totals.broken_streams, "stream", "broken off"),
        (totals.refused_streams, "client", "turned away"),
        (totals.refused_peers, "connection", "to the tunnel's port refused"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, word, what)| format!("{} {what}", counted(count, word)))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

const NAMES: PerDirection<&str> = PerDirection::new("to the server", "to the client");

#[cfg(test)]
mod tests {
    use super::*;
    use model::Direction;
    use std::time::Duration;

    #[test]
    fn what_it_did_fits_a_few_lines() {
        let mut totals = TunnelTotals {
            streams: 37,
            lanes: 2,
            processor: Duration::from_millis(1_230),
            elapsed: Duration::from_secs(60),
            ..TunnelTotals::default()
        };
        totals.ways[Direction::ServerToClient] = TunnelDirection {
            payload_bytes: 14_000_000,
            tunnel_bytes: 1_000_000,
            codec_time: Duration::from_millis(90),
            stalls: 12,
            stalled: Duration::from_secs(2),
            ..TunnelDirection::default()
        };
        totals.ways[Direction::ClientToServer].payload_bytes = 4_000;
        totals.ways[Direction::ClientToServer].tunnel_bytes = 5_000;
        totals.ways[Direction::ClientToServer].payload_bytes_at[0] = 3_990;
        totals.ways[Direction::ClientToServer].payload_bytes_at[6] = 10;
        let text = tunnel_view("near", &totals, &Style::default());
        let expected = "\
Tunnel, near end: 37 streams in 60.0 s
                 payload  tunnelled  ratio  codec  stalls  stalled  at reader
  to the server  4.00 kB    5.00 kB    0.8   0 ns       0     0 ns          0
  to the client  14.0 MB    1.00 MB   14.0      -      12   2.00 s          0
  levels to the server: off 99 %, level 6 under 1 %
  processor time 1.23 s: 0.02 of one on average
  2 lanes up
";
        assert_eq!(text, expected);
        totals.refused_peers = 1;
        totals.broken_streams = 3;
        totals.lane_losses = 1;
        let text = tunnel_view("near", &totals, &Style::default());
        assert!(text.ends_with(
            "  2 lanes up, 1 lost\n  3 streams broken off, 1 connection to the tunnel's port refused\n"
        ));
    }
}
