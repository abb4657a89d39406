//! Compares the model with Linux: transfers measured with the kernel's TCP (6.18, cubic, default
//! buffers) between two network namespaces over an emulated link, in `data/linux-tcp-6.18.txt`.
//!
//! Each line has the link, then the exchanges of one connection as
//! `idle_ms:request_bytes:reply_bytes`, then per run the microseconds of the handshake and each
//! exchange at the client. There are three runs, or nine where they differed.

mod made;

use link::{LinkDescription, TCP_HEADER_BYTES};
use made::{Made, in_sequence};
use model::{Operation, PerDirection, Prediction};
use predict::{PredictionTarget, Predictor, Senders, WakeUp, replay};
use std::time::Duration;

const UNBOUNDED_QUEUE: &str = include_str!("data/linux-tcp-6.18.txt");
const BBR: &str = include_str!("data/linux-tcp-6.18-bbr.txt");
const BOUNDED_QUEUE: &str = include_str!("data/linux-tcp-6.18-queue.txt");

struct Connection {
    link: LinkDescription,
    text: String,
    exchanges: Vec<(u64, u64, u64)>,
    /// Per exchange, handshake first: ascending microseconds of the runs.
    runs: Vec<Vec<f64>>,
}

struct Compared {
    what: String,
    runs: Vec<f64>,
    predicted: f64,
    /// Whether the send buffer may have blocked the application, see [`waits_for_buffer`].
    known: bool,
}

impl Compared {
    /// Against the median, or the nearest run where the kernel's times clearly differ between runs
    /// (a timer or buffer at its limit).
    fn error(&self) -> f64 {
        let to = |measured: f64| self.predicted / measured - 1.0;
        if self.is_repeatable() {
            return to(median(&self.runs));
        }
        self.runs
            .iter()
            .map(|&run| to(run))
            .min_by(|a, b| a.abs().total_cmp(&b.abs()))
            .unwrap_or(f64::NAN)
    }

    fn is_repeatable(&self) -> bool {
        let (least, greatest) = (self.runs[0], self.runs[self.runs.len() - 1]);
        greatest <= 1.1 * least
    }
}

fn median(ascending: &[f64]) -> f64 {
    ascending[(ascending.len() - 1) / 2]
}

fn connections(measured: &str) -> Vec<Connection> {
    measured
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            let exchanges = columns[1].split(' ').map(|exchange| {
                let numbers: Vec<u64> = exchange
                    .split(':')
                    .map(|number| number.parse().expect("a number"))
                    .collect();
                (numbers[0], numbers[1], numbers[2])
            });
            Connection {
                link: columns[0].parse().expect("a link"),
                text: columns[0].to_owned(),
                exchanges: exchanges.collect(),
                runs: by_exchange(columns[2]),
            }
        })
        .collect()
}

/// Transposes runs of exchanges into exchanges of runs.
fn by_exchange(runs: &str) -> Vec<Vec<f64>> {
    let mut exchanges: Vec<Vec<f64>> = Vec::new();
    for run in runs.split(';') {
        for (index, micros) in run.split_whitespace().enumerate() {
            exchanges.resize(exchanges.len().max(index + 1), Vec::new());
            exchanges[index].push(micros.parse().expect("a number"));
        }
    }
    exchanges.iter_mut().for_each(|runs| runs.sort_by(f64::total_cmp));
    exchanges
}

/// Overhead of both hosts and the emulator per minimal round trip: the median of all handshakes. A
/// measurement without distance would count it as server time.
fn floor(connections: &[Connection]) -> Duration {
    let mut added: Vec<f64> = connections
        .iter()
        .map(|connection| {
            let serialised: Duration = connection
                .link
                .rate
                .iter()
                .flatten()
                .map(|rate| rate.time_for(u64::from(TCP_HEADER_BYTES) + 8))
                .sum();
            median(&connection.runs[0]) - (connection.link.rtt + serialised).as_secs_f64() * 1e6
        })
        .collect();
    added.sort_by(f64::total_cmp);
    Duration::from_secs_f64(added[added.len() / 2] / 1e6)
}

