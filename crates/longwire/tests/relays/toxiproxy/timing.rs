//! Checks the accuracy of latency toxics.

use crate::toxiproxy::api::{Behind, asked};
use serde_json::json;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use testbed::floor::told_on_failure;

#[test]
#[ignore = "timing: make test runs it alone"]
fn the_latency_asked_for_is_what_round_trips_get_longer_by() {
    let _floor = told_on_failure();
    let mut behind = Behind::start();
    let without = median(&mut behind.connection);
    behind.api.toxic("latency", "downstream", json!({ "latency": 0 }));
    for latency in [5, 20, 100_u64] {
        let path = "/proxies/redis/toxics/latency_downstream";
        behind
            .api
            .post(path, &json!({ "attributes": { "latency": latency } }));
        let added = median(&mut behind.connection).saturating_sub(without);
        let off = added.abs_diff(Duration::from_millis(latency));
        println!("latency {latency} ms: added {added:?}, off by {off:?}; without {without:?}");
        assert!(
            off < Duration::from_millis(1),
            "{latency} ms: {added:?} were added"
        );
    }
}

fn median(connection: &mut TcpStream) -> Duration {
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let began = Instant::now();
            asked(connection, "PING");
            began.elapsed()
        })
        .collect();
    times.sort();
    times[50]
}
