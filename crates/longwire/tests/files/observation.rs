//! One conversation, captured at the client, mid-path and at the server, is attributed alike and
//! correctly.
//!
//! The conversation is synthetic, with true times in nanoseconds: each packet has its send time and
//! passes the observation point according to the position along the path.

use etherparse::PacketBuilder;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use testbed::binary::{done, longwire, records};

const ONE_WAY: Duration = Duration::from_micros(5_250);
const CLIENT: ([u8; 4], u16) = ([10, 1, 0, 1], 40_123);
const SERVER: ([u8; 4], u16) = ([10, 2, 0, 2], 5432);
const SEGMENT: usize = 1448;

#[derive(Clone, Copy, PartialEq)]
enum From {
    Client,
    Server,
}

struct Packet {
    sent: Duration,
    from: From,
    flags: &'static str,
    payload: Vec<u8>,
    sequence: u32,
    acknowledgement: u32,
}

/// Each end has its own view of the bytes sent so far.
struct Conversation {
    packets: Vec<Packet>,
    now: Duration,
    sequence: [u32; 2],
    truth: Truth,
}

#[derive(Debug, Default, Clone, Copy)]
struct Truth {
    client: Duration,
    server: Duration,
    round_trip: Duration,
    transfer: Duration,
}

impl Conversation {
    fn new() -> Self {
        let mut conversation = Self {
            packets: Vec::new(),
            now: Duration::ZERO,
            sequence: [1_000, 9_000],
            truth: Truth::default(),
        };
        conversation.packet(Duration::ZERO, From::Client, "S", &[]);
        conversation.packet(ONE_WAY, From::Server, "SA", &[]);
        conversation.now = 2 * ONE_WAY;
        conversation.packet(conversation.now, From::Client, "A", &[]);
        conversation.truth.round_trip += 2 * ONE_WAY;
        conversation
    }

    fn packet(&mut self, sent: Duration, from: From, flags: &'static str, payload: &[u8]) {
        let (own, other) = if from == From::Client { (0, 1) } else { (1, 0) };
        let acknowledgement = if flags == "S" { 0 } else { self.sequence[other] };
        let sequence = self.sequence[own];
        self.packets.push(Packet {
            sent,
            from,
            flags,
            payload: payload.to_vec(),
            sequence,
            acknowledgement,
        });
        self.sequence[own] += payload.len() as u32 + u32::from(flags.contains('S'));
    }

    /// The client thinks and sends a request; the server computes and sends its reply, one packet
    /// every `pace`.
    fn exchange(&mut self, think: Duration, request: &[u8], compute: Duration, reply: &[u8], pace: Duration) {
        self.now += think;
        self.packet(self.now, From::Client, "PA", request);
        let mut leaves = self.now + ONE_WAY + compute;
        let mut arrived = leaves + ONE_WAY;
        for (index, chunk) in reply.chunks(SEGMENT).enumerate() {
            leaves += if index == 0 { Duration::ZERO } else { pace };
            let last = (index + 1) * SEGMENT >= reply.len();
            self.packet(leaves, From::Server, if last { "PA" } else { "A" }, chunk);
            arrived = leaves + ONE_WAY;
            if index % 2 == 1 || last {
                self.packet(arrived, From::Client, "A", &[]);
            }
        }
        let first_byte = self.now + 2 * ONE_WAY + compute;
        self.truth.client += think;
        self.truth.server += compute;
        self.truth.round_trip += 2 * ONE_WAY;
        self.truth.transfer += arrived - first_byte;
        self.now = arrived;
    }

    /// Position along the path: 0 at the client, 1 at the server.
    fn capture(&self, along: f64) -> Vec<u8> {
        let mut passed: Vec<(Duration, &Packet)> = self
            .packets
            .iter()
            .map(|packet| {
                let share = if packet.from == From::Client {
                    along
                } else {
                    1.0 - along
                };
                (packet.sent + ONE_WAY.mul_f64(share), packet)
            })
            .collect();
        passed.sort_by_key(|(at, _)| *at);
        let mut file = Vec::new();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        for (at, packet) in passed {
            let frame = frame(packet);
            let seconds = 1_700_000_000 + at.as_secs() as u32;
            for word in [seconds, at.subsec_nanos(), frame.len() as u32, frame.len() as u32] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            file.extend_from_slice(&frame);
        }
        file
    }
}

