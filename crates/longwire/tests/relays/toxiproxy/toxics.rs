//! Every toxic on an open Redis connection. Times are only checked against lower bounds, because
//! `timing.rs` checks accuracy.

use crate::toxiproxy::api::{Behind, asked, connected, line};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let value = work();
    (began.elapsed(), value)
}

#[test]
fn a_toxic_is_added_shown_changed_and_removed() {
    let behind = Behind::start();
    let added = behind
        .api
        .toxic("latency", "upstream", json!({ "latency": 100, "jitter": 10.0 }));
    let expected = json!({
        "name": "latency_upstream", "type": "latency", "stream": "upstream", "toxicity": 1.0,
        "attributes": { "latency": 100, "jitter": 10 },
    });
    assert_eq!(added, expected);
    let path = "/proxies/redis/toxics/latency_upstream";
    assert_eq!(behind.api.get(path), expected);
    let changed = behind
        .api
        .post(path, &json!({ "attributes": { "latency": 7 }, "toxicity": 0.5 }));
    assert_eq!(
        changed["attributes"],
        json!({ "latency": 7, "jitter": 10 }),
        "the rest stays"
    );
    assert_eq!(changed["toxicity"], json!(0.5));
    behind.api.toxic("noop", "downstream", json!(null));
    let names: Vec<_> = behind
        .api
        .get("/proxies/redis/toxics")
        .as_array()
        .expect("a list")
        .iter()
        .map(|toxic| toxic["name"].clone())
        .collect();
    assert_eq!(names, ["latency_upstream", "noop_downstream"]);
    behind.api.delete(path);
    assert_eq!(behind.api.refused("GET", path, "", 404), "toxic not found");
    assert_eq!(behind.api.refused("DELETE", path, "", 404), "toxic not found");
    assert_eq!(behind.api.refused("POST", path, "{}", 404), "toxic not found");
}

