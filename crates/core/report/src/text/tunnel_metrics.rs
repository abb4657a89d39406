//! Metrics of one end of a tunnel in Prometheus' text format 0.0.4.

use model::{Direction, TunnelDirection, TunnelTotals};
use std::fmt::Write;

pub fn tunnel_metrics(end: &str, totals: &TunnelTotals) -> String {
    let mut page = Page {
        out: String::new(),
        end,
    };
    for metric in OF_A_WAY {
        page.of_ways(metric, totals);
    }
    page.levels(totals);
    for metric in OF_ALL {
        page.of_all(metric, totals);
    }
    page.out
}

/// Name without `longwire_tunnel_`, type, help, value.
type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> f64);

const OF_A_WAY: [Metric<TunnelDirection>; 8] = [
    (
        "payload_bytes_total",
        COUNTER,
        "Bytes of the database connections.",
        |way| way.payload_bytes as f64,
    ),
    (
        "lane_bytes_total",
        COUNTER,
        "Bytes of the frames that carried them, before encryption and TCP.",
        |way| way.tunnel_bytes as f64,
    ),
    ("chunks_total", COUNTER, "Frames with payload.", |way| {
        way.chunks as f64
    }),
    (
        "stored_chunks_total",
        COUNTER,
        "Frames with payload that was not compressed.",
        |way| way.stored_chunks as f64,
    ),
    (
        "codec_seconds_total",
        COUNTER,
        "Time spent compressing. Sender's end only.",
        |way| way.codec_time.as_secs_f64(),
    ),
    (
        "stalls_total",
        COUNTER,
        "How often bytes waited because a lane had no room.",
        |way| way.stalls as f64,
    ),
    ("stalled_seconds_total", COUNTER, "How long they waited.", |way| {
        way.stalled.as_secs_f64()
    }),
    (
        "reader_stalls_total",
        COUNTER,
        "How often a stream waited for its reader at the other end.",
        |way| way.reader_stalls as f64,
    ),
];

const OF_ALL: [Metric<TunnelTotals>; 8] = [
    ("streams_total", COUNTER, "Database connections carried.", |all| {
        all.streams as f64
    }),
    ("streams", GAUGE, "Database connections open now.", |all| {
        all.open_streams as f64
    }),
    (
        "broken_streams_total",
        COUNTER,
        "Database connections broken off by a reset or a lost lane.",
        |all| all.broken_streams as f64,
    ),
    ("refused_streams_total", COUNTER, "Clients turned away.", |all| {
        all.refused_streams as f64
    }),
    ("lanes", GAUGE, "Lanes up now.", |all| all.lanes as f64),
    ("lane_losses_total", COUNTER, "Lanes that broke.", |all| {
        all.lane_losses as f64
    }),
    (
        "refused_peers_total",
        COUNTER,
        "Connections to the tunnel's port that were refused.",
        |all| all.refused_peers as f64,
    ),
    (
        "processor_seconds_total",
        COUNTER,
        "Processor time of the process.",
        |all| all.processor.as_secs_f64(),
    ),
];

struct Page<'a> {
    out: String,
    end: &'a str,
}

impl Page<'_> {
    fn of_ways(&mut self, (name, kind, help, value): Metric<TunnelDirection>, totals: &TunnelTotals) {
        self.head(name, kind, help);
        for (direction, word) in WAYS {
            let figure = value(totals.direction(direction));
            let end = self.end;
            let _ = writeln!(
                self.out,
                "{PREFIX}{name}{{end=\"{end}\",direction=\"{word}\"}} {figure}"
            );
        }
    }

    /// The compression ratio is payload by lane bytes of the same direction. Readers compute it
    /// over their own period.
    fn levels(&mut self, totals: &TunnelTotals) {
        let name = "level_payload_bytes_total";
        self.head(
            name,
            COUNTER,
            "Payload at each level; 0 is not compressed. Sender's end only.",
        );
        for (direction, word) in WAYS {
            let sent = totals.direction(direction).payload_bytes_at;
            if sent.iter().all(|bytes| *bytes == 0) {
                continue;
            }
            for (level, bytes) in sent.iter().enumerate() {
                let end = self.end;
                let _ = writeln!(
                    self.out,
                    "{PREFIX}{name}{{end=\"{end}\",direction=\"{word}\",level=\"{level}\"}} {bytes}"
                );
            }
        }
    }

    fn of_all(&mut self, (name, kind, help, value): Metric<TunnelTotals>, totals: &TunnelTotals) {
        self.head(name, kind, help);
        let _ = writeln!(
            self.out,
            "{PREFIX}{name}{{end=\"{}\"}} {}",
            self.end,
            value(totals)
        );
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(
            self.out,
            "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}"
        );
    }
}

const PREFIX: &str = "longwire_tunnel_";
const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";
const WAYS: [(Direction, &str); 2] = [
    (Direction::ClientToServer, "client_to_server"),
    (Direction::ServerToClient, "server_to_client"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_of_the_text_format() {
        let mut totals = TunnelTotals {
            streams: 37,
            ..TunnelTotals::default()
        };
        totals.ways[Direction::ServerToClient].payload_bytes = 14_000_000_000_000;
        totals.ways[Direction::ServerToClient].payload_bytes_at[6] = 14;
        let text = tunnel_metrics("far", &totals);
        for line in [
            "# TYPE longwire_tunnel_streams_total counter",
            "longwire_tunnel_streams_total{end=\"far\"} 37",
            "longwire_tunnel_payload_bytes_total{end=\"far\",direction=\"server_to_client\"} 14000000000000",
            "longwire_tunnel_level_payload_bytes_total{end=\"far\",direction=\"server_to_client\",level=\"6\"} 14",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
        assert!(!text.contains("client_to_server\",level"));
        let mut helped = Vec::new();
        for line in text.lines() {
            match line.strip_prefix("# ") {
                Some(comment) => helped.extend(
                    comment
                        .strip_prefix("HELP ")
                        .and_then(|rest| rest.split(' ').next()),
                ),
                None => {
                    let (name, rest) = line.split_once('{').unwrap();
                    assert_eq!(helped.last(), Some(&name), "{line}");
                    let value = rest.split_once("} ").unwrap().1;
                    assert!(value.parse::<f64>().is_ok(), "{line}");
                }
            }
        }
    }
}
