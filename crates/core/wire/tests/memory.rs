//! Allocations never follow a mere length field, and stay within the documented limits.

use model::{Direction, Timestamp};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use wire::Stream;

struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn record_change(change: isize) {
    let held = HELD.get() + change;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record_change(layout.size().cast_signed());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        record_change(-layout.size().cast_signed());
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn most_held(run: impl FnOnce()) -> isize {
    let before = HELD.get();
    PEAK.set(before);
    run();
    PEAK.get() - before
}

fn feed_in_parts(stream: &mut Stream, direction: Direction, bytes: &[u8]) {
    for part in bytes.chunks(1000) {
        stream.feed(Timestamp::default(), direction, part, &mut |_| {});
    }
}

fn postgres(tag: u8, claimed: u32, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &claimed.to_be_bytes(), body].concat()
}

/// One direction's text (64 KiB and a name, in a buffer that doubles), the detection buffer, and
/// the stream.
const BOUND: isize = 2 * 64 * 1024 + 64 * 1024 + 3 * 16 * 1024 + 8 * 1024;

#[test]
fn messages_that_claim_much_hold_little() {
    let startup = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
    let body = vec![b'x'; 10 << 20];
    let inputs = [
        (Direction::ClientToServer, postgres(b'Q', 1 << 30, &body)),
        (Direction::ClientToServer, postgres(b'P', 1 << 30, &body)),
        (Direction::ClientToServer, postgres(b'd', 1 << 30, &body)),
        (Direction::ServerToClient, postgres(b'D', 1 << 30, &body)),
        (Direction::ServerToClient, postgres(b'E', 1 << 30, &body)),
    ];
    for (direction, input) in &inputs {
        let most = most_held(|| {
            let mut stream = Stream::new(5432);
            feed_in_parts(&mut stream, Direction::ClientToServer, startup);
            feed_in_parts(&mut stream, *direction, input);
        });
        assert!(
            most < BOUND,
            "{:?} {direction:?}: {most} bytes held",
            input[0] as char
        );
    }
}

#[test]
fn redis_values_that_claim_much_hold_little() {
    let mut big = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4000000000\r\n".to_vec();
    big.resize(10 << 20, b'x');
    let mut many = b"*4000000000\r\n".to_vec();
    many.extend_from_slice(&b"$1\r\nx\r\n".repeat(100_000));
    let nested = b"*4000000000\r\n".repeat(64);
    let line = [b"+".as_slice(), &[b'x'; 60_000]].concat();
    let requests = b"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nINFO\r\n".repeat(20_000);
    let inputs = [
        (Direction::ClientToServer, big, BOUND),
        (Direction::ClientToServer, many.clone(), BOUND),
        (Direction::ServerToClient, many, BOUND),
        (Direction::ServerToClient, nested, BOUND),
        (Direction::ServerToClient, line, BOUND),
        (Direction::ClientToServer, requests, 4 << 20),
    ];
    for (place, (direction, input, bound)) in inputs.iter().enumerate() {
        let most = most_held(|| {
            let mut stream = Stream::new(6379);
            feed_in_parts(&mut stream, Direction::ClientToServer, b"*1\r\n$4\r\nPING\r\n");
            feed_in_parts(&mut stream, *direction, input);
        });
        assert!(most < *bound, "input {place}: {most} bytes held");
    }
}

#[test]
fn a_postgres_client_that_gets_no_reply_becomes_opaque() {
    let startup = b"\0\0\0\x10\0\x03\0\0user\0a\0\0";
    let syncs = b"S\0\0\0\x04".repeat(600_000);
    let mut said = None;
    let most = most_held(|| {
        let mut stream = Stream::new(5432);
        feed_in_parts(&mut stream, Direction::ClientToServer, startup);
        feed_in_parts(
            &mut stream,
            Direction::ServerToClient,
            b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
        );
        feed_in_parts(&mut stream, Direction::ClientToServer, &syncs);
        said = stream.decoding().opaque;
    });
    assert!(most < 4 << 20, "{most} bytes held");
    let said = said.expect("it says that it cannot follow");
    assert!(said.contains("expected fewer requests without a reply"), "{said}");
}

