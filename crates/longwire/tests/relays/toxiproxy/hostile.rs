//! Malformed requests, and clients that do not read: the API keeps serving others, with bounded
//! resources.

use crate::toxiproxy::api::{Api, Behind, asked, connected};
use serde_json::json;
use std::io::{Read, Write};

#[test]
fn what_is_no_request_is_refused_with_a_status() {
    let api = Api::start(&[]);
    let cases: [(&[u8], u16); 9] = [
        (b"\x16\x03\x01\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET http://elsewhere/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / SPDY/3\r\n\r\n", 400),
        (b"GET /proxies HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST /proxies HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
        (
            b"POST /proxies HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            400,
        ),
        (b"POST /proxies HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 411),
        (
            b"POST /proxies HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            400,
        ),
    ];
    for (request, status) in cases {
        let (found, body) = api.raw(request);
        assert_eq!(found, status, "{} {body}", String::from_utf8_lossy(request));
    }
    assert_eq!(api.call("GET", "/nowhere", "").0, 404);
    assert_eq!(api.call("PUT", "/proxies", "").0, 405);
    assert_eq!(api.get("/proxies"), json!({}));
}

#[test]
fn bodies_and_heads_that_are_too_large_are_refused_without_being_kept() {
    let api = Api::start(&[]);
    let (status, _) = api.raw(b"POST /populate HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n");
    assert_eq!(status, 413);
    let sent = [
        b"POST /populate HTTP/1.1\r\nContent-Length: 4000000\r\n\r\n".to_vec(),
        vec![b' '; 4_000_000],
    ];
    assert_eq!(api.raw(&sent.concat()).0, 413, "it answers though all is sent");
    let chunked = b"POST /populate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n";
    assert_eq!(api.raw(chunked).0, 413);
    let head = format!("GET /proxies HTTP/1.1\r\nCookie: {}\r\n\r\n", "x".repeat(40_000));
    assert_eq!(api.raw(head.as_bytes()).0, 431);
    let name = json!({ "name": "n".repeat(5000), "upstream": "a:1" }).to_string();
    assert!(
        api.refused("POST", "/proxies", &name, 400)
            .contains("longer than")
    );
}

#[test]
fn json_that_is_none_is_a_bad_body_and_says_where() {
    let behind = Behind::start();
    let nested = "[".repeat(100_000);
    let bodies = [
        "",
        "{",
        "{\"name\": }",
        "[]",
        "7",
        "\"a\"",
        nested.as_str(),
        "\u{0}",
        r#"{"name": 7, "upstream": "a:1"}"#,
    ];
    for body in bodies {
        let refused = behind.api.refused("POST", "/proxies", body, 400);
        assert!(refused.starts_with("bad request body: "), "{refused}");
    }
    for path in ["/proxies/redis", "/proxies/redis/toxics", "/populate"] {
        let refused = behind.api.refused("POST", path, "{nonsense", 400);
        assert!(refused.starts_with("bad request body: "), "{path}: {refused}");
    }
}

#[test]
fn bodies_come_in_chunks_and_after_leave_too() {
    let api = Api::start(&[]);
    let chunked =
        b"POST /populate HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1;x=y\r\n]\r\n0\r\n\r\n";
    assert_eq!(api.raw(chunked), (201, r#"{"proxies":[]}"#.to_owned()));
    let mut stream = connected(api.address);
    stream
        .write_all(b"POST /populate HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        .expect("it is sent");
    let mut leave = [0; 25];
    stream.read_exact(&mut leave).expect("leave");
    assert_eq!(&leave, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"[]").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
}

#[test]
fn browsers_are_refused_as_toxiproxy_refuses_them() {
    let api = Api::start(&[]);
    let (status, body) =
        api.raw(b"GET /proxies HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0 (X11)\r\n\r\n");
    assert_eq!((status, body.as_str()), (403, "User agent not allowed\n"));
}

#[test]
fn clients_that_send_nothing_do_not_keep_the_others_waiting() {
    let api = Api::start(&[]);
    let slow: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = connected(api.address);
            stream.write_all(b"POST /populate HTT").expect("it is sent");
            stream
        })
        .collect();
    assert_eq!(api.get("/version"), json!({ "version": "2.12.0" }));
    drop(slow);
}

#[test]
fn a_client_that_does_not_read_holds_back_its_server_and_nobody_else() {
    let mut behind = Behind::start();
    let value = "x".repeat(1_000_000);
    let header = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}", value.len());
    assert_eq!(asked(&mut behind.connection, &header), "+OK\r\n");
    behind.api.toxic("latency", "downstream", json!({ "latency": 1 }));
    let mut deaf = connected(behind.proxy);
    for _ in 0..200 {
        deaf.write_all(b"GET k\r\n").expect("it is sent");
    }
    for _ in 0..20 {
        assert_eq!(asked(&mut behind.connection, "PING"), "+PONG\r\n");
    }
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", behind.api.program.id())).expect("its status");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("its peak memory");
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kibibytes < 160 * 1024, "200 MB were asked for: {kibibytes} KiB");
}
