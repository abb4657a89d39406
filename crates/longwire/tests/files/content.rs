//! Protocol, server side and ends of replies are recognised by content rather than by port.
//! Captures are built packet by packet.

use serde_json::Value;
use std::io::Write;
use testbed::binary::{longwire, of_type, records, stdout};

const MILLISECOND: u64 = 1_000_000;

#[derive(Default)]
struct Capture {
    packets: Vec<(u64, Vec<u8>)>,
}

struct Wire {
    ends: [(u8, u16); 2],
    next: [u32; 2],
}

const SYN: u8 = 2;
const FIN: u8 = 1;
const RST: u8 = 4;
const ACK: u8 = 16;

impl Capture {
    fn packet(&mut self, at: u64, wire: &mut Wire, from: usize, flags: u8, payload: &[u8]) {
        let (source, target) = (wire.ends[from], wire.ends[1 - from]);
        let length = u16::try_from(40 + payload.len()).expect("short");
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(&[0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, source.0, 10, 0, 0, target.0]);
        packet.extend_from_slice(&source.1.to_be_bytes());
        packet.extend_from_slice(&target.1.to_be_bytes());
        packet.extend_from_slice(&wire.next[from].to_be_bytes());
        packet.extend_from_slice(&wire.next[1 - from].to_be_bytes());
        packet.extend_from_slice(&[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend_from_slice(payload);
        let sequence = u32::try_from(payload.len()).expect("short") + u32::from(flags & (SYN | FIN) != 0);
        wire.next[from] = wire.next[from].wrapping_add(sequence);
        self.packets.push((at, packet));
    }

    fn handshake(&mut self, at: u64, wire: &mut Wire) {
        self.packet(at, wire, 0, SYN, b"");
        self.packet(at + 100_000, wire, 1, SYN | ACK, b"");
        self.packet(at + 200_000, wire, 0, ACK, b"");
    }

    fn say(&mut self, at: u64, wire: &mut Wire, from: usize, payload: &[u8]) {
        self.packet(at, wire, from, ACK, payload);
    }

    fn read_records(mut self) -> (Vec<Value>, String) {
        self.packets.sort_by_key(|packet| packet.0);
        let mut file = tempfile::NamedTempFile::with_suffix(".pcap").expect("a file");
        let mut out = Vec::new();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 0x0004_0000, 101] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for (at, packet) in &self.packets {
            let length = u32::try_from(packet.len()).expect("short");
            let seconds = u32::try_from(1_790_000_000 + at / 1_000_000_000).expect("a time");
            let rest = u32::try_from(at % 1_000_000_000).expect("below a second");
            for word in [seconds, rest, length, length] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            out.extend_from_slice(packet);
        }
        file.write_all(&out).expect("room for it");
        let read = |more: &[&str]| {
            let output = longwire(&["read"]).args(more).arg(file.path()).output();
            output.expect("the binary starts")
        };
        let json = read(&["--json", "--exchanges"]);
        (records(&json), stdout(&json) + &stdout(&read(&[])))
    }
}

fn wire(client: (u8, u16), server: (u8, u16)) -> Wire {
    Wire {
        ends: [client, server],
        next: [1000, 5000],
    }
}

fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short");
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn query(text: &str) -> Vec<u8> {
    tagged(b'Q', &[text.as_bytes(), b"\0"].concat())
}

fn answer() -> Vec<u8> {
    [
        tagged(b'D', b"\0\x01\0\0\0\x011"),
        tagged(b'C', b"SELECT 1\0"),
        tagged(b'Z', b"I"),
    ]
    .concat()
}

fn page(end: u8, reply: &[u8]) -> Vec<Value> {
    let mut capture = Capture::default();
    let mut http = wire((9, 40_000), (1, 80));
    let mut database = wire((1, 41_000), (2, 5432));
    capture.handshake(0, &mut database);
    capture.say(MILLISECOND, &mut database, 0, b"\0\0\0\x11\0\x03\0\0user\0me\0\0");
    let hello = [tagged(b'R', &[0; 4]), tagged(b'Z', b"I")].concat();
    capture.say(2 * MILLISECOND, &mut database, 1, &hello);
    capture.handshake(10 * MILLISECOND, &mut http);
    capture.say(11 * MILLISECOND, &mut http, 0, b"GET /shop HTTP/1.0\r\n\r\n");
    capture.say(20 * MILLISECOND, &mut database, 0, &query("select 1"));
    capture.say(21 * MILLISECOND, &mut database, 1, &answer());
    if !reply.is_empty() {
        capture.say(50 * MILLISECOND, &mut http, 1, reply);
    }
    capture.packet(51 * MILLISECOND, &mut http, 1, end | ACK, b"");
    for second in 1..52 {
        let at = second * 1000 * MILLISECOND;
        capture.say(at, &mut database, 0, &query("select 2"));
        capture.say(at + MILLISECOND, &mut database, 1, &answer());
    }
    capture.read_records().0
}

#[test]
fn a_reply_that_ends_by_closing_ends_with_the_fin() {
    let open = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>";
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<html>";
    for (end, reply) in [
        (FIN, &open[..]),
        (FIN, b"HTTP/1.0 200 OK\r\n\r\n"),
        (FIN, cut),
        (RST, cut),
        (RST, b""),
        (FIN, b""),
    ] {
        let records = page(end, reply);
        let operations = of_type(&records, "operation");
        let pages: Vec<_> = operations
            .iter()
            .filter(|operation| operation["kind"] == "http")
            .collect();
        assert_eq!(pages.len(), 1, "{operations:#?}");
        let duration = pages[0]["duration_ns"].as_u64().expect("a number");
        let context = format!("{end}, {:?}: {duration}", String::from_utf8_lossy(reply));
        let least = if reply.is_empty() {
            MILLISECOND
        } else {
            39 * MILLISECOND
        };
        assert!((least..42 * MILLISECOND).contains(&duration), "{context}");
        let later = of_type(&records, "exchange")
            .into_iter()
            .filter(|exchange| exchange["operation"] == pages[0]["id"] && exchange["protocol"] == "postgres")
            .count();
        assert_eq!(later, 1, "{context}");
    }
}

/// The client has the lower port, so only the messages identify the server.
#[test]
fn a_pool_joined_in_the_middle_has_its_server_by_what_it_says() {
    let mut capture = Capture::default();
    let mut pool = wire((1, 35_000), (2, 51_234));
    for number in 0..20 {
        let at = number * 10 * MILLISECOND;
        capture.say(at, &mut pool, 0, &query("select name from users where id = 7"));
        capture.say(at + 2 * MILLISECOND, &mut pool, 1, &answer());
    }
    let (records, _) = capture.read_records();
    let connections = of_type(&records, "connection");
    assert_eq!(connections[0]["server"], "10.0.0.2:51234");
    assert_eq!(connections[0]["client"], "10.0.0.1:35000");
    assert_eq!(connections[0]["protocol"], "postgres");
    assert_eq!(connections[0]["turns"], 20);
    let statements = of_type(&records, "statement");
    assert_eq!(statements[0]["calls"], 20);
    let work: Vec<&Value> = of_type(&records, "exchange");
    let first_bytes: Vec<u64> = work
        .iter()
        .map(|exchange| exchange["first_byte_ns"].as_u64().expect("a reply"))
        .collect();
    assert!(
        first_bytes.iter().all(|&span| span == 2 * MILLISECOND),
        "{first_bytes:?}"
    );
    let inside = work
        .iter()
        .filter_map(|exchange| exchange["client_inside_request_ns"].as_u64());
    assert_eq!(inside.sum::<u64>(), 0, "pauses between requests are in none");
}

/// A mail server on any port is not taken for Redis, and user names are not printed.
#[test]
fn a_mail_servers_users_are_never_printed() {
    let talk: [(usize, &str); 9] = [
        (1, "220 mail.example.org ESMTP\r\n"),
        (0, "AUTH anna-smtp\r\n"),
        (1, "334 VXNlcm5hbWU6\r\n"),
        (0, "anna-smtp\r\n"),
        (1, "334 UGFzc3dvcmQ6\r\n"),
        (0, "secret-smtp\r\n"),
        (1, "235 ok\r\n"),
        (0, "INFO anna-smtp\r\n"),
        (1, "500 what\r\n"),
    ];
    for port in [25, 6379, 5432, 3306] {
        for from in 0..4 {
            let mut capture = Capture::default();
            let mut mail = wire((1, 40_000), (2, port));
            if from == 0 {
                capture.handshake(0, &mut mail);
            }
            for (place, (side, text)) in (1u64..).zip(&talk).skip(from) {
                capture.say(place * 10 * MILLISECOND, &mut mail, *side, text.as_bytes());
            }
            let (records, printed) = capture.read_records();
            assert_eq!(
                of_type(&records, "connection")[0]["protocol"],
                "unknown",
                "{port} {from}"
            );
            assert!(!printed.contains("anna-smtp"), "{port} {from}: {printed}");
            assert!(!printed.contains("secret-smtp"), "{port} {from}: {printed}");
            let expected = if from == 0 { 6 } else { 4 - from / 2 };
            assert_eq!(
                of_type(&records, "connection")[0]["turns"],
                expected,
                "{port} {from}"
            );
        }
    }
}
