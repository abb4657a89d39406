//! Jobs over an emulated link.

use super::{bench, run, shape};
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Job, Observer};
use relay::Relay;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::StopToken;
use sys::{Clock, Target};
use testbed::{MariaDb, Postgres};
use tune::Shape;

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}

impl ObserverFactory for Nobody {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Nobody)
    }
}

/// A relay to `port` with a link of 5 ms.
pub fn far(port: u16) -> (Relay, SocketAddr) {
    let options = relay::Options {
        link: Some("rtt=5ms".parse().unwrap()),
        ..relay::Options::new(Target::tcp("127.0.0.1", port))
    };
    let relay = relay::start(options, Clock::anchored_now(), Arc::new(Nobody)).unwrap();
    let address = relay.local_addr();
    (relay, address)
}

pub fn every_turn_costs_the_distance(postgres: &Postgres, mariadb: &MariaDb) {
    for (url, port, copy) in [
        (postgres.url(), postgres.port(), "copy"),
        (mariadb.url(), mariadb.port(), "load data"),
    ] {
        let (relay, address) = far(port);
        let stop = StopToken::never();
        let mut bench = bench(&url, "far", &stop);
        let shape = Shape { rows: 50, ..shape() };
        let prepared = bench.prepare(&shape).unwrap();
        let mut job = |name, value| {
            let outcome = run(
                bench.as_mut(),
                &prepared,
                (Job::Insert, name),
                value,
                Some(address),
            )
            .unwrap();
            let floor = Duration::from_millis(5) * u32::try_from(outcome.turns.unwrap()).unwrap();
            assert!(
                outcome.duration >= floor,
                "{name}: {:?} in {:?} round trips",
                outcome.duration,
                outcome.turns
            );
            outcome.duration
        };
        let row_by_row = job("row by row", None);
        assert!(row_by_row >= Duration::from_millis(250));
        assert!(job(copy, Some(4096)) < row_by_row / 3);
        assert!(job("pipeline", Some(32)) < row_by_row / 3);
        bench.clean_up().unwrap();
        relay.stop(Duration::from_secs(5));
    }
}
