use model::Sample;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::error::LiveError;
use sys::metrics::MetricsServer;

/// Serves `http://ADDRESS/metrics` until dropped.
#[derive(Debug)]
pub struct Prometheus {
    server: MetricsServer,
    targets: Arc<Mutex<Vec<Figures>>>,
}

#[derive(Debug)]
struct Figures {
    name: String,
    sent: u64,
    lost: u64,
    errors: u64,
    turns: u64,
    kernel_rtt: Option<Duration>,
    time: Histogram,
    round_trip: Histogram,
    server: Histogram,
}

/// Samples at or below each bound, as in Prometheus.
#[derive(Debug, Clone, Default)]
struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Prometheus {
    /// Fails as [`MetricsServer::start`] does.
    pub fn start(address: SocketAddr, targets: &[String]) -> Result<Self, LiveError> {
        let figures: Vec<_> = targets.iter().map(|name| Figures::named(name)).collect();
        let targets = Arc::new(Mutex::new(figures));
        let served = Arc::clone(&targets);
        let server = MetricsServer::start(address, move || {
            page(&served.lock().unwrap_or_else(PoisonError::into_inner))
        })?;
        Ok(Self { server, targets })
    }

    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn sample(&self, target: usize, sample: &Sample) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = targets.get_mut(target) {
            figures.add(sample);
        }
    }
}

impl Figures {
    fn named(name: &str) -> Self {
        Self {
            name: name
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n"),
            sent: 0,
            lost: 0,
            errors: 0,
            turns: 0,
            kernel_rtt: None,
            time: Histogram::default(),
            round_trip: Histogram::default(),
            server: Histogram::default(),
        }
    }

    fn add(&mut self, sample: &Sample) {
        self.turns += sample.turns.unwrap_or(0);
        self.kernel_rtt = sample.kernel_rtt.or(self.kernel_rtt);
        if sample.first {
            return;
        }
        self.sent += 1;
        match (sample.duration, &sample.error) {
            (None, _) => self.lost += 1,
            (Some(_), Some(_)) => self.errors += 1,
            (Some(duration), None) => {
                self.time.add(duration);
                sample
                    .round_trip()
                    .iter()
                    .for_each(|span| self.round_trip.add(*span));
                sample.server.iter().for_each(|span| self.server.add(*span));
            }
        }
    }
}

impl Histogram {
    fn add(&mut self, span: Duration) {
        self.count += 1;
        self.sum += span;
        for (bucket, bound) in self.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(span.as_nanos() <= u128::from(bound) * 1000);
        }
    }

    fn write(&self, out: &mut String, name: &str, target: &str) {
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS) {
            let seconds = bound as f64 / 1e6;
            let _ = writeln!(
                out,
                "{name}_bucket{{target=\"{target}\",le=\"{seconds}\"}} {bucket}"
            );
        }
        let _ = writeln!(
            out,
            "{name}_bucket{{target=\"{target}\",le=\"+Inf\"}} {}",
            self.count
        );
        let _ = writeln!(
            out,
            "{name}_sum{{target=\"{target}\"}} {}",
            self.sum.as_secs_f64()
        );
        let _ = writeln!(out, "{name}_count{{target=\"{target}\"}} {}", self.count);
    }
}

/// Name, help and value.
type Metric<'a, T> = (&'static str, &'static str, fn(&'a Figures) -> T);

fn page(targets: &[Figures]) -> String {
    let mut out = String::new();
    write_counters(targets, &mut out);
    write_histograms(targets, &mut out);
    write_kernel_rtts(targets, &mut out);
    out
}

