//! If a pcapng file lists several addresses of an interface, they are one host: statements from a
//! web server's second address belong to its requests.

use crate::pcapng::Blocks;
use etherparse::PacketBuilder;
use serde_json::Value;
use std::path::Path;
use testbed::binary::{self, of_type};

type Socket = ([u8; 4], u16);

const BROWSER: Socket = ([10, 0, 0, 9], 40_000);
const WEB: Socket = ([10, 0, 0, 2], 80);
const CLIENT: Socket = ([10, 0, 0, 3], 50_000);
const REDIS: Socket = ([10, 0, 0, 4], 6379);

struct Conversation {
    sides: [Socket; 2],
    next: [u32; 2],
}

impl Conversation {
    fn packet(&mut self, at: u32, from: usize, flags: &str, payload: &[u8]) -> Vec<u8> {
        let [source, target] = [self.sides[from], self.sides[1 - from]];
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(source.0, target.0, 64);
        let mut tcp = builder.tcp(source.1, target.1, self.next[from], 60_000);
        if flags.contains('S') {
            tcp = tcp.syn();
        }
        if flags.contains('A') {
            tcp = tcp.ack(self.next[1 - from]);
        }
        let mut frame = Vec::new();
        tcp.write(&mut frame, payload).expect("it is built");
        self.next[from] += payload.len() as u32 + u32::from(flags.contains('S'));
        let head = [1_700_000_000, at, frame.len() as u32, frame.len() as u32];
        let head = head.into_iter().flat_map(u32::to_le_bytes);
        head.chain(frame).collect()
    }

    fn open(sides: [Socket; 2], at: u32, packets: &mut Vec<Vec<u8>>) -> Self {
        let mut conversation = Self {
            sides,
            next: [1_000, 5_000],
        };
        for (number, (from, flags)) in [(0, "S"), (1, "SA"), (0, "A")].into_iter().enumerate() {
            packets.push(conversation.packet(at + 10 * number as u32, from, flags, b""));
        }
        conversation
    }
}

fn pages() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut redis = Conversation::open([CLIENT, REDIS], 0, &mut packets);
    let mut web = Conversation::open([BROWSER, WEB], 100, &mut packets);
    for page in 0..2 {
        let at = 1_000 + page * 10_000;
        packets.push(web.packet(at, 0, "A", b"GET /page HTTP/1.1\r\nHost: web\r\n\r\n"));
        for statement in 0..2 {
            let at = at + 1_000 * (statement + 1);
            packets.push(redis.packet(at, 0, "A", b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"));
            packets.push(redis.packet(at + 500, 1, "A", b"$1\r\nv\r\n"));
        }
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        packets.push(web.packet(at + 4_000, 1, "A", reply));
    }
    packets
}

fn option(code: u8, value: &[u8]) -> Vec<u8> {
    let mut option = vec![code, 0, value.len() as u8, 0];
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn addressed(name: &[u8], addresses: &[[u8; 4]]) -> Vec<u8> {
    let mut options = option(2, name);
    for address in addresses {
        options.extend(option(4, &[&address[..], &[255, 255, 255, 0]].concat()));
    }
    options
}

fn capture(file: &Path, options: &[u8], other: &[u8]) {
    let mut blocks = Blocks::new(false, options);
    if !other.is_empty() {
        blocks.add(1, &[&[1, 0, 0, 0, 0, 0, 0, 0][..], other].concat());
    }
    pages().iter().for_each(|packet| blocks.packet(packet));
    std::fs::write(file, blocks.bytes).expect("it is written");
}

fn read_records(file: &Path, more: &[&str]) -> (Vec<Value>, String) {
    let file = file.display().to_string();
    let output = binary::run(&[&["read", "--json", &file], more].concat());
    binary::done(&output);
    let records = binary::records(&output);
    let pages = of_type(&records, "operation");
    let pages = pages.iter().filter(|page| page["operation_name"] == "GET /page");
    let turns = pages.map(|page| page["turns"].clone()).collect();
    (turns, binary::stdout(&output))
}

#[test]
fn addresses_of_one_interface_are_one_host_and_of_two_they_are_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("web.pcapng");
    let reason = "10.0.0.3 and 10.0.0.2 are taken to be one host: the capture says that its interface eth0 has both addresses";
    let both = addressed(b"eth0", &[WEB.0, CLIENT.0]);

    capture(&file, &both, &[]);
    let (turns, shown) = read_records(&file, &[]);
    assert_eq!(turns, [4, 3], "{shown}");
    assert!(shown.contains(reason), "{shown}");
    let (turns, shown) = read_records(&file, &["--host", "none"]);
    assert_eq!(turns, [2, 1], "{shown}");
    assert!(!shown.contains("taken to be one host"), "{shown}");

    // Two interfaces may belong to two machines with merged files, even with equal addresses.
    for (one, other) in [
        (addressed(b"eth0", &[WEB.0]), addressed(b"eth1", &[CLIENT.0])),
        (both, addressed(b"eth0", &[CLIENT.0, [10, 0, 1, 1]])),
        (option(2, b"eth0"), Vec::new()),
    ] {
        capture(&file, &one, &other);
        let (turns, shown) = read_records(&file, &[]);
        assert_eq!(turns, [2, 1], "{shown}");
        assert!(!shown.contains("taken to be one host"), "{shown}");
    }
}

#[test]
fn a_name_that_cannot_be_printed_is_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("web.pcapng");
    capture(&file, &addressed(b"e\x1b[2Jx\n", &[WEB.0, CLIENT.0]), &[]);
    let output = binary::run(&["read", &file.display().to_string()]);
    let shown = binary::shown(&output);
    assert!(
        binary::unwrapped(&shown).contains("its interface e?[2Jx? has both") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    // Without a name, its number is used.
    capture(&file, &addressed(b"", &[WEB.0, CLIENT.0])[4..], &[]);
    let (turns, shown) = read_records(&file, &[]);
    assert!(
        turns == [4, 3] && shown.contains("its interface number 0 has both"),
        "{shown}"
    );
}