fn compare(connection: &Connection, floor: Duration) -> Vec<Compared> {
    let mut exchanges = vec![Made::handshake().server(floor)];
    exchanges.extend(connection.exchanges.iter().map(|&(idle, request, reply)| {
        Made::query(request, reply)
            .server(floor)
            .client_before(Duration::from_millis(idle))
    }));
    let operation = in_sequence(Duration::ZERO, &exchanges);
    let target = PredictionTarget {
        link: connection.link,
        clients: 1,
    };
    let replayed = replay(&operation, &target, WakeUp::None, &|_| true);
    let predicted = replayed
        .steps
        .iter()
        .map(|step| (step.completed - step.started).as_secs_f64() * 1e6);
    let known = waits_for_buffer(&connection.exchanges);
    predicted
        .zip(&connection.runs)
        .enumerate()
        .map(|(index, (predicted, runs))| {
            let exchange = index.checked_sub(1).map(|index| connection.exchanges[index]);
            Compared {
                what: format!("{} #{index} {exchange:?}", connection.text),
                runs: runs.clone(),
                predicted,
                known: index.checked_sub(1) == known,
            }
        })
        .collect()
}

/// The exchange in which Linux may make a sender wait one more round trip than the model: the
/// second on a connection whose message exceeds the send buffer's first size (87,040 bytes of
/// memory, 85 kB of payload). The buffer grows during the first such message or at the first
/// acknowledgement of the second, depending on the run.
fn waits_for_buffer(exchanges: &[(u64, u64, u64)]) -> Option<usize> {
    let large = |&&(_, request, reply): &&(u64, u64, u64)| request.max(reply) > 85_000;
    let position = |number: usize| {
        exchanges
            .iter()
            .enumerate()
            .filter(|(_, one)| large(one))
            .nth(number)
    };
    position(1).map(|(index, _)| index)
}

/// Without a rate, the emulator's speed (about 2 Gbit/s on the measuring machine) limits large
/// transfers, not TCP: these are not compared.
fn is_limited_by_emulator(connection: &Connection) -> bool {
    let bytes: u64 = connection
        .exchanges
        .iter()
        .map(|(_, request, reply)| request + reply)
        .max()
        .unwrap_or(0);
    connection.link.rate == PerDirection::default()
        && (connection.link.rtt < Duration::from_millis(10) || bytes > 300_000)
}

fn compare_all(measured: &str) -> Vec<Compared> {
    let mut connections = connections(measured);
    connections.retain(|connection| !is_limited_by_emulator(connection));
    let floor = floor(&connections);
    let mut compared: Vec<Compared> = connections
        .iter()
        .flat_map(|connection| compare(connection, floor))
        .collect();
    compared.sort_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    compared
}

fn percent(compared: &[Compared], share: usize) -> f64 {
    compared[(compared.len() - 1) * share / 100].error().abs() * 100.0
}

/// Compared as text, so that a change of the model is a change of this test.
fn figures(compared: &[Compared]) -> String {
    let [p50, p90, p95, p99] = [50, 90, 95, 99].map(|share| percent(compared, share));
    format!(
        "{} exchanges: p50 {p50:.2} % p90 {p90:.2} % p95 {p95:.2} % p99 {p99:.2} %",
        compared.len()
    )
}

fn shown(compared: &Compared) -> String {
    let Compared {
        what,
        runs,
        predicted,
        ..
    } = compared;
    let (measured, error) = (median(runs), compared.error() * 100.0);
    format!("{what}: measured {measured:.0} us, predicted {predicted:.0} us, {error:+.1} %")
}

#[expect(
    clippy::disallowed_macros,
    reason = "the figures of docs/accuracy.md, shown with --nocapture"
)]
fn show(compared: &[Compared]) {
    let unrepeatable = compared
        .iter()
        .filter(|compared| !compared.is_repeatable())
        .count();
    println!("{}", figures(compared));
    println!("in {unrepeatable} the kernel's runs differ by more than 10 %");
    compared
        .iter()
        .rev()
        .take(20)
        .for_each(|worst| println!("{}", shown(worst)));
}

#[test]
fn predictions_agree_with_the_kernel() {
    let compared = compare_all(UNBOUNDED_QUEUE);
    show(&compared);
    assert_eq!(
        figures(&compared),
        "1717 exchanges: p50 0.05 % p90 1.07 % p95 3.16 % p99 5.68 %"
    );
    let unrepeatable = compared
        .iter()
        .filter(|compared| !compared.is_repeatable())
        .count();
    assert!(
        unrepeatable * 20 <= compared.len(),
        "{unrepeatable} exchanges cannot be judged"
    );
    let (known, missed): (Vec<&Compared>, Vec<&Compared>) = compared
        .iter()
        .filter(|compared| compared.error().abs() > 0.1)
        .partition(|compared| compared.known);
    assert!(
        missed.is_empty(),
        "{}",
        missed.into_iter().map(shown).collect::<Vec<_>>().join("\n")
    );
    assert!(
        known.len() * 100 <= compared.len(),
        "{} exchanges waited for the send buffer",
        known.len()
    );
}

