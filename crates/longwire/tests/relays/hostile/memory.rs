//! Memory bounds for files and connections.

use analysis::fact::Fact;
use analysis::pairing::{GIVEN_UP, MAX_PENDING_REPLIES, MAX_TOTAL_PENDING_REPLIES};
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Endpoint, Segment, Timestamp,
};
use pipeline::decode::ConnectionDecoders;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use testbed::binary::longwire;

fn exchange() -> (String, String) {
    let capture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/captures/pgjdbc4274-pg15-trust.pcap"
    );
    let output = longwire(&["read", "--json", "--exchanges", capture])
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let line = text
        .lines()
        .find(|line| line.contains("\"type\":\"exchange\"") && line.contains("\"fingerprint\":\""))
        .expect("there is a statement");
    let (before, rest) = line.split_once("\"fingerprint\":\"").expect("it is there");
    let (_, after) = rest.split_once('"').expect("it ends");
    (format!("{before}\"fingerprint\":\""), format!("\"{after}"))
}

#[test]
fn statements_of_a_recording_are_bounded_over_the_whole_run() {
    let folder = tempfile::tempdir().expect("a directory");
    let (before, after) = exchange();
    let paths: Vec<String> = [0, 1]
        .into_iter()
        .map(|file| {
            let path = folder.path().join(format!("many{file}.lwr"));
            let out = std::fs::File::create(&path).expect("it can be made");
            let mut out = zstd::Encoder::new(out, 1).expect("an encoder");
            for number in 0..15_000 {
                writeln!(out, "{before}select x from t{file}_{number}{after}").expect("it is written");
            }
            out.finish().expect("it is written");
            path.display().to_string()
        })
        .collect();
    let output = longwire(&["read", "--json", &paths[0], &paths[1]])
        .output()
        .expect("it starts");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("it is text");
    let statements = || {
        text.lines()
            .filter(|line| line.contains("\"type\":\"statement\""))
    };
    // 20,000 statements, plus one that counts all others.
    assert_eq!(statements().count(), 20_001);
    let other = statements().find(|line| line.contains("\"(other statements)\""));
    let other: serde_json::Value = serde_json::from_str(other.expect("it is there")).expect("a record");
    assert_eq!(other["calls"], 10_000, "all are counted");
}

fn endpoint(port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port,
    }
}

#[test]
fn what_is_owed_a_reply_is_bounded_over_all_connections() {
    let mut connections = ConnectionDecoders::new(false);
    let (mut handed_out, mut now) = (0, 0);
    let clients: Vec<ConnectionId> = (0..4).map(ConnectionId).collect();
    let mut event = |id: ConnectionId, event: ConnectionEvent<'_>| {
        connections.event(id, event, &mut |fact| {
            handed_out += usize::from(matches!(fact, Fact::Exchange { .. }));
        });
        handed_out
    };
    let mut pass = |id: ConnectionId,
                    direction: Direction,
                    payload: &[u8],
                    event: &mut dyn FnMut(ConnectionId, ConnectionEvent<'_>) -> usize| {
        now += 1000;
        let segment = Segment {
            direction,
            at: Timestamp::from_nanos(now),
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: None,
        };
        event(id, ConnectionEvent::Segment(segment))
    };
    let (up, down) = (Direction::ClientToServer, Direction::ServerToClient);
    let query = b"Q\0\0\0\x0dselect 1\0".repeat(100);
    let mut done = 0;
    for &id in &clients {
        let opened = ConnectionEvent::Opened {
            at: Timestamp::from_nanos(0),
            client: endpoint(40_000),
            server: endpoint(5432),
            sides_certain: true,
        };
        event(id, opened);
        pass(id, up, b"\0\0\0\x10\0\x03\0\0user\0a\0\0", &mut event);
        pass(id, down, b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", &mut event);
        for _ in 0..MAX_PENDING_REPLIES / 100 + 5 {
            done = pass(id, up, &query, &mut event);
        }
    }
    let asked = clients.len() * (MAX_PENDING_REPLIES + 500);
    let held = asked + clients.len() - done;
    assert!(
        (MAX_PENDING_REPLIES..=MAX_TOTAL_PENDING_REPLIES + 1000).contains(&held),
        "{held} of {asked} are held"
    );
    for &id in &clients {
        let closed = ConnectionEvent::Closed {
            at: Timestamp::from_nanos(1 << 40),
            how: Closing::Unfinished,
            totals: ConnectionTotals::default(),
        };
        done = event(id, closed);
    }
    assert!(done >= asked, "each is reported in the end: {done} of {asked}");
}

/// Abandoned requests must not leave their replies to others.
#[test]
fn replies_to_requests_that_were_given_up_are_nobody_elses() {
    const BEYOND: usize = 500;
    let mut connections = ConnectionDecoders::new(false);
    let id = ConnectionId(0);
    let (mut given_up, mut wrong, mut reply_bytes) = (0, 0, 0);
    let mut event = |event: ConnectionEvent<'_>| {
        connections.event(id, event, &mut |fact| {
            let Fact::Exchange { exchange, .. } = fact else {
                return;
            };
            let is_ping = exchange.fingerprint.as_deref() == Some("PING");
            given_up += usize::from(exchange.error.as_deref() == Some(GIVEN_UP));
            wrong += usize::from(is_ping && exchange.reply_bytes == 5);
            reply_bytes += exchange.reply_bytes;
        });
    };
    event(ConnectionEvent::Opened {
        at: Timestamp::from_nanos(0),
        client: endpoint(40_000),
        server: endpoint(6379),
        sides_certain: true,
    });
    let mut now = 0;
    let mut pass = |direction: Direction, payload: &[u8]| {
        now += 1_000_000;
        event(ConnectionEvent::Segment(Segment {
            direction,
            at: Timestamp::from_nanos(now),
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: None,
        }));
    };
    let (up, down) = (Direction::ClientToServer, Direction::ServerToClient);
    pass(up, &b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(BEYOND));
    pass(up, &b"*1\r\n$4\r\nPING\r\n".repeat(MAX_PENDING_REPLIES));
    let replies = [
        b"$-1\r\n".repeat(BEYOND),
        b"+PONG\r\n".repeat(MAX_PENDING_REPLIES),
    ]
    .concat();
    replies.chunks(60_000).for_each(|some| pass(down, some));
    event(ConnectionEvent::Closed {
        at: Timestamp::from_nanos(1 << 50),
        how: Closing::Unfinished,
        totals: ConnectionTotals::default(),
    });
    assert_eq!(given_up, BEYOND);
    assert_eq!(wrong, 0, "replies of GET are taken for those of PING");
    assert_eq!(reply_bytes, replies.len() as u64, "every byte is somewhere");
}
