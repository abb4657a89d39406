//! Measures from both hosts how exactly links are realised, for `bench/link.sh`.
//!
//! `link_bench SECTION...` prints requested and realised values; sections are rtt, serialisation,
//! rate, packets, throughput, loss. `link_bench select USER PORT COUNT PAUSE_MS` prints median and
//! p99 in microseconds of COUNT runs of `select 1` on PostgreSQL at 127.0.0.1, each after a pause.

use link::LinkDescription;
use model::Direction;
use netns::{Entered, HostId, LinkId, Network, Sandbox};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [section, user, port, count, pause] = arguments.as_slice()
        && section == "select"
    {
        let number = |text: &String| text.parse::<u64>().expect("a number");
        let port = u16::try_from(number(port)).expect("a port");
        select(user, port, number(count), Duration::from_millis(number(pause)));
        return;
    }
    let sandbox = match netns::sandbox::enter() {
        Ok(Entered::Inside(sandbox)) => sandbox,
        Ok(Entered::Finished(status)) => std::process::exit(i32::from(status)),
        Err(error) => {
            eprintln!("link_bench: {error}; {}", error.hint().unwrap_or_default());
            std::process::exit(2);
        }
    };
    for section in arguments {
        match section.as_str() {
            "rtt" => rtt(&sandbox),
            "serialisation" => serialisation(&sandbox),
            "rate" => rate(&sandbox),
            "packets" => packets(&sandbox),
            "throughput" => throughput(&sandbox),
            "loss" => loss(&sandbox),
            other => eprintln!("link_bench: no section {other}"),
        }
    }
}

struct Pair {
    network: Network,
    client: HostId,
    server: HostId,
    link: LinkId,
    address: Ipv4Addr,
}

fn pair(sandbox: &Sandbox, link: &str) -> Pair {
    let description: LinkDescription = link.parse().expect("a link");
    let mut network = Network::new(sandbox).expect("a network");
    network.keep_awake();
    if let Ok(name) = std::env::var("BENCH_CONGESTION") {
        network.set_congestion_control(name.leak());
    }
    let client = network.add_host("client").expect("a host");
    let server = network.add_host("server").expect("a host");
    let link = network.add_link(client, server, &description).expect("a link");
    let address = network.address(server, client).expect("they are joined");
    Pair {
        network,
        client,
        server,
        link,
        address,
    }
}

