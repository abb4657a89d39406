//! The port of `relay --api`: connection slots, threads and memory, cross-site requests, and proxy
//! loops.

use crate::toxiproxy::api::{Api, connected, listens};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn strangers_who_say_nothing_do_not_shut_the_api() {
    let api = Api::start(&[]);
    let threads = api.program.figure("Threads").expect("it runs");
    let silent: Vec<TcpStream> = (0..600).map(|_| connected(api.address)).collect();
    let began = Instant::now();
    for _ in 0..5 {
        assert_eq!(api.get("/version"), json!({ "version": "2.12.0" }));
    }
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "{took:?} with {} silent",
        silent.len()
    );
    let now = api.program.figure("Threads").expect("it runs");
    assert!(now <= threads, "{now} threads, {threads} before");
}

#[test]
fn bodies_that_do_not_end_do_not_fill_memory() {
    let api = Api::start(&[]);
    let half = [
        b"POST /populate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".to_vec(),
        vec![b' '; 900_000],
    ]
    .concat();
    let mut open = Vec::new();
    for _ in 0..200 {
        let mut stream = connected(api.address);
        // An evicted connection may already be closed.
        stream.write_all(&half).ok();
        open.push(stream);
    }
    assert_eq!(api.get("/version"), json!({ "version": "2.12.0" }));
    let peak = api.program.figure("VmHWM").expect("it runs");
    assert!(
        peak < 120 * 1024,
        "{peak} KiB for {} bodies of 900 kB",
        open.len()
    );
}

fn status(api: &Api, fields: &str) -> (u16, String) {
    api.raw(format!("POST /reset HTTP/1.1\r\n{fields}Content-Length: 0\r\n\r\n").as_bytes())
}

#[test]
fn a_web_page_of_another_site_is_refused_by_its_host_and_by_its_origin() {
    let api = Api::start(&["--api-host", "toxi.test"]);
    for host in [
        "localhost",
        "localhost:8474",
        "127.0.0.1",
        "127.8.8.8:1",
        "[::1]:8474",
        "toxi.test:80",
    ] {
        assert_eq!(status(&api, &format!("Host: {host}\r\n")).0, 204, "{host}");
    }
    for host in [
        "evil.test",
        "evil.test:8474",
        "localhost.evil.test",
        "0.0.0.0",
        "192.0.2.1",
    ] {
        let (status, body) = status(&api, &format!("Host: {host}\r\n"));
        assert_eq!(status, 403, "{host}");
        assert!(body.contains("--api-host"), "{body}");
    }
    for origin in ["https://evil.test", "null", "http://localhost:8474"] {
        let (status, body) = status(&api, &format!("Host: localhost\r\nOrigin: {origin}\r\n"));
        assert_eq!(status, 403, "{origin}");
        assert!(body.contains("web pages"), "{body}");
    }
    assert_eq!(status(&api, "").0, 400, "without a Host");
    assert_eq!(status(&api, "Host: localhost\r\nHost: evil.test\r\n").0, 400);
}

#[test]
fn a_proxy_onto_itself_is_refused_and_takes_no_descriptors() {
    let api = Api::start(&[]);
    let free = api.proxy("free", 1).port();
    api.delete("/proxies/free");
    let create = |listen: &str, upstream: &str| {
        let proxy = json!({ "name": "self", "listen": format!("{listen}:{free}"), "upstream": format!("{upstream}:{free}") });
        api.refused("POST", "/proxies", &proxy.to_string(), 400)
    };
    for (listen, upstream) in [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "localhost"),
        ("127.0.0.1", "0.0.0.0"),
        ("0.0.0.0", "127.0.0.1"),
        ("", "localhost"),
    ] {
        let reason = create(listen, upstream);
        assert!(reason.contains("connect to itself"), "{reason}");
    }
    assert_eq!(api.get("/proxies"), json!({}), "none is left");
    // A proxy that becomes its own target.
    let proxy = api.proxy("later", 1);
    let change = json!({ "upstream": format!("localhost:{}", proxy.port()) }).to_string();
    let reason = api.refused("POST", "/proxies/later", &change, 400);
    assert!(reason.contains("connect to itself"), "{reason}");
    // A loop of two.
    let one = api.proxy("one", 1);
    let two = api.proxy("two", one.port());
    let change = json!({ "upstream": two.to_string() }).to_string();
    let reason = api.refused("POST", "/proxies/one", &change, 400);
    assert!(reason.contains("connect to itself"), "{reason}");
    let open = std::fs::read_dir(format!("/proc/{}/fd", api.program.id()))
        .expect("it runs")
        .count();
    assert!(open < 60, "{open} descriptors");
}

#[test]
fn a_name_that_leads_elsewhere_is_no_circle() {
    let api = Api::start(&[]);
    let created = api.post(
        "/proxies",
        &json!({ "name": "a", "listen": "127.0.0.1:0", "upstream": "192.0.2.1:1" }),
    );
    let port = listens(&created).port();
    let other = json!({ "name": "b", "listen": format!("127.0.0.2:{port}"), "upstream": format!("127.0.0.1:{port}") });
    api.post("/proxies", &other);
}
