//! Arithmetic of `estimate`: figures of an operation instead of an observed one.

use link::LinkDescription;
use model::{ByteCount, Compression, Estimate, KnownOperation, RowTransfer};
use std::fmt;
use std::time::Duration;

/// How long an operation took, and the round-trip time there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredTime {
    pub time: Duration,
    pub rtt: Duration,
}

impl MeasuredTime {
    /// Of a closed loop: each of `clients` has one operation after another.
    pub fn from_throughput(per_second: f64, clients: u32, think: Duration, rtt: Duration) -> Self {
        let cycle = span(f64::from(clients) / per_second);
        Self {
            time: cycle.saturating_sub(think),
            rtt,
        }
    }

    /// Time without the network.
    ///
    /// # Errors
    /// When the round trips alone take longer.
    pub fn work(&self, round_trips: f64) -> Result<Duration, ContradictoryFigures> {
        let network = span(round_trips * self.rtt.as_secs_f64());
        self.time.checked_sub(network).ok_or(ContradictoryFigures {
            round_trips,
            rtt: self.rtt,
            network,
            time: self.time,
        })
    }
}

/// Round trips that take longer than the operation they belong to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContradictoryFigures {
    round_trips: f64,
    rtt: Duration,
    network: Duration,
    time: Duration,
}

impl fmt::Display for ContradictoryFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} round trips of {} take {}, longer than the operation ({})",
            self.round_trips,
            model::format_duration(self.rtt),
            model::format_duration(self.network),
            model::format_duration(self.time)
        )
    }
}

impl std::error::Error for ContradictoryFigures {}

/// `operation` over `link`, with rows if it transfers any.
///
/// Of a link only rtt, rate and mtu have a meaning here.
pub fn estimate(
    operation: &KnownOperation,
    rows: Option<RowTransfer>,
    compression: Option<Compression>,
    link: &LinkDescription,
) -> Estimate {
    let payload = operation.payload.as_bytes() as f64;
    let sent = payload / compression.map_or(1.0, |compression| compression.ratio);
    let round_trips = span(operation.round_trips * link.rtt.as_secs_f64());
    let transfer = transfer(sent, link);
    let compressing = compression
        .and_then(|compression| compression.bytes_per_second)
        .map_or(Duration::ZERO, |speed| span(payload / speed));
    let parts = [round_trips, transfer, compressing, operation.think];
    let work = operation.work.unwrap_or_default();
    let cycle = parts.into_iter().fold(work, Duration::saturating_add);
    let shared = transfer.saturating_mul(operation.clients);
    Estimate {
        link: link.to_string().into(),
        rtt: link.rtt,
        packets: rows.map(|rows| packets(&rows, link)),
        rows,
        operation: *operation,
        round_trips,
        transfer,
        compressing,
        waiting: shared.saturating_sub(cycle),
        sent: ByteCount::from_bytes(sent.round() as u64),
        is_compressed: compression.is_some(),
    }
}

/// A request for each buffer, and the packets that its rows fill.
fn packets(rows: &RowTransfer, link: &LinkDescription) -> u64 {
    let per_packet = u64::from(link.payload_per_packet());
    let packets_of = |count: u64| (count.saturating_mul(rows.row_bytes.as_bytes())).div_ceil(per_packet);
    let full = rows.rows / rows.rows_per_buffer();
    let last = rows.rows % rows.rows_per_buffer();
    rows.buffers() + full.saturating_mul(packets_of(rows.rows_per_buffer())) + packets_of(last)
}

/// At the lower of the link's two rates.
fn transfer(payload: f64, link: &LinkDescription) -> Duration {
    let Some(rate) = link.rate.into_array().into_iter().flatten().min() else {
        return Duration::ZERO;
    };
    let packets = (payload / f64::from(link.payload_per_packet())).ceil();
    let bytes = payload + packets * f64::from(link::TCP_HEADER_BYTES);
    span(bytes * 8.0 / rate.as_bits_per_second() as f64)
}

fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(work: Option<Duration>, round_trips: f64) -> KnownOperation {
        KnownOperation {
            work,
            round_trips,
            payload: ByteCount::default(),
            clients: 1,
            think: Duration::ZERO,
        }
    }

    fn micros(micros: f64) -> Duration {
        span(micros / 1e6)
    }

    /// Throughput at another one-way latency, from one throughput at one latency.
    fn elsewhere(per_second: f64, clients: u32, one_way: [f64; 2]) -> f64 {
        let [here, there] = one_way.map(|latency| micros(2.0 * latency));
        let measured = MeasuredTime::from_throughput(per_second, clients, Duration::ZERO, here);
        let known = KnownOperation {
            clients,
            ..operation(measured.work(1.0).ok(), 1.0)
        };
        let there = estimate(&known, None, None, &LinkDescription::with_rtt(there));
        there.per_second().unwrap()
    }

    #[test]
    fn throughput_of_select_1_at_another_latency() {
        assert_eq!(elsewhere(36_938.0, 1, [5.16, 13.6]).round(), 22_752.0);
        assert_eq!(elsewhere(1_575_989.0, 64, [11.8, 61.8]).round(), 455_163.0);
    }

    #[test]
    fn a_page_takes_its_work_and_its_round_trips() {
        let page = |round_trips, rtt| {
            let link = LinkDescription::with_rtt(Duration::from_millis(rtt));
            let work = Some(Duration::from_micros(12_300));
            estimate(&operation(work, round_trips), None, None, &link).time()
        };
        assert_eq!(
            [10, 40, 120].map(|rtt| page(4.0, rtt)),
            [52_300, 172_300, 492_300].map(Duration::from_micros)
        );
        assert_eq!(
            [10, 40].map(|rtt| page(27.2, rtt)),
            [284_300, 1_100_300].map(Duration::from_micros)
        );
    }

    #[test]
    fn rows_cross_a_buffer_at_a_time() {
        let rows = |rows, buffer| RowTransfer {
            rows,
            row_bytes: ByteCount::from_bytes(322),
            buffer: ByteCount::from_bytes(buffer),
        };
        assert_eq!(rows(32_000, 322).buffers(), 32_000);
        // 12 rows of 322 bytes in 4096, 101 in 32768.
        assert_eq!(rows(32_000, 4096).buffers(), 2667);
        assert_eq!(rows(32_000, 32_768).buffers(), 317);
        assert_eq!(rows(10, 0).rows_per_buffer(), 1);
        assert_eq!(rows(0, 4096).buffers(), 0);
        // Each buffer is a request and three packets of 1448 bytes; the last one holds 8 rows.
        let link = LinkDescription::with_rtt(Duration::ZERO);
        assert_eq!(packets(&rows(32_000, 4096), &link), 2667 + 2666 * 3 + 2);
        let loopback: LinkDescription = "mtu=65535".parse().unwrap();
        assert_eq!(packets(&rows(117_158, 4096), &loopback), 2 * 9764);
    }

    #[test]
    fn clients_share_the_rate_of_a_link() {
        // 1448 bytes are a packet of 1500: 12 ms at 1 Mbit/s.
        let link: LinkDescription = "rtt=10ms rate=1mbit".parse().unwrap();
        let of = |clients, think| {
            let known = KnownOperation {
                payload: ByteCount::from_bytes(1448),
                clients,
                think,
                ..operation(Some(Duration::from_millis(8)), 1.0)
            };
            estimate(&known, None, None, &link).time()
        };
        assert_eq!(of(1, Duration::ZERO), Duration::from_millis(30));
        assert_eq!(of(2, Duration::ZERO), Duration::from_millis(30));
        assert_eq!(of(10, Duration::ZERO), Duration::from_millis(120));
        assert_eq!(of(10, Duration::from_millis(50)), Duration::from_millis(70));
    }

    #[test]
    fn compression_pays_below_a_rate() {
        let fast = Compression {
            ratio: 5.0,
            bytes_per_second: Some(10e6),
        };
        let rate = fast.pays_below().unwrap();
        assert_eq!(rate, 64e6);
        let known = KnownOperation {
            payload: ByteCount::from_bytes(14_480_000),
            ..operation(Some(Duration::ZERO), 0.0)
        };
        let time = |compression, rate: f64| {
            let link: LinkDescription = format!("rate={rate}bit").parse().unwrap();
            estimate(&known, None, compression, &link).time()
        };
        assert!(time(Some(fast), rate * 0.9) < time(None, rate * 0.9));
        // Headers, 3.6 % more bytes, lift the rate a little.
        assert!(time(Some(fast), rate * 1.1) > time(None, rate * 1.1));
        let free = Compression {
            bytes_per_second: None,
            ..fast
        };
        assert_eq!(free.pays_below(), None);
    }

    #[test]
    fn figures_beyond_all_time_saturate() {
        let link: LinkDescription = "rtt=1h rate=1bit".parse().unwrap();
        let known = KnownOperation {
            payload: ByteCount::from_bytes(u64::MAX),
            clients: 1_000_000,
            think: Duration::MAX,
            ..operation(Some(Duration::MAX), 1e9)
        };
        let there = estimate(&known, None, None, &link);
        assert_eq!(there.time(), Duration::MAX);
        assert!(there.per_second().is_some());
    }

    #[test]
    fn figures_that_contradict_are_an_error() {
        let measured = MeasuredTime {
            time: Duration::from_millis(12),
            rtt: Duration::from_millis(10),
        };
        assert_eq!(measured.work(1.0), Ok(Duration::from_millis(2)));
        assert_eq!(
            measured.work(4.0).unwrap_err().to_string(),
            "4 round trips of 10.0 ms take 40.0 ms, longer than the operation (12.0 ms)"
        );
    }
}
