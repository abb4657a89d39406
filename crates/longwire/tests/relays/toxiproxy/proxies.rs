//! Create, list, change, disable and enable, populate, reset and delete proxies, including those
//! from the command line.

use crate::toxiproxy::api::{Api, Behind, asked, connected, listens};
use serde_json::{Value, json};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};
use testbed::binary::{records, refused, stderr};
use testbed::waiting::wait_until;
use testbed::{Postgres, Redis, require};

#[test]
fn a_proxy_is_created_listed_shown_and_deleted() {
    let mut behind = Behind::start();
    let shown = behind.api.get("/proxies/redis");
    let expected = json!({
        "name": "redis", "listen": behind.proxy.to_string(), "upstream": format!("127.0.0.1:{}", behind.redis.port()),
        "enabled": true, "toxics": [],
    });
    assert_eq!(shown, expected);
    assert_ne!(behind.proxy.port(), 0);
    assert_eq!(behind.api.get("/proxies"), json!({ "redis": expected }));
    assert_eq!(behind.api.get("/version"), json!({ "version": "2.12.0" }));
    behind.api.delete("/proxies/redis");
    assert_eq!(behind.connection.read(&mut [0]).ok(), Some(0), "it is closed");
    assert!(TcpStream::connect(behind.proxy).is_err(), "nobody listens");
    assert_eq!(behind.api.get("/proxies"), json!({}));
    for (method, path) in [
        ("GET", "/proxies/redis"),
        ("POST", "/proxies/redis"),
        ("DELETE", "/proxies/redis"),
        ("GET", "/proxies/redis/toxics"),
    ] {
        assert_eq!(behind.api.refused(method, path, "{}", 404), "proxy not found");
    }
}

