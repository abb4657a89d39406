//! Effects of links on packets: times, rates, routes, bytes.

use super::Test;
use link::LinkDescription;
use model::Direction;
use netns::{HostId, LinkId, Network, Sandbox};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

pub(super) const TESTS: &[Test] = &[
    ("three hosts in a row reach each other", three_hosts),
    ("both ends send as the network is told", congestion_control),
    ("the same seed loses the same packets", seeds),
    ("a changed link is another one from then on", change),
    ("a command starts inside its host", command),
];

/// Tests with upper bounds on time; `make test` runs them alone.
pub(super) const TIMING: &[Test] = &[
    (
        "an exchange takes the round trip, and the handshake does too",
        round_trip,
    ),
    ("a small packet takes its serialisation time", serialisation),
    ("a transfer takes the rate's time and every byte arrives", rate),
    ("a capture sees the client's side", capture),
];

struct Pair {
    network: Network,
    client: HostId,
    server: HostId,
    link: LinkId,
    address: Ipv4Addr,
}

fn pair(sandbox: &Sandbox, link: &str) -> Pair {
    let mut network = Network::new(sandbox).unwrap();
    let client = network.add_host("client").unwrap();
    let server = network.add_host("server").unwrap();
    let link = network.add_link(client, server, &parsed(link)).unwrap();
    let address = network.address(server, client).unwrap();
    Pair {
        network,
        client,
        server,
        link,
        address,
    }
}

fn parsed(link: &str) -> LinkDescription {
    link.parse().unwrap()
}

impl Pair {
    fn listen(&self) -> TcpListener {
        self.network
            .within(self.server, || TcpListener::bind((self.address, 4000)))
            .unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = self
            .network
            .within(self.client, || TcpStream::connect((self.address, 4000)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    fn udp(&self) -> [UdpSocket; 2] {
        let server = self
            .network
            .within(self.server, || UdpSocket::bind((self.address, 5000)));
        let client = self
            .network
            .within(self.client, || UdpSocket::bind("0.0.0.0:0"))
            .unwrap();
        client.connect((self.address, 5000)).unwrap();
        [client, server.unwrap()]
    }
}

fn echo(listener: TcpListener) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap() == 1 {
            stream.write_all(&byte).unwrap();
        }
    })
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed())
}

fn median(mut spans: Vec<Duration>) -> Duration {
    spans.sort();
    spans[spans.len() / 2]
}

fn round_trip(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rtt=40ms");
    let echo = echo(pair.listen());
    let (mut stream, handshake) = timed(|| pair.connect());
    let exchanges = (0..20).map(|_| {
        timed(|| {
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut [0]).unwrap();
        })
        .1
    });
    let exchanges: Vec<Duration> = exchanges.collect();
    let asked = Duration::from_millis(40);
    // The machine's own time counts as part of the requested delay, and is below a millisecond.
    let least = asked - Duration::from_millis(1);
    assert!(handshake >= least, "{handshake:?}");
    assert!(exchanges.iter().all(|span| *span >= least), "{exchanges:?}");
    let middle = median(exchanges);
    assert!(middle < asked + Duration::from_millis(60), "{middle:?}");
    drop(stream);
    echo.join().unwrap();
    let outcome = pair.network.outcome(pair.link);
    assert_eq!((outcome.rtt, outcome.name.as_str()), (asked, "client-server"));
    assert!(
        outcome
            .directions
            .iter()
            .all(|way| way.packets > 20 && way.dropped_unasked == 0)
    );
    let error = outcome.rtt_error_p50_ns.unwrap();
    assert!((0..60_000_000).contains(&error), "{error}");
}

fn serialisation(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rate=8kbit");
    let [client, server] = pair.udp();
    server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // 22 byte of payload behind 28 of headers, at 1000 byte/s.
    let (_, span) = timed(|| {
        client.send(&[7; 22]).unwrap();
        server.recv(&mut [0; 100]).unwrap()
    });
    assert!(span >= Duration::from_millis(49), "{span:?}");
    assert!(span < Duration::from_millis(500), "{span:?}");
}

fn rate(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rtt=4ms rate=16mbit");
    let listener = pair.listen();
    let content: Vec<u8> = (0..2_000_000_u32).map(|number| (number % 251) as u8).collect();
    let sent = content.clone();
    let sender = std::thread::spawn(move || listener.accept().unwrap().0.write_all(&sent).unwrap());
    let (received, span) = timed(|| {
        let mut received = Vec::new();
        pair.connect().read_to_end(&mut received).unwrap();
        received
    });
    sender.join().unwrap();
    assert!(received == content, "{} bytes", received.len());
    // 2 MB of payload in packets of 1448 + 52 byte at 2 MB/s.
    assert!(span >= Duration::from_millis(1036), "{span:?}");
    assert!(span < Duration::from_secs(10), "{span:?}");
    let outcome = pair.network.outcome(pair.link);
    let realised = outcome.directions[Direction::ServerToClient]
        .realised_rate
        .unwrap()
        .as_bits_per_second();
    assert!((14_000_000..=16_400_000).contains(&realised), "{realised}");
}