#[test]
fn informix_messages_that_claim_much_hold_little() {
    let filler = vec![b'x'; 10 << 20];
    let claims = |head: &[u8]| [head, &filler].concat();
    let numbers = (0..300_000u32).flat_map(|number| {
        let number = number.to_be_bytes();
        [
            0, 2, 0, 0, 0, 0, 0, 8, b's', b'e', b'l', b'e', b'c', b't', b' ', number[3],
        ]
    });
    let login = b"\0\x0e\x01\x3c\0\0\0\x64\0\x65\0\0\0\x3d";
    let inputs = [
        (Direction::ClientToServer, claims(b"\0\x02\0\0\x7f\xff\xff\xff")),
        (
            Direction::ClientToServer,
            claims(b"\0\x05\xff\xff\0\0\0\0\0\0\xff\xff"),
        ),
        (Direction::ClientToServer, claims(b"\0\x51\0\x06\xff\xff")),
        (Direction::ClientToServer, claims(b"\x7f\xff")),
        (Direction::ClientToServer, numbers.collect()),
        (Direction::ServerToClient, claims(b"\0\x0e\0\0\x7f\xff\xff\xff")),
        (
            Direction::ServerToClient,
            claims(b"\0\x08\0\0\0\0\0\0\0\0\0\x2c\xff\xff\x7f\xff\xff\xff"),
        ),
        (
            Direction::ServerToClient,
            claims(b"\0\x61\0\0\x7f\xff\xff\xff\0\x01"),
        ),
    ];
    for (place, (direction, input)) in inputs.iter().enumerate() {
        let most = most_held(|| {
            let mut stream = Stream::new(9088);
            feed_in_parts(&mut stream, Direction::ClientToServer, login);
            feed_in_parts(&mut stream, *direction, input);
        });
        assert!(most < BOUND, "input {place}: {most} bytes held");
    }
}

fn drda(format: u8, correlation: u16, code: u16, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 10).expect("short");
    let mut out = length.to_be_bytes().to_vec();
    out.extend_from_slice(&[0xD0, format]);
    out.extend_from_slice(&correlation.to_be_bytes());
    out.extend_from_slice(&(length - 6).to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(body);
    out
}

#[test]
fn drda_objects_that_claim_much_hold_little() {
    let segments = |code: [u8; 2]| {
        let head = [&b"\xff\xff\xd0\x03\0\x01\x80\x08"[..], &code, &[0x7f; 4]].concat();
        let rest = [&b"\xff\xff"[..], &[b'x'; 0x7FFD]].concat();
        [head, vec![b'x'; 0x7FFF - 14], rest.repeat(300)].concat()
    };
    let prepare = drda(0x51, 1, 0x200D, b"");
    let sections = (0..20_000u32).flat_map(|number| {
        let name = [&b"\0\x48\x21\x13"[..], &[b'x'; 64], &number.to_be_bytes()].concat();
        drda(0x51, 1, 0x200B, &name)
    });
    let described = |section: u8| {
        let name = [&b"\0\x05\x21\x13"[..], &[section]].concat();
        let columns = [&[0xFF, 0x76, 0xD0][..], &[0x33, 0, 9].repeat(84)].concat();
        (
            drda(0x01, 1, 0x200C, &name),
            drda(0x02, 1, 0x241A, &columns.repeat(30)),
        )
    };
    let inputs = [
        (
            Direction::ClientToServer,
            [prepare, segments([0x24, 0x14])].concat(),
            BOUND,
        ),
        (Direction::ServerToClient, segments([0x24, 0x1B]), BOUND),
        (Direction::ServerToClient, segments([0x24, 0x1A]), BOUND),
        (Direction::ClientToServer, sections.collect(), 4 << 20),
    ];
    let login = drda(0x01, 1, 0x1041, b"");
    for (place, (direction, input, bound)) in inputs.iter().enumerate() {
        let most = most_held(|| {
            let mut stream = Stream::new(50000);
            feed_in_parts(&mut stream, Direction::ClientToServer, &login);
            feed_in_parts(&mut stream, *direction, input);
        });
        assert!(most < *bound, "input {place}: {most} bytes held");
    }
    let most = most_held(|| {
        let mut stream = Stream::new(50000);
        feed_in_parts(&mut stream, Direction::ClientToServer, &login);
        for section in 0..=255 {
            let (open, description) = described(section);
            feed_in_parts(&mut stream, Direction::ClientToServer, &open);
            feed_in_parts(&mut stream, Direction::ServerToClient, &description);
        }
    });
    assert!(most < 4 << 20, "descriptions: {most} bytes held");
}

fn oracle(flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 10).expect("short");
    [
        &length.to_be_bytes()[..],
        &[6, 0, 0, 0],
        &flags.to_be_bytes(),
        body,
    ]
    .concat()
}