#[test]
fn a_proxy_is_off_and_on_again_at_the_same_address_with_its_toxics() {
    let mut behind = Behind::start();
    behind.api.toxic("latency", "upstream", json!({ "latency": 1 }));
    let off = behind.api.post("/proxies/redis", &json!({ "enabled": false }));
    assert_eq!((&off["enabled"], listens(&off)), (&json!(false), behind.proxy));
    assert_eq!(behind.connection.read(&mut [0]).ok(), Some(0), "it is closed");
    assert!(TcpStream::connect(behind.proxy).is_err(), "nobody listens");
    let (status, on) = behind.api.call("PATCH", "/proxies/redis", r#"{"enabled": true}"#);
    assert_eq!(
        (status, &on["enabled"], listens(&on)),
        (200, &json!(true), behind.proxy)
    );
    assert_eq!(on["toxics"][0]["type"], "latency");
    assert_eq!(asked(&mut connected(behind.proxy), "PING"), "+PONG\r\n");
}

#[test]
fn another_upstream_closes_what_is_open_and_the_same_does_not() {
    let mut behind = Behind::start();
    let port = behind.proxy.port();
    let same = json!({ "listen": format!("localhost:{port}"), "enabled": true });
    behind.api.post("/proxies/redis", &same);
    assert_eq!(asked(&mut behind.connection, "PING"), "+PONG\r\n");
    let other = Redis::start();
    let changed = behind.api.post(
        "/proxies/redis",
        &json!({ "upstream": format!("127.0.0.1:{}", other.port()) }),
    );
    assert_eq!(listens(&changed), behind.proxy);
    assert_eq!(behind.connection.read(&mut [0]).ok(), Some(0), "it is closed");
    let mut direct = connected(([127, 0, 0, 1], other.port()).into());
    assert_eq!(asked(&mut direct, "SET here yes"), "+OK\r\n");
    let mut through = connected(behind.proxy);
    assert_eq!(asked(&mut through, "EXISTS here"), ":1\r\n");
}

#[test]
fn names_and_ports_that_are_taken_are_conflicts_as_toxiproxy_calls_them() {
    let behind = Behind::start();
    let again = json!({ "name": "redis", "upstream": "127.0.0.1:1" }).to_string();
    assert_eq!(
        behind.api.refused("POST", "/proxies", &again, 409),
        "proxy already exists"
    );
    let taken = json!({ "name": "b", "listen": behind.proxy.to_string(), "upstream": "127.0.0.1:1" });
    assert_eq!(
        behind.api.refused("POST", "/proxies", &taken.to_string(), 500),
        format!("listen tcp {}: bind: address already in use", behind.proxy)
    );
    let nowhere = json!({ "name": "c", "listen": "192.0.2.1:1", "upstream": "127.0.0.1:1" });
    let refused = behind.api.refused("POST", "/proxies", &nowhere.to_string(), 500);
    assert_eq!(
        refused,
        "listen tcp 192.0.2.1:1: bind: cannot assign requested address"
    );
    assert!(behind.api.get("/proxies").get("b").is_none());
    let missing = [
        r#"{"upstream": "a:1"}"#,
        r#"{"name": "x"}"#,
        r#"{"name": "", "upstream": "a:1"}"#,
        "null",
    ];
    let fields = missing.map(|body| behind.api.refused("POST", "/proxies", body, 400));
    let expected =
        ["name", "upstream", "name", "name"].map(|field| format!("missing required field: {field}"));
    assert_eq!(fields, expected);
}

#[test]
fn populate_keeps_what_is_the_same_replaces_what_is_not_and_reports_what_was_done() {
    let mut behind = Behind::start();
    let upstream = format!("127.0.0.1:{}", behind.redis.port());
    let kept = json!({ "name": "redis", "listen": behind.proxy.to_string(), "upstream": upstream });
    let list =
        json!([kept, { "name": "off", "listen": "127.0.0.1:0", "upstream": upstream, "enabled": false }]);
    let answer = behind.api.post("/populate", &list);
    let names: Vec<&Value> = answer["proxies"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|proxy| &proxy["name"])
        .collect();
    assert_eq!(names, ["redis", "off"]);
    assert_eq!(answer["proxies"][1]["enabled"], json!(false));
    assert_eq!(
        asked(&mut behind.connection, "PING"),
        "+PONG\r\n",
        "it was not replaced"
    );
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address");
    let list = json!([
        { "name": "new", "listen": "127.0.0.1:0", "upstream": upstream },
        { "name": "bad", "listen": port.to_string(), "upstream": upstream },
        { "name": "never", "listen": "127.0.0.1:0", "upstream": upstream },
    ]);
    let (status, answer) = behind.api.call("POST", "/populate", &list.to_string());
    assert_eq!((status, &answer["status"]), (500, &json!(500)));
    assert_eq!(answer["proxies"].as_array().map(Vec::len), Some(1), "{answer}");
    assert!(
        answer["error"]
            .as_str()
            .is_some_and(|error| error.ends_with("address already in use"))
    );
    let all = behind.api.get("/proxies");
    assert_eq!(all["new"]["enabled"], json!(true));
    assert!(all.get("bad").is_none() && all.get("never").is_none());
    let list = r#"[{"name": "a", "upstream": "b:1"}, {"upstream": "b:1"}]"#;
    let refused = behind.api.refused("POST", "/populate", list, 400);
    assert_eq!(refused, "missing required field: name at proxy 2");
}

#[test]
fn reset_switches_on_and_removes_every_toxic_of_open_connections_too() {
    let mut behind = Behind::start();
    let upstream = format!("127.0.0.1:{}", behind.redis.port());
    behind.api.post(
        "/proxies",
        &json!({ "name": "off", "listen": "127.0.0.1:0", "upstream": upstream, "enabled": false }),
    );
    behind.api.toxic("bandwidth", "downstream", json!({ "rate": 0 }));
    behind
        .api
        .toxic("latency", "upstream", json!({ "latency": 60_000 }));
    assert_eq!(
        behind.api.get("/proxies/redis/toxics").as_array().map(Vec::len),
        Some(2)
    );
    std::io::Write::write_all(&mut behind.connection, b"PING\r\n").expect("it is sent");
    assert_eq!(behind.api.call("POST", "/reset", "").0, 204);
    assert_eq!(crate::toxiproxy::api::line(&mut behind.connection), "+PONG\r\n");
    let all = behind.api.get("/proxies");
    assert_eq!(
        (&all["redis"]["toxics"], &all["off"]["enabled"]),
        (&json!([]), &json!(true))
    );
    assert_eq!(asked(&mut connected(listens(&all["off"])), "PING"), "+PONG\r\n");
}

#[test]
fn a_client_whose_upstream_is_not_there_is_closed() {
    let api = Api::start(&[]);
    let free = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    let proxy = api.proxy("nobody", free.port());
    assert_eq!(connected(proxy).read(&mut [0]).ok(), Some(0));
}

#[test]
fn targets_of_the_command_line_are_proxies_and_the_run_is_summed_up() {
    let server = Postgres::start();
    let api = Api::start(&["--json", &server.url()]);
    let proxy = api.get("/proxies/postgres");
    let psql = |value: &str| {
        let url = format!("postgres://{}@{}/postgres", Postgres::USER, listens(&proxy));
        let output = Command::new(require("psql"))
            .args(["-X", "-A", "-t", "-c", value, &url])
            .output();
        let output = output.expect("psql starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(psql("select 6 * 7"), "42\n");
    api.post(
        "/proxies/postgres/toxics",
        &json!({ "type": "slicer", "attributes": { "average_size": 3, "size_variation": 2 } }),
    );
    assert_eq!(
        psql("select sum(n) from generate_series(1, 10000) n"),
        "50005000\n"
    );
    let rows = psql("select n from generate_series(1, 3000) n");
    assert_eq!(rows.lines().count(), 3000);
    wait_until("the connections to end", || {
        api.get("/proxies/postgres")["enabled"] == true
    });
    let output = api.program.interrupt();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("Relayed 3 connections: "),
        "{}",
        stderr(&output)
    );
    let records = records(&output);
    let summary = records.last().expect("a summary");
    assert_eq!(
        (&summary["type"], &summary["connections"]),
        (&json!("summary"), &json!(3))
    );
}

#[test]
fn the_proxy_of_a_target_is_over_its_link_and_toxics_come_on_top() {
    let redis = Redis::start();
    let api = Api::start(&["--json", &redis.url(), "--link", "rtt=60ms"]);
    let proxy = api.get("/proxies/redis");
    assert_eq!(proxy["upstream"], format!("127.0.0.1:{}", redis.port()));
    let mut connection = connected(listens(&proxy));
    let mut took = || {
        let began = Instant::now();
        assert_eq!(asked(&mut connection, "PING"), "+PONG\r\n");
        began.elapsed()
    };
    took();
    assert!(took() >= Duration::from_millis(60));
    let toxic = json!({ "type": "latency", "attributes": { "latency": 40 } });
    api.post("/proxies/redis/toxics", &toxic);
    assert!(took() >= Duration::from_millis(100));
    let output = api.program.interrupt();
    let link = records(&output)
        .into_iter()
        .find(|record| record["type"] == "link");
    assert!(link.is_some(), "{}", stderr(&output));
}

#[test]
fn nothing_is_left_of_connections_and_proxies_that_are_over() {
    let behind = Behind::start();
    let process = format!("/proc/{}", behind.api.program.id());
    let count = |what: &str| std::fs::read_dir(format!("{process}/{what}")).map_or(0, Iterator::count);
    // Earlier requests may still hold theirs.
    let before = ["fd", "task"].map(count);
    behind.api.toxic("latency", "upstream", json!({ "latency": 1 }));
    for number in 0..10 {
        let name = format!("more{number}");
        let proxy = behind.api.proxy(&name, behind.redis.port());
        for _ in 0..10 {
            assert_eq!(asked(&mut connected(proxy), "PING"), "+PONG\r\n");
            assert_eq!(asked(&mut connected(behind.proxy), "PING"), "+PONG\r\n");
        }
        behind.api.delete(&format!("/proxies/{name}"));
    }
    wait_until("descriptors and threads to be given back", || {
        let now = ["fd", "task"].map(count);
        now[0] <= before[0] && now[1] <= before[1]
    });
}

#[test]
fn what_does_not_go_together_is_refused() {
    refused(
        &["relay", "--api", "127.0.0.1:0", "--link", "rtt=1ms"],
        &["--link is for a target"],
    );
    refused(
        &["relay", "--api", "127.0.0.1:0", "redis://h", "--", "true"],
        &["--api"],
    );
    refused(&["relay", "redis://h", "--seed", "3"], &["--api"]);
    refused(&["relay"], &["required"]);
    refused(
        &["relay", "--api", "127.0.0.1:0", "postgres://h?sslmode=require"],
        &["pass TLS through"],
    );
}