#[test]
fn a_toxic_that_cannot_be_is_refused_as_toxiproxy_does() {
    let behind = Behind::start();
    behind.api.toxic("noop", "downstream", json!({}));
    let add = |body: &str, status| behind.api.refused("POST", "/proxies/redis/toxics", body, status);
    assert_eq!(add(r#"{"type": "gremlin"}"#, 400), "invalid toxic type");
    assert_eq!(add(r#"{"type": "noop"}"#, 409), "toxic already exists");
    let stream = "stream was invalid, can be either upstream or downstream";
    assert_eq!(add(r#"{"type": "noop", "stream": "sideways"}"#, 400), stream);
    for attributes in [
        r#"{"latency": -1}"#,
        r#"{"latency": 1.5}"#,
        r#"{"latency": "1"}"#,
        "[]",
        r#"{"latency": 1e300}"#,
    ] {
        let refused = add(
            &format!(r#"{{"type": "latency", "attributes": {attributes}}}"#),
            400,
        );
        assert!(refused.starts_with("bad request body: "), "{refused}");
    }
    assert_eq!(
        behind.api.get("/proxies/redis/toxics").as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn latency_is_added_to_an_open_connection_and_taken_away() {
    let mut behind = Behind::start();
    behind
        .api
        .toxic("latency", "downstream", json!({ "latency": 60 }));
    behind.api.toxic("latency", "upstream", json!({ "latency": 40 }));
    let (took, answer) = timed(|| asked(&mut behind.connection, "PING"));
    assert_eq!(answer, "+PONG\r\n");
    assert!(took >= Duration::from_millis(100), "{took:?}");
    behind.api.post(
        "/proxies/redis/toxics/latency_upstream",
        &json!({ "attributes": { "latency": 140 } }),
    );
    let (took, _) = timed(|| asked(&mut behind.connection, "PING"));
    assert!(took >= Duration::from_millis(200), "{took:?}");
    // Held for an hour, and released by removal.
    behind.api.post(
        "/proxies/redis/toxics/latency_upstream",
        &json!({ "attributes": { "latency": 3_600_000 } }),
    );
    behind.connection.write_all(b"PING\r\n").expect("it is sent");
    behind.api.delete("/proxies/redis/toxics/latency_upstream");
    behind.api.delete("/proxies/redis/toxics/latency_downstream");
    assert_eq!(line(&mut behind.connection), "+PONG\r\n");
}

#[test]
fn bandwidth_limits_a_reply_and_nothing_of_it_is_lost() {
    let mut behind = Behind::start();
    let value = "abcdefghij".repeat(5000);
    let header = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}", value.len());
    assert_eq!(asked(&mut behind.connection, &header), "+OK\r\n");
    behind
        .api
        .toxic("bandwidth", "downstream", json!({ "rate": 200 }));
    let (took, text) = timed(|| {
        assert_eq!(asked(&mut behind.connection, "GET k"), "$50000\r\n");
        line(&mut behind.connection)
    });
    assert_eq!(text, value + "\r\n");
    assert!(
        took >= Duration::from_millis(250),
        "50,000 bytes at 200 KB/s: {took:?}"
    );
}

#[test]
fn slow_close_delays_the_end_alone() {
    let mut behind = Behind::start();
    behind
        .api
        .toxic("slow_close", "downstream", json!({ "delay": 150 }));
    let (took, _) = timed(|| {
        assert_eq!(asked(&mut behind.connection, "QUIT"), "+OK\r\n");
        behind.connection.read(&mut [0])
    });
    assert!(took >= Duration::from_millis(150), "{took:?}");
}

#[test]
fn timeout_drops_and_closes_and_without_a_time_holds_until_it_is_removed() {
    let mut behind = Behind::start();
    behind.api.toxic("timeout", "upstream", json!({ "timeout": 120 }));
    let (took, read) = timed(|| {
        behind.connection.write_all(b"PING\r\n").expect("it is sent");
        behind.connection.read(&mut [0])
    });
    assert_eq!(read.ok(), Some(0), "closed without an answer");
    // The toxic started slightly before the clock.
    assert!(took >= Duration::from_millis(60), "{took:?}");
    behind.api.delete("/proxies/redis/toxics/timeout_upstream");
    let mut held = connected(behind.proxy);
    assert_eq!(asked(&mut held, "PING"), "+PONG\r\n");
    behind.api.toxic("timeout", "downstream", json!({}));
    held.write_all(b"PING\r\n").expect("it is sent");
    held.set_read_timeout(Some(Duration::from_millis(100)))
        .expect("a timeout");
    let silent = held.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(silent, Err(ErrorKind::WouldBlock), "neither an answer nor an end");
    behind.api.delete("/proxies/redis/toxics/timeout_downstream");
    assert_eq!(held.read(&mut [0]).ok(), Some(0), "closed by the removal");
    assert_eq!(asked(&mut connected(behind.proxy), "PING"), "+PONG\r\n");
}

#[test]
fn reset_peer_resets_open_and_new_connections() {
    let mut behind = Behind::start();
    behind
        .api
        .toxic("reset_peer", "downstream", json!({ "timeout": 0 }));
    let mut fresh = connected(behind.proxy);
    for connection in [&mut behind.connection, &mut fresh] {
        connection.write_all(b"PING\r\n").expect("it is sent");
        let read = connection.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::ConnectionReset));
    }
}

#[test]
fn slicer_sends_slices_and_nothing_of_them_is_lost() {
    let mut behind = Behind::start();
    let value = "0123456789".repeat(40);
    assert_eq!(
        asked(&mut behind.connection, &format!("SET k {value}")),
        "+OK\r\n"
    );
    behind.api.toxic(
        "slicer",
        "downstream",
        json!({ "average_size": 50, "size_variation": 10, "delay": 5000 }),
    );
    let (took, received) = timed(|| {
        behind.connection.write_all(b"GET k\r\n").expect("it is sent");
        [line(&mut behind.connection), line(&mut behind.connection)].concat()
    });
    assert_eq!(received, format!("$400\r\n{value}\r\n"));
    // 408 bytes take at least 7 slices of 60.
    assert!(took >= Duration::from_millis(30), "{took:?}");
}

#[test]
fn limit_data_closes_after_its_bytes() {
    let mut behind = Behind::start();
    behind
        .api
        .toxic("limit_data", "downstream", json!({ "bytes": 10 }));
    behind
        .connection
        .write_all(b"PING\r\nPING\r\n")
        .expect("it is sent");
    let mut received = Vec::new();
    behind
        .connection
        .read_to_end(&mut received)
        .expect("an orderly end");
    assert_eq!(received, b"+PONG\r\n+PO");
}

#[test]
fn toxicity_is_the_share_of_connections_and_the_seed_decides_which() {
    let concerned = || {
        let behind = Behind::start();
        let half = json!({ "type": "limit_data", "toxicity": 0.5, "attributes": { "bytes": 0 } });
        behind.api.post("/proxies/redis/toxics", &half);
        let closed = (0..40).map(|_| {
            let mut connection = connected(behind.proxy);
            connection.write_all(b"PING\r\n").expect("it is sent");
            connection.read(&mut [0]).ok() == Some(0)
        });
        closed.collect::<Vec<bool>>()
    };
    let first = concerned();
    let count = first.iter().filter(|closed| **closed).count();
    assert!((8..=32).contains(&count), "{count} of 40");
    assert_eq!(first, concerned());
}

#[test]
fn a_half_closed_connection_still_carries_the_other_half() {
    let mut behind = Behind::start();
    behind
        .api
        .toxic("latency", "downstream", json!({ "latency": 50 }));
    behind
        .connection
        .write_all(b"PING\r\nECHO last\r\n")
        .expect("it is sent");
    behind
        .connection
        .shutdown(std::net::Shutdown::Write)
        .expect("half of it");
    let mut received = String::new();
    behind
        .connection
        .read_to_string(&mut received)
        .expect("an orderly end");
    assert_eq!(received, "+PONG\r\n$4\r\nlast\r\n");
}

#[test]
fn many_connections_lose_nothing_while_toxics_come_and_go() {
    let behind = Behind::start();
    let values: Vec<String> = (0..40).map(|number| format!("{number}-").repeat(5000)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let talking: Vec<_> = values
            .iter()
            .map(|value| scope.spawn(|| echoes(&mut connected(behind.proxy), value)))
            .collect();
        let changing = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                behind
                    .api
                    .toxic("latency", "upstream", json!({ "latency": 3, "jitter": 2 }));
                behind.api.toxic(
                    "slicer",
                    "downstream",
                    json!({ "average_size": 700, "size_variation": 300, "delay": 20 }),
                );
                behind
                    .api
                    .toxic("bandwidth", "downstream", json!({ "rate": 5000 }));
                let path = "/proxies/redis/toxics/latency_upstream";
                behind
                    .api
                    .post(path, &json!({ "attributes": { "latency": 1 }, "toxicity": 0.5 }));
                assert_eq!(behind.api.call("POST", "/reset", "").0, 204);
            }
        });
        let ended = talking.into_iter().map(std::thread::ScopedJoinHandle::join);
        let failed = ended.filter(Result::is_err).count();
        done.store(true, Ordering::Relaxed);
        changing.join().expect("every change is taken");
        assert_eq!(failed, 0, "connections that lost something");
    });
}

fn echoes(connection: &mut std::net::TcpStream, text: &str) {
    let command = format!("*2\r\n$4\r\nECHO\r\n${}\r\n{text}", text.len());
    for _ in 0..10 {
        assert_eq!(asked(connection, &command), format!("${}\r\n", text.len()));
        assert!(line(connection).trim_end() == text, "an echo is another text");
    }
}
