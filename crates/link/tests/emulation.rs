//! A network driven by a clock, with slow readers and changing connections.

use link::LinkDescription;
use link::network::{NetworkEvent, SimulatedNetwork};

const BEGIN: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn network(link: &str) -> SimulatedNetwork<u32> {
    let link: LinkDescription = link.parse().expect("a link");
    let mut network = SimulatedNetwork::for_emulation(&link, BEGIN);
    network.attach(0);
    network.open(0);
    network
}

/// Passes time until `to`; returns the offsets of flow 0, with their times.
fn progress(network: &mut SimulatedNetwork<u32>, to: u64) -> Vec<(u64, u64)> {
    let mut seen = Vec::new();
    while let Some(network_event) = network.advance_to(to) {
        if network_event == NetworkEvent::Received(0) {
            seen.push((network.now(), network.received(0)));
        }
    }
    network.pass_time(to);
    seen
}

#[test]
fn bytes_are_told_as_they_arrive_and_time_never_runs_ahead() {
    let mut network = network("rtt=40ms");
    network.write_bytes(0, 14_480 * 3);
    assert_eq!(progress(&mut network, BEGIN + 19 * MS), []);
    assert_eq!(network.now(), BEGIN + 19 * MS);
    let first = progress(&mut network, BEGIN + 30 * MS);
    assert_eq!(first.last(), Some(&(BEGIN + 20 * MS, 14_480)), "ten packets");
    let second = progress(&mut network, BEGIN + 70 * MS);
    assert_eq!(second.last(), Some(&(BEGIN + 60 * MS, 14_480 * 3)));
    assert_eq!(network.counts()[0].packets, 30);
}

#[test]
fn every_byte_arrives_in_order_whatever_is_lost_and_what_was_missing_is_told() {
    let mut network = network("rtt=10ms rate=100mbit loss=3% queue=100KiB seed=5");
    let mut recovered = 0;
    let (mut written, mut last) = (0, 0);
    for step in 0..3_000 {
        let room = network.room(0).min(20_000);
        network.write_bytes(0, room);
        written += room;
        for (_, received) in progress(&mut network, BEGIN + step * MS) {
            assert!(received > last && received <= written);
            last = received;
        }
        recovered += u64::from(network.take_recovered(0).is_some());
    }
    progress(&mut network, BEGIN + 60_000 * MS);
    assert_eq!(network.received(0), written);
    let counts = network.counts()[0];
    assert!(counts.dropped_by_loss > 0 && recovered > 0, "{counts:?}");
    assert!(network.packets(0).1 > 0);
}

#[test]
fn a_reader_that_takes_nothing_closes_the_window_and_opens_it_again() {
    for link in ["rtt=10ms", "rtt=10ms loss=5% seed=3"] {
        let mut network = network(link);
        let mut written = 0;
        for step in 0..20_000 {
            let room = network.room(0);
            network.write_bytes(0, room);
            written += room;
            progress(&mut network, BEGIN + step * MS);
            network.set_unread(0, network.received(0));
        }
        let held = network.received(0);
        assert!(
            held < 4_000_000 && written < 8_000_000,
            "{link}: {held} of {written}"
        );
        network.set_unread(0, 0);
        progress(&mut network, BEGIN + 400_000 * MS);
        assert_eq!(network.received(0), written, "{link}");
    }
}

#[test]
fn a_number_is_free_when_nothing_on_the_link_names_it() {
    let mut network = network("rtt=40ms");
    assert!(!network.is_free(0) && network.is_free(1));
    network.write_bytes(0, 100_000);
    progress(&mut network, BEGIN + 10 * MS);
    network.detach(0);
    assert!(!network.is_free(0), "packets are on the way");
    assert_eq!(progress(&mut network, BEGIN + 1_000 * MS), []);
    assert!(network.is_free(0));
    network.attach(0);
    network.open(0);
    network.write_bytes(0, 100);
    assert_eq!(
        progress(&mut network, BEGIN + 1_100 * MS),
        [(BEGIN + 1_020 * MS, 100)]
    );
}
