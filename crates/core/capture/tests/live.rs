//! Live packets cause the same events as a file, and time passes without packets too.

mod support;

use capture::{LiveCapture, LivePacket, Report};
use model::Direction::{ClientToServer, ServerToClient};
use model::Timestamp;
use support::build::{self, Frame, Tcp, tcp};
use support::{ObservedConnection, Recorder, read_bytes};

fn conversation() -> Vec<Tcp> {
    let mut packets = build::handshake();
    for number in 0..20u32 {
        let at = 1_000 + 1_000 * u64::from(number);
        packets.push(tcp(at, true, "PA", 1001 + 5 * number, 5001 + 3 * number).with(b"query"));
        packets.push(tcp(at + 400, false, "PA", 5001 + 3 * number, 1006 + 5 * number).with(b"row"));
        packets.push(tcp(at + 450, true, "A", 1006 + 5 * number, 5004 + 3 * number));
    }
    packets
}

fn on(interface: u32, frame: &Frame, later_us: u64) -> LivePacket<'_> {
    LivePacket {
        at: Timestamp::from_nanos(frame.at + 1000 * later_us),
        link_type: 1,
        interface,
        frame: &frame.bytes,
        wire: frame.wire,
    }
}

fn observed(pass: impl FnOnce(&mut LiveCapture<'_>)) -> (Vec<ObservedConnection>, Report) {
    let mut recorder = Recorder::default();
    let mut live = LiveCapture::new("interface eth0", &mut recorder);
    pass(&mut live);
    let report = live.finish();
    (recorder.connections.into_values().collect(), report)
}

#[test]
fn events_are_those_of_a_file() {
    let frames: Vec<Frame> = conversation().iter().map(Tcp::frame).collect();
    let (mut from_file, of_file) = read_bytes(&build::pcap(build::NANO, &frames)).expect("a capture");
    let (mut live, of_live) = observed(|live| frames.iter().for_each(|frame| live.packet(&on(2, frame, 0))));
    let (file, live) = (from_file.remove(0), live.remove(0));
    assert_eq!(
        (file.at, file.client, file.server),
        (live.at, live.client, live.server)
    );
    assert_eq!(
        (&file.segments, &file.round_trips, file.closed),
        (&live.segments, &live.round_trips, live.closed)
    );
    assert_eq!(
        (of_file.packets, of_file.wire_bytes),
        (of_live.packets, of_live.wire_bytes)
    );
    assert_eq!(of_live.warnings, []);
}

#[test]
fn a_packet_on_a_bridge_and_its_ports_counts_once_where_it_was_first() {
    let frames: Vec<Frame> = conversation().iter().map(Tcp::frame).collect();
    let (once, _) = observed(|live| frames.iter().for_each(|frame| live.packet(&on(2, frame, 0))));
    let (thrice, report) = observed(|live| {
        for (frame, packet) in frames.iter().zip(conversation()) {
            let path = if packet.from_client { [2, 3, 4] } else { [4, 3, 2] };
            for (interface, later_us) in path.into_iter().zip([0, 12, 30]) {
                live.packet(&on(interface, frame, later_us));
            }
        }
    });
    let (once, thrice) = (&once[0], &thrice[0]);
    assert_eq!(once.segments, thrice.segments);
    assert_eq!(once.totals(), thrice.totals());
    assert_eq!(report.warnings, []);
}

#[test]
fn what_is_sent_again_is_no_copy() {
    let mut packets = conversation();
    let again = packets[3].clone();
    packets.push(Tcp {
        at_us: 1_300,
        ..again
    });
    packets.sort_by_key(|packet| packet.at_us);
    let frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    // Both transmissions pass both interfaces; the second one has another IP identification.
    let (observed, _) = observed(|live| {
        for (place, frame) in frames.iter().enumerate() {
            let mut frame = frame.clone();
            frame.bytes[18..20].copy_from_slice(&(place as u16 + 1).to_be_bytes());
            live.packet(&on(2, &frame, 0));
            live.packet(&on(3, &frame, 10));
        }
    });
    assert_eq!(observed[0].totals().retransmitted_packets, Some(1));
    assert_eq!(observed[0].stream(ClientToServer), b"query".repeat(20));
}

#[test]
fn time_without_packets_ends_a_wait_for_one() {
    let mut packets = build::handshake();
    // The server acknowledges a request that was not captured, and answers it.
    packets.push(tcp(1_000, false, "PA", 5001, 1006).with(b"row"));
    let mut recorder = Recorder::default();
    let mut live = LiveCapture::new("interface eth0", &mut recorder);
    for packet in &packets {
        live.packet(&on(2, &packet.frame(), 0));
    }
    live.pass_time(Timestamp::from_nanos(build::EPOCH + 1_000_000_000));
    drop(live);
    let connection = recorder.connections.values().next().expect("one");
    assert_eq!(connection.stream(ServerToClient), b"row");
    assert!(connection.closed.is_none());
}

#[test]
fn packets_larger_than_the_connection_allows_are_estimated() {
    let mut packets = build::handshake();
    packets.push(tcp(1_000, true, "PA", 1001, 5001).with(&[b'x'; 14_600]));
    packets.push(tcp(2_000, true, "PA", 15_601, 5001).with(&[b'x'; 1_460]));
    packets.push(tcp(3_000, true, "PA", 17_061, 5001).with(&[b'x'; 2_000]));
    let (_, report) = observed(|live| {
        for packet in &packets {
            live.packet(&on(2, &packet.frame(), 0));
        }
    });
    let [warning] = report.warnings.as_slice() else {
        panic!("{:?}", report.warnings);
    };
    assert!(
        warning.text.starts_with("2 packets are larger") && warning.text.contains("about 12 on the wire"),
        "{}",
        warning.text
    );
}
