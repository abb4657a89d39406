//! Collectors that are down, slow or refuse: no data is lost, and the failure is reported.

use super::agent::Agent;
use super::{psql, text_number};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testbed::process::run;
use testbed::{Collector, Postgres, http};

/// Simulated, because a real collector cannot be made to fail.
#[derive(Clone, Copy)]
enum Trouble {
    TooMany,
    Silent,
}

struct Gate {
    address: SocketAddr,
    came: Arc<AtomicU64>,
    open: Arc<AtomicUsize>,
}

impl Gate {
    fn before(collector: &Collector, trouble: Trouble) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (came, open) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
        let behind = collector.endpoint().replace("http://", "");
        let (seen, passes) = (came.clone(), open.clone());
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                seen.fetch_add(1, Ordering::Relaxed);
                if passes.load(Ordering::Relaxed) > 0 {
                    let server = std::net::TcpStream::connect(&behind).expect("the collector is there");
                    join(stream, server);
                    continue;
                }
                match trouble {
                    Trouble::TooMany => {
                        let mut part = [0; 65_536];
                        let _ = stream.read(&mut part);
                        stream.write_all(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
                    }
                    Trouble::Silent => kept.push(stream),
                }
            }
        });
        Self { address, came, open }
    }
}

fn join(client: std::net::TcpStream, server: std::net::TcpStream) {
    let copies = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
    for (from, to) in copies {
        let (mut from, mut to) = (from.expect("a copy"), to.expect("a copy"));
        std::thread::spawn(move || {
            std::io::copy(&mut from, &mut to).ok();
            to.shutdown(std::net::Shutdown::Write).ok();
        });
    }
}

/// Statements continue during the failure, and sums include all of them afterwards.
fn survives(trouble: Trouble) {
    let server = Postgres::start();
    let collector = Collector::start();
    let gate = Gate::before(&collector, trouble);
    let more = format!(
        "[otlp]\nendpoint = \"http://{}\"\ninterval = \"500ms\"\ntraces = 1.0\n",
        gate.address
    );
    let environment = [
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "300".to_owned()),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "20".to_owned()),
        ("OTEL_BSP_SCHEDULE_DELAY", "100".to_owned()),
    ];
    let mut agent = Agent::start(&server, &more, &environment);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        run(psql(&server, agent.relay, "select 1"));
    }
    agent.started.hears("fail: ");
    assert!(gate.came.load(Ordering::Relaxed) > 2, "it is tried again");
    let page = http::get(agent.metrics, "/metrics", "*/*")
        .expect("it answers")
        .text();
    let dropped = page
        .lines()
        .find(|line| line.starts_with("longwire_export_spans_dropped_total"))
        .expect("a counter");
    assert!(!dropped.ends_with(" 0"), "{dropped}");
    gate.open.store(1, Ordering::Relaxed);
    agent.started.hears("arrive again");
    let output = agent.started.interrupt();
    let exchanges = testbed::binary::sum(&testbed::binary::records(&output), "summary", "exchanges");
    let points = collector.last_points("longwire.target.duration");
    assert_eq!(
        points
            .iter()
            .map(|point| text_number(point, "count"))
            .sum::<u64>(),
        exchanges
    );
    assert!(testbed::binary::stderr(&output).contains("spans dropped"));
}

#[test]
fn a_collector_that_says_too_many_requests_loses_no_sums() {
    survives(Trouble::TooMany);
}

#[test]
fn a_collector_that_says_nothing_loses_no_sums() {
    survives(Trouble::Silent);
}

#[test]
fn without_a_collector_the_end_comes_within_its_limit() {
    let server = Postgres::start();
    let more = "[otlp]\nendpoint = \"http://127.0.0.1:9\"\ninterval = \"500ms\"\n[stop]\nwithin = \"2s\"\n";
    let mut agent = Agent::start(&server, more, &[]);
    run(psql(&server, agent.relay, "select 1"));
    agent.started.signal(libc::SIGTERM);
    let status = agent.started.ends_within(Duration::from_secs(20));
    assert!(status.success(), "{status}");
}