#[test]
fn oracle_requests_without_an_end_hold_little() {
    let claims = [
        &(3u32 << 20).to_be_bytes()[..],
        &[6, 0, 0, 0, 0, 0],
        &vec![b'x'; 3 << 20],
    ]
    .concat();
    let part = oracle(0, &[&[3, 94, 1][..], &[b'x'; 8000]].concat());
    let rows = oracle(0, &[&[6][..], &[7; 8000]].concat());
    let calls = oracle(0x0800, b"\x03\x0e\x05").repeat(70_000);
    let inputs = [
        (Direction::ClientToServer, claims, BOUND),
        (Direction::ClientToServer, part.repeat(1000), BOUND + 128 * 1024),
        (Direction::ServerToClient, rows.repeat(1000), BOUND),
        (Direction::ClientToServer, calls, 8 << 20),
    ];
    for (place, (direction, input, bound)) in inputs.iter().enumerate() {
        let most = most_held(|| {
            let mut stream = Stream::new(1521);
            let start = oracle(0, b"\x03\x0e\x05");
            feed_in_parts(&mut stream, Direction::ClientToServer, &start);
            feed_in_parts(&mut stream, *direction, input);
        });
        assert!(most < *bound, "input {place}: {most} bytes held");
    }
}

fn tds(kind: u8, status: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 8).expect("short").to_be_bytes();
    [&[kind, status][..], &length, &[0; 4], body].concat()
}

#[test]
fn tds_messages_without_an_end_hold_little() {
    let columns = [
        &[0x81, 0, 0x75][..],
        &[0, 0, 0, 0, 9, 0, 0x26, 4, 0].repeat(30_000),
    ]
    .concat();
    let columns: Vec<u8> = columns.chunks(4000).flat_map(|part| tds(4, 0, part)).collect();
    let value = [
        &b"\x81\x01\0\0\0\0\0\x09\0\xe7\xff\xff\x09\x04\xd0\0\x34\0\xd1"[..],
        &[0xfe; 8],
        &[0xff; 4],
    ]
    .concat();
    let long = [tds(4, 0, &value), tds(4, 0, &[b'x'; 4000]).repeat(1000)].concat();
    let error = [tds(4, 0, b"\xaa\xff\xff"), tds(4, 0, &[b'x'; 4000]).repeat(1000)].concat();
    let inputs = [
        (
            Direction::ClientToServer,
            tds(1, 0, &[b'x'; 4000]).repeat(1000),
            BOUND + 256 * 1024,
        ),
        (Direction::ServerToClient, columns, BOUND + 128 * 1024),
        (Direction::ServerToClient, long, BOUND),
        (Direction::ServerToClient, error, BOUND + 256 * 1024),
        (
            Direction::ClientToServer,
            tds(1, 1, b"s\0").repeat(70_000),
            8 << 20,
        ),
    ];
    for (place, (direction, input, bound)) in inputs.iter().enumerate() {
        let most = most_held(|| {
            let mut stream = Stream::new(1433);
            feed_in_parts(&mut stream, Direction::ClientToServer, &tds(1, 1, b"s\0"));
            feed_in_parts(&mut stream, *direction, input);
        });
        assert!(most < *bound, "input {place}: {most} bytes held");
    }
}

#[test]
fn steady_redis_traffic_allocates_nothing() {
    let mut stream = Stream::new(6379);
    let exchange = |stream: &mut Stream| {
        let request = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n".repeat(16);
        feed_in_parts(stream, Direction::ClientToServer, &request);
        feed_in_parts(stream, Direction::ServerToClient, &b"+OK\r\n".repeat(16));
    };
    exchange(&mut stream);
    let before = HELD.get();
    for _ in 0..1000 {
        exchange(&mut stream);
    }
    assert_eq!(HELD.get(), before, "bytes held after a thousand exchanges");
}

#[test]
fn what_cannot_be_recognised_holds_little() {
    let heads: [&[u8]; 5] = [b"GET /", b"\0\0", b"Q\0\0\x10\0", b"\x16\x03\x01", b"?"];
    for head in heads {
        let input = [head, &[b'a'; 1 << 20]].concat();
        let most = most_held(|| feed_in_parts(&mut Stream::new(9999), Direction::ClientToServer, &input));
        assert!(most < BOUND, "{head:?}: {most} bytes held");
    }
}

#[test]
fn names_and_pipelines_hold_little() {
    let mut stream = Stream::new(5432);
    let most = most_held(|| {
        for number in 0..100_000u32 {
            let body = [b"name ", number.to_string().as_bytes(), b"\0select 1\0\0\0"].concat();
            let length = u32::try_from(body.len() + 4).expect("short");
            feed_in_parts(
                &mut stream,
                Direction::ClientToServer,
                &postgres(b'P', length, &body),
            );
        }
        let sync = postgres(b'S', 4, b"");
        for _ in 0..300_000 {
            feed_in_parts(&mut stream, Direction::ClientToServer, &sync);
        }
    });
    assert!(most < 4 << 20, "{most} bytes held");
}

