//! The model against Linux: transfers measured with the kernel's TCP (6.18, cubic, default buffers) between two network
//! namespaces through an emulated link, in `data/linux-tcp-6.18.txt`.
//!
//! Each line: the link; the exchanges of one connection as `idle_ms:request_bytes:reply_bytes`; the time of the
//! handshake and of each exchange at the client in microseconds (medians of three runs); the least of the three.

mod made;

use link::{LinkDescription, TCP_HEADER_BYTES};
use made::{Made, in_sequence};
use predict::{Target, replay};
use std::time::Duration;

const MEASURED: &str = include_str!("data/linux-tcp-6.18.txt");

/// One measured connection.
struct Connection {
    link: LinkDescription,
    text: String,
    exchanges: Vec<(u64, u64, u64)>,
    micros: Vec<f64>,
}

/// One exchange: measured and predicted microseconds.
struct Compared {
    what: String,
    measured: f64,
    predicted: f64,
}

impl Compared {
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

fn connections() -> Vec<Connection> {
    MEASURED
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
                micros: columns[2]
                    .split(' ')
                    .map(|number| number.parse().expect("a number"))
                    .collect(),
            }
        })
        .collect()
}

/// What both hosts and the emulator add to a round trip of minimal packets: the median over all handshakes. It is
/// what a measurement at no distance would call server time.
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
            connection.micros[0] - (connection.link.rtt + serialised).as_secs_f64() * 1e6
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
    let target = Target {
        link: connection.link,
        clients: 1,
    };
    let replayed = replay(&operation, &target, &|_| true);
    let predicted = replayed
        .steps
        .iter()
        .map(|step| (step.completed - step.started).as_secs_f64() * 1e6);
    predicted
        .zip(&connection.micros)
        .enumerate()
        .map(|(index, (predicted, &measured))| {
            let exchange = index.checked_sub(1).map(|index| connection.exchanges[index]);
            Compared {
                what: format!("{} #{index} {exchange:?}", connection.text),
                measured,
                predicted,
            }
        })
        .collect()
}

#[test]
#[expect(
    clippy::disallowed_macros,
    reason = "the figures of docs/prediction.md, shown with --nocapture"
)]
fn predictions_agree_with_the_kernel() {
    let connections = connections();
    let floor = floor(&connections);
    let mut compared: Vec<Compared> = connections
        .iter()
        .flat_map(|connection| compare(connection, floor))
        .collect();
    compared.sort_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    let shown = |compared: &Compared| {
        let Compared {
            what,
            measured,
            predicted,
        } = compared;
        format!(
            "{what}: measured {measured:.0} us, predicted {predicted:.0} us, {:+.1} %",
            compared.error() * 100.0
        )
    };
    let percent = |share: usize| compared[(compared.len() - 1) * share / 100].error().abs() * 100.0;
    println!("floor {floor:?}, {} exchanges", compared.len());
    println!(
        "error p50 {:.2} % p90 {:.2} % p99 {:.2} % max {:.2} %",
        percent(50),
        percent(90),
        percent(99),
        percent(100)
    );
    for worst in compared.iter().rev().take(60) {
        println!("{}", shown(worst));
    }
    assert!(percent(50) <= 3.0, "median error {:.2} %", percent(50));
    let worst = compared.last().expect("measurements");
    assert!(percent(100) <= 10.0, "{}", shown(worst));
}