fn three_hosts(sandbox: &Sandbox) {
    let mut network = Network::new(sandbox).unwrap();
    let hosts = ["web", "router", "database"].map(|name| network.add_host(name).unwrap());
    network.add_link(hosts[0], hosts[1], &parsed("rtt=10ms")).unwrap();
    network.add_link(hosts[1], hosts[2], &parsed("rtt=20ms")).unwrap();
    let address = network.address(hosts[2], hosts[1]).unwrap();
    let listener = network
        .within(hosts[2], || TcpListener::bind((address, 4000)))
        .unwrap();
    let (connected, span) = timed(|| network.within(hosts[0], || TcpStream::connect((address, 4000))));
    assert!(span >= Duration::from_millis(28), "{span:?}");
    // The host in between forwards frames that one link joined over the other.
    let content: Vec<u8> = (0..2_000_000_u32).map(|number| (number % 251) as u8).collect();
    let sent = content.clone();
    let sender = std::thread::spawn(move || connected.unwrap().write_all(&sent).unwrap());
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    sender.join().unwrap();
    assert!(received == content, "{} bytes", received.len());
    assert!(network.address(hosts[0], hosts[2]).is_none());
}

fn congestion_control(sandbox: &Sandbox) {
    for name in ["cubic", "reno"] {
        let mut network = Network::new(sandbox).unwrap();
        network.set_congestion_control(name);
        let hosts = ["client", "router", "server"].map(|name| network.add_host(name).unwrap());
        network.add_link(hosts[0], hosts[1], &parsed("rtt=1ms")).unwrap();
        network.add_link(hosts[1], hosts[2], &parsed("rtt=1ms")).unwrap();
        // Each end of the second link is behind another route of the client.
        for (server, peer) in [(hosts[1], hosts[0]), (hosts[2], hosts[1])] {
            let address = network.address(server, peer).unwrap();
            let listener = network
                .within(server, || TcpListener::bind((address, 4000)))
                .unwrap();
            let client = network
                .within(hosts[0], || TcpStream::connect((address, 4000)))
                .unwrap();
            let (accepted, _) = listener.accept().unwrap();
            assert_eq!([&client, &accepted].map(sends_as), [name; 2]);
        }
    }
}

fn sends_as(stream: &TcpStream) -> String {
    rustix::net::sockopt::tcp_congestion(stream).expect("a congestion control")
}

fn seeds(sandbox: &Sandbox) {
    let arrived = |seed: u64| {
        let pair = pair(sandbox, &format!("loss=20% seed={seed}"));
        let [client, server] = pair.udp();
        let mut numbers = Vec::new();
        for number in 0..200_u8 {
            client.send(&[number]).unwrap();
        }
        server.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut number = [0];
        while server.recv(&mut number).is_ok() {
            numbers.push(number[0]);
        }
        let outcome = pair.network.outcome(pair.link);
        assert_eq!(
            outcome.directions[Direction::ClientToServer].dropped_by_loss,
            200 - numbers.len() as u64
        );
        numbers
    };
    let first = arrived(7);
    assert_eq!(first, arrived(7));
    assert_ne!(first, arrived(8));
    assert!((120..195).contains(&first.len()), "{}", first.len());
}

fn change(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rtt=0ms");
    let echo = echo(pair.listen());
    let mut stream = pair.connect();
    let mut exchange = || {
        timed(|| {
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut [0]).unwrap();
        })
        .1
    };
    exchange();
    pair.network.change_link(pair.link, &parsed("rtt=30ms"));
    assert!(exchange() >= Duration::from_millis(29));
    let outcome = pair.network.outcome(pair.link);
    assert_eq!(outcome.asked, "rtt=30ms");
    // The request, its acknowledgement with the answer, and perhaps that of the answer.
    assert!(
        (1..=4).contains(&outcome.directions[Direction::ClientToServer].packets),
        "{outcome:?}"
    );
    drop(stream);
    echo.join().unwrap();
}

fn capture(sandbox: &Sandbox) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("link.pcap");
    let pair = pair(sandbox, "rtt=30ms");
    let [client, server] = pair.udp();
    pair.network.start_capture(pair.link, &file).unwrap();
    client.send(b"ping").unwrap();
    let (_, from) = server.recv_from(&mut [0; 10]).unwrap();
    server.send_to(b"pong", from).unwrap();
    client.recv(&mut [0; 10]).unwrap();
    pair.network.stop_capture(pair.link).unwrap();
    client.send(b"more").unwrap();
    server.recv(&mut [0; 10]).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(&bytes[..4], &0xa1b2_3c4d_u32.to_le_bytes());
    assert_eq!(bytes.len(), 24 + 2 * (16 + 32));
    let field = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let time = |at: usize| Duration::from_nanos(field(at) * 1_000_000_000 + field(at + 4));
    let span = time(24 + 48) - time(24);
    assert!(
        span >= Duration::from_millis(29) && span < Duration::from_millis(500),
        "{span:?}"
    );
    assert!(bytes.ends_with(b"pong"));
}

fn command(sandbox: &Sandbox) {
    let pair = pair(sandbox, "rtt=0ms");
    let mut list = std::process::Command::new("cat");
    list.arg("/proc/net/dev");
    pair.network.run_in(pair.client, &mut list);
    let output = list.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let devices: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .collect();
    assert_eq!(devices, ["lo", "lw0"]);
}
