//! Several sources on one clock.

mod support;

use capture::{Report, Source};
use model::Direction::{ClientToServer, ServerToClient};
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::{ObservedConnection, read_sources};

fn read_captures(captures: &[Vec<u8>]) -> (Vec<ObservedConnection>, Report) {
    let names: Vec<String> = (0..captures.len())
        .map(|number| format!("file {number}"))
        .collect();
    let sources = names.iter().zip(captures);
    let sources = sources
        .map(|(name, bytes)| Source::Stream {
            name,
            reader: Box::new(bytes.as_slice()),
        })
        .collect();
    read_sources(sources).expect("captures")
}

fn conversation() -> Vec<Tcp> {
    let mut packets = build::handshake();
    for number in 0..20u32 {
        let at = 1_000_000 * u64::from(number + 1);
        packets.push(tcp(at, true, "PA", 1001 + 6 * number, 5001 + 3 * number).with(b"select"));
        packets.push(tcp(at + 400, false, "PA", 5001 + 3 * number, 1007 + 6 * number).with(b"row"));
    }
    packets
}

#[test]
fn files_of_a_rotated_capture_are_one_in_any_order() {
    let packets = conversation();
    let pieces: Vec<Vec<u8>> = packets.chunks(15).map(build::capture_of).collect();
    let whole = read_captures(&[build::capture_of(&packets)]).0.remove(0);
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let files = order.map(|number| pieces[number].clone());
        let (observed, report) = read_captures(&files);
        assert_eq!(observed.len(), 1);
        let begins_in = order.iter().position(|piece| *piece == 0);
        assert_eq!(Some(observed[0].id.0 as usize), begins_in);
        assert_eq!(observed[0].segments, whole.segments);
        assert_eq!(observed[0].totals(), whole.totals());
        assert_eq!(report.warnings, []);
        assert_eq!(report.packets, packets.len() as u64);
    }
}

#[test]
fn a_connection_in_two_files_is_told_from_the_first_with_one_warning() {
    let near_client = conversation();
    let near_server: Vec<Tcp> = near_client
        .iter()
        .map(|packet| {
            let shift = if packet.from_client { 150 } else { 0 };
            Tcp {
                at_us: packet.at_us + 5 + shift,
                ..packet.clone()
            }
        })
        .collect();
    let (alone, _) = read_captures(&[build::capture_of(&near_client)]);
    for late in [false, true] {
        // A late clock can place the second file entirely after the first.
        let shift = if late { 30_000_000 } else { 0 };
        let second: Vec<Tcp> = near_server
            .iter()
            .map(|packet| Tcp {
                at_us: packet.at_us + shift,
                ..packet.clone()
            })
            .collect();
        let (observed, report) =
            read_captures(&[build::capture_of(&near_client), build::capture_of(&second)]);
        assert_eq!(observed.len(), 1, "{late}");
        assert_eq!(observed[0].segments, alone[0].segments);
        assert_eq!(observed[0].totals(), alone[0].totals());
        let [warning] = &report.warnings[..] else {
            panic!("{report:?}")
        };
        assert!(
            warning
                .text
                .starts_with("'file 1' shows connections that another file showed first: 43 ")
        );
    }
}

#[test]
fn connections_of_two_files_are_told_in_the_order_of_time() {
    let database = conversation();
    let web: Vec<Frame> = conversation()
        .iter()
        .map(|packet| {
            Tcp {
                at_us: packet.at_us + 200,
                ..packet.clone()
            }
            .frame_between("10.0.0.9:50000", "10.0.0.1:80")
        })
        .collect();
    let (observed, report) = read_captures(&[build::capture_of(&database), build::pcap(NANO, &web)]);
    assert_eq!(observed.len(), 2);
    assert_eq!(report.warnings, []);
    assert_eq!((observed[0].server.port, observed[1].server.port), (5432, 80));
    assert!(
        observed
            .iter()
            .all(|observed| observed.stream(ClientToServer).len() == 120
                && observed.stream(ServerToClient).len() == 60)
    );
    let span = report
        .last_at
        .expect("packets")
        .since(report.first_at.expect("packets"));
    assert_eq!(span.as_micros(), 20_000_600);
}