#[test]
fn steady_traffic_allocates_nothing() {
    let mut stream = Stream::new(5432);
    let query = postgres(b'Q', 13, b"select 1\0");
    let reply = [
        postgres(b'D', 11, b"\0\x01\0\0\0\x011"),
        postgres(b'C', 13, b"SELECT 1\0"),
        postgres(b'Z', 5, b"I"),
    ]
    .concat();
    let exchange = |stream: &mut Stream| {
        feed_in_parts(stream, Direction::ClientToServer, &query);
        feed_in_parts(stream, Direction::ServerToClient, &reply);
    };
    exchange(&mut stream);
    let most = most_held(|| (0..1000).for_each(|_| exchange(&mut stream)));
    assert_eq!(most, 0, "bytes held");
}

#[test]
fn an_http_head_without_an_end_holds_little() {
    let head = [
        b"GET / HTTP/1.1\r\n".as_slice(),
        &b"Name: value\r\n".repeat(100_000),
    ]
    .concat();
    let most = most_held(|| feed_in_parts(&mut Stream::new(80), Direction::ClientToServer, &head));
    assert!(most < BOUND, "{most} bytes held");
}

/// Bodies of many requests of stores at once: the newest 128 are kept.
#[test]
fn http2_requests_without_an_end_hold_little() {
    let frame = |kind: u8, flags: u8, stream: u32, body: &[u8]| {
        let length = u32::try_from(body.len()).expect("short").to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), body].concat()
    };
    let head = b"\0\x07:method\x04POST\0\x05:path\x01/\0\x0cx-amz-target\x19DynamoDB_20120810.PutItem";
    let body = vec![b'x'; 16_000];
    let most = most_held(|| {
        let mut stream = Stream::new(80);
        feed_in_parts(&mut stream, Direction::ClientToServer, wire::http2::OPENING);
        for number in 0..2000 {
            let id = 2 * number + 1;
            feed_in_parts(&mut stream, Direction::ClientToServer, &frame(1, 4, id, head));
            for _ in 0..2 {
                feed_in_parts(&mut stream, Direction::ClientToServer, &frame(0, 0, id, &body));
            }
        }
        assert_eq!(stream.protocol(), model::Protocol::Http2);
    });
    // Bodies in buffers that double, and 1024 streams.
    let bound = BOUND + 128 * 32 * 1024 + 1024 * 1024;
    assert!(most < bound, "{most} bytes held");
}

#[test]
fn fastcgi_records_that_claim_much_hold_little() {
    const BEGIN: &[u8] = b"\x01\x01\0\x01\0\x08\0\0\0\x01\x01\0\0\0\0\0";
    const FIRST: &[u8] = b"\x01\x04\0\x01\0\x12\0\0\x0e\x02REQUEST_METHODGO";
    let record = |kind: u8, request: u8, content: u16, body: &[u8]| {
        let length = content.to_be_bytes();
        [&[1, kind, 0, request, length[0], length[1], 0, 0], body].concat()
    };
    let filler = vec![b'x'; 65_535];
    let params = record(4, 1, 65_535, &filler).repeat(100);
    let claims = record(4, 1, 65_535, b"\xff\xff\xff\xff\xff\xff\xff\xff");
    let input = [record(4, 1, 0, b""), record(5, 1, 65_535, &filler).repeat(100)].concat();
    let asked = [record(4, 1, 0, b""), record(5, 1, 0, b"")].concat();
    let output = record(6, 1, 65_535, &filler).repeat(100);
    for (place, (client, server)) in [
        (params, vec![]),
        (claims, vec![]),
        (input, vec![]),
        (asked, output),
    ]
    .iter()
    .enumerate()
    {
        let client = [BEGIN, FIRST, client].concat();
        let most = most_held(|| {
            let mut stream = Stream::new(9000);
            feed_in_parts(&mut stream, Direction::ClientToServer, &client);
            feed_in_parts(&mut stream, Direction::ServerToClient, server);
            assert_eq!(stream.protocol(), model::Protocol::Fastcgi);
        });
        // The inspected part, in a buffer that doubles, and one record.
        assert!(most < BOUND + 2 * 64 * 1024, "input {place}: {most} bytes held");
    }
}