/// When a queue overflows, losses and recovery dominate and predictions are less certain. The goal
/// of at most 10 % is missed here; docs/accuracy.md has the figures.
#[test]
fn most_predictions_agree_where_a_queue_overflows() {
    let compared = compare_all(BOUNDED_QUEUE);
    show(&compared);
    assert_eq!(
        figures(&compared),
        "85 exchanges: p50 0.06 % p90 0.26 % p95 0.39 % p99 1.90 %"
    );
}

fn predictions(connection: &Connection, floor: Duration, senders: Senders) -> Vec<Prediction> {
    let target = PredictionTarget {
        link: connection.link,
        clients: 1,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|_| true)).with_senders(senders);
    let mut add = |name: usize, before: Option<&Operation>, idle: u64, made: Made| {
        let mut operation = Operation {
            name: name.to_string().into(),
            id: name as u64,
            ..in_sequence(Duration::ZERO, &[made.server(floor)])
        };
        if let Some(before) = before {
            operation.at = before.at.after(before.duration + Duration::from_millis(idle));
        }
        predictor.add(&operation);
        operation
    };
    let mut last = add(0, None, 0, Made::handshake());
    for (index, &(idle, request, reply)) in connection.exchanges.iter().enumerate() {
        last = add(index + 1, Some(&last), idle, Made::query(request, reply));
    }
    // Restore the order of the exchanges: the most expensive come first.
    let mut predictions = predictor.finish();
    predictions.sort_by_key(|prediction| prediction.operation_name.parse::<usize>().expect("a number"));
    predictions
}

/// Share of exchanges with the measured median within the bounds, and the median half width of the
/// bounds as a share of the prediction.
fn coverage(measured: &str) -> (f64, f64) {
    let mut connections = connections(measured);
    connections.retain(|connection| !is_limited_by_emulator(connection));
    let floor = floor(&connections);
    let (mut held, mut widths) = (0, Vec::new());
    for connection in &connections {
        for (prediction, runs) in predictions(connection, floor, Senders::AsMeasured)
            .iter()
            .zip(&connection.runs)
        {
            let truth = Duration::from_secs_f64(median(runs) / 1e6);
            held += usize::from((prediction.low..=prediction.high).contains(&truth));
            let width = (prediction.high - prediction.low).as_secs_f64() / 2.0;
            widths.push(width / prediction.duration.as_secs_f64());
        }
    }
    widths.sort_by(f64::total_cmp);
    (held as f64 / widths.len() as f64, median(&widths))
}

#[test]
#[expect(
    clippy::disallowed_macros,
    reason = "the figures of docs/accuracy.md, shown with --nocapture"
)]
fn bounds_hold_what_was_measured_nine_times_in_ten_and_are_not_absurdly_wide() {
    for measured in [UNBOUNDED_QUEUE, BOUNDED_QUEUE] {
        let (held, width) = coverage(measured);
        println!("held {:.1} %, +- {:.1} % (median)", held * 100.0, width * 100.0);
        assert!(held >= 0.9, "{held}");
        assert!(width <= 0.05, "{width}");
    }
}

/// Exchanges with the kernel's BBR at both ends, predicted for `senders`.
fn compare_bbr(senders: Senders) -> Vec<Compared> {
    let connections = connections(BBR);
    let floor = floor(&connections);
    let mut compared: Vec<Compared> = Vec::new();
    for connection in &connections {
        let predictions = predictions(connection, floor, senders);
        for (index, (prediction, runs)) in predictions.iter().zip(&connection.runs).enumerate() {
            compared.push(Compared {
                what: format!("{} #{index} of {:?}", connection.text, connection.exchanges),
                runs: runs.clone(),
                predicted: prediction.duration.as_secs_f64() * 1e6,
                known: false,
            });
        }
    }
    compared.sort_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    compared
}

#[test]
fn predictions_agree_with_the_kernel_where_it_sends_as_bbr() {
    let compared = compare_bbr(Senders::Paced);
    show(&compared);
    assert_eq!(
        [&compared, &compare_bbr(Senders::AsMeasured)].map(|compared| figures(compared)),
        [
            "636 exchanges: p50 0.20 % p90 2.83 % p95 3.78 % p99 5.90 %",
            "636 exchanges: p50 0.58 % p90 26.52 % p95 36.22 % p99 72.11 %"
        ]
    );
}
