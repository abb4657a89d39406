//! Times of a transfer over links of several rates, round trips and losses, as the table in
//! `transfers.txt`: a change of TCP changes it. `LONGWIRE_BLESS=1` rewrites it.

use link::LinkDescription;
use link::network::{FlowId, NetworkEvent, SimulatedNetwork};
use link::tcp::Waiter;
use model::{Direction, Nanos, Timestamp};
use std::fmt::Write;

const BYTES: u64 = 10_000_000;
const RATES: [&str; 4] = ["1mbit", "10mbit", "100mbit", "1000mbit"];
const RTTS: [&str; 4] = ["1ms", "10ms", "40ms", "120ms"];
const LOSSES: [&str; 4] = ["", "loss=0.05%", "loss=0.1%", "loss=1%"];

/// Seconds until the last byte arrives on a new connection.
fn transfer(link: &str) -> f64 {
    let link: LinkDescription = link.parse().expect("a link");
    let start = Timestamp::from_nanos(1_000_000_000);
    let mut network = SimulatedNetwork::<()>::new(&link, start);
    let connection = network.add_connection(None);
    network.open(connection);
    let flow = FlowId::new(connection, Direction::ServerToClient);
    network.write(flow, BYTES, Nanos::ZERO, Waiter(1));
    while let Some(event) = network.advance() {
        if event == NetworkEvent::Arrived(Waiter(1)) {
            return network.now().nanos_since(start).as_f64() / 1e9;
        }
    }
    panic!("{link} loses bytes")
}

fn table() -> String {
    let mut table = format!("Seconds for {BYTES} bytes\n{:18}", "");
    LOSSES
        .iter()
        .for_each(|loss| write!(table, "{:>12}", loss).expect("a string"));
    for rate in RATES {
        for rtt in RTTS {
            write!(table, "\n{rate:<12}{rtt:<6}").expect("a string");
            for loss in LOSSES {
                let seconds = transfer(&format!("rtt={rtt} rate={rate} seed=1 {loss}"));
                write!(table, "{seconds:>12.3}").expect("a string");
            }
        }
    }
    table + "\n"
}

#[test]
#[expect(clippy::disallowed_methods, reason = "rewrites the table on demand")]
fn a_transfer_takes_what_the_table_says() {
    let table = table();
    if std::env::var_os("LONGWIRE_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transfers.txt");
        return std::fs::write(path, table).expect("written");
    }
    assert_eq!(table, include_str!("transfers.txt"));
}