impl Pair {
    fn pings(&self, count: u32, interval: &str, payload: &str) -> Vec<f64> {
        let mut ping = Command::new("ping");
        ping.args(["-c", &count.to_string(), "-i", interval, "-s", payload])
            .arg(self.address.to_string());
        self.network.run_in(self.client, &mut ping);
        let output = ping.output().expect("ping is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let times = text
            .lines()
            .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok());
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// The kernel counts joined packets as one.
    fn received(&self, host: HostId) -> [u64; 2] {
        let table = self.network.within(host, || {
            std::fs::read_to_string("/proc/thread-self/net/dev").expect("devices")
        });
        let mut lines = table.lines();
        let line = lines.find_map(|line| line.trim().strip_prefix("lw0:"));
        let mut figures = line.expect("the link's device").split_whitespace();
        [0, 1].map(|_| {
            figures
                .next()
                .and_then(|figure| figure.parse().ok())
                .expect("a count")
        })
    }

    /// Wire bits per second at the client, from received payload plus the headers of full packets:
    /// the host's own count has one header for joined packets.
    fn transfer(&self, connections: usize, settle: Duration, span: Duration) -> f64 {
        let listener = self
            .network
            .within(self.server, || TcpListener::bind((self.address, 4000)))
            .expect("a listener");
        let over = Arc::new(AtomicBool::new(false));
        // All connect before any sends: on a slow link the handshakes would wait behind the data.
        let together = Arc::new(Barrier::new(connections + 1));
        let (sending, started) = (Arc::clone(&over), Arc::clone(&together));
        std::thread::spawn(move || {
            for stream in listener.incoming().take(connections).flatten() {
                let (over, together) = (Arc::clone(&sending), Arc::clone(&started));
                std::thread::spawn(move || {
                    together.wait();
                    send(stream, &over);
                });
            }
        });
        for _ in 0..connections {
            let stream = self
                .network
                .within(self.client, || TcpStream::connect((self.address, 4000)));
            let stream = stream.expect("it is accepted");
            std::thread::spawn(move || receive(stream));
        }
        together.wait();
        std::thread::sleep(settle);
        let (begin, before) = (Instant::now(), self.payload_received());
        std::thread::sleep(span);
        let bytes = (self.payload_received() - before) as f64 * FULL_PACKET / (FULL_PACKET - HEADERS);
        let rate = bytes * 8.0 / begin.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        rate
    }

    fn payload_received(&self) -> u64 {
        let [bytes, packets] = self.received(self.client);
        bytes - packets * HEADERS as u64
    }
}

fn send(mut stream: TcpStream, over: &AtomicBool) {
    let content = vec![0; 128 * 1024];
    while !over.load(Ordering::Relaxed) && stream.write_all(&content).is_ok() {}
}

fn receive(mut stream: TcpStream) {
    let mut room = vec![0; 256 * 1024];
    while stream.read(&mut room).is_ok_and(|count| count > 0) {}
}

const FULL_PACKET: f64 = 1500.0;
const HEADERS: f64 = 52.0;

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

fn select(user: &str, port: u16, count: u64, pause: Duration) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("PostgreSQL answers");
    stream.set_nodelay(true).expect("a TCP connection");
    let startup = format!("user\0{user}\0database\0postgres\0\0");
    let length = u32::try_from(startup.len() + 8).expect("short");
    let version = 196_608_u32.to_be_bytes();
    stream
        .write_all(&[&length.to_be_bytes(), &version, startup.as_bytes()].concat())
        .expect("it is sent");
    until_ready(&mut stream);
    let times = (0..count).map(|_| {
        std::thread::sleep(pause);
        let begin = Instant::now();
        stream.write_all(b"Q\0\0\0\x0dselect 1\0").expect("it is sent");
        until_ready(&mut stream);
        begin.elapsed().as_secs_f64() * 1e6
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    println!("{:.0} {:.0}", percentile(&times, 50), percentile(&times, 99));
}

fn until_ready(stream: &mut TcpStream) {
    let mut reply = Vec::new();
    let mut room = [0; 4096];
    while !reply.ends_with(b"Z\0\0\0\x05I") {
        let count = stream.read(&mut room).expect("PostgreSQL answers");
        assert!(
            count > 0,
            "PostgreSQL ended the connection: {:?}",
            String::from_utf8_lossy(&reply)
        );
        reply.extend(&room[..count]);
    }
}

fn rtt(sandbox: &Sandbox) {
    println!("rtt requested    pings  median error  p99 error   self-check median   p99        floor");
    for milliseconds in [1_u32, 2, 5, 10, 20, 40, 100, 200] {
        let pair = pair(sandbox, &format!("rtt={milliseconds}ms"));
        let interval = if milliseconds < 20 { "0.01" } else { "0.02" };
        let times = pair.pings(1000, interval, "56");
        let outcome = pair.network.outcome(pair.link);
        let error = |percent| (percentile(&times, percent) - f64::from(milliseconds)) * 1000.0;
        let micros = |nanos: Option<i64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1000.0);
        println!(
            "{milliseconds:>6} ms  {:>6}  {:>9.0} us  {:>6.0} us  {:>14.0} us  {:>6.0} us  {:>6.0} us",
            times.len(),
            error(50),
            error(99),
            micros(outcome.rtt_error_p50_ns),
            micros(outcome.rtt_error_p99_ns),
            outcome.floor.map_or(f64::NAN, |floor| floor.as_secs_f64() * 1e6),
        );
    }
}

fn serialisation(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rate=8kbit");
    // 22 byte behind 28 of headers, there and back.
    let times = pair.pings(20, "0.2", "22");
    println!(
        "a 50-byte packet at 1000 byte/s: asked 50 ms, median {:.2} ms (half of a ping's round trip)",
        percentile(&times, 50) / 2.0
    );
}

fn rate(sandbox: &Sandbox) {
    println!("rate requested       connections  at the receiver   error   self-check  dropped unasked");
    for (text, bits) in [
        ("64kbit", 64e3),
        ("1mbit", 1e6),
        ("10mbit", 1e7),
        ("100mbit", 1e8),
        ("1gbit", 1e9),
    ] {
        let chosen = std::env::var("BENCH_RATES").unwrap_or_else(|_| text.to_owned());
        if !chosen.split(' ').any(|chosen| chosen == text) {
            continue;
        }
        for connections in [1, 8, 64] {
            let pair = pair(sandbox, &format!("rtt=10ms rate={text}"));
            // Long enough that one packet, 190 ms at 64 kbit/s, is a small fraction of a percent.
            let span = if bits < 1e6 { 40 } else { 5 };
            let realised = pair.transfer(connections, Duration::from_secs(2), Duration::from_secs(span));
            let back = pair.network.outcome(pair.link).directions[Direction::ServerToClient];
            println!(
                "{text:>10}  {connections:>14}  {:>11.3} Mbit/s  {:>+6.2} %  {:<10}  {:>15}",
                realised / 1e6,
                (realised / bits - 1.0) * 100.0,
                back.realised_rate
                    .map_or_else(|| "-".to_owned(), |rate| rate.to_string()),
                back.dropped_unasked,
            );
        }
    }
}

fn packets(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rtt=500ms");
    // Bound, so that no packet is refused. Not read: the count is that of the receiving host.
    let bind = || UdpSocket::bind((pair.address, 5000));
    let _server = pair.network.within(pair.server, bind).expect("a socket");
    let client = pair.network.within(pair.client, || UdpSocket::bind("0.0.0.0:0"));
    let client = client.expect("a socket");
    client.connect((pair.address, 5000)).expect("a route");
    let (per_second, seconds) = (20_000_u64, 10);
    let before = pair.received(pair.server)[1];
    let begin = Instant::now();
    for number in 0..per_second * seconds {
        let due = Duration::from_nanos(number * 1_000_000_000 / per_second);
        while begin.elapsed() < due {
            std::thread::sleep(Duration::from_micros(200));
        }
        client.send(&[0; 100]).expect("the host sends");
    }
    let took = begin.elapsed();
    std::thread::sleep(Duration::from_secs(1));
    let outcome = pair.network.outcome(pair.link);
    println!(
        "{per_second} packets/s at rtt=500ms: sent {} in {:.1} s, received by the other host {}, dropped unasked {}",
        per_second * seconds,
        took.as_secs_f64(),
        pair.received(pair.server)[1] - before,
        outcome.directions[Direction::ClientToServer].dropped_unasked
    );
}

fn throughput(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rtt=0ms");
    let bits = pair.transfer(1, Duration::from_secs(1), Duration::from_secs(5));
    let outcome = pair.network.outcome(pair.link);
    println!(
        "an unlimited link, one connection: {:.2} Gbit/s (dropped unasked: {})",
        bits / 1e9,
        outcome
            .directions
            .iter()
            .map(|way| way.dropped_unasked)
            .sum::<u64>()
    );
}

fn loss(sandbox: &Sandbox) {
    let arrived = |seed: u32| -> Vec<u16> {
        let pair = pair(sandbox, &format!("loss=1% seed={seed}"));
        let server = pair
            .network
            .within(pair.server, || UdpSocket::bind((pair.address, 5000)))
            .expect("a socket");
        let client = pair
            .network
            .within(pair.client, || UdpSocket::bind("0.0.0.0:0"))
            .expect("a socket");
        client.connect((pair.address, 5000)).expect("a route");
        server
            .set_read_timeout(Some(Duration::from_millis(500)))
            .expect("a socket takes it");
        let counter = std::thread::spawn(move || {
            let mut numbers = Vec::new();
            let mut number = [0; 2];
            while server.recv(&mut number).is_ok() {
                numbers.push(u16::from_be_bytes(number));
            }
            numbers
        });
        for number in 0..10_000_u16 {
            client.send(&number.to_be_bytes()).expect("the host sends");
            if number % 50 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        counter.join().expect("it counts")
    };
    let (first, second, other) = (arrived(7), arrived(7), arrived(8));
    println!(
        "loss=1%, 10000 packets: lost {}; again with the same seed: {}; with another seed: {}",
        10_000 - first.len(),
        if first == second {
            "the same packets"
        } else {
            "OTHER PACKETS"
        },
        if first == other {
            "THE SAME PACKETS"
        } else {
            "other packets"
        }
    );
}