fn frame(packet: &Packet) -> Vec<u8> {
    let (source, destination) = if packet.from == From::Client {
        (CLIENT, SERVER)
    } else {
        (SERVER, CLIENT)
    };
    let mut builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(source.0, destination.0, 64)
        .tcp(source.1, destination.1, packet.sequence, 64_000);
    for flag in packet.flags.chars() {
        builder = match flag {
            'S' => builder.syn(),
            'P' => builder.psh(),
            _ => builder.ack(packet.acknowledgement),
        };
    }
    let mut frame = Vec::new();
    builder
        .write(&mut frame, &packet.payload)
        .expect("a frame fits into memory");
    frame
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

fn rows(count: usize, width: usize) -> Vec<u8> {
    let mut reply = message(b'T', &[0, 0]);
    for _ in 0..count {
        reply.extend(message(b'D', &vec![b'x'; width]));
    }
    reply.extend(message(b'C', format!("SELECT {count}\0").as_bytes()));
    reply.extend(message(b'Z', b"I"));
    reply
}

fn conversation() -> Conversation {
    let (us, ms) = (Duration::from_micros, Duration::from_millis);
    let mut startup = Vec::new();
    startup.extend_from_slice(&25_u32.to_be_bytes());
    startup.extend_from_slice(&196_608_u32.to_be_bytes());
    startup.extend_from_slice(b"user\0app\0shop\0\0\0");
    startup.resize(25, 0);
    let mut welcome = message(b'R', &[0, 0, 0, 0]);
    welcome.extend(message(b'Z', b"I"));
    let mut conversation = Conversation::new();
    conversation.exchange(us(300), &startup, ms(4), &welcome, Duration::ZERO);
    for number in 0..20_u64 {
        let text = format!("select * from t where id = {number}");
        conversation.exchange(
            us(200 + 50 * number),
            &query(&text),
            us(100 * number),
            &rows(1, 60),
            Duration::ZERO,
        );
    }
    conversation.exchange(
        ms(3),
        &query("select * from big"),
        ms(20),
        &rows(200, 200),
        us(150),
    );
    conversation.exchange(
        ms(1),
        &query("select pg_sleep(1)"),
        ms(70),
        &rows(1, 4),
        Duration::ZERO,
    );
    conversation
}

fn read_record(capture: &[u8], along: f64) -> Value {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path: &Path = &directory.path().join(format!("along-{along}.pcap"));
    std::fs::write(path, capture).expect("the capture can be written");
    let mut command = longwire(&["read", "--json", "--operations", "connection"]);
    let output = command.arg(path).output().expect("the binary starts");
    done(&output);
    records(&output)
        .into_iter()
        .find(|record| record["type"] == "operation")
        .expect("one operation was seen")
}

fn assert_near(what: &str, along: f64, got: u64, truth: Duration) {
    let truth = truth.as_nanos() as u64;
    let off = got.abs_diff(truth);
    assert!(
        off <= 100_000 || off * 20 <= truth,
        "{what} seen {along} along the path is {got} ns, was {truth} ns: more than 5 % and 100 us apart"
    );
}

#[test]
fn the_attribution_is_the_truth_wherever_the_capture_was_taken() {
    let conversation = conversation();
    let truth = conversation.truth;
    for along in [0.0, 0.2, 0.5, 0.9, 1.0] {
        let operation = read_record(&conversation.capture(along), along);
        let part = |key: &str| operation[key].as_u64().unwrap_or(0);
        assert_near("client time", along, part("client_ns"), truth.client);
        assert_near("server time", along, part("server_ns"), truth.server);
        assert_near("round trips", along, part("round_trip_ns"), truth.round_trip);
        assert_near("transfer", along, part("transfer_ns"), truth.transfer);
        assert_near("duration", along, part("duration_ns"), conversation.now);
        assert_eq!(part("unknown_ns"), 0);
        assert_eq!(part("turns"), 24);
    }
}
