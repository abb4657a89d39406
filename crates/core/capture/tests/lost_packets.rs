//! Bytes lost by the capturing host are reported in their place, without moving later bytes.

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::PerDirection;
use support::build::{self, Tcp, tcp};
use support::{ObservedConnection, read_bytes};

fn one(packets: &[Tcp]) -> ObservedConnection {
    let (mut observed, _) = read_bytes(&build::capture_of(packets)).expect("a capture");
    assert_eq!(observed.len(), 1, "{observed:?}");
    observed.remove(0)
}

/// Sender and bytes of each segment, unseen ones as `?`, in order of the reports.
fn order(observed: &ObservedConnection) -> Vec<String> {
    let text = |piece: &support::Piece| {
        let who = if piece.direction == ClientToServer {
            "C "
        } else {
            "S "
        };
        who.to_owned() + &String::from_utf8_lossy(&piece.payload) + &"?".repeat(piece.unseen as usize)
    };
    observed.segments.iter().map(text).collect()
}

/// Requests and replies without a pause, 100 us each.
fn dialogue() -> Vec<Tcp> {
    let mut packets = build::handshake();
    for turn in 0..6u32 {
        let at = 1_000 + 200 * u64::from(turn);
        let (ask, answer) = (1001 + 4 * turn, 5001 + 3 * turn);
        packets.push(tcp(at, true, "PA", ask, answer).with(format!("ask{turn}").as_bytes()));
        packets.push(tcp(at + 100, false, "PA", answer, ask + 4).with(format!("re{turn}").as_bytes()));
    }
    packets
}

#[test]
fn a_lost_request_is_told_before_its_reply_and_after_nothing_else() {
    let mut packets = dialogue();
    let mut expected = order(&one(&packets));
    assert_eq!(packets.remove(5).payload, b"ask1");
    expected[2] = "C ????".to_owned();
    assert_eq!(order(&one(&packets)), expected);
}

#[test]
fn a_lost_reply_is_told_before_the_next_request() {
    let mut packets = dialogue();
    let mut expected = order(&one(&packets));
    assert_eq!(packets.remove(6).payload, b"re1");
    expected[3] = "S ???".to_owned();
    assert_eq!(order(&one(&packets)), expected);
}

#[test]
fn a_lost_reply_of_one_byte_is_told_before_the_next_request() {
    let mut packets = build::handshake();
    packets.push(tcp(1_000, true, "PA", 1001, 5001).with(b"tls?"));
    packets.push(tcp(1_200, true, "PA", 1005, 5002).with(b"then so"));
    packets.push(tcp(1_400, false, "PA", 5002, 1012).with(b"yes"));
    packets.push(tcp(1_600, true, "PA", 1012, 5005).with(b"bye"));
    assert_eq!(
        order(&one(&packets)),
        ["C tls?", "S ?", "C then so", "S yes", "C bye"]
    );
}

#[test]
fn a_lost_fin_is_no_byte() {
    let mut packets = dialogue();
    packets.push(tcp(9_000, true, "A", 1025, 5020));
    packets.push(tcp(9_100, true, "FA", 1025, 5020));
    let observed = one(&packets);
    assert_eq!(observed.totals().unseen_bytes, PerDirection::default());
}

/// The server has closed, uncaptured. The client acknowledges it with its last words, or with a
/// later reset.
#[test]
fn a_lost_fin_that_last_words_acknowledge_is_no_byte() {
    let endings: [&[Tcp]; 4] = [
        &[tcp(9_000, true, "PA", 1025, 5020).with(b"quit")],
        &[
            tcp(9_000, true, "A", 1025, 5020),
            tcp(9_100, true, "PA", 1025, 5020).with(b"quit"),
        ],
        &[
            tcp(9_000, true, "PA", 1025, 5020).with(b"quit"),
            tcp(49_000, false, "R", 5020, 0),
        ],
        &[
            tcp(9_000, true, "PA", 1025, 5020).with(b"quit"),
            tcp(9_050, true, "FA", 1029, 5020),
            tcp(49_000, false, "A", 5020, 1030),
            tcp(5_000_000, true, "R", 1030, 0),
        ],
    ];
    for (number, ending) in endings.iter().enumerate() {
        let mut packets = dialogue();
        packets.extend(ending.iter().cloned());
        let (observed, report) = read_bytes(&build::capture_of(&packets)).expect("a capture");
        assert_eq!(
            observed[0].totals().unseen_bytes,
            PerDirection::default(),
            "{number}"
        );
        assert!(observed[0].stream(ClientToServer).ends_with(b"quit"), "{number}");
        assert!(report.warnings.is_empty(), "{number}: {:?}", report.warnings);
    }
}

/// The same acknowledgement, but the server continues after the offset: a byte was lost.
#[test]
fn a_lost_byte_that_looks_like_a_fin_is_told_when_the_server_goes_on() {
    for later in [1_400, 40_000, 900_000] {
        let mut packets = build::handshake();
        packets.push(tcp(1_000, true, "PA", 1001, 5001).with(b"tls?"));
        packets.push(tcp(1_200, true, "PA", 1005, 5002).with(b"then so"));
        packets.push(tcp(later, false, "PA", 5002, 1012).with(b"yes"));
        packets.push(tcp(later + 200, true, "PA", 1012, 5005).with(b"bye"));
        assert_eq!(
            order(&one(&packets)),
            ["C tls?", "S ?", "C then so", "S yes", "C bye"],
            "{later}"
        );
    }
}

#[test]
fn a_keep_alive_as_the_first_packet_is_no_payload() {
    for probe in [&b""[..], b"\0"] {
        let mut packets: Vec<Tcp> = dialogue().split_off(3);
        packets.insert(0, tcp(0, true, "A", 1000, 5001).with(probe));
        packets.insert(1, tcp(20, false, "A", 5001, 1001));
        let observed = one(&packets);
        assert_eq!(observed.stream(ClientToServer), b"ask0ask1ask2ask3ask4ask5");
        assert_eq!(observed.stream(ServerToClient), b"re0re1re2re3re4re5");
        assert_eq!(observed.totals().unseen_bytes, PerDirection::default());
        assert_eq!(order(&observed), order(&one(&dialogue())));
    }
}

#[test]
fn a_keep_alive_of_the_server_as_the_first_packet_is_no_payload() {
    for probe in [&b""[..], b"\0"] {
        let mut packets: Vec<Tcp> = dialogue().split_off(3);
        packets.insert(0, tcp(0, false, "A", 5000, 1001).with(probe));
        let observed = one(&packets);
        assert_eq!(order(&observed), order(&one(&dialogue())));
    }
}

#[test]
fn a_keep_alive_between_requests_is_no_payload() {
    for probe in [&b""[..], b"\0"] {
        let mut packets = dialogue();
        packets.insert(7, tcp(1_350, true, "A", 1008, 5007).with(probe));
        packets.insert(8, tcp(1_360, false, "A", 5007, 1009));
        let observed = one(&packets);
        assert_eq!(order(&observed), order(&one(&dialogue())));
        assert_eq!(observed.totals().retransmitted_packets, Some(0));
    }
}

#[test]
fn a_keep_alive_behind_lost_bytes_brings_none_of_its_own() {
    let mut packets = dialogue();
    assert_eq!(packets.remove(14).payload, b"re5");
    assert_eq!(packets.remove(13).payload, b"ask5");
    packets.push(tcp(9_000, true, "A", 1024, 5019).with(b"\0"));
    packets.push(tcp(9_100, false, "A", 5019, 1025));
    assert_eq!(one(&packets).stream(ClientToServer), b"ask0ask1ask2ask3ask4????");
}