fn write_counters(targets: &[Figures], out: &mut String) {
    let counters: [Metric<'_, u64>; 4] = [
        (
            "longwire_ping_sent_total",
            "Samples begun, first ones of a connection not counted.",
            |of| of.sent,
        ),
        (
            "longwire_ping_lost_total",
            "Samples without a whole reply in time.",
            |of| of.lost,
        ),
        (
            "longwire_ping_errors_total",
            "Samples answered with an error.",
            |of| of.errors,
        ),
        ("longwire_ping_turns_total", "Round trips of all samples.", |of| {
            of.turns
        }),
    ];
    for (name, help, value) in counters {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
        for figures in targets {
            let _ = writeln!(out, "{name}{{target=\"{}\"}} {}", figures.name, value(figures));
        }
    }
}

fn write_histograms(targets: &[Figures], out: &mut String) {
    let histograms: [Metric<'_, &Histogram>; 3] = [
        (
            "longwire_ping_duration_seconds",
            "From the send to the arrival of the last byte of the reply.",
            |of| &of.time,
        ),
        (
            "longwire_ping_round_trip_seconds",
            "Duration less server time where the server reports it, divided by round trips.",
            |of| &of.round_trip,
        ),
        (
            "longwire_ping_server_seconds",
            "Server time, where the server reports it.",
            |of| &of.server,
        ),
    ];
    for (name, help, value) in histograms {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        for figures in targets {
            value(figures).write(out, name, &figures.name);
        }
    }
}

fn write_kernel_rtts(targets: &[Figures], out: &mut String) {
    let name = "longwire_ping_kernel_rtt_seconds";
    let _ = writeln!(
        out,
        "# HELP {name} The kernel's own smoothed round-trip time of the connection.\n# TYPE {name} gauge"
    );
    for figures in targets {
        if let Some(rtt) = figures.kernel_rtt {
            let _ = writeln!(out, "{name}{{target=\"{}\"}} {}", figures.name, rtt.as_secs_f64());
        }
    }
}

/// Upper bounds in microseconds: 1, 2, 5 per decade, from 20 us to 10 s.
const BOUNDS: [u64; 18] = [
    20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000,
];

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn sample(duration: Option<Duration>) -> Sample {
        Sample {
            number: 1,
            target: "tcp://db1:5432".into(),
            at: Timestamp::from_nanos(0),
            intended_at: None,
            duration,
            server: None,
            first: false,
            turns: Some(1),
            kernel_rtt: Some(Duration::from_millis(40)),
            error: None,
        }
    }

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn what_was_sampled_is_served() {
        let names = ["tcp://a\"b:1".to_owned()];
        let metrics = Prometheus::start(SocketAddr::from(([127, 0, 0, 1], 0)), &names).unwrap();
        metrics.sample(0, &sample(Some(Duration::from_millis(40))));
        metrics.sample(0, &sample(Some(Duration::from_micros(20))));
        metrics.sample(0, &sample(None));
        metrics.sample(7, &sample(None));
        let text = get(metrics.address(), "/metrics");
        for line in [
            "HTTP/1.1 200 OK\r",
            "longwire_ping_sent_total{target=\"tcp://a\\\"b:1\"} 3",
            "longwire_ping_lost_total{target=\"tcp://a\\\"b:1\"} 1",
            "longwire_ping_duration_seconds_bucket{target=\"tcp://a\\\"b:1\",le=\"0.00002\"} 1",
            "longwire_ping_duration_seconds_bucket{target=\"tcp://a\\\"b:1\",le=\"0.05\"} 2",
            "longwire_ping_duration_seconds_bucket{target=\"tcp://a\\\"b:1\",le=\"+Inf\"} 2",
            "longwire_ping_duration_seconds_sum{target=\"tcp://a\\\"b:1\"} 0.04002",
            "longwire_ping_kernel_rtt_seconds{target=\"tcp://a\\\"b:1\"} 0.04",
        ] {
            assert!(
                text.lines().any(|found| found.trim_end() == line.trim_end()),
                "{line} is not in\n{text}"
            );
        }
        assert!(get(metrics.address(), "/").starts_with("HTTP/1.1 404"));
        let taken = Prometheus::start(metrics.address(), &names).unwrap_err();
        assert_eq!(
            taken,
            LiveError::PortInUse {
                address: metrics.address()
            }
        );
    }
}
