//! A network driven by a clock, with slow readers and changing connections.

use link::LinkDescription;
use link::network::{ConnectionNumber, FlowId, NetworkEvent, SimulatedNetwork};
use model::{BitRate, Direction, Timestamp};

const BEGIN: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const FIRST: ConnectionNumber = ConnectionNumber::new(0);
const FLOW: FlowId = FlowId::new(FIRST, Direction::ClientToServer);

fn network(link: &str) -> SimulatedNetwork<u32> {
    let link: LinkDescription = link.parse().expect("a link");
    let mut network = SimulatedNetwork::for_emulation(&link, Timestamp::from_nanos(BEGIN));
    network.attach(FIRST);
    network.open(FIRST);
    network
}

/// Passes time until `to`; returns the offsets of the flow, with their times.
fn progress(network: &mut SimulatedNetwork<u32>, to: u64) -> Vec<(u64, u64)> {
    let mut seen = Vec::new();
    let to = Timestamp::from_nanos(to);
    while let Some(network_event) = network.advance_to(to) {
        if network_event == NetworkEvent::Received(FLOW) {
            seen.push((network.now().as_nanos(), received(network)));
        }
    }
    network.pass_time(to);
    seen
}

fn received(network: &SimulatedNetwork<u32>) -> u64 {
    network.received(FLOW).bytes_before()
}

#[test]
fn bytes_are_told_as_they_arrive_and_time_never_runs_ahead() {
    let mut network = network("rtt=40ms");
    network.write_bytes(FLOW, 14_480 * 3);
    assert_eq!(progress(&mut network, BEGIN + 19 * MS), []);
    assert_eq!(network.now().as_nanos(), BEGIN + 19 * MS);
    let first = progress(&mut network, BEGIN + 30 * MS);
    assert_eq!(first.last(), Some(&(BEGIN + 20 * MS, 14_480)), "ten packets");
    let second = progress(&mut network, BEGIN + 70 * MS);
    assert_eq!(second.last(), Some(&(BEGIN + 60 * MS, 14_480 * 3)));
    assert_eq!(network.counts()[Direction::ClientToServer].packets, 30);
}

#[test]
fn a_changed_rate_holds_for_packets_from_now_on() {
    let mut network = network("rtt=0ms rate=12mbit");
    network.write_bytes(FLOW, 1_448);
    let slower = BitRate::from_bits_per_second(1_200_000).expect("a rate");
    network.set_rate(Direction::ClientToServer, slower);
    network.write_bytes(FLOW, 1_448);
    assert_eq!(
        progress(&mut network, BEGIN + 100 * MS),
        [(BEGIN + MS, 1_448), (BEGIN + 11 * MS, 2_896)]
    );
}

#[test]
fn bytes_are_unsent_until_the_window_takes_them() {
    let mut network = network("rtt=40ms");
    network.write_bytes(FLOW, 14_480 + 1_000);
    assert_eq!(network.unsent(FLOW), 1_000, "ten packets are on the way");
    progress(&mut network, BEGIN + 40 * MS);
    assert_eq!(network.unsent(FLOW), 0);
}

#[test]
fn every_byte_arrives_in_order_whatever_is_lost_and_what_was_missing_is_told() {
    let mut network = network("rtt=10ms rate=100mbit loss=3% queue=100KiB seed=5");
    let mut recovered = 0;
    let (mut written, mut last) = (0, 0);
    for step in 0..3_000 {
        let room = network.room(FLOW).min(20_000);
        network.write_bytes(FLOW, room);
        written += room;
        for (_, received) in progress(&mut network, BEGIN + step * MS) {
            assert!(received > last && received <= written);
            last = received;
        }
        recovered += u64::from(network.take_recovered(FLOW).is_some());
    }
    progress(&mut network, BEGIN + 60_000 * MS);
    assert_eq!(received(&network), written);
    let counts = network.counts()[Direction::ClientToServer];
    assert!(counts.dropped_by_loss > 0 && recovered > 0, "{counts:?}");
    assert!(network.packets(FLOW).1 > 0);
}

#[test]
fn a_reader_that_takes_nothing_closes_the_window_and_opens_it_again() {
    for link in ["rtt=10ms", "rtt=10ms loss=5% seed=3"] {
        let mut network = network(link);
        let mut written = 0;
        for step in 0..20_000 {
            let room = network.room(FLOW);
            network.write_bytes(FLOW, room);
            written += room;
            progress(&mut network, BEGIN + step * MS);
            network.set_unread(FLOW, received(&network));
        }
        let held = received(&network);
        assert!(
            held < 4_000_000 && written < 8_000_000,
            "{link}: {held} of {written}"
        );
        network.set_unread(FLOW, 0);
        progress(&mut network, BEGIN + 400_000 * MS);
        assert_eq!(received(&network), written, "{link}");
    }
}

#[test]
fn a_number_is_free_when_nothing_on_the_link_names_it() {
    let mut network = network("rtt=40ms");
    assert!(!network.is_free(FIRST) && network.is_free(ConnectionNumber::new(1)));
    network.write_bytes(FLOW, 100_000);
    progress(&mut network, BEGIN + 10 * MS);
    network.detach(FIRST);
    assert!(!network.is_free(FIRST), "packets are on the way");
    assert_eq!(progress(&mut network, BEGIN + 1_000 * MS), []);
    assert!(network.is_free(FIRST));
    network.attach(FIRST);
    network.open(FIRST);
    network.write_bytes(FLOW, 100);
    assert_eq!(
        progress(&mut network, BEGIN + 1_100 * MS),
        [(BEGIN + 1_020 * MS, 100)]
    );
}
